#include "application/hostcalls/context_view.h"

#include <utility>

namespace quire::hostcalls {

Result<ContextView> find_context(HostCall& call, GuestHandle context) {
  const HandleTable::Entry entry = TRY(call.guest.handles.find(context, HandleKind::Context));
  return ContextView{call.guest.contexts.at(number(context)), model_at(call, entry.model)};
}

Result<ContextView> find_live_context(HostCall& call, GuestHandle context) {
  const ContextView view = TRY(find_context(call, context));
  Result<HandleTable::Entry> queue = call.guest.handles.find(view.record.queue, HandleKind::Queue);
  if (!queue.ok()) return std::move(queue).take_error().while_("the queue of the context");
  return view;
}

Result<ContextView> find_changing_context(HostCall& call, GuestHandle context) {
  const ContextView view = TRY(find_live_context(call, context));
  if (view.record.generation == GuestHandle{}) return view;
  return Error(ErrorCode::Unavailable,
               "a generation runs on the context; stop_generation ends it, or wait for its end");
}

Result<void> check_context_room(const GuestState& guest) {
  return guest.handles.check_room(HandleKind::Context,
                                  1 + guest.handles.count(HandleKind::ReservedContext));
}

Result<FutureRecord*> submit_context(HostCall& call, GuestHandle context, const ContextView& view,
                                     control::CommandBody body, std::uint64_t bytes) {
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  FutureRecord& future = call.guest.submit(std::move(body), bytes);
  future.context = context;
  future.covered_tokens = view.record.issued_tokens;
  return &future;
}

}  // namespace quire::hostcalls
