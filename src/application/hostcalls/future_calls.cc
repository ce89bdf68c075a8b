// future: the one wait, and what ends futures and handles.
#include <cstring>
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Result<std::vector<std::int32_t>> read_futures(const HostCall& call, GuestList<std::int32_t> list) {
  if (list.count > call.guest.identity.limits.future_count_max) {
    return Error(ErrorCode::QuotaExceeded,
                 "future_count_max: " + std::to_string(list.count) + " futures in one list");
  }
  return call.memory.read(list, "futures");
}

}  // namespace

Result<Suspension> future_wait(HostCall& call, GuestList<std::int32_t> list,
                               std::int64_t timeout_ns) {
  GuestState& guest = call.guest;
  std::vector<std::int32_t> handles = TRY(read_futures(call, list));
  if (handles.empty() && timeout_ns < 0) {
    return Error(ErrorCode::InvalidArgument, "a wait for nothing without a limit never ends");
  }
  const std::uint64_t now_ns = guest.host.clock.now_ns();
  guest.futures.fire(now_ns);
  if (const std::optional<std::int32_t> first = TRY(guest.futures.first_ready(handles))) {
    return Suspension(*first);
  }
  if (timeout_ns == 0) return Error(ErrorCode::Timeout, "no future is ready");
  std::optional<std::uint64_t> deadline_ns;
  if (timeout_ns > 0) deadline_ns = now_ns + static_cast<std::uint64_t>(timeout_ns);
  guest.futures.begin_wait(std::move(handles), deadline_ns);
  return Suspension();
}

Result<std::int32_t> future_poll(HostCall& call, GuestList<std::int32_t> list, GuestAddress ready) {
  GuestState& guest = call.guest;
  const std::vector<std::int32_t> handles = TRY(read_futures(call, list));
  const std::span<std::byte> into =
      TRY(call.memory.range<std::uint8_t>(ready, list.count, "ready"));
  guest.futures.fire(guest.host.clock.now_ns());
  std::vector<std::byte> flags(handles.size());
  std::int32_t count = 0;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const FutureRecord* record = TRY(guest.futures.find(GuestHandle{handles[i]}));
    flags[i] = std::byte{record->ready};
    count += record->ready ? 1 : 0;
  }
  if (!flags.empty()) std::memcpy(into.data(), flags.data(), flags.size());
  return count;
}

Result<std::int32_t> future_take(HostCall& call, GuestHandle future, GuestAddress buffer,
                                 std::uint32_t capacity) {
  GuestState& guest = call.guest;
  guest.futures.fire(guest.host.clock.now_ns());
  FutureRecord* record = TRY(guest.futures.find(future));
  if (!record->ready) return Error(ErrorCode::Unavailable, "the future is not ready yet");
  if (record->error != ErrorCode{}) {
    Error error(record->error, std::move(record->message));
    guest.futures.remove(*record);
    return error;
  }
  const std::span<std::byte> into =
      TRY(call.memory.range<std::uint8_t>(buffer, capacity, "buffer"));
  const std::size_t bytes = record->result_bytes().size();
  if (bytes > into.size()) return count_result(bytes);  // The future stays.
  if (bytes > 0) std::memcpy(into.data(), record->result_bytes().data(), bytes);
  if (record->purpose == FuturePurpose::Pull) guest.mailbox.future_taken(*record);
  if (record->child != GuestHandle{}) guest.handles.publish(record->child);
  if (record->grammar != GuestHandle{}) guest.handles.publish(record->grammar);
  if (record->is_child_taken) guest.send(control::ContextKeep{object(record->child)});
  if (is_http(record->purpose)) guest.http.taken(*record);
  guest.futures.remove(*record);
  return count_result(bytes);
}

namespace {

// A queue in which pages of a dead queue can be given back; made for the purpose where the guest
// has none left.
GuestHandle queue_for(GuestState& guest, GuestHandle preferred, std::uint8_t model, bool& made) {
  made = false;
  if (guest.handles.find(preferred, HandleKind::Queue).ok()) return preferred;
  const GuestHandle other = guest.handles.any_of(HandleKind::Queue, model);
  if (other != GuestHandle{}) return other;
  Result<GuestHandle> queue = guest.handles.add(HandleKind::Queue, {.model = model});
  if (!queue.ok()) return GuestHandle{};
  guest.send(control::CreateQueue{object(queue.value()), control::ModelIndex{model}});
  made = true;
  return queue.value();
}

Result<void> drop_object(HostCall& call, GuestHandle handle, const HandleTable::Entry& entry) {
  GuestState& guest = call.guest;
  TRY(guest.check_pending(0));
  bool made = false;
  const GuestHandle queue =
      queue_for(guest, GuestHandle{static_cast<std::int32_t>(entry.payload)}, entry.model, made);
  if (queue == GuestHandle{}) {
    return Error(ErrorCode::QuotaExceeded, "queue_count_max: no queue is left to give it back in");
  }
  if (entry.kind == HandleKind::Page) {
    guest.send(control::DeallocPages{object(queue), {object(handle)}}, 0);
  } else {
    guest.send(control::DeallocEmbeds{object(queue), {object(handle)}}, 0);
  }
  guest.handles.remove(handle);
  if (made) TRY(queue_destroy_queue(call, queue));
  return {};
}

}  // namespace

Result<std::int32_t> future_drop(HostCall& call, GuestHandle handle) {
  GuestState& guest = call.guest;
  const HandleTable::Entry entry = TRY(guest.handles.find_any(handle));
  switch (entry.kind) {
    case HandleKind::Future:
      guest.futures.fire(guest.host.clock.now_ns());
      guest.end_future(*TRY(guest.futures.find(handle)));
      return 0;
    case HandleKind::Queue:
      return queue_destroy_queue(call, handle);
    case HandleKind::Page:
    case HandleKind::Embed:
      TRY(drop_object(call, handle, entry));
      return 0;
    case HandleKind::Context:
      guest.send(control::ContextDrop{object(handle)});
      guest.forget_context(handle);
      return 0;
    case HandleKind::Model:
      guest.handles.remove(handle);
      return 0;
    case HandleKind::Subscription:
      guest.mailbox.unsubscribe(handle);
      return 0;
    case HandleKind::Child:
      guest.children.drop(handle);
      return 0;
    case HandleKind::File:
      guest.files.drop(handle);
      return 0;
    case HandleKind::Generation:
      guest.generations.drop(handle);
      return 0;
    case HandleKind::Exchange:
      guest.http.drop(handle);
      return 0;
    case HandleKind::Rule:
    case HandleKind::Grammar:
      guest.draws.forget(handle);
      return 0;
    case HandleKind::Matcher:
      if (guest.draws.drop_matcher(handle)) guest.send(control::DropMatcher{object(handle)});
      return 0;
    case HandleKind::ReservedContext:
    case HandleKind::ReservedGrammar:
    case HandleKind::None:
      break;
  }
  return Error(ErrorCode::NotFound,
               "nothing has the handle " + std::to_string(static_cast<std::int32_t>(handle)));
}

}  // namespace quire::hostcalls
