#include "inference/architectures/tensor_binding.h"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/utf8.h"
#include "inference/architectures/architecture.h"
#include "inference/weights/tensor_roles.h"

namespace quire::inference {
namespace {

std::string in_layer(TensorNaming naming, std::uint32_t layer, std::string_view stem) {
  const bool is_gguf = naming == TensorNaming::Gguf;
  return (is_gguf ? "blk." : "model.layers.") + std::to_string(layer) + "." + std::string(stem);
}

std::string tensor_name(const TensorRow& row, TensorNaming naming, std::uint32_t layer) {
  const char* stem = naming == TensorNaming::Gguf ? row.gguf : row.hugging_face;
  return row.place == TensorPlace::Model ? stem : in_layer(naming, layer, stem);
}

// The name of the tensor that holds the role of all experts of a layer; empty: files have no such.
std::string whole_name(const TensorRow& row, TensorNaming naming, std::uint32_t layer) {
  const char* stem = naming == TensorNaming::Gguf ? row.gguf_whole : row.hugging_face_whole;
  return stem == nullptr ? std::string() : in_layer(naming, layer, stem);
}

std::string with_number(std::string name, std::uint32_t expert) {
  const std::size_t at = name.find('*');
  return at == std::string::npos ? name : name.replace(at, 1, std::to_string(expert));
}

// Frequencies, which some files carry and the body derives.
bool may_be_left_out(std::string_view name) {
  return name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq");
}

std::string shape_text(std::uint64_t matrices, std::uint64_t rows, std::uint64_t columns) {
  return (matrices == 1 ? "" : std::to_string(matrices) + " times ") + std::to_string(rows) +
         " rows of " + std::to_string(columns) + " numbers";
}

// A role as a file has it: one of the parts of a tensor, which holds the role of expert_count
// experts.
struct Placed {
  const StoredTensor& tensor;
  std::uint32_t expert_count = 1;
  std::uint32_t part = 0;
  std::uint32_t part_count = 1;
};

class Binder {
 public:
  Binder(const std::vector<StoredTensor>& tensors, TensorNaming naming, const ModelSpec& spec)
      : naming_(naming), spec_(spec), architecture_(find_architecture(spec.architecture)) {
    for (const StoredTensor& tensor : tensors) tensors_.emplace(tensor.name, &tensor);
  }

  Result<WeightSource> bind() {
    for (const TensorRow& row : tensor_rows()) {
      const std::uint32_t count = row.place == TensorPlace::Model ? 1 : spec_.layer_count();
      for (std::uint32_t layer = 0; layer < count; ++layer) {
        const std::optional<TensorShape> shape = row.shape(spec_, spec_.layers[layer]);
        if (!shape) continue;
        if (row.place == TensorPlace::Expert) {
          TRY(bind_experts(row, layer, *shape));
        } else {
          const StoredTensor& tensor = TRY(take(tensor_name(row, naming_, layer)));
          TRY(add({tensor}, row, layer, *shape));
        }
      }
    }
    TRY(refuse_unclaimed());
    return WeightSource(std::move(entries_));
  }

 private:
  Result<std::reference_wrapper<const StoredTensor>> take(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return Error(ErrorCode::Corrupted, "the tensor " + name + " is missing");
    }
    claimed_.insert(found->first);
    return std::cref(*found->second);
  }

  // The experts of a layer lie in one tensor, perhaps with another role, or each in its own.
  Result<void> bind_experts(const TensorRow& row, std::uint32_t layer, TensorShape shape) {
    const std::uint32_t count = spec_.layers[layer].experts()->expert_count;
    const std::string whole = whole_name(row, naming_, layer);
    if (tensors_.contains(whole)) {
      return add({TRY(take(whole)), count, row.part, row.part_count}, row, layer, shape);
    }
    const std::string name = tensor_name(row, naming_, layer);
    if (naming_ == TensorNaming::Gguf) return add({TRY(take(name)), count}, row, layer, shape);
    for (std::uint32_t expert = 0; expert < count; ++expert) {
      const StoredTensor& tensor = TRY(take(with_number(name, expert)));
      TRY(add({tensor}, row, layer, shape));
      entries_.back().info.expert = expert;
    }
    return {};
  }

  Result<void> add(const Placed& placed, const TensorRow& row, std::uint32_t layer,
                   TensorShape shape) {
    const StoredTensor& tensor = placed.tensor;
    const std::string where = tensor.source->name() + ": tensor " + in_quotes(tensor.name);
    const std::uint64_t row_count = shape.row_count * placed.part_count;
    if (tensor.matrix_count != placed.expert_count || tensor.row_count != row_count ||
        tensor.column_count != shape.column_count) {
      return Error(ErrorCode::Corrupted,
                   where + " has " +
                       shape_text(tensor.matrix_count, tensor.row_count, tensor.column_count) +
                       "; the model's shape wants " +
                       shape_text(placed.expert_count, row_count, shape.column_count));
    }
    if (row.kind == TensorKind::Vector && is_quantised(tensor.format)) {
      return Error(ErrorCode::NotSupported, where + " is a vector in " +
                                                format_shape(tensor.format).name +
                                                "; F32, F16 and BF16 are supported");
    }
    const bool is_interleaved = row.is_turned && naming_ == TensorNaming::Gguf &&
                                architecture_ != nullptr && architecture_->has_interleaved_rows;
    for (std::uint32_t expert = 0; expert < placed.expert_count; ++expert) {
      WeightSource::Entry& entry = entries_.emplace_back();
      entry.info = {
          .role = row.role,
          .layer = layer,
          .expert = expert,
          .format = tensor.format,
          .row_count = static_cast<std::uint32_t>(shape.row_count),
          .column_count = static_cast<std::uint32_t>(shape.column_count),
          .interleaved_head_dim = is_interleaved ? spec_.layers[layer].attention()->head_dim : 0,
          .name = tensor.name};
      entry.source = tensor.source;
      entry.offset = tensor.offset +
                     entry.info.bytes() * (std::uint64_t{expert} * placed.part_count + placed.part);
    }
    return {};
  }

  Result<void> refuse_unclaimed() const {
    for (const auto& [name, tensor] : tensors_) {
      if (claimed_.contains(name) || may_be_left_out(name)) continue;
      return Error(ErrorCode::NotSupported,
                   tensor->source->name() + ": the body has no use for the tensor " +
                       in_quotes(name) + " of this " + spec_.architecture + " model");
    }
    return {};
  }

  const TensorNaming naming_;
  const ModelSpec& spec_;
  const Architecture* architecture_;
  std::unordered_map<std::string_view, const StoredTensor*> tensors_;
  std::unordered_set<std::string_view> claimed_;
  std::vector<WeightSource::Entry> entries_;
};

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
  return Binder(tensors, naming, spec).bind();
}

}  // namespace quire::inference
