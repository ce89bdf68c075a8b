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

std::uint64_t Admission::share_of(control::TenantId tenant) const {
  return std::max<std::uint64_t>(waiting_.share_of(tenant, instance_count_), 1);
}

std::optional<std::string> Admission::refusal(const Launch& launch) const {
  const std::uint64_t count = instance_count_ + waiting_count();
  if (count < limits_.instance_count_max) return std::nullopt;  // There will be a place for all.
  const bool may_wait = launch.wait == Wait::May && limits_.waiting_launch_count_max > 0;
  if (may_wait && count < limits_.total()) {
    const std::uint64_t own = waiting_count(launch.tenant);
    if (launch.is_only_tenant || own < share_of(launch.tenant)) return std::nullopt;
    return "tenant " + std::to_string(static_cast<std::uint32_t>(launch.tenant)) +
           ": waiting_launch_count_max: its share is full: " + std::to_string(own) +
           " of its launches wait for an instance to go, " +
           used(share_of(launch.tenant), limits_.waiting_launch_count_max) +
           " are what it may have beside other tenants";
  }
  std::string text = may_wait ? "waiting_launch_count_max: " : "instance_count_max: ";
  if (launch.is_only_tenant) {
    text += used(instance_count_, limits_.instance_count_max) + " instances are there, " +
            used(waiting_count(), limits_.waiting_launch_count_max) +
            " launches wait for one to go";
  } else {
    // What others have is not this tenant's to know.
    text += "the server is full (" + std::to_string(limits_.instance_count_max) +
            " instances, and " + std::to_string(limits_.waiting_launch_count_max) +
            " launches that wait for one to go); of this tenant " +
            std::to_string(waiting_count(launch.tenant)) + " launches wait";
  }
  if (launch.wait == Wait::MustNot) text += ", and a child does not wait";
  return text;
}

Result<void> Admission::admit(const Launch& launch, std::uint64_t now_ns) {
  if (const std::optional<std::string> why = refusal(launch)) {
    return Error(ErrorCode::Unavailable,
                 *why + "; try again in " + std::to_string(retry_after_ms(now_ns)) + " ms");
  }
  waiting_.take(launch.tenant, 1);
  return {};
}

void Admission::begin(control::TenantId tenant) {
  waiting_.give(tenant, 1);
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
  QUIRE_CHECK(instance_count_ + waiting_count() <= limits_.total(), "A1");
}

}  // namespace quire::lifecycle
