// context: what is kept under a name.
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kOverwrite = 1;
constexpr const char* kSnapshotName = "snapshot name";

Result<std::int32_t> open_snapshot(HostCall& call, GuestHandle queue, GuestList<std::uint8_t> list,
                                   bool takes) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_queue(call, queue, "forward"));
  std::string name = TRY(read_name(call, list, kSnapshotName));
  const std::uint64_t bytes = name.size();
  TRY(check_context_room(guest));
  // How many tokens it has queued is known when it is open: at least one must fit.
  TRY(guest.check_queued_tokens(1));
  TRY(guest.check_pending(bytes));
  TRY(guest.check_future_room());
  const auto index = static_cast<std::uint8_t>(model.index);
  const GuestHandle child = TRY(guest.handles.add(HandleKind::ReservedContext, {.model = index}));
  guest.contexts[number(child)].queue = queue;
  FutureRecord& future = guest.submit(
      control::ContextOpen{object(child), object(queue), std::move(name), takes}, bytes);
  future.child = child;
  future.is_child_made = future.is_child_queued = true;
  future.is_child_taken = takes;
  return static_cast<std::int32_t>(future.handle);
}

}  // namespace

Result<std::int32_t> context_save(HostCall& call, GuestHandle context, GuestList<std::uint8_t> list,
                                  std::uint32_t flags, std::uint32_t ttl_seconds) {
  const ContextView view = TRY(find_live_context(call, context));
  if ((flags & ~kOverwrite) != 0) {
    return Error(ErrorCode::InvalidArgument, "flags: " + std::to_string(flags) + " beyond 1");
  }
  control::ContextSave body{.context = object(context),
                            .name = TRY(read_name(call, list, kSnapshotName)),
                            .overwrites = (flags & kOverwrite) != 0};
  if (ttl_seconds > 0) {
    body.expires_unix_ms =
        call.guest.host.wall_clock.now_unix_ms() + std::uint64_t{1000} * ttl_seconds;
  }
  const std::uint64_t bytes = body.name.size();
  FutureRecord& future = *TRY(submit_context(call, context, view, std::move(body), bytes));
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> context_open(HostCall& call, GuestHandle queue, GuestList<std::uint8_t> name) {
  return open_snapshot(call, queue, name, false);
}

Result<std::int32_t> context_take(HostCall& call, GuestHandle queue, GuestList<std::uint8_t> name) {
  return open_snapshot(call, queue, name, true);
}

Result<std::int32_t> context_delete(HostCall& call, GuestList<std::uint8_t> list) {
  std::string name = TRY(read_name(call, list, kSnapshotName));
  const std::uint64_t bytes = name.size();
  return submit_unqueued(call, control::SnapshotDelete{std::move(name)}, bytes);
}

Result<std::int32_t> context_list(HostCall& call) {
  return submit_unqueued(call, control::SnapshotList{}, 0);
}

}  // namespace quire::hostcalls
