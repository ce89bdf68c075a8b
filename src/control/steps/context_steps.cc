#include "control/steps/context_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context.h"
#include "control/contexts/context_limits.h"
#include "control/contexts/context_tokens.h"
#include "control/contexts/tail_page.h"
#include "control/steps/token_counts.h"

namespace quire::control {

namespace {

// An operation that computes so many tokens or more computes a text, and the state after it is
// worth keeping.
constexpr std::uint32_t kTurnTokens = 16;

Error too_many_outputs(std::uint32_t wanted, std::uint32_t queued) {
  return Error(ErrorCode::OutOfRange, "outputs of the last " + std::to_string(wanted) +
                                          " tokens wanted, " + std::to_string(queued) +
                                          " are queued");
}

// The outputs of found tokens come first, then those of computed ones.
OutputRange outputs_of(const Operation& operation, std::uint32_t answered_count,
                       std::uint32_t chunk) {
  if (operation.output_embeds.empty()) return {};
  const auto wanted = static_cast<std::uint32_t>(operation.output_embeds.size());
  const auto queued = static_cast<std::uint32_t>(operation.output_tokens.size());
  const std::uint32_t output_first = operation.total_count - queued;
  const std::uint32_t begin = std::max(operation.done_count, output_first);
  const std::uint32_t end = operation.done_count + chunk;
  const std::uint32_t computed = queued == 0 || end <= begin ? 0 : end - begin;
  const std::uint32_t first = answered_count > 0 ? operation.requeries.front().output
                                                 : begin - output_first + (wanted - queued);
  return {.first = first, .count = answered_count + computed};
}

// The state after pages that have no name could not be computed again.
Result<void> check_states(const Context& context) {
  if (context.parts().states() == nullptr || context.is_plain()) return {};
  return Error(ErrorCode::NotSupported,
               "the context has pages of copies or of a program's own vectors, and the recurrent "
               "layers of model " +
                   context.owner().resources->model.name +
                   " have no state after those; append their tokens to a new context");
}

// Whether the cut leaves all written tokens as they are, wherever they lie.
bool cuts_queue_only(const ContextEdit& cut, const Context& context) {
  const std::uint64_t queued = context.tokens().own_count() + context.tokens().overflow_count();
  return cut.kind == ContextEditKind::Truncate && cut.count <= queued;
}

// A context without its pages can be truncated or rewound as it is. Every other change needs the
// written tokens back in the pool first, and swapped pages come back before any change.
bool needs_whole(const Operation& operation) {
  if (!needs_any(operation, needs::Whole)) return false;
  const auto* cut = std::get_if<ContextEdit>(&operation.body);
  const bool cuts = cut != nullptr && (cut->kind == ContextEditKind::Truncate ||
                                       cut->kind == ContextEditKind::Rewind);
  return !cuts || (operation.context->swapped() && !cuts_queue_only(*cut, *operation.context));
}

}  // namespace

Attempt ContextSteps::attempt(Operation& operation, BatchDraft* building) {
  BatchDraft& draft = *building;
  Context& context = *operation.context;
  if (context.is_in_flight()) return Attempt::Later;
  // Not when it is suspended: that would look through all operations of an instance for each of its
  // contexts. No other operation brings the context back before this one, which is first on it.
  if (context.is_suspended() && operation.is_started) operation.begin_anew();
  // The pages that the context gave up may be there still, so that it would need no other page. But
  // it gave them up for another operation.
  if (context.is_suspended() && tools_.room.gives_way(operation)) {
    return tools_.room.want(operation, std::max(context.chain().page_count(), 1u));
  }
  if (context.swapped()) {
    if (const std::optional<Attempt> away = back_.bring_swapped(operation, building)) return *away;
  }
  back_.resume(context);
  if (!operation.is_started) {
    if (Result<void> started = start(operation); !started.ok()) {
      return fail(operation, std::move(started).take_error());
    }
  }
  if (operation.read != nullptr) {
    if (const std::optional<Attempt> waits = draws_.prepare(operation)) return *waits;
  }
  report(tools_.table.walk, WalkStop::Pages);
  switch (find(operation, draft.lookups_left())) {
    case FindEnd::NoMore:
      break;
    case FindEnd::Claimed:
      operation.finding.has_waited = true;
      return Attempt::Later;  // Another computes it: look again after the step.
    case FindEnd::Slice:
      tools_.turn.has_sliced = true;
      return Attempt::Later;
    case FindEnd::Quota:
      return fail(operation, tools_.quota.beyond(*operation.instance, 1));
  }
  if (const std::optional<Attempt> away =
          back_.fetch(operation, resources().cache.page_count(), draft)) {
    return *away;
  }
  if (context.tokens().queued_count() == 0 && operation.requeries.empty()) {
    return finish_context(operation);
  }
  if (draft.rows_left() == 0) return Attempt::Later;
  const Again again = again_of(operation);
  if (const std::optional<Attempt> waits = wait_for_state(operation, again)) return *waits;
  count_found_late(replica(), operation);
  if (replica().misses.is_on()) note_misses(operation);
  return place(operation, again, false, draft);
}

std::optional<Attempt> ContextSteps::restore(Operation& operation, BatchDraft* draft) {
  Context& context = *operation.context;
  if (const std::optional<Attempt> away = back_.bring_swapped(operation, draft)) return away;
  back_.resume(context);
  if (context.tokens().lost_count() == 0) return std::nullopt;
  if (draft == nullptr) return Attempt::Later;
  if (const std::optional<Attempt> found = back_.find_lost(operation, *draft)) return found;
  if (context.tokens().lost_count() == 0) return std::nullopt;
  if (draft->rows_left() == 0) return Attempt::Later;
  const Again again = again_of(operation);
  if (const std::optional<Attempt> waits = wait_for_state(operation, again)) return waits;
  return place(operation, again, true, *draft);
}

std::optional<Attempt> ContextSteps::bring_back(Operation& operation, BatchDraft* draft) {
  Context* context = operation.context;
  if (context == nullptr) return std::nullopt;
  if (context->is_in_flight() && !is<ContextAppend>(operation)) return Attempt::Later;
  if (context->swapped() && is<ContextFork>(operation) && !context->swapped()->error &&
      !context->swapped()->has_tail()) {
    return Attempt::Later;  // The batch under way brings it.
  }
  return needs_whole(operation) ? restore(operation, draft) : std::nullopt;
}

Result<void> ContextSteps::start(Operation& operation) {
  Context& context = *operation.context;
  TRY(check_fits(context));
  TRY(check_states(context));
  const std::uint32_t queued = context.tokens().queued_count();
  const std::uint32_t wanted = output_count_of(operation);
  operation.total_count = queued;
  operation.position_first = context.seq_len() - context.tokens().lost_count();
  // Lost tokens are not in the program's queue. An operation that began before the suspension had
  // enough.
  const std::uint32_t own = context.tokens().own_count();
  if (!operation.is_checked && wanted > own) {
    if (own == 0 && context.seq_len() == 0) {
      return Error(ErrorCode::OutOfRange, "the context is empty; append a token first");
    }
    if (own > 0 || wanted != 1) return too_many_outputs(wanted, own);
  }
  if (!operation.is_checked) {
    TRY(Quota::may_compute(*operation.instance, own));
    count_asked(replica(), operation, own);
  }
  operation.is_checked = true;
  // Written tokens run once more: the last one, or all when the operation begins anew.
  const std::uint32_t written = wanted > queued ? wanted - queued : 0;
  for (std::uint32_t output = 0; output < written; ++output) {
    const std::uint32_t position = operation.position_first - written + output;
    operation.requeries.push_back(
        {.token = token_at(context, position), .position = position, .output = output});
  }
  const auto last = context.tokens().all().last(wanted - written);
  operation.output_tokens.assign(last.begin(), last.end());
  operation.is_started = true;
  return {};
}

FindEnd ContextSteps::find(Operation& operation, std::uint32_t& lookups_left) {
  Context& context = *operation.context;
  if (context.tokens().queued_count() == 0 || !context.has_page_to_find()) {
    return FindEnd::NoMore;
  }
  const std::uint32_t before = context.chain().page_count();
  const FindResult found = context.find_queued(tools_.quota.of(*operation.instance), lookups_left);
  lookups_left -= std::min(lookups_left, context.chain().page_count() - before);
  count_found(replica(), operation, found);
  const auto output_count = static_cast<std::uint32_t>(operation.output_tokens.size());
  const std::uint32_t output_first = operation.total_count - output_count;
  const std::uint32_t end = operation.done_count + found.token_count;
  const std::uint32_t output_offset = output_count_of(operation) - output_count;
  for (std::uint32_t index = std::max(operation.done_count, output_first); index < end; ++index) {
    operation.requeries.push_back({.token = operation.output_tokens[index - output_first],
                                   .position = operation.position_first + index,
                                   .output = index - output_first + output_offset});
  }
  operation.done_count = end;
  return found.end;
}

void ContextSteps::note_misses(Operation& operation) {
  Context& context = *operation.context;
  // Fewer tokens than a page are computed again wherever a context begins between pages.
  const std::uint32_t replay_count = context.parts().replay_count();
  if (replay_count >= page_size()) {
    const std::uint32_t position = context.parts().written_count() - replay_count;
    context.note_replay(
        replica().misses.note(context.use().replay, {.instance = operation.instance->id,
                                                     .context = context_id(operation),
                                                     .operation = operation.age,
                                                     .page = position / page_size(),
                                                     .position = position,
                                                     .why = {.reason = MissReason::NoState}}));
  }
  if (context.tokens().queued_count() > 0) note_miss(operation);
}

// The look-up asked for the page after all found ones, if it is full.
void ContextSteps::note_miss(Operation& operation) {
  Context& context = *operation.context;
  const std::uint32_t page_size = this->page_size();
  if (context.tokens().count() < page_size || context.tokens().written_count() >= page_size) return;
  PageMiss why{.reason = MissReason::Opaque};
  if (!context.working().has_unnamed_start()) {
    why = explain_miss(resources().cache, context.chain().head(),
                       TailPage(context.parts(), page_size, 0).content(), replica().miss_scope);
  }
  const std::uint64_t miss = replica().misses.note(
      context.use().miss,
      {.instance = operation.instance->id,
       .context = context_id(operation),
       .operation = operation.age,
       .page = context.chain().page_count(),
       .position = context.chain().page_count() * page_size + context.tokens().written_count(),
       .why = why});
  context.note_miss(miss);
}

ContextSteps::LookAhead ContextSteps::look_ahead(Operation& operation,
                                                 std::uint32_t& lookups_left) {
  const Context& context = *operation.context;
  if (context.is_in_flight() || context.is_suspended() || context.tokens().lost_count() > 0) {
    return LookAhead::Nothing;
  }
  if (operation.error || (!operation.is_started && !start(operation).ok())) {
    return LookAhead::Refused;  // The error is answered when its turn comes.
  }
  if (find(operation, lookups_left) == FindEnd::Claimed) operation.finding.has_waited = true;
  return LookAhead::Done;
}

ContextSteps::Again ContextSteps::again_of(const Operation& operation) const {
  const ContextParts& parts = operation.context->parts();
  const auto wanted = static_cast<std::uint32_t>(operation.requeries.size());
  if (parts.states() == nullptr) return {.row_count = wanted};
  const std::uint32_t written = parts.written_count();
  const StatedChain chain = parts.stated_chain();
  const StandingState last = parts.states()->nearest(chain, written);
  if (wanted == 0) {
    return {.row_count = written - last.length, .from = last, .wanted_length = written};
  }
  const std::uint32_t first = operation.requeries.front().position;
  // Drafts come after the last token in its pass, so that is computed again then.
  const bool has_drafts = operation.read != nullptr && !operation.read->drafts.empty();
  const bool is_last_alone = first + 1 == written && parts.tokens().queued_count() == 0;
  if (last.length == written && is_last_alone && !has_drafts) {
    return {.row_count = 1, .from = last, .is_of_state = !is_planted(Fault::RequeryChangesState)};
  }
  const std::uint32_t before = std::min(first, written);
  const StandingState from = parts.states()->nearest(chain, before);
  return {.row_count = written - from.length,
          .from = from,
          .wanted_length = is_last_alone && !has_drafts ? written : before};
}

// A state that the store has, or that a pass under way writes, may be nearer than the one at hand.
std::optional<Attempt> ContextSteps::wait_for_state(Operation& operation, const Again& again) {
  const ContextParts& parts = operation.context->parts();
  if (parts.states() == nullptr || again.is_of_state) return std::nullopt;
  const ContextStates& states = *parts.states();
  const StatedChain chain = parts.stated_chain();
  const auto stored = states.nearest_stored(chain, again.from, again.wanted_length);
  if (stored.has_value() &&
      state_loads_.wait(operation, stored->node, stored->length, importance_of(operation))) {
    return Attempt::Blocked;
  }
  // As with pages that another context computes: it looks again after the step.
  if (states.is_coming(chain, again.from, again.wanted_length)) return Attempt::Later;
  return std::nullopt;
}

// The wanted outputs that the first `requery_count` rows give.
std::uint32_t ContextSteps::answered_count(const Operation& operation, const Again& again,
                                           std::uint32_t requery_count) {
  if (operation.context->parts().states() == nullptr || again.is_of_state) return requery_count;
  const std::uint32_t end = again.from.length + requery_count;
  const auto is_before = [&](const Operation::Requery& each) { return each.position < end; };
  return static_cast<std::uint32_t>(std::ranges::count_if(operation.requeries, is_before));
}

// The chunk of the operation that comes into this batch, under so many rows.
ContextSteps::Chunk ContextSteps::chunk_of(Operation& operation, const Again& again,
                                           std::uint32_t remaining, std::uint32_t row_limit,
                                           bool restores, const BatchDraft& draft) {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t written = operation.context->tokens().written_count();
  Chunk chunk;
  chunk.requery_count = std::min(row_limit, again.row_count);
  chunk.queued_count = std::min(remaining, row_limit - chunk.requery_count);
  chunk.is_last =
      !restores && chunk.queued_count == remaining && chunk.requery_count == again.row_count;
  chunk.draft_count =
      restores ? 0 : draws_.choose_drafts(operation, remaining, draft.guess_share());
  if (chunk.draft_count > 0) {
    // Drafts come with the last row before them, whatever is left of the budget: they are few.
    const std::uint64_t rows = std::uint64_t{draft.row_count()} + chunk.requery_count +
                               chunk.queued_count + chunk.draft_count;
    if (!chunk.is_last || rows > draft.device_row_limit()) {
      chunk.is_last = false;
      chunk.draft_count = 0;
      // The last row is wanted with the drafts: a queued one, or else one that runs once more.
      if (remaining == 0) {
        chunk.requery_count = std::min(chunk.requery_count, again.row_count - 1);
      } else {
        chunk.queued_count = std::min(chunk.queued_count, remaining - 1);
      }
    }
  }
  constexpr std::uint32_t kWholePageCountMin = 4;
  if (chunk.queued_count < remaining && chunk.queued_count >= kWholePageCountMin * page_size) {
    // The chunk ends with a page, so that other contexts with the same prompt find it a step
    // earlier.
    chunk.queued_count = (written + chunk.queued_count) / page_size * page_size - written;
  }
  chunk.answered_count = answered_count(operation, again, chunk.requery_count);
  return chunk;
}

// Pages for so many tokens more. Empty: it can have them; otherwise what to do with it.
std::optional<Attempt> ContextSteps::want_pages_for(Operation& operation,
                                                    std::uint32_t token_count) {
  Context& context = *operation.context;
  const std::uint32_t wanted = context.pages_wanted(token_count);
  if (wanted == 0) return std::nullopt;
  Result<void> quota = tools_.quota.may_hold(*operation.instance, wanted, &context);
  if (!quota.ok()) {
    // Another context of the instance may be computing the pages that this one had before it was
    // suspended. When that is done, they are found.
    const bool comes_back = wanted <= away_page_count(context);
    if (comes_back && back_.others_go_on(operation)) return Attempt::Later;
    return fail(operation, std::move(quota).take_error());
  }
  if (!tools_.room.can_take(operation, wanted, true)) return tools_.room.want(operation, wanted);
  return std::nullopt;
}

Attempt ContextSteps::place(Operation& operation, const Again& again, bool restores,
                            BatchDraft& draft) {
  Context& context = *operation.context;
  const std::uint32_t remaining =
      restores ? context.tokens().lost_count() : context.tokens().queued_count();
  const Chunk chunk = chunk_of(operation, again, remaining, draft.rows_left(), restores, draft);
  if (chunk.requery_count + chunk.queued_count == 0) {  // No room for its drafts in this batch.
    if (tools_.turn.first_next.get() == nullptr)
      tools_.turn.first_next = Ref<Operation>(&operation);
    return Attempt::Later;
  }
  const std::uint32_t taken = remaining + chunk.draft_count;  // Tokens that take a slot.
  const bool has_slots = taken > 0 && context.has_slots(taken);
  if (!has_slots) {
    if (const std::optional<Attempt> refused = want_pages_for(operation, taken)) return *refused;
  }
  const std::uint32_t output_limit =
      std::min(chunk.requery_count + chunk.queued_count,
               static_cast<std::uint32_t>(operation.output_embeds.size()));
  if (!tools_.slots.has_ample(output_limit)) {
    const Result<bool> may = tools_.slots.may_take(
        operation, outputs_of(operation, chunk.answered_count, chunk.queued_count));
    if (!may.ok()) return fail(operation, may.error().copy());
    if (!may.value()) return Attempt::Later;
  }
  if (!begin_states(operation, again, chunk)) return Attempt::Later;
  if (!resources().sequences.acquire(context, draft.id())) {
    if (auto* states = context.parts().states()) states->cancel_flight(*resources().states);
    return draft.has_passes() ? Attempt::Later : fail(operation, no_page_table(resources().device));
  }
  operation.wanted_page_count = 0;
  if (!has_slots) {
    const bool has_taken = context.take_pages(taken, draft.batch().copies);
    QUIRE_CHECK(has_taken, "make_room() made too little");
  }
  return fly(operation, again, chunk, draft);
}

// Takes slots for the states of the chunk; false if there are none until a batch is done.
bool ContextSteps::begin_states(const Operation& operation, const Again& again,
                                const Chunk& chunk) {
  ContextParts& parts = operation.context->parts();
  if (parts.states() == nullptr) return true;
  const std::uint32_t row_count = again.is_of_state ? 0 : chunk.row_count();
  return parts.states()->begin_flight(parts.stated_chain(), {.from = again.from,
                                                             .end = again.from.length + row_count,
                                                             .importance = importance_of(operation),
                                                             .is_last = chunk.is_last});
}

// Puts the rows of the operation, whose pages are there, into the batch.
Attempt ContextSteps::fly(Operation& operation, const Again& again, const Chunk& chunk,
                          BatchDraft& draft) {
  Context& context = *operation.context;
  const auto drafts = chunk.draft_count > 0
                          ? std::span<const inference::TokenId>(operation.read->drafts)
                          : std::span<const inference::TokenId>();
  context.begin_flight(chunk.queued_count, drafts);
  context.parts().sync_table(draft.batch().table_changes);
  add_rows(operation, again, chunk, draft);
  operation.done_count += chunk.queued_count;
  if (chunk.answered_count > 0) {
    operation.requeries.erase(operation.requeries.begin(),
                              operation.requeries.begin() + chunk.answered_count);
  }
  const bool replays = context.parts().states() != nullptr && !again.is_of_state;
  if (replays) replica().counts.replayed_token_count += chunk.requery_count;
  if (context.parts().states() != nullptr) {
    context.note_replayed(replays ? chunk.requery_count : 0,
                          !replays || chunk.requery_count == again.row_count);
  }
  if (replica().misses.is_on()) {
    replica().misses.count(context.use().miss, operation.age, chunk.queued_count);
    if (replays) {
      replica().misses.count(context.use().replay, operation.age, chunk.requery_count);
    }
  }
  context.note_use(draft.id());
  draft.last_pass().is_last = chunk.is_last;
  if (!chunk.is_last) return Attempt::Later;
  if (DrawSteps::changes_after_pass(operation)) {
    operation.state = OperationState::Running;
  } else {
    tools_.table.place(operation);
  }
  return Attempt::Placed;
}

template <typename AddLast>
void ContextSteps::add_requeries(const Operation& operation, const Again& again, const Chunk& chunk,
                                 BatchDraft& draft, const AddLast& add_last) const {
  const Context& context = *operation.context;
  const bool has_states = context.parts().states() != nullptr;
  const auto add = [&](inference::TokenId token, std::uint32_t position) {
    const ChosenAdaptersRef& set = context.adapters().of_slots.at(position);
    draft.add_row({.token = token,
                   .position = position,
                   .adapters = draft.adapters_of(set),
                   .is_of_state = again.is_of_state});
  };
  if (!has_states || again.is_of_state) {
    for (std::uint32_t index = 0; index < chunk.requery_count; ++index) {
      const Operation::Requery& each = operation.requeries[index];
      add(each.token, each.position);
      add_last(each.output);
    }
    return;
  }
  const std::vector<inference::TokenId> tokens =
      tokens_from(context, again.from.length, chunk.requery_count);
  std::uint32_t answered = 0;
  for (std::uint32_t index = 0; index < chunk.requery_count; ++index) {
    const std::uint32_t position = again.from.length + index;
    add(tokens[index], position);
    const bool is_wanted =
        answered < chunk.answered_count && operation.requeries[answered].position == position;
    if (is_wanted) add_last(operation.requeries[answered++].output);
  }
}

void ContextSteps::add_rows(Operation& operation, const Again& again, const Chunk& chunk,
                            BatchDraft& draft) {
  Context& context = *operation.context;
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t row_first = draft.row_count();
  PassRecord& pass = draft.begin_pass(*this, operation);
  pass.context = Ref<Context>(&context);
  pass.draft_count = chunk.draft_count;
  const auto add_last = [&](std::uint32_t output) {
    if (is<ContextDraw>(operation)) {
      return draws_.want_draw(operation, draft.row_count() - 1, 0, draft);
    }
    draft.want_output(*operation.output_embeds[output], draft.row_count() - 1);
  };
  add_requeries(operation, again, chunk, draft, add_last);
  const std::span<const inference::TokenId> tokens = context.tokens().unwritten();
  const std::uint32_t written = context.tokens().written_count();
  const std::uint32_t base = context.chain().page_count() * page_size;
  std::uint64_t position_first = base;
  if (is_planted(Fault::DropRangeRenumbers)) position_first -= context.view().dropped().count();
  const auto output_count = static_cast<std::uint32_t>(operation.output_tokens.size());
  const std::uint32_t output_first = operation.total_count - output_count;
  const std::uint32_t output_offset = output_count_of(operation) - output_count;
  const SlotAdapters& sets = context.adapters().of_slots;
  const bool is_base = sets.is_empty();
  for (std::uint32_t index = 0; index < chunk.queued_count + chunk.draft_count; ++index) {
    const std::uint32_t offset = written + index;
    draft.add_row(
        {.token = tokens[index],
         .position = static_cast<std::uint32_t>(position_first + offset),
         .slot = base + offset,
         .adapters = is_base ? inference::kNoAdapters : draft.adapters_of(sets.at(base + offset))});
    if (index >= chunk.queued_count) {
      draws_.want_draw(operation, draft.row_count() - 1, index - chunk.queued_count + 1, draft);
      continue;
    }
    const std::uint32_t queued_index = operation.done_count + index;
    if (output_count > 0 && queued_index >= output_first)
      add_last(queued_index - output_first + output_offset);
  }
  inference::ForwardPass forward{
      .sequence = context.table().sequence(),
      .row_first = row_first,
      .row_count = chunk.row_count(),
      .visible_slot_end = base + written + chunk.queued_count + chunk.draft_count,
      .mask = std::nullopt};
  if (const ContextStates* states = context.parts().states()) {
    states->describe(draft.batch(), forward);
  }
  draft.end_pass(operation, std::move(forward));
}

void ContextSteps::passed(const Flight&, PassRecord& pass, Result<void> outcome) {
  Context* alive = pass.context.get();
  if (alive == nullptr) return;
  Context& context = *alive;
  if (outcome.ok() && pass.draft_count > 0) return;  // Until it is known which of them stand.
  context.end_flight(outcome.ok(), pass.draft_count);
  Operation* operation = pass.operation.get();
  if (!outcome.ok()) {
    if (operation != nullptr) {
      fail(*operation, std::move(outcome).take_error());
    } else {
      context.parts().trim_tail();
    }
    return;
  }
  if (operation == nullptr || !pass.is_last) return;
  if (context.parts().states() != nullptr && operation->total_count >= kTurnTokens) {
    context.parts().states()->end_turn(*resources().states);
  }
  if (!is<ContextDraw>(*operation)) finish_context(*operation);
}

}  // namespace quire::control
