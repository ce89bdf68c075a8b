#include "application/lifecycle/budget.h"

#include <algorithm>

namespace quire::lifecycle {
namespace {

constexpr std::uint64_t kWasmPageBytes = 1u << 16;

// Does not overflow for any 64-bit number.
std::uint64_t share(std::uint64_t of, std::uint32_t percent) {
  return of / 100 * percent + of % 100 * percent / 100;
}

// The parent of this whole budget does not lend this part.
Budget kept_part(const Budget& all) {
  return {.held_result_bytes = all.held_result_bytes / kKeptPart,
          .pending_bytes = all.pending_bytes / kKeptPart};
}

template <typename T>
void take(T& from, T less) {
  from -= std::min(from, less);
}

// The bytes of `--limit`, in whole MiB.
std::string mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = 1u << 20;
  return std::to_string(bytes / kMebibyte + (bytes % kMebibyte > 0 ? 1 : 0)) + "MiB";
}

Error no_place(std::uint32_t maximum) {
  return Error(ErrorCode::QuotaExceeded,
               "child_count_max: 0 of " + std::to_string(maximum) +
                   " are left for another child; wait until one ends, or raise the limit with "
                   "--limit child_count_max=" +
                   std::to_string(2 * std::max<std::uint64_t>(maximum, 1)));
}

// `has` is what the child would have.
Error no_memory(const InstanceLimits& parent, const Budget& left, const ChildWish& wish,
                std::uint64_t has) {
  const std::uint64_t maximum = parent.children_memory_bytes_max;
  const std::uint64_t needed = std::max(wish.first_memory_bytes, kWasmPageBytes);
  std::string message = "children_memory_bytes_max: the child's module begins with " +
                        std::to_string(needed) + " bytes; ";
  if (wish.share_percent == 0) {
    message +=
        std::to_string(has) + " of " + std::to_string(maximum) + " are left for another child; " +
        (has < maximum ? "wait until one ends, or " : "") +
        "raise the limit with --limit children_memory_bytes_max=" + mebibytes(2 * maximum + needed);
  } else {
    const std::uint64_t taken = maximum - std::min(maximum, left.memory_bytes);
    message += "its share, " + std::to_string(wish.share_percent) + " percent of the " +
               std::to_string(left.memory_bytes) + " bytes that are left of " +
               std::to_string(maximum) + ", is " + std::to_string(has) +
               "; give it a larger share or none, or raise the limit with "
               "--limit children_memory_bytes_max=" +
               mebibytes(taken + needed / wish.share_percent * 100 + 100);
  }
  return Error(ErrorCode::QuotaExceeded, std::move(message));
}

// A child that has a share is lent so much.
Budget lent_share(const InstanceLimits& parent, const Budget& left, std::uint32_t percent) {
  Budget lendable = left;
  lendable -= kept_part(budget_of(parent));
  const auto share_of = [percent](std::uint32_t count) {
    return static_cast<std::uint32_t>(share(count, percent));
  };
  return {.memory_bytes = share(left.memory_bytes, percent),
          .cpu_ns = share(left.cpu_ns, percent),
          .token_count = share(left.token_count, percent),
          .page_count = share_of(left.page_count),
          .child_count = 1 + share_of(left.child_count - 1),
          .http_call_count = share_of(left.http_call_count),
          .http_exchange_count = share_of(left.http_exchange_count),
          .held_result_bytes = share(lendable.held_result_bytes, percent),
          .pending_bytes = share(lendable.pending_bytes, percent)};
}

InstanceLimits limits_with(const InstanceLimits& parent, const Budget& lent) {
  InstanceLimits limits = parent;
  limits.memory_bytes_max = std::min(parent.memory_bytes_max, lent.memory_bytes);
  limits.children_memory_bytes_max = lent.memory_bytes - limits.memory_bytes_max;
  limits.child_count_max = lent.child_count - 1;
  limits.cpu_ns_max = lent.cpu_ns;
  limits.cpu_ns_between_waits_max = std::min(parent.cpu_ns_between_waits_max, lent.cpu_ns);
  limits.guest.http.call_count_max = lent.http_call_count;
  limits.guest.http.exchange_count_max = lent.http_exchange_count;
  set_divided(limits, lent);
  return limits;
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

Budget divided_part(const Budget& all) {
  return {.token_count = all.token_count,
          .page_count = all.page_count,
          .held_result_bytes = all.held_result_bytes,
          .pending_bytes = all.pending_bytes};
}

Budget minimum(const Budget& one, const Budget& other) {
  const auto lower = [&](auto Budget::* of) { return std::min(one.*of, other.*of); };
  return {.memory_bytes = lower(&Budget::memory_bytes),
          .cpu_ns = lower(&Budget::cpu_ns),
          .token_count = lower(&Budget::token_count),
          .page_count = lower(&Budget::page_count),
          .child_count = lower(&Budget::child_count),
          .http_call_count = lower(&Budget::http_call_count),
          .http_exchange_count = lower(&Budget::http_exchange_count),
          .held_result_bytes = lower(&Budget::held_result_bytes),
          .pending_bytes = lower(&Budget::pending_bytes)};
}

void set_divided(InstanceLimits& limits, const Budget& all) {
  limits.control.token_count_max = all.token_count;
  limits.control.page_count_max = all.page_count;
  limits.guest.held_result_bytes_max = all.held_result_bytes;
  limits.guest.pending_bytes_max = all.pending_bytes;
}

Budget equal_part(const Budget& all, Budget unused, std::size_t count) {
  unused -= kept_part(all);
  const std::uint64_t parts = count + 1;
  return {.token_count = unused.token_count / parts,
          .page_count = static_cast<std::uint32_t>(unused.page_count / parts),
          .held_result_bytes = unused.held_result_bytes / parts,
          .pending_bytes = unused.pending_bytes / parts};
}

Result<ChildBudget> child_budget(const InstanceLimits& parent, const Budget& left,
                                 const ChildWish& wish) {
  if (left.child_count == 0) return no_place(parent.child_count_max);
  const std::uint64_t needed = std::max(wish.first_memory_bytes, kWasmPageBytes);
  ChildBudget out;
  if (wish.share_percent == 0) {
    if (left.memory_bytes < needed) return no_memory(parent, left, wish, left.memory_bytes);
    out.lent = {.memory_bytes = wish.first_memory_bytes, .child_count = 1};
    out.limits = parent;
    set_divided(out.limits, {});
  } else {
    out.lent = lent_share(parent, left, wish.share_percent);
    if (out.lent.memory_bytes < needed) {
      return no_memory(parent, left, wish, out.lent.memory_bytes);
    }
    out.limits = limits_with(parent, out.lent);
    out.lent.cpu_ns = 0;  // Charged as it is used, and so are places.
    out.lent.child_count = 1;
  }
  if (needed > out.limits.memory_bytes_max) {
    return Error(ErrorCode::QuotaExceeded, "memory_bytes_max: the child's module begins with " +
                                               std::to_string(needed) + " bytes, the limit is " +
                                               std::to_string(out.limits.memory_bytes_max) +
                                               " (--memory-max)");
  }
  return out;
}

}  // namespace quire::lifecycle
