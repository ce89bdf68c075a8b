#include "application/hostcalls/generation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "application/hostcalls/guest_state.h"
#include "base/check.h"

namespace quire::hostcalls {

Result<GuestHandle> GenerationTable::start(GuestHandle context, GenerateOptions options) {
  TRY(guest_.check_step());
  const GuestHandle handle = TRY(guest_.handles.add(HandleKind::Generation, {}));
  Generation& generation = generations_[number(handle)];
  generation.context = context;
  generation.random = sampling::Random(options.seed);
  generation.options = std::move(options);
  guest_.contexts.at(number(context)).generation = handle;
  step(handle, generation);
  return handle;
}

void GenerationTable::finish(Generation& generation) {
  const auto context = guest_.contexts.find(number(generation.context));
  if (context != guest_.contexts.end()) context->second.generation = GuestHandle{};
  generation.context = GuestHandle{};
  for (const GuestHandle each : std::exchange(generation.stoppers, {})) {
    guest_.futures.make_ready(*guest_.futures.find_answered(each), "");
  }
}

// Goes on, or ends, whichever is due, and tells who waits for it. A reader makes room first.
void GenerationTable::step(GuestHandle handle, Generation& generation) {
  serve_reader(generation);
  if (!generation.has_ended() && !generation.has_step) {
    if (generation.is_stopping) {
      generation.end = GenerationEnd::Stopped;
    } else if (generation.drawn_count == generation.options.token_count_max) {
      generation.end = GenerationEnd::Length;
    } else if (generation.untaken.size() < kUntakenCountMax) {
      Result<void> sent = send_step(handle, generation);
      if (!sent.ok()) generation.error = std::move(sent).take_error();
    }
  }
  if (generation.has_ended() && generation.context != GuestHandle{}) finish(generation);
  serve_reader(generation);
}

Result<void> GenerationTable::send_step(GuestHandle handle, Generation& generation) {
  TRY(guest_.check_step());
  const GuestHandle context = generation.context;
  const GuestHandle queue = guest_.contexts.at(number(context)).queue;
  TRY(guest_.handles.find(queue, HandleKind::Queue));
  control::DrawRule rule = generation.options.rule;
  if (rule.temperature > 0.0) rule.random = generation.random.uniform();
  FutureRecord& record =
      guest_.submit(control::ContextSample{object(context), rule, true}, 0, FuturePurpose::Step);
  record.owner = handle;
  guest_.note_sample(context, record, true);
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
    const auto& sampled = std::get<control::Sampled>(answer.value());
    const control::Drawn drawn = sampled.drawn;
    generation.untaken.push(drawn);
    ++generation.drawn_count;
    const std::vector<std::uint32_t>& stops = generation.options.stop_tokens;
    if (std::find(stops.begin(), stops.end(), drawn.token) != stops.end()) {
      generation.end = GenerationEnd::StopToken;
    } else if (sampled.is_full) {
      generation.end = GenerationEnd::Length;  // No further token could be computed.
    }
  } else {
    generation.error = answer.error().copy();
  }
  step(handle, generation);
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
  generation.count_min =
      std::clamp<std::uint32_t>(count_min, 1, static_cast<std::uint32_t>(kUntakenCountMax));
  step(handle, generation);
  return reader;
}

// u32 end, u32 count, (u32 token, f32 probability) x count.
std::string GenerationTable::take_record(Generation& generation, FutureRecord& record) {
  std::string out;
  const auto append = [&](const void* from, std::size_t bytes) {
    out.append(static_cast<const char*>(from), bytes);
  };
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(generation.end),
                                 static_cast<std::uint32_t>(generation.untaken.size())};
  append(head, sizeof head);
  record.token_orders.reserve(generation.untaken.size());
  while (!generation.untaken.empty()) {
    const auto [order, drawn] = generation.untaken.pop();
    append(&drawn.token, sizeof drawn.token);
    append(&drawn.probability, sizeof drawn.probability);
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
  // What it was given is the next one's.
  constexpr std::size_t kHeadBytes = 8;
  std::vector<OrderedQueue<control::Drawn>::Element> given(record.token_orders.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    given[i].order = record.token_orders[i];
    std::memcpy(&given[i].value, record.result.data() + kHeadBytes + i * sizeof(control::Drawn),
                sizeof(control::Drawn));
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
    finish(generation);
    serve_reader(generation);
  }
  generations_.erase(found);
  guest_.handles.remove(handle);
}

void GenerationTable::drop_of(GuestHandle context) {
  const auto record = guest_.contexts.find(number(context));
  if (record == guest_.contexts.end() || record->second.generation == GuestHandle{}) return;
  Generation& generation = generations_.at(number(record->second.generation));
  generation.error = Error(ErrorCode::Cancelled, "the context of the generation was dropped");
  finish(generation);
  serve_reader(generation);
}

void GenerationTable::verify() const {
  QUIRE_CHECK(generations_.size() == guest_.handles.count(HandleKind::Generation), "N1");
  std::size_t running = 0;
  for (const auto& [handle, generation] : generations_) {
    if (generation.has_ended()) {
      QUIRE_CHECK(generation.context == GuestHandle{}, "N1");
    } else {
      ++running;
      const GuestState::ContextRecord& context = guest_.contexts.at(number(generation.context));
      QUIRE_CHECK(number(context.generation) == handle, "N1");
      QUIRE_CHECK(generation.has_step || generation.untaken.size() >= kUntakenCountMax, "N2");
    }
    generation.untaken.verify();
    QUIRE_CHECK(generation.untaken.size() <= 2 * kUntakenCountMax, "N2");
    if (generation.reader == GuestHandle{}) continue;
    QUIRE_CHECK(!generation.has_ended() && generation.untaken.size() < generation.count_min, "N3");
  }
  std::size_t generating = 0;
  for (const auto& [context, record] : guest_.contexts) {
    generating += record.generation != GuestHandle{} ? 1 : 0;
  }
  QUIRE_CHECK(generating == running, "N1");
}

}  // namespace quire::hostcalls
