#include "inference/api/adapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "inference/api/plain_number.h"

namespace quire::inference {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kLanes = 16;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint32_t in_lanes(std::uint32_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

std::size_t number_bytes(NumberFormat format) {
  return format_shape(format).block_bytes;
}

std::string name_of(const AdapterPart& part) {
  return "layer " + std::to_string(part.layer) + ", " + projection_name(part.projection);
}

template <typename T>
void add_value(Sha256& hash, const T& value) {
  hash.add(std::as_bytes(std::span(&value, 1)));
}

// Adds the numbers as F32, and refuses those that are not finite.
Result<void> add_numbers(Sha256& hash, NumberFormat format, std::span<const std::byte> bytes,
                         const std::string& where) {
  std::array<float, 1024> values;
  const std::size_t count = bytes.size() / number_bytes(format);
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(values.size(), count - done);
    for (std::size_t i = 0; i < now; ++i) {
      values[i] = plain_number(format, bytes.data(), done + i);
      if (std::isfinite(values[i])) continue;
      return Error(ErrorCode::Corrupted, where + ": number " + std::to_string(done + i) + " of " +
                                             std::to_string(count) + " is " +
                                             std::to_string(values[i]));
    }
    hash.add(std::as_bytes(std::span(values.data(), now)));
    done += now;
  }
  return {};
}

// Numbers that A takes, with its padding.
std::size_t a_count(const AdapterMatrix& matrix) {
  const bool is_embedding = matrix.projection == Projection::Embedding;
  return std::size_t{matrix.a_stride} * (is_embedding ? matrix.input_count : matrix.rank);
}

// [rank][input_count] to [rank][a_stride]. That of the embeddings stays as it is.
void place_a(const AdapterMatrix& matrix, const AdapterPart& part, std::byte* to) {
  const std::size_t step = number_bytes(part.a_format);
  if (matrix.projection == Projection::Embedding) {
    std::memcpy(to, part.a.data(), part.a.size());
    return;
  }
  for (std::size_t row = 0; row < matrix.rank; ++row) {
    std::memcpy(to + row * matrix.a_stride * step, part.a.data() + row * matrix.input_count * step,
                matrix.input_count * step);
  }
}

// [output_count][rank] to [group of 16 outputs][rank][16].
void place_b(const AdapterMatrix& matrix, const AdapterPart& part, std::byte* to) {
  const std::size_t step = number_bytes(part.b_format);
  for (std::size_t row = 0; row < matrix.output_count; ++row) {
    std::byte* group = to + row / kLanes * matrix.rank * kLanes * step;
    for (std::size_t column = 0; column < matrix.rank; ++column) {
      std::memcpy(group + (column * kLanes + row % kLanes) * step,
                  part.b.data() + (row * matrix.rank + column) * step, step);
    }
  }
}

}  // namespace

const char* projection_name(Projection projection) {
  constexpr const char* kNames[kProjectionCount] = {"query", "key", "value", "attention_output",
                                                    "gate",  "up",  "down",  "embedding"};
  const auto index = static_cast<std::uint32_t>(projection);
  return index < kProjectionCount ? kNames[index] : "unknown";
}

bool AdapterBase::may_be_of(const ModelInfo& model) const {
  const auto attending =
      std::ranges::find_if(layers, [](const AdapterLayer& layer) { return layer.query_width > 0; });
  return architecture == model.architecture && layer_count() == model.layer_count &&
         embedding_width == model.embedding_width && vocabulary_size == model.vocabulary_size &&
         (attending == layers.end() ||
          (attending->query_width == model.head_count * model.head_dim &&
           attending->kv_width == model.kv_head_count * model.head_dim));
}

bool AdapterBase::has(std::uint32_t layer, Projection projection) const {
  if (projection == Projection::Embedding) return layer == 0;
  return layer < layers.size() && input_count(layer, projection) > 0 &&
         output_count(layer, projection) > 0;
}

std::uint32_t AdapterBase::input_count(std::uint32_t layer, Projection projection) const {
  if (projection == Projection::Embedding) return vocabulary_size;
  if (projection == Projection::AttentionOutput) return layers[layer].query_width;
  return projection == Projection::Down ? layers[layer].feed_forward_width : embedding_width;
}

std::uint32_t AdapterBase::output_count(std::uint32_t layer, Projection projection) const {
  switch (projection) {
    case Projection::Query:
      return layers[layer].query_width * (layers[layer].has_gate ? 2 : 1);
    case Projection::Key:
    case Projection::Value:
      return layers[layer].kv_width;
    case Projection::Gate:
    case Projection::Up:
      return layers[layer].feed_forward_width;
    case Projection::AttentionOutput:
    case Projection::Down:
    case Projection::Embedding:
      break;
  }
  return embedding_width;
}

void Adapter::Release::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{kAlignment});
}

Adapter::Adapter(AdapterBase base)
    : base_(std::move(base)), index_(base_.layers.size() * kProjectionCount, -1) {}

Result<void> Adapter::check(const AdapterPart& part) const {
  const std::string where = name_of(part);
  const std::uint32_t layer_count =
      part.projection == Projection::Embedding ? 1 : base_.layer_count();
  if (part.layer >= layer_count) {
    return Error(ErrorCode::NotFound,
                 where + ": the model has " + std::to_string(layer_count) + " layers");
  }
  if (!base_.has(part.layer, part.projection)) {
    return Error(ErrorCode::NotFound, where + ": this layer of the model has no such projection");
  }
  if (part.rank == 0) return Error(ErrorCode::Corrupted, where + ": the rank is 0");
  if (part.rank > kAdapterRankMax) {
    return Error(ErrorCode::TooLarge, where + ": the rank is " + std::to_string(part.rank) +
                                          "; at most " + std::to_string(kAdapterRankMax) +
                                          " is supported");
  }
  if (!std::isfinite(part.scale)) {
    return Error(ErrorCode::Corrupted, where + ": the scale is " + std::to_string(part.scale));
  }
  const auto check_half = [&](const char* name, NumberFormat format, std::size_t bytes,
                              std::uint32_t width) -> Result<void> {
    if (is_quantised(format)) {
      return Error(ErrorCode::NotSupported, where + ": " + name + " is in " +
                                                format_shape(format).name +
                                                "; F32, F16 and BF16 are supported");
    }
    const std::size_t wanted = std::size_t{part.rank} * width * number_bytes(format);
    if (bytes == wanted) return {};
    return Error(ErrorCode::Corrupted, where + ": " + name + " has " + std::to_string(bytes) +
                                           " bytes; its shape takes " + std::to_string(wanted));
  };
  TRY(check_half("A", part.a_format, part.a.size(),
                 base_.input_count(part.layer, part.projection)));
  return check_half("B", part.b_format, part.b.size(),
                    base_.output_count(part.layer, part.projection));
}

Result<std::shared_ptr<const Adapter>> Adapter::create(AdapterBase base,
                                                       std::vector<AdapterPart> parts) {
  if (parts.empty()) {
    return Error(ErrorCode::InvalidArgument, "the adapter has no matrix that changes this model");
  }
  std::ranges::sort(parts, {},
                    [](const AdapterPart& part) { return std::pair(part.layer, part.projection); });
  const std::shared_ptr<Adapter> adapter(new Adapter(std::move(base)));
  Sha256 hash;
  hash.add(std::as_bytes(std::span("quire adapter 1")));
  for (const AdapterPart& part : parts) {
    TRY(adapter->check(part));
    const AdapterBase& shape = adapter->base_;
    AdapterMatrix matrix{.layer = part.layer,
                         .projection = part.projection,
                         .rank = part.rank,
                         .scale = part.scale,
                         .a_format = part.a_format,
                         .b_format = part.b_format,
                         .input_count = shape.input_count(part.layer, part.projection),
                         .output_count = shape.output_count(part.layer, part.projection),
                         .a_stride = in_lanes(shape.input_count(part.layer, part.projection))};
    if (part.projection == Projection::Embedding) matrix.a_stride = part.rank;
    std::int32_t& entry =
        adapter
            ->index_[part.layer * kProjectionCount + static_cast<std::uint32_t>(part.projection)];
    if (entry >= 0) {
      return Error(ErrorCode::Corrupted, name_of(part) + ": the adapter has two matrices for it");
    }
    entry = static_cast<std::int32_t>(adapter->matrices_.size());
    for (const std::uint32_t value : {part.layer, static_cast<std::uint32_t>(part.projection),
                                      part.rank, matrix.input_count, matrix.output_count}) {
      add_value(hash, value);
    }
    add_value(hash, part.scale);
    TRY(add_numbers(hash, part.a_format, part.a, name_of(part) + ", A"));
    TRY(add_numbers(hash, part.b_format, part.b, name_of(part) + ", B"));
    adapter->matrices_.push_back(matrix);
  }
  adapter->digest_ = hash.finish();
  adapter->place(parts);
  return std::shared_ptr<const Adapter>(adapter);
}

void Adapter::place(const std::vector<AdapterPart>& parts) {
  const auto a_bytes = [](const AdapterMatrix& matrix) {
    return aligned(a_count(matrix) * number_bytes(matrix.a_format));
  };
  const auto b_bytes = [](const AdapterMatrix& matrix) {
    return aligned(std::size_t{matrix.rank} * in_lanes(matrix.output_count) *
                   number_bytes(matrix.b_format));
  };
  for (const AdapterMatrix& matrix : matrices_) {
    bytes_ += a_bytes(matrix) + b_bytes(matrix);
    rank_max_ = std::max(rank_max_, matrix.rank);
    parameter_count_ +=
        std::uint64_t{matrix.rank} * (std::uint64_t{matrix.input_count} + matrix.output_count);
  }
  memory_.reset(static_cast<std::byte*>(::operator new(bytes_, std::align_val_t{kAlignment})));
  std::memset(memory_.get(), 0, bytes_);
  std::byte* at = memory_.get();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    AdapterMatrix& matrix = matrices_[i];
    place_a(matrix, parts[i], at);
    matrix.a = at;
    at += a_bytes(matrix);
    place_b(matrix, parts[i], at);
    matrix.b = at;
    at += b_bytes(matrix);
  }
}

const AdapterMatrix* Adapter::find(std::uint32_t layer, Projection projection) const {
  const std::size_t at =
      std::size_t{layer} * kProjectionCount + static_cast<std::uint32_t>(projection);
  return at < index_.size() && index_[at] >= 0 ? &matrices_[static_cast<std::size_t>(index_[at])]
                                               : nullptr;
}

}  // namespace quire::inference
