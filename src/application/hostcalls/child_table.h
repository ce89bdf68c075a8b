#pragma once
// ChildTable is what one instance knows of the instances that it launched: what they sent and it
// did not receive, and how they ended. To a child its parent is the client.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; NotFound for a handle of no child.
//
// Invariants, all checked by verify():
//   CT1  Every child handle has a record, and every record its handle.
//   CT2  The figures are the sums over the children; what children said last is held (FutureTable).
//   CT3  A child has messages or readers, never both; one that has ended has neither readers nor
//        waiters.
//   CT4  A child that was refused for lack of room is blocked, once, until there may be some.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/launcher.h"
#include "application/hostcalls/ordered_queue.h"

namespace quire::hostcalls {

class ChildTable {
 public:
  ChildTable(Launcher& launcher, control::InstanceId parent, const GuestLimits& limits,
             HandleTable& handles, FutureTable& futures)
      : launcher_(launcher),
        parent_(parent),
        limits_(limits),
        handles_(handles),
        futures_(futures) {}

  Result<GuestHandle> launch(ChildLaunch launch);
  Result<GuestHandle> wait(GuestHandle child);     // The future of how it ended.
  Result<GuestHandle> receive(GuestHandle child);  // Of its next message.
  Result<void> send(GuestHandle child, std::string message);
  Result<void> kill(GuestHandle child);
  // The handle was found before. A child that runs is stopped.
  void drop(GuestHandle child);
  void future_dropped(FutureRecord& record);

  // For the lifecycle; nothing happens where the handle was dropped. False: no room, ask again when
  // the parent has received some.
  bool message(GuestHandle child, std::string_view bytes);
  // `why` no message will come any more.
  bool ended(GuestHandle child, std::string record, std::string why);

  void drop_messages();  // What children said, and how they ended: their parent has ended too.

  // Takes the children that were refused for lack of room and may now send again.
  std::vector<control::InstanceId> take_unblocked();
  void verify() const;

 private:
  struct Child {
    control::InstanceId instance{};
    OrderedQueue<std::string> messages;
    std::deque<GuestHandle> readers;  // Futures, oldest first.
    std::vector<GuestHandle> waiters;
    std::optional<std::string> end;
    std::string why_silent;  // Of one that has ended.
  };
  Result<Child*> find(GuestHandle child);
  template <typename Futures>
  Result<GuestHandle> add_future(GuestHandle child, FuturePurpose purpose, Futures Child::* list);
  void serve(GuestHandle handle, Child& child);
  void block(GuestHandle child);
  void room_made();
  void tell_end(Child& child);

  Launcher& launcher_;
  const control::InstanceId parent_;
  const GuestLimits& limits_;
  HandleTable& handles_;
  FutureTable& futures_;
  std::unordered_map<std::uint32_t, Child> children_;
  std::uint32_t message_count_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<GuestHandle> blocked_;
  std::vector<control::InstanceId> unblocked_;
};

}  // namespace quire::hostcalls
