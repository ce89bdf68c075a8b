// Qwen 3.5 and 3.6: three of four layers are recurrent, and the others attend with gates.
// Checkpoints that also read images have the members and tensors of the language model nested.
#include "inference/architectures/architecture.h"
#include "inference/architectures/hybrid_members.h"

namespace quire::inference {
namespace {

Result<void> read_qwen35(const ConfigFile& file, ModelSpec& spec) {
  return read_config_hybrid(file.members, {.kv_head_count = 4, .head_dim = 256}, spec);
}

}  // namespace

const Architecture kQwen35{.name = "qwen35",
                           .qk_norm = QkNorm::EachHead,
                           .has_draft_blocks = true,
                           .has_norms_around_one = true,
                           .gguf_feed_forward_norm = "post_attention_norm.weight",
                           .unserved = kHybridUnservedParts,
                           .complete = read_gguf_hybrid};
const ConfigType kQwen35Config{.model_type = "qwen3_5",
                               .class_name = "Qwen3_5ForConditionalGeneration",
                               .architecture = &kQwen35,
                               .read = read_qwen35,
                               .partial_rotary_factor = kHybridPartialRotaryFactor,
                               .text_type = "qwen3_5_text"};
const ConfigType kQwen35TextConfig{.model_type = "qwen3_5_text",
                                   .class_name = "Qwen3_5ForCausalLM",
                                   .architecture = &kQwen35,
                                   .read = read_qwen35,
                                   .partial_rotary_factor = kHybridPartialRotaryFactor};

}  // namespace quire::inference
