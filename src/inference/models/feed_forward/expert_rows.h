#pragma once
// ExpertRows: the experts that each row of a pass goes through, and the rows of each expert.
//
// Each choice of a row has a place: a row of buffers in which the rows of one expert follow one
// another. Places are given in blocks of at most kBlockRowsMax rows of one expert, which is what a
// product reads at once.
//
// Owns     lists for row_count_max rows.
// Thread   choose() by any worker, a row by one; begin() and group() while no other is in it.
#include <cstdint>
#include <span>
#include <vector>

namespace quire::inference {

struct ExpertChoice {
  std::uint32_t expert = 0;
  float weight = 0.0f;
  std::uint32_t place = 0;  // After group().
};

// Places [place_first, place_first + count) of an expert.
struct ExpertBlock {
  std::uint32_t expert = 0;
  std::uint32_t place_first = 0;
  std::uint32_t count = 0;
};

class ExpertRows {
 public:
  static constexpr std::uint32_t kBlockRowsMax = 128;

  ExpertRows(std::uint32_t row_count_max, std::uint32_t choice_count_max);

  void begin(std::uint32_t row_count, std::uint32_t choice_count);
  // The choices of a row, in the order in which their outputs are added.
  std::span<ExpertChoice> choices(std::uint32_t row) {
    return std::span(choices_).subspan(std::size_t{row} * choice_count_, choice_count_);
  }
  std::span<const ExpertChoice> choices(std::uint32_t row) const {
    return std::span(choices_).subspan(std::size_t{row} * choice_count_, choice_count_);
  }
  // Gives all choices their places. Experts below `expert_count`.
  void group(std::uint32_t expert_count);

  std::span<const ExpertBlock> blocks() const { return blocks_; }
  std::uint32_t row_at(std::uint32_t place) const { return rows_[place]; }

 private:
  std::uint32_t row_count_ = 0;
  std::uint32_t choice_count_ = 0;
  std::vector<ExpertChoice> choices_;  // [row_count][choice_count]
  std::vector<std::uint32_t> rows_;    // By place.
  std::vector<std::uint32_t> next_;    // By expert: the next place.
  std::vector<ExpertBlock> blocks_;    // By expert.
};

// Chooses the experts with the largest numerators, largest first; of equal ones the first. Their
// weights are numerator / sum, or of the chosen ones alone, times scale. If the sum is not a
// number, the weights are not either. `numerators` is written to.
void choose_experts(std::span<float> numerators, float sum, bool is_renormalised, float scale,
                    std::span<ExpertChoice> chosen);

}  // namespace quire::inference
