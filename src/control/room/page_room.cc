#include "control/room/page_room.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "control/batches/ready_queue.h"

namespace quire::control {

Importance importance_of(const Operation& operation) {
  const int below_high =
      static_cast<int>(Priority::High) - static_cast<int>(priority_of(operation));
  return {below_high, operation.instance->order, operation.age};
}

bool PageRoom::gives_way(const Operation& operation) const {
  const bool is_others = first_waiter_.instance_order != operation.instance->order;
  return is_others && first_waiter_ < importance_of(operation);
}

Attempt PageRoom::want(Operation& operation, std::uint32_t count) const {
  if (operation.wanted_page_count == 0) operation.wait_since_ns = table_.clock.now_ns();
  operation.wanted_page_count = count;
  return Attempt::WaitPage;
}

void PageRoom::note_waiting(Operation& operation) {
  waiters_.push_back(Ref<Operation>(&operation));
  first_waiter_ = std::min(first_waiter_, importance_of(operation));
}

void PageRoom::forget_ended() {
  std::erase_if(waiters_, [](const Ref<Operation>& each) { return each.get() == nullptr; });
}

std::vector<Ref<Operation>> PageRoom::take_waiters() {
  std::vector<Ref<Operation>> waiters = std::exchange(waiters_, {});
  std::erase_if(waiters, [](const Ref<Operation>& each) { return each.get() == nullptr; });
  std::sort(waiters.begin(), waiters.end(),
            [](const Ref<Operation>& left, const Ref<Operation>& right) {
              return importance_of(*left.get()) < importance_of(*right.get());
            });
  return waiters;
}

Operation* PageRoom::take_waiter(std::size_t index) {
  Operation* operation = waiters_[index].get();
  waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(index));
  return operation;
}

bool PageRoom::others_may_free() const {
  for (const auto& [order, instance] : table_.instances) {
    if (replica_.ledger(*instance).page_count() == 0) continue;
    // An instance that waits for nothing of ours runs, or waits for the world, and may let pages go
    // later.
    if (instance->unfinished.operation_count == 0 || instance->unfinished.job_count > 0)
      return true;
    for (const Operation* each = instance->unfinished.first; each != nullptr;
         each = each->instance_next) {
      if (each->replica != &replica_) return true;
    }
  }
  return false;
}

// An operation that waits for pages is refused only if this turn built no batch, because running
// work may give pages back. If it has waited too long, it is refused only if no recent turn built
// one either: a program that computes between its passes leaves turns empty.
Operation* PageRoom::take_refused(bool disk_may_free) {
  if (waiters_.empty()) return nullptr;
  const std::uint64_t now_ns = table_.clock.now_ns();
  const bool went_on = now_ns - went_on_at_ns_ < options_.page_wait_ns_max / 10;
  std::size_t last = 0;
  for (std::size_t index = 0; index < waiters_.size(); ++index) {
    const Operation& each = *waiters_[index].get();
    const bool waited_long = now_ns - each.wait_since_ns >= options_.page_wait_ns_max;
    if (waited_long && !went_on) return take_waiter(index);
    const Operation& chosen = *waiters_[last].get();
    if (importance_of(each) > importance_of(chosen)) last = index;
  }
  return !others_may_free() && !disk_may_free ? take_waiter(last) : nullptr;
}

// Takes the waiter that is overdue, however much other operations do: they need not free a page,
// and the waiters after it wait as well.
Operation* PageRoom::take_overdue() {
  if (waiters_.empty()) return nullptr;
  const std::uint64_t most_ns = options_.page_wait_ns_max * options_.page_wait_count_max;
  const std::uint64_t now_ns = table_.clock.now_ns();
  const auto overdue =
      std::find_if(waiters_.begin(), waiters_.end(), [&](const Ref<Operation>& each) {
        return each.get() != nullptr && now_ns - each.get()->wait_since_ns >= most_ns;
      });
  if (overdue == waiters_.end()) return nullptr;
  return take_waiter(static_cast<std::size_t>(overdue - waiters_.begin()));
}

Error PageRoom::no_free_page(const Instance& instance, std::uint32_t wanted) const {
  const PageCache& cache = replica_.resources.cache;
  return Error(ErrorCode::NoFreePage, "no free KV page: " + std::to_string(wanted) + " wanted, " +
                                          std::to_string(cache.available()) + " of " +
                                          std::to_string(cache.page_count()) + " free, " +
                                          std::to_string(replica_.ledger(instance).page_count()) +
                                          " held by this instance");
}

void PageRoom::verify() const {
  for (const Ref<Operation>& each : waiters_) {
    const Operation* operation = each.get();
    QUIRE_CHECK(operation == nullptr || operation->wanted_page_count > 0, "waits for no page");
  }
}

}  // namespace quire::control
