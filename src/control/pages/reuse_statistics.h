#pragma once
// ReuseStatistics learns how likely pages of a class are used again, by their age. From that it
// gives the worth of a page of a class and an age.
//
// Time is counted in lives begun (a page turning cold begins one), in slots of an eighth of the
// pool. A life ends when its page is used again, or is lost from sight; it is followed for
// kSlotCount slots. For each class and range of ages it keeps how many lives ended in use, and how
// many were at risk. Both fade by 1 % a slot; their quotient is the hazard. If there are few lives,
// the hazard leans on that of all classes at that age, scaled to the class.
//
// The worth of a life at age a is its Gittins index. That is the most, over all horizons, of
// (uses expected until the horizon) / (page-time spent until use or horizon). LHD (Beckmann et al.,
// NSDI 2018) ranks by the same quotient over the whole rest of a life.
//
// Cost     O(1) amortised: a table of class x slot is walked once a slot.
// Thread   engine thread only.
#include <array>
#include <cstdint>
#include <vector>

namespace quire::control {

class ReuseStatistics {
 public:
  struct Life {
    std::uint16_t reuse_class = 0;
    std::uint32_t start_slot = 0;
  };

  // One guess for each class: how much likelier its pages are used again than those of a class of
  // guess 1. It holds as long as little was seen of the class.
  ReuseStatistics(const std::vector<double>& guesses, std::uint32_t entry_count);

  Life begin(std::uint32_t reuse_class);
  void end(const Life& life, bool in_use);
  double worth(const Life& life) const;

  std::uint64_t step_count() const { return step_count_; }
  void verify() const;

 private:
  static constexpr std::uint32_t kSlotCount = 256;
  static constexpr std::uint32_t kAgeCountMax = 16;
  using ByAge = std::array<double, kAgeCountMax>;
  struct Class {
    std::array<std::uint32_t, kSlotCount> open{};  // Lives still followed, by start_slot % count.
    ByAge used{};
    ByAge at_risk{};
    ByAge worth{};
    double guess = 1.0;
    bool is_seen = false;
  };

  void advance_slot();
  void weigh();
  void weigh(Class& one, const ByAge& hazard_of_all, double use_rate);
  std::uint32_t age_slots(const Life& life) const { return slot_ - life.start_slot; }

  const std::uint32_t slot_lives_;  // Lives begun in a slot.
  std::uint32_t age_count_ = 0;
  std::array<std::uint8_t, kSlotCount> age_of_slots_{};
  std::array<double, kAgeCountMax> age_width_{};  // In slots.
  std::vector<Class> classes_;
  std::uint32_t slot_ = 0;
  std::uint32_t lives_in_slot_ = 0;
  std::uint64_t step_count_ = 0;
};

}  // namespace quire::control
