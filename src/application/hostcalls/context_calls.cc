// context: an ordered list of pages kept by the host. Its counters are mirrored here, as of the
// last answer, so that reading them needs no command.
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kAppendCountMax = 262'144;  // A mebibyte, read and checked in the call.

// Computes all that is queued.
Result<std::int32_t> submit_compute(HostCall& call, GuestHandle context, const ContextView& view,
                                    control::CommandBody body, std::uint64_t bytes) {
  FutureRecord& future = *TRY(submit_context(call, context, view, std::move(body), bytes));
  future.effect = QueueEffect::Computes;
  return static_cast<std::int32_t>(future.handle);
}

}  // namespace

Result<std::int32_t> context_create(HostCall& call, GuestHandle queue) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_queue(call, queue, "forward"));
  TRY(check_context_room(guest));
  TRY(guest.check_pending(0));
  const auto index = static_cast<std::uint8_t>(model.index);
  const GuestHandle context = TRY(guest.handles.add(HandleKind::Context, {.model = index}));
  guest.contexts[number(context)].queue = queue;
  guest.send(control::ContextCreate{object(context), object(queue)}, 0);
  if (control::ChosenAdaptersRef set = adapters_of_queue(call, queue)) {
    guest.send(control::ContextUseAdapters{object(context), std::move(set)}, 0);
  }
  return static_cast<std::int32_t>(context);
}

Result<std::int32_t> context_append(HostCall& call, GuestHandle context,
                                    GuestList<std::uint32_t> list) {
  const ContextView view = TRY(find_changing_context(call, context));
  if (list.count > kAppendCountMax) {
    return Error(ErrorCode::TooLarge, "tokens: " + std::to_string(list.count) + " of at most " +
                                          std::to_string(kAppendCountMax) +
                                          " a call; append in parts");
  }
  TRY(call.guest.check_queued_tokens(list.count));
  std::vector<std::uint32_t> tokens = TRY(call.memory.read(list, "tokens"));
  TRY(check_tokens(tokens, view.model));
  const std::uint64_t bytes = tokens.size() * sizeof(std::uint32_t);
  TRY(call.guest.check_pending(bytes));
  if (tokens.empty()) return 0;
  call.guest.send(control::ContextAppend{object(context), std::move(tokens)}, bytes);
  call.guest.queue_tokens(context, list.count);
  return 0;
}

Result<std::int32_t> context_flush(HostCall& call, GuestHandle context) {
  const ContextView view = TRY(find_changing_context(call, context));
  return submit_compute(call, context, view, control::ContextFlush{object(context)}, 0);
}

Result<std::int32_t> context_forward(HostCall& call, GuestHandle context,
                                     GuestList<std::int32_t> oemb) {
  const ContextView view = TRY(find_changing_context(call, context));
  std::vector<control::ObjectId> outputs =
      TRY(find_objects(call, oemb, HandleKind::Embed, view.model, "oemb"));
  const std::uint64_t bytes = outputs.size() * sizeof(control::ObjectId);
  return submit_compute(call, context, view,
                        control::ContextForward{object(context), std::move(outputs)}, bytes);
}

Result<std::int32_t> context_fork(HostCall& call, GuestHandle context) {
  GuestState& guest = call.guest;
  const ContextView view = TRY(find_live_context(call, context));
  TRY(check_context_room(guest));
  TRY(guest.check_queued_tokens(view.record.queued_tokens()));
  TRY(guest.check_pending(0));
  TRY(guest.check_future_room());
  const auto index = static_cast<std::uint8_t>(view.model.index);
  const GuestHandle child = TRY(guest.handles.add(HandleKind::ReservedContext, {.model = index}));
  const GuestHandle queue = view.record.queue;
  const std::uint64_t queued_tokens = view.record.queued_tokens();
  guest.contexts[number(child)].queue = queue;  // May move the records; `view` ends here.
  guest.queue_tokens(child, queued_tokens);
  FutureRecord& future = guest.submit(control::ContextFork{object(context), object(child)}, 0);
  future.child = child;
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> context_seq_len(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).record.counters.seq_len);
}

Result<std::int32_t> context_page_size(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).model.description.page_size);
}

Result<std::int32_t> context_committed_page_count(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).record.counters.committed_page_count);
}

Result<std::int32_t> context_working_page_count(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).record.counters.working_page_count);
}

Result<std::int32_t> context_working_page_token_count(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).record.counters.working_page_token_count);
}

Result<std::int32_t> context_found_token_count(HostCall& call, GuestHandle context) {
  return count_result(TRY(find_context(call, context)).record.counters.found_token_count);
}

}  // namespace quire::hostcalls
