#include "inference/adapters/stored_pair.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "inference/architectures/architecture.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/weights/adapter_base.h"
#include "inference/weights/half_split.h"

namespace quire::inference {
namespace {

struct ModuleName {
  const char* hugging_face;
  const char* gguf;
  std::vector<Projection> projections;
};

const std::vector<ModuleName>& module_names() {
  using enum Projection;
  static const std::vector<ModuleName> kNames = {
      {"self_attn.q_proj", "attn_q", {Query}},
      {"self_attn.k_proj", "attn_k", {Key}},
      {"self_attn.v_proj", "attn_v", {Value}},
      {"self_attn.o_proj", "attn_output", {AttentionOutput}},
      {"mlp.gate_proj", "ffn_gate", {Gate}},
      {"mlp.up_proj", "ffn_up", {Up}},
      {"mlp.down_proj", "ffn_down", {Down}},
      {"self_attn.qkv_proj", "attn_qkv", {Query, Key, Value}},
      {"mlp.gate_up_proj", "ffn_gate_up", {Gate, Up}},
  };
  return kNames;
}

std::string tensor_text(const StoredTensor& tensor) {
  return tensor.source->name() + ": tensor " + in_quotes(tensor.name);
}

std::string shape_text(const StoredTensor& tensor) {
  return std::to_string(tensor.row_count) + " x " + std::to_string(tensor.column_count);
}

std::uint64_t output_count(const AdapterBase& base, const LinearModule& module) {
  std::uint64_t count = 0;
  for (const Projection projection : module.projections) {
    count += base.output_count(module.layer, projection);
  }
  return count;
}

bool is_embedding(const StoredPair& pair) {
  return pair.module.projections.front() == Projection::Embedding;
}

std::uint64_t rank_of(const StoredPair& pair) {
  return pair.is_by_input ? pair.a.column_count : pair.a.row_count;
}

Result<void> check_pair(const AdapterBase& base, const StoredPair& pair,
                        const AdapterLimits& limits) {
  const std::uint64_t rank = rank_of(pair);
  if (rank == 0) return Error(ErrorCode::Corrupted, tensor_text(pair.a) + " has rank 0");
  const std::uint64_t rank_max = std::min(limits.rank_max, kAdapterRankMax);
  if (rank > rank_max) {
    return Error(ErrorCode::TooLarge, tensor_text(pair.a) + " has rank " + std::to_string(rank) +
                                          "; at most " + std::to_string(rank_max) + " is allowed");
  }
  for (const Projection projection : pair.module.projections) {
    if (base.has(pair.module.layer, projection)) continue;
    if (base.layers[pair.module.layer].is_recurrent) {
      return Error(ErrorCode::NotSupported, tensor_text(pair.a) + ": layer " +
                                                std::to_string(pair.module.layer) +
                                                " is recurrent, and " + kNoRecurrentAdapters);
    }
    return Error(ErrorCode::NotSupported,
                 tensor_text(pair.a) + ": layer " + std::to_string(pair.module.layer) +
                     " of the model has no " + projection_name(projection));
  }
  const std::uint64_t input = base.input_count(pair.module.layer, pair.module.projections.front());
  if ((pair.is_by_input ? pair.a.row_count : pair.a.column_count) != input) {
    return Error(ErrorCode::Corrupted, tensor_text(pair.a) + " is " + shape_text(pair.a) +
                                           "; the model's shape wants " + std::to_string(input) +
                                           (pair.is_by_input ? " rows" : " columns") +
                                           ": it is an adapter of another model");
  }
  const std::uint64_t output = output_count(base, pair.module);
  if (pair.b.row_count != output || pair.b.column_count != rank) {
    return Error(ErrorCode::Corrupted,
                 tensor_text(pair.b) + " is " + shape_text(pair.b) + "; the model's shape and " +
                     in_quotes(pair.a.name) + " want " + std::to_string(output) + " x " +
                     std::to_string(rank) +
                     (pair.b.row_count != output ? ": it is an adapter of another model" : ""));
  }
  for (const StoredTensor* half : {&pair.a, &pair.b}) {
    const FormatShape format = format_shape(half->format);
    if (half->column_count % format.block_values == 0) continue;
    return Error(ErrorCode::Corrupted,
                 tensor_text(*half) + " has rows of " + std::to_string(half->column_count) +
                     " numbers, which do not divide into blocks of " + format.name);
  }
  return {};
}

// In memory, where quantised numbers are F32.
std::uint64_t bytes_of(const StoredTensor& tensor) {
  const std::uint64_t number =
      is_quantised(tensor.format) ? sizeof(float) : format_shape(tensor.format).block_bytes;
  return tensor.row_count * tensor.column_count * number;
}

struct Numbers {
  NumberFormat format{};
  std::vector<std::byte> bytes;  // Row by row.
};

Result<Numbers> read_numbers(const StoredTensor& tensor) {
  const FormatShape shape = format_shape(tensor.format);
  const std::uint64_t count = tensor.row_count * tensor.column_count;
  Numbers numbers{tensor.format,
                  std::vector<std::byte>(count / shape.block_values * shape.block_bytes)};
  TRY(tensor.source->read(tensor.offset, numbers.bytes));
  if (!is_quantised(tensor.format)) return numbers;
  std::vector<float> decoded(count);
  decode_row(tensor.format, numbers.bytes.data(), count, decoded.data());
  const auto bytes = std::as_bytes(std::span(decoded));
  return Numbers{NumberFormat::F32, {bytes.begin(), bytes.end()}};
}

std::vector<std::byte> half_split(const std::vector<std::byte>& rows, std::size_t row_bytes,
                                  std::uint32_t head_dim) {
  std::vector<std::byte> turned(rows.size());
  for (std::size_t row = 0; row * row_bytes < rows.size(); ++row) {
    const auto in_head = static_cast<std::uint32_t>(row % head_dim);
    const std::size_t stored = row - in_head + interleaved_row(in_head, head_dim);
    std::memcpy(turned.data() + row * row_bytes, rows.data() + stored * row_bytes, row_bytes);
  }
  return turned;
}

// [row_count][column_count] to [column_count][row_count].
std::vector<std::byte> transposed(const Numbers& of, std::size_t row_count,
                                  std::size_t column_count) {
  const std::size_t step = format_shape(of.format).block_bytes;
  std::vector<std::byte> turned(of.bytes.size());
  for (std::size_t row = 0; row < row_count; ++row) {
    for (std::size_t column = 0; column < column_count; ++column) {
      std::memcpy(turned.data() + (column * row_count + row) * step,
                  of.bytes.data() + (row * column_count + column) * step, step);
    }
  }
  return turned;
}

Result<void> add_parts(const PairShape& shape, const StoredPair& pair,
                       std::vector<AdapterPart>& parts) {
  Numbers a = TRY(read_numbers(pair.a));
  if (is_embedding(pair) != pair.is_by_input) {
    a.bytes = transposed(a, pair.a.row_count, pair.a.column_count);
  }
  const Numbers b = TRY(read_numbers(pair.b));
  const std::size_t row_bytes = pair.b.column_count * format_shape(b.format).block_bytes;
  auto first = b.bytes.begin();
  for (const Projection projection : pair.module.projections) {
    const auto end =
        first + static_cast<std::ptrdiff_t>(shape.base.output_count(pair.module.layer, projection) *
                                            row_bytes);
    AdapterPart part{.layer = pair.module.layer,
                     .projection = projection,
                     .rank = static_cast<std::uint32_t>(rank_of(pair)),
                     .scale = static_cast<float>(pair.scale),
                     .a_format = a.format,
                     .b_format = b.format,
                     .a = a.bytes,
                     .b = {first, end}};
    const bool is_turned = projection == Projection::Query || projection == Projection::Key;
    if (pair.is_interleaved && is_turned) {
      part.b = half_split(part.b, row_bytes, shape.head_dims[pair.module.layer]);
    }
    parts.push_back(std::move(part));
    first = end;
  }
  return {};
}

}  // namespace

PairShape::PairShape(const ModelSpec& spec) : base(adapter_base(spec)) {
  const Architecture* architecture = find_architecture(spec.architecture);
  gguf_rows_are_interleaved = architecture != nullptr && architecture->has_interleaved_rows;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec* attention = layer.attention();
    head_dims.push_back(attention == nullptr ? 0 : attention->head_dim);
  }
}

LinearModules linear_modules(const AdapterBase& base, TensorNaming naming,
                             const std::string& before_layer, const std::string& embeddings) {
  LinearModules modules;
  modules.emplace(embeddings, LinearModule{0, {Projection::Embedding}});
  for (std::uint32_t layer = 0; layer < base.layer_count(); ++layer) {
    const std::string stem = before_layer + std::to_string(layer) + ".";
    for (const ModuleName& each : module_names()) {
      const char* name = naming == TensorNaming::Gguf ? each.gguf : each.hugging_face;
      modules.emplace(stem + name, LinearModule{layer, each.projections});
    }
  }
  return modules;
}

Result<void> PairCollector::add(const std::string& module, Half half, StoredTensor tensor) {
  Halves& halves = halves_[module];
  std::unique_ptr<StoredTensor>& place = half == Half::A ? halves.a : halves.b;
  if (place != nullptr) {
    return Error(ErrorCode::Corrupted,
                 tensor_text(tensor) + ": " + in_quotes(place->name) + " is the same matrix");
  }
  place = std::make_unique<StoredTensor>(std::move(tensor));
  return {};
}

Result<std::vector<PairCollector::Pair>> PairCollector::finish() && {
  std::vector<Pair> pairs;
  for (auto& [module, halves] : halves_) {
    if (halves.a == nullptr || halves.b == nullptr) {
      const StoredTensor& there = halves.a != nullptr ? *halves.a : *halves.b;
      return Error(ErrorCode::Corrupted, tensor_text(there) + " has no matrix " +
                                             (halves.a == nullptr ? "A" : "B") + " to go with it");
    }
    pairs.push_back({module, std::move(*halves.a), std::move(*halves.b)});
  }
  std::ranges::sort(pairs, {}, &Pair::module);
  return pairs;
}

Result<std::shared_ptr<const Adapter>> assemble(const PairShape& shape,
                                                const std::vector<StoredPair>& pairs,
                                                const AdapterLimits& limits) {
  std::uint64_t bytes = 0;
  for (const StoredPair& pair : pairs) {
    TRY(check_pair(shape.base, pair, limits));
    if (!std::isfinite(static_cast<float>(pair.scale))) {
      return Error(ErrorCode::Corrupted,
                   tensor_text(pair.a) + " has the scale " + std::to_string(pair.scale));
    }
    bytes += bytes_of(pair.a) * pair.module.projections.size() + bytes_of(pair.b);
    if (bytes > limits.bytes_max) {
      return Error(ErrorCode::TooLarge,
                   pair.a.source->name() + ": the matrices take more than the " +
                       std::to_string(limits.bytes_max) + " bytes that are allowed");
    }
  }
  std::vector<AdapterPart> parts;
  for (const StoredPair& pair : pairs) TRY(add_parts(shape, pair, parts));
  Result<std::shared_ptr<const Adapter>> made = Adapter::create(shape.base, std::move(parts));
  if (made.ok() || pairs.empty()) return made;
  return std::move(made).take_error().while_(pairs.front().a.source->name());
}

}  // namespace quire::inference
