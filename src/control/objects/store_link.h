#pragma once
// StoreLink is one model's way to the disk: it numbers jobs, so that answers find their way back
// to the model, and says what its pages must agree on with those of a file.
//
// Thread   engine thread only.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/api/types.h"
#include "control/store/disk_thread.h"
#include "control/store/page_space.h"

namespace quire::control {

// As the store knows it.
inline std::string tenant_name(TenantId tenant) {
  return std::to_string(static_cast<std::uint32_t>(tenant));
}

class StoreLink {
 public:
  // `disk` may be null: nothing is kept, and every request is NotSupported. `state_bytes`: of a
  // model whose layers have states.
  StoreLink(store::Disk* disk, ModelIndex model, store::PageSpace space,
            std::uint64_t state_bytes = 0)
      : disk_(disk),
        model_(model),
        space_(std::move(space)),
        states_(store::states_of(space_, state_bytes)) {}

  const store::PageSpace& space() const { return space_; }
  const store::PageSpace& states() const { return states_; }
  // Unavailable when the disk has too much to do already. Moves from `job` only where it is
  // accepted.
  Result<store::DiskJobId> submit(store::DiskJob&& job) { return submit(job); }
  Result<store::DiskJobId> submit(store::DiskJob& job) {
    if (disk_ == nullptr) {
      ++refused_count_;
      return Error(ErrorCode::NotSupported,
                   "the store is off: this engine was started without one");
    }
    release(store::kNoTicket);
    const store::DiskJobId id = next_id();
    TRY(disk_->submit(id, job));
    return id;
  }
  // A ticket's pages may go, and its snapshot if a take is finished. If the disk's queue is full,
  // the release is tried again with the next job. Releases may come in any order; the last state of
  // a ticket is the strongest. No operation waits for a release: if the disk fails to delete the
  // snapshot, it is still there.
  void release(store::TicketId ticket, store::TicketEnd end = store::TicketEnd::Release) {
    if (ticket != store::kNoTicket) released_.push_back({.ticket = ticket, .end = end});
    while (!released_.empty()) {
      const store::DiskJobId id = next_id();
      if (!disk_->submit(id, released_.back()).ok()) return;
      released_.pop_back();
    }
  }
  ModelIndex model() const { return model_; }
  // Jobs of programs that would have used a store, if there were one.
  std::uint64_t refused_count() const { return refused_count_; }
  // The model whose job it was.
  static std::uint64_t model_of(store::DiskJobId id) {
    return static_cast<std::uint64_t>(id) >> kModelShift;
  }

 private:
  static constexpr int kModelShift = 48;
  store::DiskJobId next_id() {
    return store::DiskJobId{(static_cast<std::uint64_t>(model_) << kModelShift) | ++count_};
  }

  store::Disk* disk_;
  ModelIndex model_;
  store::PageSpace space_;
  store::PageSpace states_;
  std::uint64_t count_ = 0;
  std::uint64_t refused_count_ = 0;
  std::vector<store::ReleaseJob> released_;  // To be sent to the disk.
};

}  // namespace quire::control
