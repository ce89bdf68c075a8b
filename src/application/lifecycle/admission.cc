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

void Admission::set_several(bool are_several) {
  are_several_ = are_several;
  waiting_.set_several(are_several);
  there_.set_several(are_several);
}

void Admission::set_share(control::TenantId tenant, std::uint64_t instance_count) {
  there_.set_share(tenant, instance_count);
}

std::uint64_t Admission::waiting_share_of(control::TenantId tenant) const {
  return std::max<std::uint64_t>(waiting_.share_of(tenant, instance_count()), 1);
}

std::uint64_t Admission::place_share_of(control::TenantId tenant) const {
  return std::max<std::uint64_t>(there_.share_of(tenant, limits_.waiting_launch_count_max), 1);
}

// Waiting launches take places up to their tenants' shares.
bool Admission::will_have_place(control::TenantId tenant) const {
  if (instance_count(tenant) + waiting_count(tenant) >= place_share_of(tenant)) return false;
  std::uint64_t taken = instance_count();
  for (const auto& [each, count] : waiting_.counts()) {
    const std::uint64_t share = place_share_of(each);
    taken += std::min(count, share - std::min(share, instance_count(each)));
  }
  return taken < limits_.instance_count_max;
}

std::optional<std::string> Admission::refusal(const Launch& launch) const {
  const std::uint64_t count = instance_count() + waiting_count();
  const std::uint64_t own_waiting = waiting_count(launch.tenant);
  const bool has_memory = launch.why_no_memory.empty();
  if (has_memory && count < limits_.total() && will_have_place(launch.tenant)) return std::nullopt;
  const bool may_wait = launch.wait == Wait::May && limits_.waiting_launch_count_max > 0;
  const bool is_full =
      may_wait ? count >= limits_.total() : instance_count() >= limits_.instance_count_max;
  if (may_wait && !is_full && own_waiting < waiting_share_of(launch.tenant)) return std::nullopt;
  const char* limit = may_wait ? "waiting_launch_count_max: " : "instance_count_max: ";
  std::string text;
  if (!has_memory) {
    text = launch.why_no_memory + "; " + std::to_string(own_waiting) +
           " launches of its tenant wait for one to end";
  } else if (are_several_) {
    text = "tenant " + std::to_string(static_cast<std::uint32_t>(launch.tenant)) + ": " + limit +
           (is_full ? "the server is full: " : "its share is full: ") +
           std::to_string(instance_count(launch.tenant)) + " of its instances are there, " +
           std::to_string(own_waiting) + " of its launches wait for one to go";
  } else {
    text = limit + used(instance_count(), limits_.instance_count_max) + " instances are there, " +
           used(waiting_count(), limits_.waiting_launch_count_max) + " launches wait for one to go";
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
  there_.take(tenant, 1);
}

void Admission::leave(control::TenantId tenant, std::uint64_t now_ns) {
  if (is_planted(Fault::AdmissionForgets)) return;
  QUIRE_CHECK(instance_count(tenant) > 0, "no instance is there");
  there_.give(tenant, 1);
  left_ns_.push_back(now_ns);
  if (left_ns_.size() > kLeftCountMax) left_ns_.pop_front();
}

// The mean time between two departures, the coming one included. If no launch has left for a while,
// the next takes a while.
std::uint64_t Admission::retry_after_ms(std::uint64_t now_ns) const {
  if (left_ns_.size() < 2) return kRetryMsUnknown;
  const std::uint64_t mean_ns = (now_ns - left_ns_.front()) / left_ns_.size();
  return std::clamp(mean_ns / 1'000'000, kRetryMsMin, kRetryMsMax);
}

void Admission::verify() const {
  QUIRE_CHECK(instance_count() + waiting_count() <= limits_.total(), "AD1");
}

}  // namespace quire::lifecycle
