#include "inference/adapters/gguf_adapter.h"

#include <string>
#include <utility>

#include "base/utf8.h"
#include "inference/weights/gguf_file.h"

namespace quire::inference {
namespace {

constexpr std::string_view kGgufSuffixA = ".weight.lora_a";
constexpr std::string_view kGgufSuffixB = ".weight.lora_b";

Result<void> check_kind(const GgufFile& file, const AdapterBase& base) {
  const std::string& name = file.source->name();
  const auto refuse = [&](ErrorCode code, const char* key, std::string_view value,
                          const std::string& wanted) {
    return Error(code, name + ": " + key + " is " + in_quotes(value) + "; " + wanted);
  };
  const std::string_view kind = TRY(file.metadata->find_text("general.type")).value_or("model");
  if (kind != "adapter") {
    return refuse(ErrorCode::NotSupported, "general.type", kind,
                  "that of an adapter is \"adapter\"");
  }
  const std::string_view type = TRY(file.metadata->text("adapter.type"));
  if (type != "lora") {
    return refuse(ErrorCode::NotSupported, "adapter.type", type, "only \"lora\" is supported");
  }
  const std::string_view architecture = TRY(file.metadata->text("general.architecture"));
  if (architecture != base.architecture) {
    return refuse(ErrorCode::Corrupted, "general.architecture", architecture,
                  "the model is of the architecture " + in_quotes(base.architecture));
  }
  return {};
}

Error unknown_gguf_tensor(const GgufFile& file, const GgufTensor& tensor, const AdapterBase& base) {
  const std::string where = file.source->name() + ": tensor " + in_quotes(tensor.name);
  if (tensor.name.starts_with("output.")) {
    return Error(ErrorCode::NotSupported, where + ": LoRA of the output matrix is not supported");
  }
  if (tensor.name.find("_norm.") != std::string::npos) {
    return Error(ErrorCode::NotSupported, where + ": trained norms are not supported");
  }
  const bool is_recurrent = tensor.name.find(".ssm_") != std::string::npos ||
                            tensor.name.find(".attn_gate.") != std::string::npos;
  if (is_recurrent) {
    return Error(ErrorCode::NotSupported, where + ": " + kNoRecurrentAdapters);
  }
  return Error(ErrorCode::NotSupported, where + " belongs to no matrix of this " +
                                            base.architecture + " model with " +
                                            std::to_string(base.layer_count()) + " layers");
}

Result<std::vector<PairCollector::Pair>> collect(const GgufFile& file, const AdapterBase& base,
                                                 const LinearModules& modules) {
  PairCollector collector;
  for (const GgufTensor& tensor : file.tensors) {
    std::string_view module = tensor.name;
    const bool is_a = module.ends_with(kGgufSuffixA);
    if (!is_a && !module.ends_with(kGgufSuffixB)) return unknown_gguf_tensor(file, tensor, base);
    module.remove_suffix(kGgufSuffixA.size());
    if (!modules.contains(std::string(module))) return unknown_gguf_tensor(file, tensor, base);
    if (tensor.dimensions[2] != 1 || tensor.dimensions[3] != 1) {
      return Error(ErrorCode::Corrupted, file.source->name() + ": tensor " +
                                             in_quotes(tensor.name) +
                                             " has more than two dimensions");
    }
    TRY(collector.add(std::string(module), is_a ? PairCollector::Half::A : PairCollector::Half::B,
                      {.name = tensor.name,
                       .format = tensor.format,
                       .row_count = tensor.dimensions[1],
                       .column_count = tensor.dimensions[0],
                       .offset = tensor.offset,
                       .source = tensor.source}));
  }
  return std::move(collector).finish();
}

}  // namespace

Result<std::shared_ptr<const Adapter>> read_gguf_adapter(const PairShape& shape,
                                                         std::shared_ptr<const ByteSource> source,
                                                         const AdapterLimits& limits) {
  const GgufFile file = TRY(GgufFile::parse(std::move(source)));
  TRY(check_kind(file, shape.base));
  const double alpha = TRY(file.metadata->find_real("adapter.lora.alpha")).value_or(0.0);
  const LinearModules modules =
      linear_modules(shape.base, TensorNaming::Gguf, "blk.", "token_embd");
  std::vector<PairCollector::Pair> found = TRY(collect(file, shape.base, modules));
  std::vector<StoredPair> pairs;
  for (PairCollector::Pair& pair : found) {
    const LinearModule& module = modules.at(pair.module);
    // A pair of the embeddings has a row of A for each token.
    const bool is_by_input = module.projections.front() == Projection::Embedding;
    const auto rank = static_cast<double>(pair.b.column_count);
    const double scale = alpha == 0.0 ? 1.0 : alpha / rank;
    pairs.push_back({.module = module,
                     .a = std::move(pair.a),
                     .b = std::move(pair.b),
                     .scale = scale,
                     .is_by_input = is_by_input,
                     .is_interleaved = shape.gguf_rows_are_interleaved});
  }
  return assemble(shape, pairs, limits);
}

}  // namespace quire::inference
