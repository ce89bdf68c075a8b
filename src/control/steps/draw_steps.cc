// Tokens that the device draws: after a context's, at outputs, under masks; and steps of matchers.
//
// Drafts. They are computed after what is queued, in one pass with its last row, and a token is
// drawn at each place. The drafts that equal what is drawn stand, as if the program had drawn and
// appended them; the rest is taken back before a page that they are in could be committed.
//
// Masks. The matchers' thread fills them while the device works on the rows before. A draw whose
// masks come too late is deferred: when they are there, its last token runs once more without
// writing, in a later batch. So no other row ever waits for a grammar.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/scheduler/scheduler.h"
#include "quire/draw_rule.h"

namespace quire::control {

using inference::DistributionRequest;
using inference::DrawMasks;
using inference::TokenId;

namespace {

const DrawSpec& draw_of(const Operation& operation) {
  return is<DrawTokens>(operation) ? body_of<DrawTokens>(operation).draw
                                   : body_of<ContextDraw>(operation).draw;
}

bool stops(const ContextDraw& body, std::uint32_t token) {
  if (body.draw.more == nullptr) return false;
  const std::vector<std::uint32_t>& all = body.draw.more->stop_tokens;
  return std::find(all.begin(), all.end(), token) != all.end();
}

// As many drafts as are looked at: up to the first stop token, which ends the draw, and one fewer
// than tokens are wanted.
void cut_drafts(const ContextDraw& body, std::vector<TokenId>& drafts) {
  std::size_t count = drafts.size();
  if (body.count_max > 0) count = std::min<std::size_t>(count, body.count_max - 1);
  for (std::size_t index = 0; index < count; ++index) {
    if (stops(body, static_cast<std::uint32_t>(drafts[index]))) count = index;
  }
  drafts.resize(count);
}

std::vector<double> randoms_of(const ContextDraw& body) {
  std::vector<double> randoms = {body.random};
  if (body.drafts != nullptr) {
    randoms.insert(randoms.end(), body.drafts->randoms.begin(), body.drafts->randoms.end());
  }
  return randoms;
}

}  // namespace

bool Scheduler::changes_after_pass(const Operation& operation) {
  if (!is<ContextDraw>(operation)) return false;
  return body_of<ContextDraw>(operation).queues_token || operation.read != nullptr;
}

std::optional<Scheduler::Attempt> Scheduler::prepare_draw(Operation& operation) {
  ReadProgress& read = *operation.read;
  if (!read.is_prepared) {
    read.is_prepared = true;
    const ContextDraw& body = body_of<ContextDraw>(operation);
    if (body.drafts != nullptr) {
      for (const std::uint32_t token : body.drafts->tokens) read.drafts.push_back(TokenId{token});
    } else if (read.matchers.size() == 1 && body.queues_token && body.draw.more->forces_tokens &&
               !resources_.is_basic()) {
      read.drafts = read.matchers.front()->forced_run;
    }
    cut_drafts(body, read.drafts);
    if (!read.matchers.empty()) start_masks(operation, randoms_of(body));
  }
  if (!read.is_late || read.masks->is_ready()) return std::nullopt;
  read.waits_for_masks = true;
  return Attempt::Blocked;
}

void Scheduler::start_masks(Operation& operation, std::vector<double> randoms) {
  ReadProgress& read = *operation.read;
  const DrawExtras& more = *draw_of(operation).more;
  auto work = std::make_shared<DrawMaskWork>();
  for (const MatcherObject* each : read.matchers) work->matchers.push_back(each->state);
  work->mask = more.mask;
  work->drafts = read.drafts;
  work->forces_tokens = more.forces_tokens;
  work->vocabulary_size = resources_.model.vocabulary_size;
  read.masks = std::make_shared<DrawMasks>(std::move(randoms));
  matchers_.start(
      operation.instance->tenant,
      [work = std::move(work), masks = read.masks]() mutable {
        masks->publish(fill_masks(*work));
        work.reset();
      },
      [ref = Ref<Operation>(&operation)] {
        if (Operation* waiting = ref.get()) waiting->model->masks_ready(*waiting);
      });
}

void Scheduler::masks_ready(Operation& operation) {
  if (operation.read == nullptr || !operation.read->waits_for_masks) return;
  operation.read->waits_for_masks = false;
  add_ready(operation);
  table_.wakeup.notify();
}

// What would need a page of another's, or a longer context, is no draft: it is a guess.
std::uint32_t Scheduler::choose_drafts(Operation& operation, std::uint32_t queued) {
  if (operation.read == nullptr || operation.read->drafts.empty()) return 0;
  std::vector<TokenId>& drafts = operation.read->drafts;
  const std::uint64_t room = std::min<std::uint64_t>(room_of(*operation.context, resources_),
                                                     resources_.device.row_count_max - 1);
  if (drafts.size() > room) drafts.resize(room);
  const auto count = static_cast<std::uint32_t>(drafts.size());
  const std::uint32_t wanted = pages_wanted(*operation.context, resources_, queued + count);
  const bool has_pages = wanted == 0 || (wanted <= resources_.cache.available() &&
                                         check_quota(*operation.instance, wanted).ok());
  if (!has_pages) drafts.clear();
  return static_cast<std::uint32_t>(drafts.size());
}

void Scheduler::want_draw(Operation& operation, std::uint32_t row, std::uint32_t place) {
  DistributionRequest& request = batch_.distributions.emplace_back();
  describe(operation, place, request);
  request.row = row;
  building_.distributions.push_back({.operation = Ref<Operation>(&operation),
                                     .kind = request.kind,
                                     .pass = building_.last_pass(),
                                     .place = place});
  if (operation.read == nullptr) return;
  operation.read->results.resize(place + 1);
  operation.read->wanted_count = place + 1;
}

void Scheduler::describe_draw(const Operation& operation, std::uint32_t place,
                              DistributionRequest& request) const {
  const DrawSpec& draw = draw_of(operation);
  request.kind = inference::DistributionKind::Draw;
  request.draw.rule = draw.rule;
  if (draw.more != nullptr) {
    request.mask = draw.more->mask;
    request.draw.top_count = draw.more->top_count;
  }
  if (operation.read != nullptr) request.masks = operation.read->masks;
  if (is<DrawTokens>(operation)) {
    request.draw.random = body_of<DrawTokens>(operation).randoms[place];
    return;
  }
  const ContextDraw& body = body_of<ContextDraw>(operation);
  request.place = place;
  request.draw.random = place == 0 ? body.random : 0.0;
  if (place > 0 && body.drafts != nullptr) request.draw.random = body.drafts->randoms[place - 1];
  const std::uint32_t window = history_window(*draw.rule);
  if (window == 0) return;
  // The drafts are in the context too; those behind this place are not what it follows.
  const std::uint32_t drafts =
      operation.read != nullptr ? static_cast<std::uint32_t>(operation.read->drafts.size()) : 0;
  std::vector<TokenId>& history = request.draw.history;
  const std::uint64_t wanted = std::uint64_t{window} + drafts;
  copy_last_tokens(*operation.context, resources_,
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 0xffffffffu)),
                   history);
  history.resize(history.size() - std::min<std::size_t>(history.size(), drafts - place));
  if (history.size() > window) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(window));
  }
  const std::uint64_t length = held_token_count(*operation.context, resources_) - (drafts - place);
  request.draw.history_first = length - history.size();
}

void Scheduler::take_distribution(Operation& operation, const DistributionRecord& record,
                                  Result<inference::Distribution> distribution) {
  if (operation.read == nullptr) {
    if (!is<ContextDraw>(operation)) {
      if (is<GetNextDist>(operation) && distribution.ok()) count_generated(operation, 1);
      table_.finish(operation, answer_of(std::move(distribution), record.kind));
    } else if (distribution.ok()) {
      complete_draw(operation, std::move(distribution).take());
    } else {
      table_.finish(operation, std::move(distribution).take_error());
    }
    return;
  }
  ReadProgress& read = *operation.read;
  read.results[record.place] = std::move(distribution);
  if (--read.wanted_count > 0) return;
  if (!is<ContextDraw>(operation)) return finish_reads(operation);
  complete_draws(operation, flight_.passes[record.pass].draft_count);
}

// The pass with drafts is over, and the last `count` of them do not stand.
void Scheduler::take_back_drafts(Context& context, std::uint32_t count) {
  end_flight(context, resources_, ledger(*context.instance), true, count);
  trim_tail(context, resources_, ledger(*context.instance));
}

// Of operations that are gone: none of their drafts stands.
void Scheduler::settle_drafts() {
  for (const PassRecord& pass : flight_.passes) {
    Context* context = pass.context.get();
    if (pass.draft_count == 0 || pass.has_failed || context == nullptr) continue;
    if (!context->is_in_flight || pass.operation.get() != nullptr) continue;
    take_back_drafts(*context, pass.draft_count);
  }
}

namespace {

Drawn drawn_of(const inference::Distribution& from, bool is_forced) {
  return {.token = static_cast<std::uint32_t>(from.tokens.front()),
          .probability = from.probabilities.front(),
          .is_forced = is_forced};
}

void add_draw(Draws& draws, const inference::Distribution& from, bool is_forced) {
  draws.all.push_back(drawn_of(from, is_forced));
  draws.random_count += is_forced ? 0 : 1;
  for (std::size_t index = 1; index < from.tokens.size(); ++index) {
    draws.top_tokens.push_back(static_cast<std::uint32_t>(from.tokens[index]));
    draws.top_probabilities.push_back(from.probabilities[index]);
  }
}

DrawEnd end_of(DrawMasks::End end) {
  switch (end) {
    case DrawMasks::End::Open:
      break;
    case DrawMasks::End::Complete:
      return DrawEnd::GrammarComplete;
    case DrawMasks::End::NoneAllowed:
      return DrawEnd::NoTokenAllowed;
  }
  return DrawEnd::None;
}

}  // namespace

void Scheduler::queue_drawn(Context& context, std::uint32_t token) {
  append_tokens(context, resources_, std::span(&token, 1));
  ++context.drawn_queued_count;
}

// One token, without masks and drafts. It is queued also for one who dropped the future.
void Scheduler::complete_draw(Operation& operation, inference::Distribution drawn) {
  Context& context = *operation.context;
  Draws draws;
  add_draw(draws, drawn, false);
  if (is_greedy(*draw_of(operation).rule)) draws.random_count = 0;
  const bool queues_token = body_of<ContextDraw>(operation).queues_token;
  if (queues_token) queue_drawn(context, draws.all.front().token);
  count_generated(operation, 1);
  draws.counters = counters_of(context, resources_.cache.page_size());
  draws.is_full = queues_token && is_overfull(context, resources_);
  table_.finish(operation, AnswerBody(std::move(draws)));
}

struct Scheduler::DrawOutcome {
  Draws draws;
  std::uint32_t standing_count = 0;  // Drafts that stand.
  bool has_last = false;             // The last token drawn is none of them.
  bool is_late = false;
  bool is_at_end = false;  // Every place that the masks have was drawn.
};

// What the places say, one after the other, up to the first token that is not the draft there.
Result<Scheduler::DrawOutcome> Scheduler::outcome_of(const Operation& operation) const {
  const ReadProgress& read = *operation.read;
  const ContextDraw& body = body_of<ContextDraw>(operation);
  const DrawMasks* masks = read.masks.get();
  DrawOutcome outcome;
  for (std::size_t place = 0; place < read.results.size(); ++place) {
    const Result<inference::Distribution>& result = *read.results[place];
    if (!result.ok()) return result.error().copy();
    if (result.value().is_deferred) {
      outcome.is_late = true;
      return outcome;
    }
    if (result.value().tokens.empty()) {  // The masks end before it.
      outcome.draws.end = end_of(masks->filled().end);
      break;
    }
    const bool is_forced = masks != nullptr && masks->filled().places[place].is_forced;
    add_draw(outcome.draws, result.value(), is_forced);
    outcome.has_last = true;
    outcome.is_at_end = masks != nullptr && place + 1 == masks->filled().places.size();
    const std::uint32_t token = outcome.draws.all.back().token;
    if (stops(body, token)) {
      outcome.draws.end = DrawEnd::StopToken;
      break;
    }
    const bool stands =
        place < read.drafts.size() && token == static_cast<std::uint32_t>(read.drafts[place]);
    if (!stands || (body.count_max > 0 && place + 1 == body.count_max)) break;
    outcome.has_last = false;
    ++outcome.standing_count;
  }
  return outcome;
}

void Scheduler::complete_draws(Operation& operation, std::uint32_t draft_count) {
  Context& context = *operation.context;
  Result<DrawOutcome> drawn = outcome_of(operation);
  if (drawn.ok() && operation.read->masks != nullptr && operation.read->masks->is_ready() &&
      operation.read->masks->filled().error) {
    drawn = operation.read->masks->filled().error->copy();
  }
  if (drawn.ok() && drawn.value().is_late) return draw_again(operation, draft_count);
  const std::uint32_t standing = drawn.ok() ? drawn.value().standing_count : 0;
  if (draft_count > 0) take_back_drafts(context, draft_count - standing);
  if (!drawn.ok()) {
    table_.finish(operation, std::move(drawn).take_error());
    return;
  }
  DrawOutcome outcome = std::move(drawn).take();
  const bool queues_last = outcome.has_last && body_of<ContextDraw>(operation).queues_token;
  if (queues_last) queue_drawn(context, outcome.draws.all.back().token);
  count_generated(operation, outcome.draws.all.size());
  if (is_greedy(*draw_of(operation).rule)) outcome.draws.random_count = 0;
  advance_matchers(operation, outcome);
  outcome.draws.counters = counters_of(context, resources_.cache.page_size());
  outcome.draws.is_full = queues_last && is_overfull(context, resources_);
  table_.finish(operation, AnswerBody(std::move(outcome.draws)));
}

// Its masks came too late. What was queued is computed; the last token runs once more.
void Scheduler::draw_again(Operation& operation, std::uint32_t draft_count) {
  if (draft_count > 0) take_back_drafts(*operation.context, draft_count);
  ++counts_.late_mask_count;
  operation.read->is_late = true;
  operation.read->results.clear();
  operation.begin_anew();
  operation.state = OperationState::Ready;
  if (operation.read->masks->is_ready()) {
    add_ready(operation);
  } else {
    operation.read->waits_for_masks = true;
  }
}

// By the tokens that are in the context now, and no others.
void Scheduler::advance_matchers(Operation& operation, const DrawOutcome& outcome) {
  ReadProgress& read = *operation.read;
  const std::size_t kept =
      outcome.standing_count +
      (outcome.has_last && body_of<ContextDraw>(operation).queues_token ? 1u : 0u);
  if (read.matchers.empty() || kept == 0) return;
  std::vector<TokenId> tokens;
  for (std::size_t index = 0; index < kept; ++index) {
    tokens.push_back(TokenId{outcome.draws.all[index].token});
  }
  const bool follows_forced =
      outcome.is_at_end && kept == outcome.draws.all.size() && outcome.draws.all.back().is_forced;
  std::vector<MatcherRef> states;
  for (MatcherObject* each : read.matchers) {
    states.push_back(each->state);
    each->forced_run.clear();
    if (follows_forced) each->forced_run = read.masks->filled().forced_run;
  }
  matchers_.start(
      operation.instance->tenant,
      [states = std::move(states), tokens = std::move(tokens)]() mutable {
        for (const MatcherRef& each : states) {
          Result<bool> accepted = accept(*each, tokens);
          if (!accepted.ok() && !each->error) each->error = std::move(accepted).take_error();
        }
        states.clear();
      },
      [] {});
}

// A list that was read at once: of distributions, of logarithms, of draws.
void Scheduler::finish_reads(Operation& operation) {
  ReadProgress& read = *operation.read;
  for (const auto& each : read.results) {
    if (!each->ok()) {
      table_.finish(operation, each->error().copy());
      return;
    }
  }
  if (is<GetNextDists>(operation)) {
    NextDistributions all;
    for (auto& each : read.results) {
      Result<AnswerBody> one = answer_of(std::move(*each), inference::DistributionKind::TopK);
      all.all.push_back(std::get<NextDistribution>(std::move(one).take()));
    }
    count_generated(operation, all.all.size());
    table_.finish(operation, AnswerBody(std::move(all)));
  } else if (is<GetLogprobsOf>(operation)) {
    Values values;
    for (const auto& each : read.results) values.all.push_back(each->value().values.front());
    table_.finish(operation, AnswerBody(std::move(values)));
  } else {
    Draws draws;
    const DrawMasks* masks = read.masks.get();
    if (masks != nullptr && masks->filled().error) {
      table_.finish(operation, masks->filled().error->copy());
      return;
    }
    if (masks != nullptr && masks->filled().places.empty()) draws.end = end_of(masks->filled().end);
    for (const auto& each : read.results) {
      if (each->value().tokens.empty()) continue;  // No place: see `end`.
      add_draw(draws, each->value(), masks != nullptr && masks->filled().places.front().is_forced);
    }
    count_generated(operation, draws.all.size());
    table_.finish(operation, AnswerBody(std::move(draws)));
  }
}

namespace {

// What a step of a matcher does, on the matchers' thread.
std::function<Result<AnswerBody>()> step_of(const Operation& operation, std::uint32_t vocabulary) {
  const MatcherRef state = operation.read->matchers.front()->state;
  switch (operation.type) {
    case index_of<ForkMatcher>(): {
      const MatcherRef child = operation.read->matchers.back()->state;
      return [state, child]() -> Result<AnswerBody> {
        fork_into(*state, *child);
        return AnswerBody(Done{});
      };
    }
    case index_of<AcceptTokens>(): {
      std::vector<TokenId> tokens;
      for (const std::uint32_t token : body_of<AcceptTokens>(operation).tokens) {
        tokens.push_back(TokenId{token});
      }
      return [state, tokens = std::move(tokens)]() -> Result<AnswerBody> {
        return AnswerBody(Accepted{.is_complete = TRY(accept(*state, tokens))});
      };
    }
    case index_of<RollBackMatcher>():
      return [state, count = body_of<RollBackMatcher>(operation).count]() -> Result<AnswerBody> {
        inference::Matcher* matcher = TRY(usable(*state));
        TRY(matcher->roll_back(count));
        return AnswerBody(Done{});
      };
    case index_of<GetTokenMask>():
      return [state, vocabulary]() -> Result<AnswerBody> {
        return AnswerBody(TokenMaskWords{.words = TRY(token_mask(*state, vocabulary))});
      };
    default:
      break;
  }
  return [state, count = body_of<GetForcedTokens>(operation).count_max]() -> Result<AnswerBody> {
    inference::Matcher* matcher = TRY(usable(*state));
    Tokens tokens;
    for (const TokenId token : matcher->forced(count)) {
      tokens.ids.push_back(static_cast<std::uint32_t>(token));
    }
    return AnswerBody(std::move(tokens));
  };
}

}  // namespace

Scheduler::Attempt Scheduler::matcher_step(Operation& operation) {
  MatcherObject* matcher = operation.read->matchers.front();
  if (is<DropMatcher>(operation)) {
    matchers_.release(operation.instance->tenant, std::move(matcher->state));
    table_.matchers.destroy(matcher);
    table_.finish(operation, AnswerBody(Done{}));
    return Attempt::Done;
  }
  if (is<ForkMatcher>(operation)) {
    operation.read->matchers.back()->forced_run = matcher->forced_run;
  } else if (is<AcceptTokens>(operation) || is<RollBackMatcher>(operation)) {
    matcher->forced_run.clear();
  }
  auto outcome = std::make_shared<std::optional<Result<AnswerBody>>>();
  operation.state = OperationState::Running;
  matchers_.start(
      operation.instance->tenant,
      [work = step_of(operation, resources_.model.vocabulary_size), outcome]() mutable {
        *outcome = std::exchange(work, nullptr)();
      },
      [ref = Ref<Operation>(&operation), outcome] {
        Operation* waiting = ref.get();
        if (waiting != nullptr) waiting->model->table_.finish(*waiting, std::move(**outcome));
      });
  return Attempt::Blocked;
}

}  // namespace quire::control
