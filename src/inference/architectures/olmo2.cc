// OLMo 2: Llama with norms after each part, and of the whole width of queries and keys.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

void set_norms(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.norms = NormPlace::After;
  for_each_attention(spec,
                     [](AttentionSpec& attention) { attention.qk_norm = QkNorm::WholeWidth; });
}

Result<void> read_olmo2(const ConfigFile& file, ModelSpec& spec) {
  TRY(read_shape(file.members, {}, spec));
  TRY(read_switches(file.members, spec));
  TRY(read_attention_bias(file.members, spec));
  set_norms(spec);
  return {};
}

// Files of OLMo 3 have this architecture, too: windows, and another RoPE beside them.
Result<void> complete_olmo2(const GgufMetadata& metadata, ModelSpec& spec) {
  if (metadata.has("olmo2.attention.sliding_window")) {
    return Error(ErrorCode::NotSupported, metadata.source_name() +
                                              ": olmo2.attention.sliding_window is not supported, "
                                              "which files of OLMo 3 have");
  }
  set_norms(spec);
  return {};
}

}  // namespace

const Architecture kOlmo2{
    .name = "olmo2", .qk_norm = QkNorm::WholeWidth, .complete = complete_olmo2};
const ConfigType kOlmo2Config{"olmo2", "Olmo2ForCausalLM", &kOlmo2, read_olmo2};

}  // namespace quire::inference
