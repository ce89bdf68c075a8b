#include "control/pages/reuse_statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kSlotsOfPool = 8;
constexpr std::uint32_t kSlotLivesMin = 64;  // Limits the cost of a life in a tiny pool.
constexpr double kFade = 0.99;               // Of what was learned, each slot.
constexpr double kAgeGrowth = 1.5;           // From one range of ages to the next.
constexpr double kGuessLives = 4096.0;  // Lives at risk for a slot that weigh as much as the guess.
constexpr double kGuessShare = 0.3;     // Of the mean hazard, at ages never seen.

}  // namespace

ReuseStatistics::ReuseStatistics(const std::vector<double>& guesses, std::uint32_t entry_count)
    : slot_lives_(std::max(kSlotLivesMin, entry_count / kSlotsOfPool)), classes_(guesses.size()) {
  for (std::size_t index = 0; index < guesses.size(); ++index) {
    classes_[index].guess = guesses[index];
  }
  double edge = 1.0;
  std::uint32_t age = 0;
  for (std::uint32_t slots = 0; slots < kSlotCount; ++slots) {
    if (slots >= edge && age + 1 < kAgeCountMax) {
      ++age;
      edge = std::max(edge + 1.0, edge * kAgeGrowth);
    }
    age_of_slots_[slots] = static_cast<std::uint8_t>(age);
    age_width_[age] += 1.0;
  }
  age_count_ = age + 1;
  weigh();
}

ReuseStatistics::Life ReuseStatistics::begin(std::uint32_t reuse_class) {
  if (lives_in_slot_ == slot_lives_) advance_slot();
  ++lives_in_slot_;
  Class& one = classes_[reuse_class];
  one.is_seen = true;
  ++one.open[slot_ % kSlotCount];
  return {.reuse_class = static_cast<std::uint16_t>(reuse_class), .start_slot = slot_};
}

void ReuseStatistics::end(const Life& life, bool in_use) {
  const std::uint32_t age = age_slots(life);
  if (age >= kSlotCount) return;  // No longer followed.
  Class& one = classes_[life.reuse_class];
  std::uint32_t& open = one.open[life.start_slot % kSlotCount];
  QUIRE_CHECK(open > 0, "a life ended twice");
  --open;
  if (in_use) one.used[age_of_slots_[age]] += 1.0;
}

double ReuseStatistics::worth(const Life& life) const {
  const std::uint32_t age = std::min(age_slots(life), kSlotCount - 1);
  return classes_[life.reuse_class].worth[age_of_slots_[age]];
}

void ReuseStatistics::advance_slot() {
  ++slot_;
  lives_in_slot_ = 0;
  for (Class& one : classes_) {
    if (!one.is_seen) continue;
    for (double& used : one.used) used *= kFade;
    for (double& at_risk : one.at_risk) at_risk *= kFade;
    for (std::uint32_t age = 1; age < kSlotCount && age <= slot_; ++age) {
      one.at_risk[age_of_slots_[age - 1]] += one.open[(slot_ - age) % kSlotCount];
    }
    one.open[slot_ % kSlotCount] = 0;
    step_count_ += kSlotCount;
  }
  weigh();
}

void ReuseStatistics::weigh() {
  ByAge used{};
  ByAge at_risk{};
  double used_sum = 0.0;
  double at_risk_sum = 0.0;
  for (const Class& one : classes_) {
    for (std::uint32_t age = 0; age < age_count_; ++age) {
      used[age] += one.used[age];
      at_risk[age] += one.at_risk[age];
      used_sum += one.used[age];
      at_risk_sum += one.at_risk[age];
    }
  }
  const double use_rate = (used_sum + 1.0) / (at_risk_sum + kSlotsOfPool);
  ByAge hazard{};
  for (std::uint32_t age = 0; age < age_count_; ++age) {
    hazard[age] = (used[age] + kGuessLives * kGuessShare * use_rate) / (at_risk[age] + kGuessLives);
  }
  for (Class& one : classes_) weigh(one, hazard, use_rate);
}

void ReuseStatistics::weigh(Class& one, const ByAge& hazard_of_all, double use_rate) {
  double used = 0.0;
  double at_risk = 0.0;
  for (std::uint32_t age = 0; age < age_count_; ++age) {
    used += one.used[age];
    at_risk += one.at_risk[age];
  }
  const double scale =
      (used + kGuessLives * one.guess * use_rate) / (at_risk + kGuessLives) / use_rate;
  // Uses and page-time of one life from age 0 up to the beginning of each range of ages.
  std::array<double, kAgeCountMax + 1> uses{};
  std::array<double, kAgeCountMax + 1> time{};
  double left = 1.0;
  for (std::uint32_t age = 0; age < age_count_; ++age) {
    const double guess = hazard_of_all[age] * scale;
    const double hazard = (one.used[age] + kGuessLives * guess) / (one.at_risk[age] + kGuessLives);
    const double chance = 1.0 - std::exp(-hazard * age_width_[age]);
    uses[age + 1] = uses[age] + left * chance;
    time[age + 1] = time[age] + left * age_width_[age] * (1.0 - chance / 2.0);
    left *= 1.0 - chance;
  }
  for (std::uint32_t age = 0; age < age_count_; ++age) {
    one.worth[age] = 0.0;
    for (std::uint32_t horizon = age + 1; horizon <= age_count_; ++horizon) {
      one.worth[age] =
          std::max(one.worth[age], (uses[horizon] - uses[age]) / (time[horizon] - time[age]));
    }
  }
}

void ReuseStatistics::verify() const {
  for (const Class& one : classes_) {
    for (std::uint32_t age = 0; age < age_count_; ++age) {
      QUIRE_CHECK(one.used[age] >= 0.0, "counts are counts");
      QUIRE_CHECK(one.at_risk[age] >= 0.0, "counts are counts");
      QUIRE_CHECK(one.worth[age] >= 0.0, "worth is a rate");
    }
  }
}

}  // namespace quire::control
