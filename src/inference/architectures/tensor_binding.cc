#include "inference/architectures/tensor_binding.h"

#include <algorithm>
#include <charconv>
#include <functional>
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

constexpr std::string_view kBlock = "blk.";
constexpr std::string_view kModel = "model.";
// Begins the names of a language model that lies in a checkpoint beside other parts.
constexpr std::string_view kNestedModel = "model.language_model.";

// How a model's files name its tensors.
class TensorNames {
 public:
  TensorNames(const std::vector<StoredTensor>& tensors, TensorNaming naming,
              const Architecture& architecture)
      : is_gguf_(naming == TensorNaming::Gguf), architecture_(architecture) {
    is_nested_ = !is_gguf_ && std::ranges::any_of(tensors, [](const StoredTensor& tensor) {
      return tensor.name.starts_with(kNestedModel);
    });
  }

  std::string name(const TensorRow& row, std::uint32_t layer) const {
    if (row.place != TensorPlace::Model) return in_layer(stem(row), layer);
    const std::string_view name = stem(row);
    if (!is_nested_ || !name.starts_with(kModel)) return std::string(name);
    return std::string(kNestedModel) + std::string(name.substr(kModel.size()));
  }
  // The tensor that holds the role of all experts of a layer; empty: files have no such.
  std::string whole_name(const TensorRow& row, std::uint32_t layer) const {
    const char* stem = is_gguf_ ? row.gguf_whole : row.hugging_face_whole;
    return stem == nullptr ? std::string() : in_layer(stem, layer);
  }

 private:
  std::string_view stem(const TensorRow& row) const {
    if (!is_gguf_) return row.hugging_face;
    const std::string_view norm = architecture_.gguf_feed_forward_norm;
    return row.role == TensorRole::FeedForwardNorm && !norm.empty() ? norm : row.gguf;
  }
  std::string in_layer(std::string_view stem, std::uint32_t layer) const {
    const std::string begin = is_gguf_     ? std::string(kBlock)
                              : is_nested_ ? std::string(kNestedModel) + "layers."
                                           : std::string(kModel) + "layers.";
    return begin + std::to_string(layer) + "." + std::string(stem);
  }

  const bool is_gguf_;
  bool is_nested_ = false;
  const Architecture& architecture_;
};

const Architecture& architecture_of(const ModelSpec& spec) {
  const Architecture* architecture = find_architecture(spec.architecture);
  QUIRE_CHECK(architecture != nullptr, "the spec was read by its architecture");
  return *architecture;
}

// The transform that makes the numbers of a role in a checkpoint those of GGUF.
ValueTransform checkpoint_transform(TensorRole role, const Architecture& architecture) {
  switch (role) {
    case TensorRole::DeltaDecay:
      return ValueTransform::NegatedExponential;
    case TensorRole::OutputNorm:
    case TensorRole::AttentionNorm:
    case TensorRole::AttentionQNorm:
    case TensorRole::AttentionKNorm:
    case TensorRole::AttentionPostNorm:
    case TensorRole::FeedForwardNorm:
    case TensorRole::FeedForwardPostNorm:
      return architecture.has_norms_around_one ? ValueTransform::PlusOne : ValueTransform::None;
    default:
      return ValueTransform::None;
  }
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

// A block that drafts tokens lies after the layers.
bool is_in_draft_block(std::string_view name, const ModelSpec& spec) {
  if (!name.starts_with(kBlock)) return false;
  name.remove_prefix(kBlock.size());
  std::uint32_t block = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), block);
  return error == std::errc() && name.substr(end - name.data()).starts_with('.') &&
         block >= spec.layer_count() && block - spec.layer_count() < spec.draft_block_count;
}

// A role as a file has it: one of the parts of a tensor, which holds the role of expert_count
// experts.
struct Placed {
  const StoredTensor& tensor;
  std::uint32_t expert_count = 1;
  std::uint32_t part = 0;
  std::uint32_t part_count = 1;
};

std::uint64_t stored_bytes(const StoredTensor& tensor) {
  const FormatShape shape = format_shape(tensor.format);
  const std::uint64_t count = tensor.matrix_count * tensor.row_count * tensor.column_count;
  return count / shape.block_values * shape.block_bytes;
}

class Binder {
 public:
  Binder(const std::vector<StoredTensor>& tensors, TensorNaming naming, const ModelSpec& spec)
      : naming_(naming),
        spec_(spec),
        architecture_(architecture_of(spec)),
        names_(tensors, naming, architecture_) {
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
          const StoredTensor& tensor = TRY(take(names_.name(row, layer)));
          TRY(add({tensor}, row, layer, *shape));
        }
      }
    }
    std::vector<WeightSource::LeftOut> left_out = TRY(leave_out());
    return WeightSource(std::move(entries_), std::move(left_out));
  }

 private:
  Result<std::reference_wrapper<const StoredTensor>> take(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      std::string what = "the tensor " + name + " is missing";
      if (has_draft_blocks_alone()) what += ": the file has the blocks that draft tokens alone";
      return Error(ErrorCode::Corrupted, what);
    }
    claimed_.insert(found->first);
    return std::cref(*found->second);
  }

  // The experts of a layer lie in one tensor, perhaps with another role, or each in its own.
  Result<void> bind_experts(const TensorRow& row, std::uint32_t layer, TensorShape shape) {
    const std::uint32_t count = spec_.layers[layer].experts()->expert_count;
    const std::string whole = names_.whole_name(row, layer);
    if (tensors_.contains(whole)) {
      return add({TRY(take(whole)), count, row.part, row.part_count}, row, layer, shape);
    }
    const std::string name = names_.name(row, layer);
    if (naming_ == TensorNaming::Gguf) return add({TRY(take(name)), count}, row, layer, shape);
    for (std::uint32_t expert = 0; expert < count; ++expert) {
      const StoredTensor& tensor = TRY(take(with_number(name, expert)));
      TRY(add({tensor}, row, layer, shape));
      entries_.back().info.expert = expert;
    }
    return {};
  }

  Result<void> check(const Placed& placed, const TensorRow& row, TensorShape shape) const {
    const StoredTensor& tensor = placed.tensor;
    const std::string where = tensor.source->name() + ": tensor " + in_quotes(tensor.name);
    const std::uint64_t row_count = shape.row_count * placed.part_count;
    // A checkpoint has a matrix of one row for each row of a table.
    const bool is_flat = row.kind == TensorKind::Table && tensor.row_count == 1;
    const std::uint64_t matrices = is_flat ? tensor.row_count : tensor.matrix_count;
    const std::uint64_t rows = is_flat ? tensor.matrix_count : tensor.row_count;
    if (matrices != placed.expert_count || rows != row_count ||
        tensor.column_count != shape.column_count) {
      return Error(ErrorCode::Corrupted,
                   where + " has " +
                       shape_text(tensor.matrix_count, tensor.row_count, tensor.column_count) +
                       "; the model's shape wants " +
                       shape_text(placed.expert_count, row_count, shape.column_count));
    }
    const bool is_decoded = row.kind == TensorKind::Vector || row.kind == TensorKind::Table;
    if (is_decoded && is_quantised(tensor.format)) {
      return Error(ErrorCode::NotSupported,
                   where + " is a " + (row.kind == TensorKind::Table ? "table" : "vector") +
                       " in " + format_shape(tensor.format).name +
                       "; F32, F16 and BF16 are supported");
    }
    return {};
  }

  Result<void> add(const Placed& placed, const TensorRow& row, std::uint32_t layer,
                   TensorShape shape) {
    const StoredTensor& tensor = placed.tensor;
    TRY(check(placed, row, shape));
    const bool is_gguf = naming_ == TensorNaming::Gguf;
    const bool is_interleaved = row.is_turned && is_gguf && architecture_.has_interleaved_rows;
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
          .transform =
              is_gguf ? ValueTransform::None : checkpoint_transform(row.role, architecture_),
          .name = tensor.name};
      entry.source = tensor.source;
      entry.offset = tensor.offset +
                     entry.info.bytes() * (std::uint64_t{expert} * placed.part_count + placed.part);
    }
    return {};
  }

  bool has_draft_blocks_alone() const {
    if (spec_.draft_block_count == 0) return false;
    return std::ranges::none_of(tensors_,
                                [](const auto& each) { return each.first.starts_with("blk.0."); });
  }

  // The part of the files that a tensor without a role belongs to; empty: none that is known.
  std::string_view part_of(std::string_view name) const {
    if (naming_ == TensorNaming::HuggingFace) {
      return unserved_part(architecture_, name);
    }
    return is_in_draft_block(name, spec_) ? kDraftBlock : std::string_view();
  }

  // Counts the tensors that belong to parts that are not served, and refuses those that belong to
  // no part.
  Result<std::vector<WeightSource::LeftOut>> leave_out() const {
    std::map<std::string_view, WeightSource::LeftOut> parts;
    for (const auto& [name, tensor] : tensors_) {
      if (claimed_.contains(name) || may_be_left_out(name)) continue;
      const std::string_view part = part_of(name);
      if (part.empty()) {
        return Error(ErrorCode::NotSupported,
                     tensor->source->name() + ": the body has no use for the tensor " +
                         in_quotes(name) + " of this " + spec_.architecture + " model");
      }
      WeightSource::LeftOut& left_out = parts[part];
      left_out.part = part;
      left_out.tensor_count += 1;
      left_out.bytes += stored_bytes(*tensor);
    }
    std::vector<WeightSource::LeftOut> all;
    for (auto& [part, left_out] : parts) all.push_back(std::move(left_out));
    return all;
  }

  const TensorNaming naming_;
  const ModelSpec& spec_;
  const Architecture& architecture_;
  const TensorNames names_;
  std::unordered_map<std::string_view, const StoredTensor*> tensors_;
  std::unordered_set<std::string_view> claimed_;
  std::vector<WeightSource::Entry> entries_;
};

}  // namespace

void set_switches(const std::vector<StoredTensor>& tensors, TensorNaming naming, ModelSpec& spec) {
  std::unordered_set<std::string_view> present;
  for (const StoredTensor& tensor : tensors) present.insert(tensor.name);
  const Architecture& architecture = architecture_of(spec);
  const TensorNames names(tensors, naming, architecture);
  const auto attends = [](const LayerSpec& layer) { return layer.attention() != nullptr; };
  const auto layer =
      static_cast<std::uint32_t>(std::ranges::find_if(spec.layers, attends) - spec.layers.begin());
  const auto has = [&](TensorRole role) {
    return present.contains(names.name(row_of(role), layer));
  };
  // If every model of an architecture has certain tensors, bind_tensors() must report those that
  // are not there.
  QkNorm qk_norm = architecture.qk_norm;
  if (qk_norm == QkNorm::None && has(TensorRole::AttentionQNorm)) qk_norm = QkNorm::EachHead;
  for (LayerSpec& each : spec.layers) {
    AttentionSpec* attention = each.attention();
    if (attention == nullptr) continue;
    attention->qk_norm = qk_norm;
    attention->has_qkv_bias = architecture.has_qkv_bias || has(TensorRole::AttentionQBias);
    attention->has_output_bias = has(TensorRole::AttentionOutputBias);
  }
  spec.tied_embeddings = !has(TensorRole::Output);
}

Result<WeightSource> bind_tensors(const std::vector<StoredTensor>& tensors, TensorNaming naming,
                                  const ModelSpec& spec) {
  return Binder(tensors, naming, spec).bind();
}

}  // namespace quire::inference
