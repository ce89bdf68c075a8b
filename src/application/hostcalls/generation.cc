#include "application/hostcalls/generation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "application/hostcalls/answer_encoding.h"
#include "application/hostcalls/guest_state.h"
#include "base/check.h"
#include "quire/draw_rule.h"

namespace quire::hostcalls {

Result<GuestHandle> GenerationTable::start(GuestHandle context, GenerateOptions options) {
  TRY(guest_.check_step(0));
  const GuestHandle handle = TRY(guest_.handles.add(HandleKind::Generation, {}));
  Generation& generation = generations_[number(handle)];
  generation.context = context;
  generation.random = sampling::Random(options.seed);
  generation.options = std::move(options);
  const control::DrawSpec& draw = generation.options.draw;
  // A greedy draw uses no random number, so those of the seed stay where they are.
  if (!is_greedy(*draw.rule)) generation.next_random = generation.random.uniform();
  if (draw.more != nullptr) guest_.draws.use(draw.more->matchers, handle);
  guest_.contexts.at(number(context)).generation = handle;
  step(handle, generation);
  return handle;
}

// The limit is lower if each token comes with its most probable alternatives.
std::size_t GenerationTable::Generation::untaken_count_max() const {
  const std::uint32_t top_count = options.draw.more == nullptr ? 0 : options.draw.more->top_count;
  if (top_count == 0) return kUntakenCountMax;
  return std::min<std::size_t>(kUntakenCountMax, kUntakenTopCountMax / top_count);
}

void GenerationTable::finish(GuestHandle handle, Generation& generation) {
  const control::DrawSpec& draw = generation.options.draw;
  if (draw.more != nullptr) guest_.release_matchers(*draw.more, handle);
  const auto context = guest_.contexts.find(number(generation.context));
  if (context != guest_.contexts.end()) context->second.generation = GuestHandle{};
  generation.context = GuestHandle{};
  for (const GuestHandle each : std::exchange(generation.stoppers, {})) {
    guest_.futures.make_ready(*guest_.futures.find_answered(each), "");
  }
}

// Serves a reader first, which makes room. Then continues or ends the generation, and answers the
// futures that wait for its end.
void GenerationTable::step(GuestHandle handle, Generation& generation) {
  serve_reader(generation);
  if (!generation.has_ended() && !generation.has_step) {
    if (generation.is_stopping) {
      generation.end = GenerationEnd::Stopped;
    } else if (generation.drawn_count == generation.options.token_count_max) {
      generation.end = GenerationEnd::Length;
    } else if (generation.untaken.size() < generation.untaken_count_max()) {
      Result<void> sent = send_step(handle, generation);
      if (!sent.ok()) generation.error = std::move(sent).take_error();
    }
  }
  if (generation.has_ended() && generation.context != GuestHandle{}) finish(handle, generation);
  serve_reader(generation);
}

Result<void> GenerationTable::send_step(GuestHandle handle, Generation& generation) {
  TRY(guest_.check_step(0));
  const GuestHandle context = generation.context;
  const GuestHandle queue = guest_.contexts.at(number(context)).queue;
  TRY(guest_.handles.find(queue, HandleKind::Queue));
  const control::ContextDraw body{
      .context = object(context),
      .queues_token = true,
      .draw = generation.options.draw,
      .count_max = generation.options.token_count_max - generation.drawn_count,
      .random = generation.next_random};
  FutureRecord& record = guest_.submit(body, 0, FuturePurpose::Step);
  record.owner = handle;
  guest_.note_draw(context, record, true);
  generation.has_step = true;
  return {};
}

void GenerationTable::answered(GuestHandle handle, const Result<control::AnswerBody>& answer) {
  const auto found = generations_.find(number(handle));
  if (found == generations_.end()) return;  // Dropped.
  Generation& generation = found->second;
  generation.has_step = false;
  if (generation.has_ended()) return;  // Its context was dropped.
  if (answer.ok()) {
    note_draws(generation, std::get<control::Draws>(answer.value()));
  } else {
    generation.error = answer.error().copy();
  }
  step(handle, generation);
}

// Forced tokens come several at a time.
void GenerationTable::note_draws(Generation& generation, const control::Draws& draws) {
  const std::vector<std::uint32_t>& stops = generation.options.stop_tokens;
  const std::size_t top_count = draws.all.empty() ? 0 : draws.top_tokens.size() / draws.all.size();
  for (std::size_t i = 0; i < draws.all.size(); ++i) {
    Token token{.drawn = draws.all[i], .top_tokens = {}, .top_probabilities = {}};
    const auto first = static_cast<std::ptrdiff_t>(i * top_count);
    const auto last = static_cast<std::ptrdiff_t>((i + 1) * top_count);
    token.top_tokens.assign(draws.top_tokens.begin() + first, draws.top_tokens.begin() + last);
    token.top_probabilities.assign(draws.top_probabilities.begin() + first,
                                   draws.top_probabilities.begin() + last);
    generation.untaken.push(std::move(token));
    ++generation.drawn_count;
  }
  if (draws.random_count > 0) generation.next_random = generation.random.uniform();
  const bool is_stopped_by_token =
      !draws.all.empty() &&
      std::find(stops.begin(), stops.end(), draws.all.back().token) != stops.end();
  if (is_stopped_by_token) {
    generation.end = GenerationEnd::StopToken;
  } else if (draws.end == control::DrawEnd::GrammarComplete) {
    generation.end = GenerationEnd::GrammarComplete;
  } else if (draws.end == control::DrawEnd::NoTokenAllowed) {
    generation.end = GenerationEnd::NoTokenAllowed;
  } else if (draws.is_full) {
    generation.end = GenerationEnd::Length;  // No further token could be computed.
  }
}

Result<GuestHandle> GenerationTable::read(GuestHandle handle, std::uint32_t count_min) {
  TRY(guest_.handles.find(handle, HandleKind::Generation));
  Generation& generation = generations_.at(number(handle));
  if (generation.reader != GuestHandle{}) {
    return Error(ErrorCode::AlreadyExists, "a future already waits for the next tokens");
  }
  TRY(guest_.check_future_room());
  FutureRecord& record = guest_.futures.add(FuturePurpose::Tokens);
  record.owner = handle;
  const GuestHandle reader = record.handle;
  generation.reader = reader;
  generation.count_min = std::clamp<std::uint32_t>(
      count_min, 1, static_cast<std::uint32_t>(generation.untaken_count_max()));
  step(handle, generation);
  return reader;
}

// A record of draws.
std::string GenerationTable::take_record(Generation& generation, FutureRecord& record) {
  std::string out;
  append_head(out, static_cast<std::uint32_t>(generation.end), generation.untaken.size());
  record.token_orders.reserve(generation.untaken.size());
  while (!generation.untaken.empty()) {
    const auto [order, token] = generation.untaken.pop();
    append_draw(out, token.drawn, token.top_tokens, token.top_probabilities);
    record.token_orders.push_back(static_cast<std::uint32_t>(order));  // Of at most 2^32 - 1.
  }
  return out;
}

void GenerationTable::serve_reader(Generation& generation) {
  if (generation.reader == GuestHandle{}) return;
  const bool has_enough = generation.untaken.size() >= generation.count_min;
  if (!has_enough && !generation.has_ended()) return;
  FutureRecord& record = *guest_.futures.find_answered(std::exchange(generation.reader, {}));
  if (generation.error && generation.untaken.empty()) {
    guest_.futures.make_failed(record, *generation.error);
  } else {
    guest_.futures.make_ready(record, take_record(generation, record));
  }
}

void GenerationTable::reader_dropped(const FutureRecord& record) {
  const auto found = generations_.find(number(record.owner));
  if (found == generations_.end()) return;
  Generation& generation = found->second;
  if (!record.ready) {
    generation.reader = GuestHandle{};
    return;
  }
  if (record.token_orders.empty()) return;  // It was given an error, or the end alone.
  // What it was given is the next one's.
  std::vector<OrderedQueue<Token>::Element> given(record.token_orders.size());
  DrawReader reader(record.result);
  for (std::size_t i = 0; i < given.size(); ++i) {
    Token& token = given[i].value;
    given[i].order = record.token_orders[i];
    token.drawn = reader.next(token.top_tokens, token.top_probabilities);
  }
  generation.untaken.put_back(std::move(given));
  serve_reader(generation);
}

void GenerationTable::stopper_dropped(const FutureRecord& record) {
  const auto found = generations_.find(number(record.owner));
  if (found != generations_.end()) std::erase(found->second.stoppers, record.handle);
}

Result<GuestHandle> GenerationTable::stop(GuestHandle handle) {
  TRY(guest_.handles.find(handle, HandleKind::Generation));
  TRY(guest_.check_future_room());
  Generation& generation = generations_.at(number(handle));
  FutureRecord& record = guest_.futures.add(FuturePurpose::Stop);
  record.owner = handle;
  const GuestHandle stopper = record.handle;
  generation.is_stopping = true;
  if (generation.has_ended()) {
    guest_.futures.make_ready(record, "");
  } else {
    generation.stoppers.push_back(stopper);
    step(handle, generation);
  }
  return stopper;
}

void GenerationTable::drop(GuestHandle handle) {
  const auto found = generations_.find(number(handle));
  QUIRE_CHECK(found != generations_.end(), "found by its handle");
  Generation& generation = found->second;
  if (!generation.has_ended()) {
    generation.error = Error(ErrorCode::Cancelled, "the generation was dropped");
    finish(handle, generation);
    serve_reader(generation);
  }
  generations_.erase(found);
  guest_.handles.remove(handle);
}

void GenerationTable::drop_of(GuestHandle context) {
  const auto record = guest_.contexts.find(number(context));
  if (record == guest_.contexts.end() || record->second.generation == GuestHandle{}) return;
  const GuestHandle handle = record->second.generation;
  Generation& generation = generations_.at(number(handle));
  generation.error = Error(ErrorCode::Cancelled, "the context of the generation was dropped");
  finish(handle, generation);
  serve_reader(generation);
}

void GenerationTable::verify() const {
  QUIRE_CHECK(generations_.size() == guest_.handles.count(HandleKind::Generation), "GN1");
  std::size_t running = 0;
  for (const auto& [handle, generation] : generations_) {
    if (generation.has_ended()) {
      QUIRE_CHECK(generation.context == GuestHandle{}, "GN1");
    } else {
      ++running;
      const GuestState::ContextRecord& context = guest_.contexts.at(number(generation.context));
      QUIRE_CHECK(number(context.generation) == handle, "GN1");
      const control::DrawSpec& draw = generation.options.draw;
      QUIRE_CHECK(draw.more == nullptr ||
                      guest_.draws.is_used(draw.more->matchers,
                                           GuestHandle{static_cast<std::int32_t>(handle)}),
                  "GN4");
      QUIRE_CHECK(
          generation.has_step || generation.untaken.size() >= generation.untaken_count_max(),
          "GN2");
    }
    generation.untaken.verify();
    QUIRE_CHECK(generation.untaken.size() <= 2 * kUntakenCountMax, "GN2");
    if (generation.reader == GuestHandle{}) continue;
    QUIRE_CHECK(!generation.has_ended() && generation.untaken.size() < generation.count_min, "GN3");
  }
  std::size_t generating = 0;
  for (const auto& [context, record] : guest_.contexts) {
    generating += record.generation != GuestHandle{} ? 1 : 0;
  }
  QUIRE_CHECK(generating == running, "GN1");
}

}  // namespace quire::hostcalls
