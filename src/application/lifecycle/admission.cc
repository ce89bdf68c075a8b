#include "application/lifecycle/admission.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::lifecycle {
namespace {

constexpr std::size_t kLeftCountMax = 32;
constexpr std::uint64_t kRetryMsMin = 10;
constexpr std::uint64_t kRetryMsMax = 5'000;
constexpr std::uint64_t kRetryMsUnknown = 1'000;

std::string used(std::uint64_t count, std::uint64_t limit) {
  return std::to_string(count) + " of " + std::to_string(limit);
}

}  // namespace

Result<void> Admission::admit(Wait wait, std::uint64_t now_ns) {
  const std::uint64_t count = instance_count_ + waiting_count_;
  const bool may_wait = wait == Wait::May && limits_.waiting_launch_count_max > 0;
  if (count < (may_wait ? limits_.total() : limits_.instance_count_max)) {
    ++waiting_count_;
    return {};
  }
  std::string text = may_wait ? "waiting_launch_count_max: " : "instance_count_max: ";
  text += used(instance_count_, limits_.instance_count_max) + " instances are there, " +
          used(waiting_count_, limits_.waiting_launch_count_max) + " launches wait for one to go";
  if (wait == Wait::MustNot) text += ", and a child does not wait";
  return Error(ErrorCode::Unavailable,
               text + "; try again in " + std::to_string(retry_after_ms(now_ns)) + " ms");
}

void Admission::begin() {
  QUIRE_CHECK(waiting_count_ > 0, "nobody waits");
  --waiting_count_;
  ++instance_count_;
}

void Admission::leave(std::uint64_t now_ns) {
  if (is_planted(Fault::AdmissionForgets)) return;
  QUIRE_CHECK(instance_count_ > 0, "nobody is there");
  --instance_count_;
  left_ns_.push_back(now_ns);
  if (left_ns_.size() > kLeftCountMax) left_ns_.pop_front();
}

// The mean time between two that left, the one that is still to come included: if nobody has left
// for a while, it takes a while.
std::uint64_t Admission::retry_after_ms(std::uint64_t now_ns) const {
  if (left_ns_.size() < 2) return kRetryMsUnknown;
  const std::uint64_t mean_ns = (now_ns - left_ns_.front()) / left_ns_.size();
  return std::clamp(mean_ns / 1'000'000, kRetryMsMin, kRetryMsMax);
}

void Admission::verify() const {
  QUIRE_CHECK(instance_count_ + waiting_count_ <= limits_.total(), "A1");
}

}  // namespace quire::lifecycle
