#include "application/hostcalls/guest_state.h"

#include <algorithm>
#include <utility>

#include "application/hostcalls/answer_encoding.h"
#include "base/check.h"

namespace quire::hostcalls {
GuestState::GuestState(const HostParts& parts, GuestIdentity who)
    : host(parts),
      identity(std::move(who)),
      futures(handles, identity.limits.held_result_bytes_max),
      http(parts.http, identity.instance, identity.limits, identity.tenant_gauge, handles, futures),
      output(identity.limits),
      session(identity.limits, output, outbox),
      draws(handles),
      generations(*this),
      mailbox(parts.broker, identity.instance, identity.tenant, identity.limits, handles, futures),
      children(parts.launcher, identity.instance, identity.limits, handles, futures),
      files(identity.limits, output, outbox, handles, futures),
      served(identity.request, identity.limits, output, outbox, futures),
      pending_bytes_max_{.own = identity.limits.pending_bytes_max} {
  mailbox.join();
  if (served.is_served()) close_input();  // Nothing comes but the request.
  const control::InstanceLimits& control = identity.control_limits;
  handles.set_limit(HandleKind::Future, identity.limits.future_count_max);
  handles.set_limit(HandleKind::Queue, control.queue_count_max);
  handles.set_limit(HandleKind::Page, control.page_count_max);
  handles.set_limit(HandleKind::Embed, control.embed_count_max);
  handles.set_limit(HandleKind::Context, control.context_count_max);
  handles.set_limit(HandleKind::ReservedContext, control.context_count_max);
  handles.set_limit(HandleKind::Child, identity.limits.child_handle_count_max);
  handles.set_limit(HandleKind::File, identity.limits.file_count_max);
  handles.set_limit(HandleKind::Subscription, identity.limits.subscription_count_max);
  handles.set_limit(HandleKind::Generation, GenerationTable::kGenerationCountMax);
  handles.set_limit(HandleKind::Model, identity.limits.model_handle_count_max);
  handles.set_limit(HandleKind::Rule, identity.limits.rule_count_max);
  handles.set_limit(HandleKind::Grammar, identity.limits.grammar_count_max);
  handles.set_limit(HandleKind::ReservedGrammar, identity.limits.grammar_count_max);
  handles.set_limit(HandleKind::Matcher, identity.limits.matcher_count_max);
  handles.set_limit(HandleKind::Exchange, identity.limits.http.exchange_count_max);
}

Result<void> GuestState::check_pending(std::uint64_t bytes) const {
  const control::PendingCommands pending = host.control.pending(identity.instance);
  const std::uint32_t count_max = identity.control_limits.pending_command_count_max;
  if (pending.count >= count_max) {
    return Error(ErrorCode::QuotaExceeded,
                 "pending_command_count_max: " + std::to_string(pending.count) + " of " +
                     std::to_string(count_max) +
                     " pending; wait for some, or for a synchronize of their queue");
  }
  if (pending.bytes + bytes > pending_bytes_max_.own) {
    return Error(ErrorCode::QuotaExceeded, "pending_bytes_max: " + std::to_string(bytes) +
                                               " bytes wanted, " + std::to_string(pending.bytes) +
                                               " of " + pending_bytes_max_.text("pending"));
  }
  return {};
}

Result<void> GuestState::check_future_room() const {
  if (futures.held_bytes() > futures.held_bytes_max().own) {
    return Error(ErrorCode::QuotaExceeded,
                 "held_result_bytes_max: " + std::to_string(futures.held_bytes()) + " of " +
                     futures.held_bytes_max().text("bytes of results were not taken"));
  }
  return handles.check_room(HandleKind::Future, 1);
}

void GuestState::send(control::CommandBody body, std::uint64_t bytes, control::FutureId future) {
  report(host.walk, WalkStop::HostCalls);
  host.control.submit(
      {.instance = identity.instance,
       .future = future,
       .body = std::move(body),
       .argument_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX))});
}

FutureRecord& GuestState::submit(control::CommandBody body, std::uint64_t bytes,
                                 FuturePurpose purpose) {
  FutureRecord& record = futures.add(purpose);
  send(std::move(body), bytes, control::FutureId{number(record.handle)});
  return record;
}

void GuestState::note_counters(GuestHandle context, const control::ContextCounters& counters) {
  const auto found = contexts.find(number(context));
  if (found != contexts.end()) found->second.counters = counters;
}

void GuestState::apply(FutureRecord& record, control::AnswerBody body) {
  std::string bytes;
  if (const auto* state = std::get_if<control::ContextState>(&body)) {
    note_counters(record.context, state->counters);
    bytes = encode(state->counters);
  } else if (auto* opened = std::get_if<control::Opened>(&body)) {
    Result<std::string> noted = note_opened(record, std::move(*opened));
    if (!noted.ok()) return fail_answered(record, noted.error());
    bytes = std::move(noted).take();
  } else if (const auto* drawn = std::get_if<control::Draws>(&body)) {
    note_counters(record.context, drawn->counters);
    bytes = encode(*drawn);
  } else if (auto* compiled = std::get_if<control::CompiledGrammar>(&body)) {
    Result<std::string> noted = note_grammar(record, std::move(*compiled));
    if (!noted.ok()) return fail_answered(record, noted.error());
    bytes = std::move(noted).take();
  } else if (const auto* forked = std::get_if<control::Forked>(&body)) {
    bytes = note_child(record, forked->counters);
  } else {
    bytes = encode(std::move(body));
  }
  if (futures.admit(record, bytes.size())) futures.make_ready(record, std::move(bytes));
}

// The result of compile_grammar. The handle stays reserved until the guest takes it.
Result<std::string> GuestState::note_grammar(const FutureRecord& record,
                                             control::CompiledGrammar compiled) {
  const std::uint64_t most = identity.limits.held_grammar_bytes_max;
  const std::uint64_t held = draws.grammar_bytes();
  if (compiled.bytes > most || held > most - compiled.bytes) {
    return Error(ErrorCode::QuotaExceeded,
                 "held_grammar_bytes_max: the grammar has " + std::to_string(compiled.bytes) +
                     " bytes, and those that the program holds have " + std::to_string(held) +
                     " of " + std::to_string(most) + "; drop some that no matcher needs anew");
  }
  draws.set_grammar(record.grammar, std::move(compiled.grammar), compiled.bytes);
  return encode(record.grammar);
}

// The result of open and take. The note waits for note-of.
Result<std::string> GuestState::note_opened(const FutureRecord& record, control::Opened opened) {
  TRY(futures.check_held(opened.note.size()));
  std::string bytes = note_child(record, opened.counters);
  futures.hold(opened.note.size());
  contexts.at(number(record.child)).note = std::move(opened.note);
  return bytes;
}

void GuestState::forget_note(ContextRecord& context) {
  futures.release(context.note.size());
  context.note = std::string();  // Not clear(), which keeps the bytes.
}

// The result of fork, from_pages, open and take. The child stays reserved until the guest takes it.
std::string GuestState::note_child(const FutureRecord& record,
                                   const control::ContextCounters& counters) {
  contexts.at(number(record.child)).counters = counters;
  if (!record.is_child_queued) return encode(record.child);
  // The queued tokens of a snapshot are known only now. They count even if they exceed the limit.
  queue_tokens(record.child, counters.queued_token_count);
  return encode(record.child, counters.queued_token_count);
}

void GuestState::fail_answered(FutureRecord& record, const Error& error) {
  if (record.child != GuestHandle{}) {  // The guest never learns of the child.
    if (record.is_child_made) send(control::ContextDrop{object(record.child)});
    forget_context(record.child);
    record.child = GuestHandle{};
  }
  if (record.grammar != GuestHandle{}) draws.forget(std::exchange(record.grammar, {}));
  futures.make_failed(record, error);
}

void GuestState::answer(control::Answer answer) {
  const GuestHandle handle{static_cast<std::int32_t>(answer.future)};
  FutureRecord* record = futures.find_answered(handle);
  if (record == nullptr) return;  // Dropped while the answer was on its way.
  QUIRE_CHECK(!record->ready, "a command is answered once");
  settle_tokens(*record, answer.body);
  if (record->extras != nullptr) {
    release_matchers(*std::exchange(record->extras, nullptr), record->handle);
  }
  if (record->purpose == FuturePurpose::Step) {
    if (answer.body.ok()) {
      note_counters(record->context, std::get<control::Draws>(answer.body.value()).counters);
    }
    const GuestHandle generation = record->owner;
    futures.remove(*record);
    generations.answered(generation, answer.body);
    return;
  }
  if (answer.body.ok()) {
    apply(*record, std::move(answer.body).take());
  } else {
    fail_answered(*record, answer.body.error());
  }
}

Result<void> GuestState::check_queued_tokens(std::uint64_t count) const {
  const std::uint64_t count_max = identity.limits.queued_token_count_max;
  if (queued_tokens_ + count <= count_max) return {};
  return Error(ErrorCode::QuotaExceeded, "queued_token_count_max: " + std::to_string(count) +
                                             " wanted, " + std::to_string(queued_tokens_) + " of " +
                                             std::to_string(count_max) +
                                             " queued in contexts and not yet computed");
}

void GuestState::queue_tokens(GuestHandle context, std::uint64_t count) {
  contexts.at(number(context)).issued_tokens += count;
  queued_tokens_ += count;
}

void GuestState::unqueue_tokens(ContextRecord& context, std::uint64_t count) {
  const std::uint64_t fewer = std::min(count, context.queued_tokens());
  context.settled_tokens += fewer;
  queued_tokens_ -= fewer;
}

namespace {

bool queues_token(const control::AnswerBody& answer) {
  const control::DrawEnd end = std::get<control::Draws>(answer).end;
  return end != control::DrawEnd::GrammarComplete && end != control::DrawEnd::NoTokenAllowed;
}

}  // namespace

// Commands of one context are answered in the order in which they were issued, so what is not
// settled of the tokens before this one was queued when its turn came.
void GuestState::settle_tokens(const FutureRecord& record,
                               const Result<control::AnswerBody>& answer) {
  const auto found = contexts.find(number(record.context));
  if (found == contexts.end()) return;
  ContextRecord& context = found->second;
  if (record.effect == QueueEffect::Splices) {  // Queued when it was issued.
    if (!answer.ok()) unqueue_tokens(context, record.effect_count);
    return;
  }
  if (answer.ok() && record.covered_tokens > context.settled_tokens) {
    settle_covered(context, record, answer.value());
  }
  // The token of a draw was counted when the draw was issued. A draw that failed queues none, and
  // nor does one that ends where its grammar allows no token.
  if (record.effect == QueueEffect::Draws && !(answer.ok() && queues_token(answer.value()))) {
    unqueue_tokens(context, 1);
  }
}

// Removes the tokens that the command took from the queue of its context.
void GuestState::settle_covered(ContextRecord& context, const FutureRecord& record,
                                const control::AnswerBody& answer) {
  const std::uint64_t queued = record.covered_tokens - context.settled_tokens;
  switch (record.effect) {
    case QueueEffect::None:
    case QueueEffect::Splices:
      break;
    case QueueEffect::Computes:
    case QueueEffect::Draws:
      unqueue_tokens(context, queued);
      break;
    case QueueEffect::Truncates:
      unqueue_tokens(context, std::min<std::uint64_t>(queued, record.effect_count));
      break;
    case QueueEffect::Rewinds: {
      const auto* state = std::get_if<control::ContextState>(&answer);
      QUIRE_CHECK(state != nullptr, "a rewind is answered with the state of its context");
      const std::uint64_t length = record.effect_count;
      const std::uint64_t left = length - std::min<std::uint64_t>(length, state->counters.seq_len);
      unqueue_tokens(context, queued - std::min(queued, left));
      break;
    }
  }
}

Result<void> GuestState::check_step(std::uint64_t bytes) const {
  TRY(check_pending(bytes));
  TRY(check_queued_tokens(1));
  return check_future_room();
}

void GuestState::note_draw(GuestHandle context, FutureRecord& record, bool queues_token) {
  record.context = context;
  record.effect = queues_token ? QueueEffect::Draws : QueueEffect::Computes;
  record.covered_tokens = contexts.at(number(context)).issued_tokens;
  // The token counts from now on, because the guest may drop the future that would report it.
  if (queues_token) queue_tokens(context, 1);
}

void GuestState::use_matchers(FutureRecord& record,
                              std::shared_ptr<const control::DrawExtras> extras) {
  if (extras == nullptr || extras->matchers.empty()) return;
  draws.use(extras->matchers, record.handle);
  record.extras = std::move(extras);
}

void GuestState::release_matchers(const control::DrawExtras& extras, GuestHandle user) {
  for (const GuestHandle each : draws.release(extras.matchers, user)) {
    send(control::DropMatcher{object(each)});
  }
}

void GuestState::forget_context(GuestHandle context) {
  generations.drop_of(context);
  if (const auto found = contexts.find(number(context)); found != contexts.end()) {
    unqueue_tokens(found->second, UINT64_MAX);
    forget_note(found->second);
  }
  contexts.erase(number(context));
  handles.remove(context);
}

void GuestState::serve_receivers() {
  while (!receivers.empty()) {
    FutureRecord* record = futures.find_answered(receivers.front());
    QUIRE_CHECK(record != nullptr, "a dropped receiver leaves the line");
    if (const std::optional<std::size_t> bytes = session.next_bytes()) {
      // Without room the message stays where it is.
      if (futures.admit(*record, *bytes)) {
        auto message = std::move(*session.pull());
        record->order = message.order;
        futures.make_ready(*record, std::move(message.value));
      }
    } else if (const std::optional<Error> ended = session.ended()) {
      futures.make_failed(*record, *ended);
    } else {
      return;
    }
    receivers.pop_front();
  }
}

Result<void> GuestState::push_message(std::string message) {
  TRY(session.push(std::move(message)));
  serve_receivers();
  return {};
}

void GuestState::close_input() {
  session.close();
  serve_receivers();
  files.set_absence(session.absence());
}

void GuestState::client_left(std::string why) {
  session.client_left(std::move(why));
  serve_receivers();
  files.set_absence(session.absence());
}

void GuestState::client_back() {
  session.client_back();
  files.set_absence(session.absence());
}

std::int32_t GuestState::end_wait() {
  futures.fire(host.clock.now_ns());
  const std::optional<std::int32_t> first = futures.end_wait();
  if (std::exchange(futures.wait_is_poll, false)) return 0;
  if (first) return *first;
  last_error = "no future became ready in time";
  return -static_cast<std::int32_t>(ErrorCode::Timeout);
}

std::uint64_t GuestState::held_bytes() const {
  return futures.held_bytes() + mailbox.bytes() + session.inbox_bytes() + outbox.message_bytes() +
         outbox.line_bytes() + outbox.part_bytes() + outbox.response_bytes() + files.inbox_bytes() +
         served.inbox_bytes() + draws.grammar_bytes() + result.size();
}

void GuestState::drop_untaken() {
  http.close_all();
  mailbox.leave();  // Gives back what it pulled, which are results.
  futures.drop_results();
  for (auto& [handle, context] : contexts) forget_note(context);
  session.drop_inbox();
  files.drop_inbox();
  served.drop_inbox();
  children.drop_messages();
}

void GuestState::end_future(FutureRecord& record) {
  const bool pending = !record.ready;
  if (record.purpose == FuturePurpose::Receive) {
    if (pending) {
      receivers.erase(std::find(receivers.begin(), receivers.end(), record.handle));
    } else if (record.error == ErrorCode{}) {
      session.put_back(record.order, futures.give_up(record));
      serve_receivers();  // Another future may wait for one.
    }
  } else if (record.purpose == FuturePurpose::Message || record.purpose == FuturePurpose::Pull) {
    mailbox.future_dropped(record);
  } else if (record.purpose == FuturePurpose::ChildEnd ||
             record.purpose == FuturePurpose::ChildMessage) {
    children.future_dropped(record);
  } else if (is_file(record.purpose)) {
    files.future_dropped(record);
  } else if (is_served(record.purpose)) {
    served.future_dropped(record);
  } else if (record.purpose == FuturePurpose::Tokens) {
    generations.reader_dropped(record);
  } else if (record.purpose == FuturePurpose::Stop) {
    generations.stopper_dropped(record);
  } else if (record.purpose == FuturePurpose::Command) {
    if (pending) send(control::DropFuture{control::FutureId{number(record.handle)}});
    if (record.extras != nullptr) release_matchers(*record.extras, record.handle);
    if (record.grammar != GuestHandle{}) draws.forget(record.grammar);
    if (record.child != GuestHandle{}) {  // The guest never learned of the child.
      send(control::ContextDrop{object(record.child)});
      forget_context(record.child);
    }
  } else if (is_http(record.purpose)) {
    http.drop_future(record);
  }
  futures.remove(record);
}

std::optional<service::Said> GuestState::next_said() const {
  if (outbox.empty()) return std::nullopt;
  const Outbox::Item& item = outbox.front();
  if (const auto* message = std::get_if<Outbox::Message>(&item)) {
    return service::Message{message->bytes};
  }
  if (const auto* line = std::get_if<Outbox::Line>(&item)) {
    return service::LogLine{line->source, line->level, line->text};
  }
  if (const auto* part = std::get_if<Outbox::Part>(&item)) return files.shown(*part);
  const auto& response = std::get<Outbox::Response>(item);
  return service::ResponsePart{response.kind, response.status, response.bytes};
}

void GuestState::said_taken() {
  const auto* part = std::get_if<Outbox::Part>(&outbox.front());
  const std::uint32_t file = part == nullptr ? 0 : part->file;  // They count from 1.
  const bool is_response = std::holds_alternative<Outbox::Response>(outbox.front());
  outbox.pop();
  if (file != 0) files.part_taken(file);
  if (is_response) served.part_taken();
}

void GuestState::verify() const {
  outbox.verify();
  handles.verify();
  futures.verify();
  generations.verify();
  draws.verify();
  http.verify();
  session.verify();
  mailbox.verify();
  children.verify();
  files.verify();
  served.verify();
  QUIRE_CHECK(contexts.size() ==
                  handles.count(HandleKind::Context) + handles.count(HandleKind::ReservedContext),
              "GS1");
  std::uint64_t queued = 0;
  for (const auto& [context, record] : contexts) {
    QUIRE_CHECK(record.settled_tokens <= record.issued_tokens, "GS2");
    queued += record.queued_tokens();
  }
  QUIRE_CHECK(queued == queued_tokens_, "GS2");
}

}  // namespace quire::hostcalls
