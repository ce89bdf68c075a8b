// context: what changes one other than computing its tokens.
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

Result<std::int32_t> edit(HostCall& call, GuestHandle context, control::ContextEditKind kind,
                          std::uint32_t count, QueueEffect effect = QueueEffect::None) {
  const ContextView view = TRY(find_changing_context(call, context));
  FutureRecord& future = *TRY(
      submit_context(call, context, view, control::ContextEdit{object(context), kind, count}, 0));
  future.effect = effect;
  future.effect_count = count;
  return static_cast<std::int32_t>(future.handle);
}

Result<void> check_range(const char* what, std::uint32_t begin, std::uint32_t end) {
  if (begin <= end) return {};
  return Error(ErrorCode::OutOfRange, std::string(what) + ": begin " + std::to_string(begin) +
                                          " is after end " + std::to_string(end));
}

// Sends a command on the context without a future.
Result<std::int32_t> tell(HostCall& call, GuestHandle context, control::CommandBody body) {
  TRY(find_changing_context(call, context));
  TRY(call.guest.check_pending(0));
  call.guest.send(std::move(body), 0);
  return 0;
}

}  // namespace

Result<std::int32_t> context_truncate(HostCall& call, GuestHandle context, std::uint32_t count) {
  return edit(call, context, control::ContextEditKind::Truncate, count, QueueEffect::Truncates);
}

Result<std::int32_t> context_rewind(HostCall& call, GuestHandle context, std::uint32_t length) {
  return edit(call, context, control::ContextEditKind::Rewind, length, QueueEffect::Rewinds);
}

Result<std::int32_t> context_drop_range(HostCall& call, GuestHandle context, std::uint32_t begin,
                                        std::uint32_t end) {
  const ContextView view = TRY(find_changing_context(call, context));
  TRY(check_range("drop_range", begin, end));
  FutureRecord& future = *TRY(submit_context(
      call, context, view, control::ContextDropRange{object(context), begin, end}, 0));
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> context_splice(HostCall& call, GuestHandle context, GuestHandle source,
                                    std::uint32_t begin, std::uint32_t end) {
  const ContextView view = TRY(find_changing_context(call, context));
  Result<ContextView> from = find_context(call, source);
  if (!from.ok()) return std::move(from).take_error().while_("source");
  if (from.value().model.index != view.model.index) {
    return Error(ErrorCode::InvalidArgument, "source is a context of another model");
  }
  TRY(check_range("splice", begin, end));
  const std::uint32_t count = end - begin;
  TRY(call.guest.check_queued_tokens(count));
  FutureRecord& future = *TRY(submit_context(
      call, context, view, control::ContextSplice{object(context), object(source), begin, end}, 0));
  future.effect = QueueEffect::Splices;
  future.effect_count = count;
  call.guest.queue_tokens(context, count);
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> context_reserve_working_pages(HostCall& call, GuestHandle context,
                                                   std::uint32_t count) {
  return edit(call, context, control::ContextEditKind::ReservePages, count);
}

Result<std::int32_t> context_commit_working_pages(HostCall& call, GuestHandle context,
                                                  std::uint32_t count) {
  return edit(call, context, control::ContextEditKind::CommitPages, count);
}

Result<std::int32_t> context_release_working_pages(HostCall& call, GuestHandle context,
                                                   std::uint32_t count) {
  return edit(call, context, control::ContextEditKind::ReleasePages, count);
}

Result<std::int32_t> context_truncate_working_page_tokens(HostCall& call, GuestHandle context,
                                                          std::uint32_t count) {
  return edit(call, context, control::ContextEditKind::TruncatePageTokens, count);
}

Result<std::int32_t> context_hint(HostCall& call, GuestHandle context, std::uint32_t kind,
                                  std::uint32_t value) {
  constexpr auto kLast = static_cast<std::uint32_t>(control::ContextHintKind::SharedPrefix);
  if (kind > kLast) {
    return Error(ErrorCode::InvalidArgument, "hint: kind " + std::to_string(kind) +
                                                 " is not below " + std::to_string(kLast + 1));
  }
  const auto known = static_cast<control::ContextHintKind>(kind);
  if (value != 0 && known != control::ContextHintKind::Keep) {
    return Error(ErrorCode::InvalidArgument, "hint: kind " + std::to_string(kind) +
                                                 " takes no value, " + std::to_string(value) +
                                                 " given");
  }
  return tell(call, context, control::ContextHint{object(context), known, value});
}

Result<std::int32_t> context_allow_beyond_context(HostCall& call, GuestHandle context,
                                                  std::uint32_t allowed) {
  if (allowed > 1) {
    return Error(ErrorCode::InvalidArgument,
                 "allow_beyond_context: " + std::to_string(allowed) + " is not 0 or 1");
  }
  return tell(call, context, control::ContextBeyond{object(context), allowed == 1});
}

Result<std::int32_t> context_mark(HostCall& call, GuestHandle context) {
  return tell(call, context, control::ContextMark{object(context)});
}

}  // namespace quire::hostcalls
