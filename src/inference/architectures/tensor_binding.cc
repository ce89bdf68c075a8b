#include "inference/architectures/tensor_binding.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/utf8.h"
#include "inference/architectures/architecture.h"
#include "inference/weights/tensor_roles.h"

namespace quire::inference {
namespace {

std::string tensor_name(const TensorRow& row, TensorNaming naming, std::uint32_t layer) {
  const bool is_gguf = naming == TensorNaming::Gguf;
  const char* stem = is_gguf ? row.gguf : row.hugging_face;
  if (row.place == TensorPlace::Model) return stem;
  return (is_gguf ? "blk." : "model.layers.") + std::to_string(layer) + "." + stem;
}

// Frequencies, which some files carry and the body derives.
bool may_be_left_out(std::string_view name) {
  return name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq");
}

Result<WeightSource::Entry> bind_tensor(const StoredTensor& tensor, const TensorRow& row,
                                        std::uint32_t layer, TensorShape shape,
                                        const ModelSpec& spec, TensorNaming naming) {
  const std::string where = tensor.source->name() + ": tensor " + in_quotes(tensor.name);
  if (tensor.row_count != shape.row_count || tensor.column_count != shape.column_count) {
    return Error(ErrorCode::Corrupted,
                 where + " has " + std::to_string(tensor.row_count) + " rows of " +
                     std::to_string(tensor.column_count) + " numbers; the model's shape wants " +
                     std::to_string(shape.row_count) + " of " + std::to_string(shape.column_count));
  }
  if (row.kind == TensorKind::Vector && is_quantised(tensor.format)) {
    return Error(ErrorCode::NotSupported, where + " is a vector in " +
                                              format_shape(tensor.format).name +
                                              "; F32, F16 and BF16 are supported");
  }
  const Architecture* architecture = find_architecture(spec.architecture);
  const bool interleaved = row.is_turned && naming == TensorNaming::Gguf &&
                           architecture != nullptr && architecture->has_interleaved_rows;
  WeightSource::Entry entry;
  entry.info = {row.role,
                layer,
                tensor.format,
                static_cast<std::uint32_t>(shape.row_count),
                static_cast<std::uint32_t>(shape.column_count),
                interleaved ? spec.layers[layer].attention()->head_dim : 0,
                tensor.name};
  entry.source = tensor.source;
  entry.offset = tensor.offset;
  return entry;
}

}  // namespace

void set_switches(const std::vector<StoredTensor>& tensors, TensorNaming naming, ModelSpec& spec) {
  std::unordered_set<std::string_view> present;
  for (const StoredTensor& tensor : tensors) present.insert(tensor.name);
  const auto has = [&](TensorRole role) {
    return present.contains(tensor_name(row_of(role), naming, 0));
  };
  const Architecture* architecture = find_architecture(spec.architecture);
  QUIRE_CHECK(architecture != nullptr, "the spec was read by its architecture");
  // If every model of an architecture has certain tensors, bind_tensors() must report those that
  // are not there.
  QkNorm qk_norm = architecture->qk_norm;
  if (qk_norm == QkNorm::None && has(TensorRole::AttentionQNorm)) qk_norm = QkNorm::EachHead;
  for (LayerSpec& layer : spec.layers) {
    AttentionSpec* attention = layer.attention();
    if (attention == nullptr) continue;
    attention->qk_norm = qk_norm;
    attention->has_qkv_bias = architecture->has_qkv_bias || has(TensorRole::AttentionQBias);
    attention->has_output_bias = has(TensorRole::AttentionOutputBias);
  }
  spec.tied_embeddings = !has(TensorRole::Output);
}

Result<WeightSource> bind_tensors(const std::vector<StoredTensor>& tensors, TensorNaming naming,
                                  const ModelSpec& spec) {
  std::unordered_map<std::string_view, const StoredTensor*> unclaimed;
  for (const StoredTensor& tensor : tensors) unclaimed.emplace(tensor.name, &tensor);
  std::vector<WeightSource::Entry> entries;
  for (const TensorRow& row : tensor_rows()) {
    const std::uint32_t count = row.place == TensorPlace::Layer ? spec.layer_count() : 1;
    for (std::uint32_t layer = 0; layer < count; ++layer) {
      const std::optional<TensorShape> shape = row.shape(spec, spec.layers[layer]);
      if (!shape) continue;
      const std::string name = tensor_name(row, naming, layer);
      const auto found = unclaimed.find(name);
      if (found == unclaimed.end()) {
        return Error(ErrorCode::Corrupted, "the tensor " + name + " is missing");
      }
      entries.push_back(TRY(bind_tensor(*found->second, row, layer, *shape, spec, naming)));
      unclaimed.erase(found);
    }
  }
  for (const auto& [name, tensor] : unclaimed) {
    if (may_be_left_out(name)) continue;
    return Error(ErrorCode::NotSupported,
                 tensor->source->name() + ": the body has no use for the tensor " +
                     in_quotes(name) + " of this " + spec.architecture + " model");
  }
  return WeightSource(std::move(entries));
}

}  // namespace quire::inference
