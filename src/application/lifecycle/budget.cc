#include "application/lifecycle/budget.h"

#include <algorithm>

namespace quire::lifecycle {
namespace {

constexpr std::uint64_t kWasmPageBytes = 1u << 16;

// Does not overflow for any 64-bit number.
std::uint64_t share(std::uint64_t of, std::uint32_t percent) {
  return of / 100 * percent + of % 100 * percent / 100;
}

template <typename T>
void take(T& from, T less) {
  from -= std::min(from, less);
}

Error too_little(const char* limit, std::uint64_t maximum, const std::string& what) {
  return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": " + what + " of " +
                                             std::to_string(maximum) +
                                             " are left for another child");
}

}  // namespace

Budget& Budget::operator+=(const Budget& more) {
  memory_bytes += more.memory_bytes;
  cpu_ns += more.cpu_ns;
  token_count += more.token_count;
  page_count += more.page_count;
  child_count += more.child_count;
  http_call_count += more.http_call_count;
  http_exchange_count += more.http_exchange_count;
  held_result_bytes += more.held_result_bytes;
  pending_bytes += more.pending_bytes;
  return *this;
}

Budget& Budget::operator-=(const Budget& less) {
  take(memory_bytes, less.memory_bytes);
  take(cpu_ns, less.cpu_ns);
  take(token_count, less.token_count);
  take(page_count, less.page_count);
  take(child_count, less.child_count);
  take(http_call_count, less.http_call_count);
  take(http_exchange_count, less.http_exchange_count);
  take(held_result_bytes, less.held_result_bytes);
  take(pending_bytes, less.pending_bytes);
  return *this;
}

Budget budget_of(const InstanceLimits& limits) {
  return {.memory_bytes = limits.children_memory_bytes_max,
          .cpu_ns = limits.cpu_ns_max,
          .token_count = limits.control.token_count_max,
          .page_count = limits.control.page_count_max,
          .child_count = limits.child_count_max,
          .http_call_count = limits.guest.http.call_count_max,
          .http_exchange_count = limits.guest.http.exchange_count_max,
          .held_result_bytes = limits.guest.held_result_bytes_max,
          .pending_bytes = limits.guest.pending_bytes_max};
}

Result<ChildBudget> child_budget(const InstanceLimits& parent, const Budget& left,
                                 std::uint32_t percent) {
  if (left.child_count == 0) {
    return too_little("child_count_max", parent.child_count_max, "0");
  }
  ChildBudget out;
  Budget lendable = left;
  lendable -= {.held_result_bytes = parent.guest.held_result_bytes_max / kKeptPart,
               .pending_bytes = parent.guest.pending_bytes_max / kKeptPart};
  const auto share_of = [percent](std::uint32_t count) {
    return static_cast<std::uint32_t>(share(count, percent));
  };
  out.lent = {.memory_bytes = share(left.memory_bytes, percent),
              .cpu_ns = share(left.cpu_ns, percent),
              .token_count = share(left.token_count, percent),
              .page_count = share_of(left.page_count),
              .child_count = 1 + share_of(left.child_count - 1),
              .http_call_count = share_of(left.http_call_count),
              .http_exchange_count = share_of(left.http_exchange_count),
              .held_result_bytes = share(lendable.held_result_bytes, percent),
              .pending_bytes = share(lendable.pending_bytes, percent)};
  if (out.lent.memory_bytes < kWasmPageBytes) {
    return too_little("children_memory_bytes_max", parent.children_memory_bytes_max,
                      std::to_string(left.memory_bytes) + " bytes");
  }
  out.limits = parent;
  out.limits.memory_bytes_max = std::min(parent.memory_bytes_max, out.lent.memory_bytes);
  out.limits.children_memory_bytes_max = out.lent.memory_bytes - out.limits.memory_bytes_max;
  out.limits.child_count_max = out.lent.child_count - 1;
  out.limits.cpu_ns_max = out.lent.cpu_ns;
  out.limits.cpu_ns_between_waits_max = std::min(parent.cpu_ns_between_waits_max, out.lent.cpu_ns);
  out.limits.control.token_count_max = out.lent.token_count;
  out.limits.control.page_count_max = out.lent.page_count;
  out.limits.guest.http.call_count_max = out.lent.http_call_count;
  out.limits.guest.http.exchange_count_max = out.lent.http_exchange_count;
  out.limits.guest.held_result_bytes_max = out.lent.held_result_bytes;
  out.limits.guest.pending_bytes_max = out.lent.pending_bytes;
  return out;
}

}  // namespace quire::lifecycle
