// context: what is kept under a name.
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

using control::kNoteBytesMax;

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

// The arguments of a save, except for the context.
struct SaveWish {
  GuestList<std::uint8_t> name;
  std::uint32_t flags = 0;
  std::uint32_t ttl_seconds = 0;
  std::string note = {};
};

Result<std::int32_t> save(HostCall& call, GuestHandle context, SaveWish wish) {
  const ContextView view = TRY(find_live_context(call, context));
  if ((wish.flags & ~kOverwrite) != 0) {
    return Error(ErrorCode::InvalidArgument, "flags: " + std::to_string(wish.flags) + " beyond 1");
  }
  control::ContextSave body{.context = object(context),
                            .name = TRY(read_name(call, wish.name, kSnapshotName)),
                            .overwrites = (wish.flags & kOverwrite) != 0,
                            .note = std::move(wish.note)};
  if (wish.ttl_seconds > 0) {
    body.expires_unix_ms =
        call.guest.host.wall_clock.now_unix_ms() + std::uint64_t{1000} * wish.ttl_seconds;
  }
  const std::uint64_t bytes = body.name.size() + body.note.size();
  FutureRecord& future = *TRY(submit_context(call, context, view, std::move(body), bytes));
  return static_cast<std::int32_t>(future.handle);
}

}  // namespace

Result<std::int32_t> context_save(HostCall& call, GuestHandle context, GuestList<std::uint8_t> name,
                                  std::uint32_t flags, std::uint32_t ttl_seconds) {
  return save(call, context, {.name = name, .flags = flags, .ttl_seconds = ttl_seconds});
}

Result<std::int32_t> context_save_with_note(HostCall& call, GuestHandle context,
                                            GuestList<std::uint8_t> name, std::uint32_t flags,
                                            std::uint32_t ttl_seconds,
                                            GuestList<std::uint8_t> note) {
  if (note.count > kNoteBytesMax) {
    return Error(ErrorCode::TooLarge, "note: " + std::to_string(note.count) + " bytes; " +
                                          std::to_string(kNoteBytesMax) + " at most");
  }
  return save(call, context,
              {.name = name,
               .flags = flags,
               .ttl_seconds = ttl_seconds,
               .note = TRY(call.memory.read_bytes(note, "note"))});
}

Result<std::int32_t> context_note_of(HostCall& call, GuestHandle context, GuestAddress note,
                                     std::uint32_t capacity) {
  const ContextView view = TRY(find_context(call, context));
  const std::int32_t bytes = TRY(give_bytes(call, view.record.note, note, capacity));
  if (static_cast<std::uint32_t>(bytes) <= capacity) call.guest.forget_note(view.record);
  return bytes;
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
