#pragma once
// WeightSource: the tensors of a model under canonical roles, read row by row from its files, so
// that a loader repacks tensor by tensor and never holds a file in memory.
//
// Owns     shared, immutable byte sources (open files).
// Thread   any; read() may run on several threads at once.
// Errors   Io and Corrupted, when a file shrank or failed since it was opened.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/api/number_format.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/tensor_roles.h"

namespace quire::inference {

// A file may store other numbers than the model uses. The device transforms them after it decoded
// them.
enum class ValueTransform : std::uint8_t { None, PlusOne, NegatedExponential };

// A matrix [row_count][column_count] (rows are outputs), or a vector: one row.
struct TensorInfo {
  TensorRole role{};
  std::uint32_t layer = 0;   // 0 for the three that belong to no layer.
  std::uint32_t expert = 0;  // 0 for those that belong to none.
  NumberFormat format{};     // Vectors: F32, F16 or BF16.
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;  // Whole blocks of `format`.
  // Not 0: the file stores the rows of heads for interleaved RoPE (GGUF's llama).
  // WeightSource::read() gives them in half-split order.
  std::uint32_t interleaved_head_dim = 0;
  ValueTransform transform{};  // Of vectors and tables.
  std::string name;            // In the file, for messages.

  // Rows that are best read at once.
  std::uint32_t rows_together() const { return std::max(interleaved_head_dim, 1u); }

  std::uint64_t row_bytes() const {
    const FormatShape shape = format_shape(format);
    return std::uint64_t{column_count} / shape.block_values * shape.block_bytes;
  }
  std::uint64_t bytes() const { return row_bytes() * row_count; }
};

// Called between reads, from the thread that loads: bytes of the files that were read, of all that
// will be.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

class WeightSource final {
 public:
  // The place of a tensor.
  struct Entry {
    TensorInfo info;
    std::shared_ptr<const ByteSource> source;
    std::uint64_t offset = 0;
  };
  // Tensors of the files that the model does not need, because they belong to a part of it that is
  // not served.
  struct LeftOut {
    std::string part;  // "vision tower"
    std::uint32_t tensor_count = 0;
    std::uint64_t bytes = 0;
  };
  explicit WeightSource(std::vector<Entry> entries, std::vector<LeftOut> left_out = {});

  std::size_t tensor_count() const { return entries_.size(); }
  const TensorInfo& tensor(std::size_t index) const { return entries_[index].info; }
  // Null when the model has no such tensor.
  const TensorInfo* find(TensorRole role, std::uint32_t layer = 0, std::uint32_t expert = 0) const;

  // Rows [row_first, row_first + row_count) of tensor(index) in the file's block layout. `into` has
  // exactly row_count * row_bytes() bytes. Best in whole multiples of rows_together().
  Result<void> read(std::size_t index, std::uint32_t row_first, std::uint32_t row_count,
                    std::span<std::byte> into) const;

  std::uint64_t bytes() const;  // Of all tensors, as stored.
  const std::vector<LeftOut>& left_out() const { return left_out_; }

  struct FormatShare {
    NumberFormat format{};
    std::uint32_t tensor_count = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<FormatShare> format_shares() const;  // Most bytes first; only formats present.

 private:
  Result<void> read_interleaved(const Entry& entry, std::uint32_t row_first,
                                std::uint32_t row_count, std::span<std::byte> into) const;
  std::vector<Entry> entries_;  // By (layer, role, expert); those of no layer have layer 0.
  std::vector<LeftOut> left_out_;
};

}  // namespace quire::inference
