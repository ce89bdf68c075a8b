#include "inference/models/feed_forward/expert_scratch.h"

namespace quire::inference {

Result<std::unique_ptr<ExpertScratch>> ExpertScratch::create(const ExpertSizes& sizes) {
  std::unique_ptr<ExpertScratch> scratch(new ExpertScratch(sizes));
  const std::size_t places = std::size_t{sizes.row_count_max} * sizes.choice_count_max;
  RowBuffer* const buffers[] = {&scratch->logits, &scratch->gate, &scratch->up, &scratch->outputs};
  const std::size_t counts[] = {sizes.row_count_max, places, places, places};
  const std::size_t widths[] = {sizes.router_width, sizes.expert_width, sizes.expert_width,
                                sizes.embedding_width};
  std::size_t ends[5] = {};
  for (std::size_t i = 0; i < 4; ++i) {
    buffers[i]->stride = aligned_floats(widths[i]);
    ends[i + 1] = ends[i] + aligned_bytes(counts[i] * buffers[i]->stride * sizeof(float)) + 64;
  }
  scratch->own_row_at_ = aligned_bytes(ExpertRows::kBlockRowsMax * sizes.operand_bytes);
  scratch->own_stride_ =
      scratch->own_row_at_ + aligned_floats(sizes.embedding_width) * sizeof(float) + 64;
  scratch->memory_ = TRY(MappedMemory::create(ends[4] + sizes.worker_count * scratch->own_stride_));
  std::byte* base = scratch->memory_.data();
  for (std::size_t i = 0; i < 4; ++i) buffers[i]->at = reinterpret_cast<float*>(base + ends[i]);
  scratch->own_ = base + ends[4];
  return scratch;
}

}  // namespace quire::inference
