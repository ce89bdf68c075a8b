#pragma once
// PageRoom decides which operations get pages when there are not enough.
//
// An operation takes all the pages it needs at once, or waits. Waiting operations are served by
// importance, which is priority and then age of their instances: no operation takes a page while
// one that is more important waits for one, so the first always progresses. For an operation that
// lacks pages, contexts that other operations can do without are suspended (suspension.cc), or
// under WhenFull::FcfsKill the newest instance ends (fcfs_kill.cc). When nothing is left that could
// free a page, the least important that waits is refused with the numbers and the holders of the
// pages (page_shortage.cc).
//
// Owns     the operations that wait for pages.
// Thread   engine thread only.
// Errors   NoFreePage, which the caller answers.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "control/batches/attempt.h"
#include "control/batches/build_turn.h"
#include "control/objects/operation_table.h"
#include "control/objects/replica.h"
#include "control/pages/importance.h"
#include "control/transfers/tier_transfers.h"

namespace quire::control {

// The way to make room when no page is free and none is cold.
enum class WhenFull : std::uint8_t {
  Suspend,   // Contexts that other operations can do without; no instance ends.
  FcfsKill,  // First come, first served: the instance that started last loses all it has.
};

// The instance that ends for want of pages, and why.
struct Loser {
  InstanceId instance{};
  Error error;
};

struct PageRoomOptions {
  // How long an operation waits for pages before it gets NoFreePage. It goes on waiting while other
  // operations go on: while something was built or done in the last tenth of that time. After
  // `page_wait_count_max` times as long it is refused in any case, because no less important
  // operation takes a page meanwhile.
  std::uint64_t page_wait_ns_max = 10'000'000'000;
  std::uint32_t page_wait_count_max = 6;
  WhenFull when_full = WhenFull::Suspend;
};

Importance importance_of(const Operation& operation);

class PageRoom {
 public:
  PageRoom(Replica& replica, OperationTable& table, TierTransfers& tiers, BuildTurn& turn,
           const PageRoomOptions& options)
      : replica_(replica), table_(table), tiers_(tiers), turn_(turn), options_(options) {}

  // True if `count` pages are free. Gives way to a more important operation, else makes room.
  // `is_building`: a batch is being built.
  bool can_take(const Operation& operation, std::uint32_t count, bool is_building) {
    return count == 0 || (!gives_way(operation) && make_room(operation, count, is_building));
  }
  // Whether another instance's operation that waits for pages comes first.
  bool gives_way(const Operation& operation) const;

  // The operation needs so many pages and cannot have them: note_waiting() it.
  Attempt want(Operation& operation, std::uint32_t count) const;
  void note_waiting(Operation& operation);
  // While a batch is built: `attempt` for those that wait, the most important first, until one goes
  // on waiting. It either serves the operation or calls note_waiting() again.
  template <typename Try>
  void serve(Try attempt);

  std::size_t waiting_count() const { return waiters_.size(); }
  void forget_ended();  // Waiters.
  // A batch, or the disk, is done, or a build begins: a search that failed before may now succeed.
  void forget_search() { vain_search_ = kNobody; }
  // A batch finished, or a turn that built none finished something without the device.
  void note_progress() { went_on_at_ns_ = table_.clock.now_ns(); }

  // The instance that must end now, which is the caller's to do.
  std::optional<Loser> take_loser() { return std::exchange(loser_, std::nullopt); }
  bool has_loser() const { return loser_.has_value(); }
  // The waiter that is to be refused, which waits no more; null: none. The first after a turn that
  // built nothing and finished nothing; `disk_may_free`: what the disk does may free pages.
  Operation* take_refused(bool disk_may_free);
  // One that has waited too long, whatever the others do.
  Operation* take_overdue();

  Error no_free_page(const Instance& instance, std::uint32_t wanted) const;
  // The same, and what keeps the pages that are in use from being given up.
  Error explain(const Operation& operation) const;
  void verify() const;

 private:
  enum class Rank : std::uint8_t { Idle, LessImportant, Own };
  struct Victim {
    Rank rank = Rank::Idle;
    double page_load = 0;  // Of its tenant, where it is less important: the largest goes first.
    std::uint8_t priority = 0;
    std::uint64_t order = 0;  // Smaller goes first, within a rank and a priority.
    Context* context = nullptr;
  };

  std::vector<Ref<Operation>> take_waiters();  // By importance.
  Operation* take_waiter(std::size_t index);
  bool others_may_free() const;

  // suspension.cc
  bool make_room(const Operation& operation, std::uint32_t count, bool is_building);
  bool suspend_for(const Operation& operation, std::uint32_t count);
  std::optional<Victim> victim_of(const Operation& operation, Context& context) const;
  void count_tenant_pages() const;
  std::vector<Context*> suspendable(const Operation& operation) const;
  bool has_searched_for(const Operation& operation) const;
  void note_search(const Operation& operation);
  void suspend(Context& context);

  // fcfs_kill.cc
  void choose_loser(const Operation& operation, std::uint32_t count, bool is_building);

  Replica& replica_;
  OperationTable& table_;
  TierTransfers& tiers_;
  BuildTurn& turn_;
  const PageRoomOptions options_;
  std::vector<Ref<Operation>> waiters_;  // By importance while a batch is built.
  Importance first_waiter_ = kNobody;    // The most important among them, or one before it.
  Importance vain_search_ = kNobody;     // Whose look for contexts to suspend found too few.
  std::optional<Loser> loser_;
  std::uint64_t went_on_at_ns_ = 0;
};

template <typename Try>
void PageRoom::serve(Try attempt) {
  first_waiter_ = kNobody;
  if (waiters_.empty()) return;
  std::vector<Ref<Operation>> waiters = take_waiters();
  for (std::size_t index = 0; index < waiters.size(); ++index) {
    Operation* operation = waiters[index].get();
    if (operation == nullptr) continue;
    const std::size_t waiting = waiters_.size();
    attempt(*operation);
    if (waiters_.size() == waiting) continue;
    // The less important waiters wait as well.
    waiters_.insert(waiters_.end(), waiters.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                    waiters.end());
    break;
  }
}

}  // namespace quire::control
