#include "control/steps/draw_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/contexts/context.h"
#include "control/contexts/context_limits.h"
#include "control/contexts/context_tokens.h"
#include "control/steps/draw_answers.h"
#include "control/steps/token_counts.h"
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

bool DrawSteps::changes_after_pass(const Operation& operation) {
  if (!is<ContextDraw>(operation)) return false;
  return body_of<ContextDraw>(operation).queues_token || operation.read != nullptr;
}

std::optional<Attempt> DrawSteps::prepare(Operation& operation) {
  ReadProgress& read = *operation.read;
  if (!read.is_prepared) {
    read.is_prepared = true;
    const ContextDraw& body = body_of<ContextDraw>(operation);
    if (body.drafts != nullptr) {
      for (const std::uint32_t token : body.drafts->tokens) read.drafts.push_back(TokenId{token});
    } else if (read.matchers.size() == 1 && body.queues_token && body.draw.more->forces_tokens &&
               !resources().is_basic()) {
      read.drafts = read.matchers.front()->forced_run;
    }
    cut_drafts(body, read.drafts);
    if (!read.matchers.empty()) start_masks(operation, randoms_of(body));
  }
  if (!read.is_late || read.masks->is_ready()) return std::nullopt;
  read.waits_for_masks = true;
  return Attempt::Blocked;
}

void DrawSteps::start_masks(Operation& operation, std::vector<double> randoms) {
  ReadProgress& read = *operation.read;
  const DrawExtras& more = *draw_of(operation).more;
  auto work = std::make_shared<DrawMaskWork>();
  for (const MatcherObject* each : read.matchers) work->matchers.push_back(each->state);
  work->mask = more.mask;
  work->drafts = read.drafts;
  work->forces_tokens = more.forces_tokens;
  work->vocabulary_size = resources().model.vocabulary_size;
  read.masks = std::make_shared<DrawMasks>(std::move(randoms));
  matchers_.start(
      operation.instance->tenant,
      [work = std::move(work), masks = read.masks]() mutable {
        masks->publish(fill_masks(*work));
        work.reset();
      },
      [this, ref = Ref<Operation>(&operation)] {
        if (Operation* waiting = ref.get()) masks_ready(*waiting);
      });
}

void DrawSteps::masks_ready(Operation& operation) {
  if (operation.read == nullptr || !operation.read->waits_for_masks) return;
  operation.read->waits_for_masks = false;
  tools_.ready.add(operation);
  tools_.table.wakeup.notify();
}

// Drafts are guesses, so drop those that would need another program's page or a longer context, and
// those that would cost other rows of the batch more time than they save.
std::uint32_t DrawSteps::choose_drafts(Operation& operation, std::uint32_t queued,
                                       std::uint32_t guess_count_max) {
  if (operation.read == nullptr || operation.read->drafts.empty()) return 0;
  std::vector<TokenId>& drafts = operation.read->drafts;
  std::uint64_t room = std::min<std::uint64_t>(length_left(*operation.context),
                                               resources().device.row_count_max - 1);
  const bool are_guesses = body_of<ContextDraw>(operation).drafts != nullptr;
  if (are_guesses) {
    const std::uint64_t left = Quota::computable_count(*operation.instance);
    room = std::min({room, std::uint64_t{guess_count_max}, left});
  }
  if (drafts.size() > room) drafts.resize(room);
  const auto count = static_cast<std::uint32_t>(drafts.size());
  const std::uint32_t wanted = operation.context->pages_wanted(queued + count);
  const bool has_pages = wanted == 0 || (wanted <= resources().cache.available() &&
                                         tools_.quota.may_hold(*operation.instance, wanted).ok());
  if (!has_pages) drafts.clear();
  return static_cast<std::uint32_t>(drafts.size());
}

void DrawSteps::want_draw(Operation& operation, std::uint32_t row, std::uint32_t place,
                          BatchDraft& draft) {
  DistributionRequest& request = draft.add_request();
  describe(operation, place, request);
  request.row = row;
  draft.add_read({.owner = this,
                  .operation = Ref<Operation>(&operation),
                  .kind = request.kind,
                  .pass = draft.last_pass_index(),
                  .place = place,
                  .draft_count = draft.last_pass().draft_count});
  if (operation.read == nullptr) return;
  operation.read->results.resize(place + 1);
  operation.read->wanted_count = place + 1;
}

void DrawSteps::describe(const Operation& operation, std::uint32_t place,
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
  // The drafts are in the context too, but those after this place are not part of its history.
  const std::uint32_t drafts =
      operation.read != nullptr ? static_cast<std::uint32_t>(operation.read->drafts.size()) : 0;
  std::vector<TokenId>& history = request.draw.history;
  const std::uint64_t wanted = std::uint64_t{window} + drafts;
  copy_last_tokens(*operation.context,
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 0xffffffffu)),
                   history);
  history.resize(history.size() - std::min<std::size_t>(history.size(), drafts - place));
  if (history.size() > window) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(window));
  }
  const std::uint64_t length = operation.context->held_token_count() - (drafts - place);
  request.draw.history_first = length - history.size();
}

void DrawSteps::read(const ReadRecord& record, Result<inference::Distribution> outcome) {
  Operation& operation = *record.operation.get();
  if (operation.read == nullptr) {
    if (outcome.ok()) return complete_draw(operation, std::move(outcome).take());
    tools_.table.finish(operation, std::move(outcome).take_error());
    return;
  }
  ReadProgress& read = *operation.read;
  read.results[record.place] = std::move(outcome);
  if (--read.wanted_count == 0) complete_draws(operation, record.draft_count);
}

// The pass with drafts is over, and the last `count` of them do not stand.
void DrawSteps::take_back_drafts(Context& context, std::uint32_t count) {
  context.end_flight(true, count);
  context.parts().trim_tail();
}

// Takes back the drafts of operations that are gone.
void DrawSteps::settle_drafts(const Flight& flight) {
  for (const PassRecord& pass : flight.passes) {
    Context* context = pass.context.get();
    if (pass.draft_count == 0 || pass.has_failed || context == nullptr) continue;
    if (!context->is_in_flight() || pass.operation.get() != nullptr) continue;
    take_back_drafts(*context, pass.draft_count);
  }
}

void DrawSteps::queue_drawn(Context& context, std::uint32_t token) {
  context.append_drawn(token);
}

// One token, without masks and drafts. It is queued also for one who dropped the future.
void DrawSteps::complete_draw(Operation& operation, inference::Distribution drawn) {
  Context& context = *operation.context;
  Draws draws;
  add_draw(draws, drawn, false);
  if (is_greedy(*draw_of(operation).rule)) draws.random_count = 0;
  const bool queues_token = body_of<ContextDraw>(operation).queues_token;
  if (queues_token) queue_drawn(context, draws.all.front().token);
  count_generated(replica(), operation, 1);
  draws.counters = context.counters();
  draws.is_full = queues_token && is_overfull(context);
  tools_.table.finish(operation, AnswerBody(std::move(draws)));
}

struct DrawSteps::Outcome {
  Draws draws;
  std::uint32_t standing_count = 0;  // Drafts that stand.
  bool has_last = false;             // The last token drawn is none of them.
  bool is_late = false;
  bool is_at_end = false;  // Every place that the masks have was drawn.
};

// Reads the places one after the other, up to the first token that is not the draft there.
Result<DrawSteps::Outcome> DrawSteps::outcome_of(const Operation& operation) const {
  const ReadProgress& read = *operation.read;
  const ContextDraw& body = body_of<ContextDraw>(operation);
  const DrawMasks* masks = read.masks.get();
  Outcome outcome;
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

void DrawSteps::complete_draws(Operation& operation, std::uint32_t draft_count) {
  Context& context = *operation.context;
  Result<Outcome> drawn = outcome_of(operation);
  if (drawn.ok() && operation.read->masks != nullptr && operation.read->masks->is_ready() &&
      operation.read->masks->filled().error) {
    drawn = operation.read->masks->filled().error->copy();
  }
  if (drawn.ok() && drawn.value().is_late) return draw_again(operation, draft_count);
  const std::uint32_t standing = drawn.ok() ? drawn.value().standing_count : 0;
  if (draft_count > 0) take_back_drafts(context, draft_count - standing);
  Quota::note_computed(*operation.instance, standing);
  if (!drawn.ok()) {
    tools_.table.finish(operation, std::move(drawn).take_error());
    return;
  }
  Outcome outcome = std::move(drawn).take();
  count_drafts(operation, draft_count, outcome);
  const bool queues_last = outcome.has_last && body_of<ContextDraw>(operation).queues_token;
  if (queues_last) queue_drawn(context, outcome.draws.all.back().token);
  count_generated(replica(), operation, outcome.draws.all.size());
  if (is_greedy(*draw_of(operation).rule)) outcome.draws.random_count = 0;
  advance_matchers(operation, outcome);
  outcome.draws.counters = context.counters();
  outcome.draws.is_full = queues_last && is_overfull(context);
  tools_.table.finish(operation, AnswerBody(std::move(outcome.draws)));
}

void DrawSteps::count_drafts(const Operation& operation, std::uint32_t draft_count,
                             Outcome& outcome) {
  const Drafts* drafts = body_of<ContextDraw>(operation).drafts.get();
  if (drafts == nullptr) return;  // A grammar forced them.
  replica().counts.draws.draft_count += draft_count;
  replica().counts.draws.accepted_draft_count += outcome.standing_count;
  if (drafts->are_counted) outcome.draws.draft_count = draft_count;
}

// The masks of the operation came too late. Its queued tokens are computed; the last token runs
// once more.
void DrawSteps::draw_again(Operation& operation, std::uint32_t draft_count) {
  if (draft_count > 0) take_back_drafts(*operation.context, draft_count);
  ++replica().counts.draws.late_mask_count;
  operation.read->is_late = true;
  operation.read->results.clear();
  operation.begin_anew();
  operation.state = OperationState::Ready;
  if (operation.read->masks->is_ready()) {
    tools_.ready.add(operation);
  } else {
    operation.read->waits_for_masks = true;
  }
}

// Advances them by the tokens that are in the context now, and by no other tokens.
void DrawSteps::advance_matchers(Operation& operation, const Outcome& outcome) {
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

}  // namespace quire::control
