#include "inference/adapters/peft_adapter.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "inference/adapters/peft_config.h"
#include "inference/weights/safetensors_file.h"

namespace quire::inference {
namespace {

constexpr std::string_view kPeftPrefix = "base_model.model.";
using Half = PairCollector::Half;
struct HalfSuffix {
  std::string_view suffix;
  Half half;
  bool is_embedding;
};
constexpr HalfSuffix kPeftSuffixes[] = {{".lora_A.weight", Half::A, false},
                                        {".lora_B.weight", Half::B, false},
                                        {".lora_embedding_A", Half::A, true},
                                        {".lora_embedding_B", Half::B, true}};
// The names of modules in a model with a language head, in one that also reads images, and in the
// inner part of the first alone.
struct ModuleNaming {
  const char* layers;
  const char* embeddings;
};
constexpr ModuleNaming kWholeNaming{"model.layers.", "model.embed_tokens"};
constexpr ModuleNaming kOtherNamings[] = {
    {"model.language_model.layers.", "model.language_model.embed_tokens"},
    {"layers.", "embed_tokens"}};
// Modules of a recurrent layer, with the names of related families.
constexpr const char* kRecurrentModules[] = {
    "in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj", "in_proj_qkvz", "in_proj_ba"};

struct RefusedTensor {
  std::string_view part;  // Of a tensor's name.
  const char* what;
};
constexpr RefusedTensor kRefusedTensors[] = {
    {".lora_magnitude_vector", "DoRA"},
    {"embed_tokens", "whole embeddings (PEFT leaves them out with save_embedding_layers=False)"},
    {"lm_head", "LoRA of the output matrix"},
    {".modules_to_save", "whole modules beside the LoRA matrices"},
    {".lora_B.bias", "biases of LoRA matrices"},
    {".bias", "trained biases"},
};

std::string where_of_tensor(const SafetensorsTensor& tensor) {
  return tensor.source->name() + ": tensor " + in_quotes(tensor.name);
}

Error unknown_peft_tensor(const SafetensorsTensor& tensor, const AdapterBase& base) {
  if (tensor.name.find(".linear_attn.") != std::string::npos) {
    return Error(ErrorCode::NotSupported, where_of_tensor(tensor) + ": " + kNoRecurrentAdapters);
  }
  for (const RefusedTensor& refused : kRefusedTensors) {
    if (tensor.name.find(refused.part) == std::string::npos) continue;
    return Error(ErrorCode::NotSupported,
                 where_of_tensor(tensor) + ": " + refused.what + ": not supported");
  }
  return Error(ErrorCode::NotSupported, where_of_tensor(tensor) +
                                            " belongs to no linear module of this " +
                                            base.architecture + " model with " +
                                            std::to_string(base.layer_count()) + " layers");
}

Result<void> collect(const SafetensorsFile& file, const AdapterBase& base,
                     const LinearModules& modules, PairCollector& collector) {
  for (const SafetensorsTensor& tensor : file.tensors) {
    const auto* suffix = std::ranges::find_if(
        kPeftSuffixes, [&](const HalfSuffix& each) { return tensor.name.ends_with(each.suffix); });
    if (suffix == std::end(kPeftSuffixes)) return unknown_peft_tensor(tensor, base);
    std::string_view module = tensor.name;
    module.remove_suffix(suffix->suffix.size());
    if (module.starts_with(kPeftPrefix)) module.remove_prefix(kPeftPrefix.size());
    const auto found = modules.find(std::string(module));
    if (found == modules.end()) return unknown_peft_tensor(tensor, base);
    const bool is_embedding = found->second.projections.front() == Projection::Embedding;
    if (is_embedding != suffix->is_embedding) return unknown_peft_tensor(tensor, base);
    if (tensor.dimensions.size() != 2) {
      return Error(ErrorCode::Corrupted, where_of_tensor(tensor) + " has " +
                                             std::to_string(tensor.dimensions.size()) +
                                             " dimensions; a matrix was expected");
    }
    TRY(collector.add(std::string(module), suffix->half,
                      {.name = tensor.name,
                       .format = tensor.format,
                       .row_count = tensor.dimensions[0],
                       .column_count = tensor.dimensions[1],
                       .offset = tensor.offset,
                       .source = tensor.source}));
  }
  return {};
}

// By how the names begin.
ModuleNaming naming_of(const SafetensorsFile& file) {
  for (const SafetensorsTensor& tensor : file.tensors) {
    std::string_view name = tensor.name;
    if (name.starts_with(kPeftPrefix)) name.remove_prefix(kPeftPrefix.size());
    for (const ModuleNaming& naming : kOtherNamings) {
      if (name.starts_with(naming.layers) || name.starts_with(naming.embeddings)) return naming;
    }
  }
  return kWholeNaming;
}

// Refuses a configuration that names projections of recurrent layers.
Result<void> refuse_recurrent(const PeftConfig& config, const std::string& config_name,
                              const AdapterBase& base, const ModuleNaming& naming) {
  for (std::uint32_t layer = 0; layer < base.layer_count(); ++layer) {
    if (!base.layers[layer].is_recurrent) continue;
    for (const char* module : kRecurrentModules) {
      const std::string name = naming.layers + std::to_string(layer) + ".linear_attn." + module;
      if (!config.targets(name)) continue;
      return Error(ErrorCode::NotSupported, config_name + ": \"target_modules\" names " +
                                                in_quotes(name) + "; " + kNoRecurrentAdapters);
    }
  }
  return {};
}

// A fused module takes the place of those that it is made of, so only single ones must be there.
Result<void> check_all_there(const PeftConfig& config, const std::string& config_name,
                             const AdapterBase& base, const LinearModules& modules,
                             const std::vector<PairCollector::Pair>& pairs) {
  std::vector<bool> there;
  const auto mark = [&](const LinearModule& module, Projection projection) {
    const std::size_t at =
        std::size_t{module.layer} * kProjectionCount + static_cast<std::size_t>(projection);
    if (there.size() <= at) there.resize(at + 1);
    const bool before = there[at];
    there[at] = true;
    return before;
  };
  for (const PairCollector::Pair& pair : pairs) {
    const LinearModule& module = modules.at(pair.module);
    for (const Projection projection : module.projections) mark(module, projection);
  }
  for (const auto& [name, module] : modules) {
    if (module.projections.size() > 1 || !config.targets(name)) continue;
    // A recurrent layer has no projections of attention.
    const bool is_there = base.has(module.layer, module.projections.front());
    if (!is_there && base.layers[module.layer].is_recurrent) continue;
    if (mark(module, module.projections.front())) continue;
    return Error(ErrorCode::Corrupted,
                 config_name + ": \"target_modules\" names " + in_quotes(name) +
                     ", for which there are no matrices: the file is incomplete, or it is an "
                     "adapter of another model");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Adapter>> read_peft_adapter(const PairShape& shape,
                                                         std::string_view config_text,
                                                         const std::string& config_name,
                                                         std::shared_ptr<const ByteSource> weights,
                                                         const AdapterLimits& limits) {
  const PeftConfig config = TRY(PeftConfig::parse(config_text, config_name));
  const SafetensorsFile file = TRY(SafetensorsFile::parse(std::move(weights)));
  const ModuleNaming naming = naming_of(file);
  TRY(refuse_recurrent(config, config_name, shape.base, naming));
  const LinearModules modules =
      linear_modules(shape.base, TensorNaming::HuggingFace, naming.layers, naming.embeddings);
  PairCollector collector;
  TRY(collect(file, shape.base, modules, collector));
  std::vector<PairCollector::Pair> found = TRY(std::move(collector).finish());
  TRY(check_all_there(config, config_name, shape.base, modules, found));
  std::vector<StoredPair> pairs;
  for (PairCollector::Pair& pair : found) {
    if (!config.targets(pair.module)) {
      return Error(ErrorCode::Corrupted, config_name + ": it has matrices for " +
                                             in_quotes(pair.module) +
                                             ", which the configuration does not name");
    }
    const std::uint32_t rank = config.rank_of(pair.module);
    if (pair.a.row_count != rank) {
      return Error(ErrorCode::Corrupted, config_name + ": the rank of " + in_quotes(pair.module) +
                                             " is " + std::to_string(rank) +
                                             ", and its matrix A has " +
                                             std::to_string(pair.a.row_count) + " rows");
    }
    const double scale = config.scale_of(pair.module);
    pairs.push_back({modules.at(pair.module), std::move(pair.a), std::move(pair.b), scale});
  }
  return assemble(shape, pairs, limits);
}

}  // namespace quire::inference
