// flush and forward of a context, a chunk of rows at a time.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_parts.h"
#include "control/contexts/context_suspend.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {

using inference::Row;

Scheduler::Attempt Scheduler::compute_context(Operation& operation) {
  Context& context = *operation.context;
  if (context.is_in_flight) return Attempt::Later;
  // Not when it is suspended: that would look through all operations of an instance for each of its
  // contexts. No other operation brings the context back before this one, which is first on it.
  if (context.is_suspended && operation.is_started) operation.begin_anew();
  // What it gave up may be there still, so that it would need no other page: but it was given up
  // for somebody.
  if (context.is_suspended && gives_way(operation)) {
    return want_pages(operation, std::max(context.committed_count, 1u));
  }
  if (context.swapped) {
    if (const std::optional<Attempt> away = restore_swapped(operation)) return *away;
  }
  resume(context);
  if (!operation.is_started) {
    if (Result<void> started = start_context(operation); !started.ok()) {
      return fail(operation, std::move(started).take_error());
    }
  }
  if (operation.read != nullptr) {
    if (const std::optional<Attempt> waits = prepare_draw(operation)) return *waits;
  }
  report(table_.walk, WalkStop::Pages);
  switch (find_context(operation)) {
    case FindEnd::NoMore:
      break;
    case FindEnd::Claimed:
      operation.has_waited = true;
      return Attempt::Later;  // Another computes it: look again after the step.
    case FindEnd::Slice:
      has_sliced_ = true;
      return Attempt::Later;
    case FindEnd::Quota:
      return fail(operation, beyond_quota(*operation.instance, 1));
  }
  if (tiers_.is_on()) {
    const std::optional<Attempt> away = fetch(operation, resources_.cache.page_count());
    if (away) return *away;
  }
  if (queued_count(context) == 0 && operation.requeries.empty()) {
    return finish_context(operation);
  }
  if (misses_.is_on() && queued_count(context) > 0) note_miss(operation);
  return place_context(operation, rows_left());
}

std::uint32_t Scheduler::output_count_of(const Operation& operation) {
  if (is<ContextDraw>(operation)) return 1;
  return static_cast<std::uint32_t>(operation.output_embeds.size());
}

namespace {

Error too_many_outputs(std::uint32_t wanted, std::uint32_t queued) {
  return Error(ErrorCode::OutOfRange, "outputs of the last " + std::to_string(wanted) +
                                          " tokens wanted, " + std::to_string(queued) +
                                          " are queued");
}

}  // namespace

Result<void> Scheduler::start_context(Operation& operation) {
  Context& context = *operation.context;
  const std::uint32_t page_size = resources_.cache.page_size();
  TRY(check_fits(context, resources_));
  const std::uint32_t queued = queued_count(context);
  const std::uint32_t wanted = output_count_of(operation);
  operation.total_count = queued;
  operation.position_first = seq_len(context, page_size) - context.lost_count;
  // What was lost to a suspension is not the program's queue; one that began before had enough.
  const std::uint32_t own = queued - context.lost_count;
  if (!operation.is_checked && wanted > own) {
    if (own == 0 && seq_len(context, page_size) == 0) {
      return Error(ErrorCode::OutOfRange, "the context is empty; append a token first");
    }
    if (own > 0 || wanted != 1) return too_many_outputs(wanted, own);
  }
  if (!operation.is_checked) {
    TRY(meter_tokens(*operation.instance, own));
    count_asked(operation, own);
  }
  operation.is_checked = true;
  // Those that are written already run once more: the last token, or all when it begins anew.
  const std::uint32_t written = wanted > queued ? wanted - queued : 0;
  for (std::uint32_t output = 0; output < written; ++output) {
    const std::uint32_t position = operation.position_first - written + output;
    operation.requeries.push_back(
        {.token = token_at(context, resources_, position), .position = position, .output = output});
  }
  operation.output_tokens.assign(context.tokens.end() - (wanted - written), context.tokens.end());
  operation.is_started = true;
  return {};
}

FindEnd Scheduler::find_context(Operation& operation) {
  Context& context = *operation.context;
  if (queued_count(context) == 0 || !has_page_to_find(context, resources_.cache.page_size())) {
    return FindEnd::NoMore;
  }
  const std::uint32_t before = context.committed_count;
  const FindResult found = find_queued(context, resources_, ledger(*operation.instance),
                                       quota_of(*operation.instance), lookups_left_);
  lookups_left_ -= std::min(lookups_left_, context.committed_count - before);
  count_found(operation, found);
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

// Tells the prompt from the tokens that go on with what was drawn: those are the token that the host
// queued when it drew it, or a single one after an output, which the program drew itself.
void Scheduler::count_asked(Operation& operation, std::uint32_t own) {
  Context& context = *operation.context;
  const std::uint32_t drawn = std::min(own, std::exchange(context.drawn_queued_count, 0));
  const bool is_step = drawn == 0 && own == 1 && context.gave_output;
  if (own > 0 || output_count_of(operation) > 0) {
    context.gave_output = output_count_of(operation) > 0;
  }
  const std::uint32_t prompt = is_step ? 0 : own - drawn;
  // What was appended in between may have been waited for.
  if (prompt > 0) context.drawn_at_ns = 0;
  operation.prompt_left_count = prompt;
  InstanceStatistics& statistics = operation.instance->statistics;
  statistics.asked_token_count += own;
  statistics.prompt_token_count += prompt;
  counts_.prompt_token_count += prompt;
}

// Tokens that were drawn, all of them now; or distributions, for a program that draws itself.
void Scheduler::count_generated(Operation& operation, std::size_t count) {
  if (count == 0) return;
  counts_.generated_token_count += count;
  operation.instance->statistics.generated_token_count += count;
  if (!is<ContextDraw>(operation)) return;
  const std::uint64_t before_ns = std::exchange(operation.context->drawn_at_ns, completed_at_ns_);
  if (before_ns > 0) {
    histograms_.inter_token_ns.observe((completed_at_ns_ - before_ns) / count, count);
  }
}

void Scheduler::count_found(Operation& operation, const FindResult& found) {
  if (found.token_count == 0) return;
  counts_.found_token_count += found.token_count;
  InstanceStatistics& statistics = operation.instance->statistics;
  statistics.found_token_count += found.token_count;
  const std::uint32_t of_prompt = std::min(found.token_count, operation.prompt_left_count);
  operation.prompt_left_count -= of_prompt;
  counts_.found_prompt_token_count += of_prompt;
  statistics.found_prompt_token_count += of_prompt;
  if (operation.has_waited) statistics.waited_token_count += found.token_count;
  operation.context->miss = 0;
}

// The page behind all that was found is one that the look-up asked for, where it is full.
void Scheduler::note_miss(Operation& operation) {
  Context& context = *operation.context;
  const std::uint32_t page_size = resources_.cache.page_size();
  if (tail_token_count(context) < page_size || context.written_count >= page_size) return;
  PageMiss why{.reason = MissReason::Opaque};
  if (!context.has_unnamed_start) {
    why = explain_miss(resources_.cache, context.head, TailPage(context, page_size, 0).content(),
                       miss_scope_);
  }
  context.miss = misses_.note(
      context.miss, {.instance = operation.instance->id,
                     .context = context_id(operation),
                     .operation = operation.age,
                     .page = context.committed_count,
                     .position = context.committed_count * page_size + context.written_count,
                     .why = why});
}

std::optional<Scheduler::Attempt> Scheduler::restore(Operation& operation) {
  Context& context = *operation.context;
  if (const std::optional<Attempt> away = restore_swapped(operation)) return away;
  resume(context);
  if (context.lost_count == 0) return std::nullopt;
  if (!is_building_) return Attempt::Later;
  if (const std::optional<Attempt> found = find_lost(operation)) return found;
  if (context.lost_count == 0) return std::nullopt;
  return place_context(operation, rows_left(), true);
}

// Finds, or fetches, whole pages of what was lost, and no others: what the program queued is not to
// be written yet.
std::optional<Scheduler::Attempt> Scheduler::find_lost(Operation& operation) {
  Context& context = *operation.context;
  const std::uint32_t page_size = resources_.cache.page_size();
  const auto lost_pages = [&] { return (context.written_count + context.lost_count) / page_size; };
  if (lost_pages() == 0) return std::nullopt;
  const FindResult found = find_queued(context, resources_, ledger(*operation.instance),
                                       quota_of(*operation.instance), lost_pages());
  counts_.found_token_count += found.token_count;
  if (found.end == FindEnd::Claimed) return Attempt::Later;
  if (found.end == FindEnd::Quota) return fail(operation, beyond_quota(*operation.instance, 1));
  if (lost_pages() == 0) return std::nullopt;
  return fetch(operation, lost_pages());
}

Error Scheduler::no_page_table() const {
  return Error(ErrorCode::Unavailable, "all " + std::to_string(resources_.device.sequence_count) +
                                           " page tables of the device are in use");
}

// What of it comes into this batch, under so many rows.
Scheduler::Chunk Scheduler::chunk_of(Operation& operation, std::uint32_t remaining,
                                     std::uint32_t row_limit, bool restores) {
  const std::uint32_t page_size = resources_.cache.page_size();
  const std::uint32_t written = operation.context->written_count;
  Chunk chunk;
  chunk.requery_count = std::min(row_limit, static_cast<std::uint32_t>(operation.requeries.size()));
  chunk.queued_count = std::min(remaining, row_limit - chunk.requery_count);
  chunk.is_last = !restores && chunk.queued_count == remaining &&
                  chunk.requery_count == operation.requeries.size();
  chunk.draft_count = restores ? 0 : choose_drafts(operation, remaining);
  if (chunk.draft_count > 0) {
    // They come with the last row before them, whatever is left of the budget: they are few.
    const std::uint64_t rows =
        batch_.rows.size() + chunk.requery_count + chunk.queued_count + chunk.draft_count;
    if (!chunk.is_last || rows > device_row_limit()) {
      chunk.is_last = false;
      chunk.draft_count = chunk.requery_count = 0;
      chunk.queued_count = std::min(chunk.queued_count, remaining - std::min(remaining, 1u));
    }
  }
  constexpr std::uint32_t kWholePageCountMin = 4;
  if (chunk.queued_count < remaining && chunk.queued_count >= kWholePageCountMin * page_size) {
    // Ends with a page, so that others who want the same prompt find what it holds a step earlier.
    chunk.queued_count = (written + chunk.queued_count) / page_size * page_size - written;
  }
  return chunk;
}

// Pages for so many tokens more. Empty: it can have them; otherwise what to do with it.
std::optional<Scheduler::Attempt> Scheduler::want_pages_for(Operation& operation,
                                                            std::uint32_t token_count) {
  Context& context = *operation.context;
  const std::uint32_t wanted = pages_wanted(context, resources_, token_count);
  if (wanted == 0) return std::nullopt;
  Result<void> quota = check_quota(*operation.instance, wanted, &context);
  if (!quota.ok()) {
    // What it had before it was suspended, another of the instance may be computing too: when
    // that is done, it is found.
    const bool comes_back = wanted <= away_page_count(context, resources_.cache.page_size());
    if (comes_back && others_go_on(operation)) return Attempt::Later;
    return fail(operation, std::move(quota).take_error());
  }
  if (!can_take(operation, wanted)) return want_pages(operation, wanted);
  return std::nullopt;
}

Scheduler::Attempt Scheduler::place_context(Operation& operation, std::uint32_t row_limit,
                                            bool restores) {
  Context& context = *operation.context;
  if (row_limit == 0) return Attempt::Later;
  const std::uint32_t remaining = restores ? context.lost_count : queued_count(context);
  const Chunk chunk = chunk_of(operation, remaining, row_limit, restores);
  if (chunk.requery_count + chunk.queued_count == 0) {  // No room for its drafts in this batch.
    if (first_next_.get() == nullptr) first_next_ = Ref<Operation>(&operation);
    return Attempt::Later;
  }
  const std::uint32_t taken = remaining + chunk.draft_count;  // Tokens that take a slot.
  const bool has_slots = taken > 0 && control::has_slots(context, resources_, taken);
  if (!has_slots) {
    if (const std::optional<Attempt> refused = want_pages_for(operation, taken)) return *refused;
  }
  const std::uint32_t output_limit =
      std::min(chunk.requery_count + chunk.queued_count,
               static_cast<std::uint32_t>(operation.output_embeds.size()));
  if (!has_ample_slots(output_limit)) {
    const OutputRange outputs = context_outputs(operation, chunk.requery_count, chunk.queued_count);
    if (const std::optional<Attempt> refused = want_slots(operation, outputs)) return *refused;
  }
  if (!resources_.sequences.acquire(context, batch_.id)) {
    return batch_.passes.empty() ? fail(operation, no_page_table()) : Attempt::Later;
  }
  operation.wanted_page_count = 0;
  if (!has_slots) {
    const bool has_taken =
        take_pages(context, resources_, ledger(*operation.instance), taken, batch_.copies);
    QUIRE_CHECK(has_taken, "make_room() made too little");
  }
  return fly(operation, chunk);
}

// Its pages are there: the rows of the batch.
Scheduler::Attempt Scheduler::fly(Operation& operation, const Chunk& chunk) {
  Context& context = *operation.context;
  const auto drafts = chunk.draft_count > 0
                          ? std::span<const inference::TokenId>(operation.read->drafts)
                          : std::span<const inference::TokenId>();
  begin_flight(context, resources_, chunk.queued_count, drafts);
  sync_table(context, resources_, batch_.table_changes);
  add_context_rows(operation, chunk);
  operation.done_count += chunk.queued_count;
  if (misses_.is_on()) misses_.count(context.miss, operation.age, chunk.queued_count);
  if (chunk.requery_count > 0) {
    operation.requeries.erase(operation.requeries.begin(),
                              operation.requeries.begin() + chunk.requery_count);
  }
  context.used_batch = static_cast<std::uint64_t>(batch_.id);
  building_.passes.back().is_last = chunk.is_last;
  if (!chunk.is_last) return Attempt::Later;
  if (changes_after_pass(operation)) {
    operation.state = OperationState::Running;
  } else {
    table_.place(operation);
  }
  return Attempt::Placed;
}

void Scheduler::add_context_rows(Operation& operation, const Chunk& chunk) {
  Context& context = *operation.context;
  const std::uint32_t page_size = resources_.cache.page_size();
  const auto row_first = static_cast<std::uint32_t>(batch_.rows.size());
  PassRecord& pass = building_.passes.emplace_back();
  pass.operation = Ref<Operation>(&operation);
  pass.context = Ref<Context>(&context);
  pass.output_first = static_cast<std::uint32_t>(building_.outputs.size());
  pass.draft_count = chunk.draft_count;
  const auto add_last = [&](std::uint32_t output) {
    if (is<ContextDraw>(operation)) {
      return want_draw(operation, static_cast<std::uint32_t>(batch_.rows.size()) - 1, 0);
    }
    add_output(*operation.output_embeds[output],
               static_cast<std::uint32_t>(batch_.rows.size()) - 1);
  };
  for (std::uint32_t index = 0; index < chunk.requery_count; ++index) {
    const Operation::Requery& each = operation.requeries[index];
    batch_.rows.push_back({.token = each.token, .position = each.position});
    add_last(each.output);
  }
  const std::uint32_t base = context.committed_count * page_size;
  std::uint64_t position_first = base;
  if (is_planted(Fault::DropRangeRenumbers)) position_first -= context.view.dropped().count();
  const auto output_count = static_cast<std::uint32_t>(operation.output_tokens.size());
  const std::uint32_t output_first = operation.total_count - output_count;
  const std::uint32_t output_offset = output_count_of(operation) - output_count;
  for (std::uint32_t index = 0; index < chunk.queued_count + chunk.draft_count; ++index) {
    const std::uint32_t offset = context.written_count + index;
    batch_.rows.push_back({.token = context.tokens[context.token_first + offset],
                           .position = static_cast<std::uint32_t>(position_first + offset),
                           .slot = base + offset});
    if (index >= chunk.queued_count) {
      want_draw(operation, static_cast<std::uint32_t>(batch_.rows.size()) - 1,
                index - chunk.queued_count + 1);
      continue;
    }
    const std::uint32_t queued_index = operation.done_count + index;
    if (output_count > 0 && queued_index >= output_first)
      add_last(queued_index - output_first + output_offset);
  }
  batch_.passes.push_back(
      {.sequence = context.sequence,
       .row_first = row_first,
       .row_count = chunk.row_count(),
       .visible_slot_end = base + context.written_count + chunk.queued_count + chunk.draft_count,
       .mask = std::nullopt});
  charge(operation, chunk.row_count());
}

void Scheduler::complete_context(Context& context, PassRecord& pass, Result<void> outcome) {
  if (outcome.ok() && pass.draft_count > 0) return;  // Until it is known which of them stand.
  end_flight(context, resources_, ledger(*context.instance), outcome.ok(), pass.draft_count);
  Operation* operation = pass.operation.get();
  if (!outcome.ok()) {
    if (operation != nullptr) {
      fail(*operation, std::move(outcome).take_error());
    } else {
      trim_tail(context, resources_, ledger(*context.instance));
    }
    return;
  }
  if (operation == nullptr || !pass.is_last || is<ContextDraw>(*operation)) return;
  finish_context(*operation);
}

}  // namespace quire::control
