#pragma once
// ExpertScratch: the memory that the experts of one layer at a time work in.
//
// Owns     one mapping, and the rows of the experts.
// Thread   any; who writes what is up to the phases (experts.cc).
// Errors   Unavailable when memory cannot be reserved.
#include <memory>

#include "inference/models/feed_forward/expert_rows.h"
#include "inference/models/forward_scratch.h"

namespace quire::inference {

// The largest of all layers; 0 choices: no layer has experts. Widths in floats.
struct ExpertSizes {
  std::uint32_t row_count_max = 0;
  std::uint32_t worker_count = 1;
  std::uint32_t choice_count_max = 0;  // Of a row, the shared expert among them.
  std::size_t router_width = 0;        // Logits of a row.
  std::size_t expert_width = 0;
  std::size_t embedding_width = 0;
  std::size_t operand_bytes = 0;  // Of a row that an expert reads.
};

class ExpertScratch {
 public:
  static Result<std::unique_ptr<ExpertScratch>> create(const ExpertSizes& sizes);

  ExpertRows rows;
  RowBuffer logits;    // [row_count_max][router_width]
  RowBuffer gate, up;  // [place][expert_width]
  RowBuffer outputs;   // [place][embedding_width]

  // A worker's operands of a block, and its output row of embedding_width floats.
  std::byte* own_operands(std::uint32_t worker) const { return own_ + worker * own_stride_; }
  float* own_row(std::uint32_t worker) const {
    return reinterpret_cast<float*>(own_operands(worker) + own_row_at_);
  }

 private:
  explicit ExpertScratch(const ExpertSizes& sizes)
      : rows(sizes.row_count_max, sizes.choice_count_max) {}

  MappedMemory memory_;
  std::byte* own_ = nullptr;
  std::size_t own_stride_ = 0;
  std::size_t own_row_at_ = 0;
};

}  // namespace quire::inference
