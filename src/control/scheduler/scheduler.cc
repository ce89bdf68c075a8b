#include "control/scheduler/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/store/records.h"

namespace quire::control {

using inference::Completion;
using inference::Distribution;

namespace {

// What pages of this model must agree on with those of a file; domains are in their names.
store::PageSpace space_of(const PageCacheOptions& cache, const inference::Backend& backend) {
  return {.names = cache.space, .page_bytes = backend.capabilities().page_bytes};
}

PageTierOptions tiers_of(const SchedulerOptions& options) {
  PageTierOptions tiers = options.tiers;
  if (options.disk == nullptr) tiers.disk_page_count_max = 0;
  tiers.disk_view_bytes_max = store::kViewBytesMax;
  return tiers;
}

}  // namespace

Scheduler::Scheduler(inference::Backend& backend, const PageCacheOptions& cache,
                     const SchedulerOptions& options, OperationTable& table, MatcherJobs& matchers)
    : backend_(backend),
      options_(options),
      table_(table),
      matchers_(matchers),
      resources_(backend, cache, tiers_of(options)),
      disk_(options.disk, options.model, space_of(cache, backend)),
      saves_(resources_, table_, disk_),
      opens_(resources_, table_, disk_),
      tiers_(resources_, table_, disk_,
             CostModel(backend.capabilities().page_bytes, options.copy_ns_per_byte,
                       options.tier_choice)),
      misses_(options.miss_count_max),
      miss_scope_(options.miss_scope),
      timer_(options.dispatch),
      shares_(resources_.device.row_count_max),
      order_(shares_, options.aging_ns),
      steps_(options.prefill_row_budget) {
  if (tiers_.is_on()) resources_.cache.set_eviction_sink(&tiers_);
  QUIRE_CHECK(resources_.device.row_count_max > 0, "a device that takes no rows");
}

// What goes by name has no queue.
Priority Scheduler::priority_of(const Operation& operation) {
  return operation.queue != nullptr ? operation.queue->priority : Priority::Normal;
}

void Scheduler::set_weight(TenantId tenant, std::uint32_t weight) {
  shares_.set_weight(tenant, weight);
  resources_.cache.set_weight(tenant, weight);
}

void Scheduler::run(Operation& operation) {
  if (is_any(operation, kNeedsBatch)) {
    if (!is_building_ || is_closed()) return add_ready(operation);
    if (is_any(operation, kComputes)) {
      const Candidate candidate = candidate_of(operation);
      if (candidate.is_prefill) return order_.add(candidate);
    }
  }
  if (!is_building_) resources_.cache.set_time(table_.clock.now_ns());
  const Attempt outcome = attempt(operation);
  if (outcome != Attempt::Placed) settle(operation, outcome);
}

Scheduler::Importance Scheduler::importance_of(const Operation& operation) {
  const int below_high =
      static_cast<int>(Priority::High) - static_cast<int>(priority_of(operation));
  return {below_high, operation.instance->order, operation.age};
}

void Scheduler::settle(Operation& operation, Attempt attempt) {
  switch (attempt) {
    case Attempt::Done:
      has_progress_ = true;
      break;
    case Attempt::Placed:
      break;
    case Attempt::Blocked:
      operation.wanted_page_count = 0;
      break;
    case Attempt::Later:
      operation.wanted_page_count = 0;  // It waits for something else now.
      add_ready(operation);
      break;
    case Attempt::WaitPage:
      waiters_.push_back(Ref<Operation>(&operation));
      first_waiter_ = std::min(first_waiter_, importance_of(operation));
      break;
  }
}

// Whether a batch is to be built now: the device is free.
bool Scheduler::is_due() {
  if (saves_.wants_batch() || tiers_.is_swapping()) return true;
  if (timer_.counts()) {
    std::erase_if(ready_, [](const Candidate& each) { return each.operation.get() == nullptr; });
    std::erase_if(waiters_, [](const Ref<Operation>& each) { return each.get() == nullptr; });
  }
  const std::size_t ready_count = ready_.size() + waiters_.size();
  if (ready_count == 0) {
    tiers_.drop_landed();  // Whoever they came for has ended, and no batch comes that would do it.
    timer_.reset();
    return false;
  }
  return timer_.is_due(ready_count, table_.clock.now_ns());
}

bool Scheduler::dispatch() {
  if (is_in_flight_ || !is_due()) return false;
  timer_.reset();
  const std::uint64_t start_ns = table_.clock.now_ns();
  resources_.cache.set_time(start_ns);
  batch_ = std::exchange(spare_, {});
  batch_.clear();
  batch_.id = BatchId{table_.next_batch()};
  batch_.model = inference::ModelId{static_cast<std::uint32_t>(options_.model)};
  building_.id = batch_.id;
  building_.clear();
  resources_.open_batch(batch_.id);
  is_building_ = true;
  tiers_.begin_build();
  has_progress_ = has_sliced_ = has_suspended_ = has_spared_search_ = false;
  vain_search_ = kNobody;
  lookups_left_ = options_.lookup_page_count_max;
  commands_left_ = timer_.command_count_max();
  order_.begin_batch(start_ns, timer_.takes_few());
  // These have their pages of the pool already, which others may wait for.
  has_suspended_ = tiers_.continue_swaps(batch_, woken_);
  add_woken();
  note_loads(true);
  collect();
  serve_waiters();
  place_all();
  // Whoever waited for these has had its turn; what it left goes cold.
  if (tiers_.drop_landed()) has_suspended_ = true;
  keep_some_free();
  tiers_.place_saves(batch_);
  building_.tier_save_count = tiers_.save_count();
  saves_.place(batch_);
  is_building_ = false;
  tiers_.end_build();
  const bool is_submitted = submit_batch();
  refuse_overdue();
  if (!is_submitted) resolve_stuck();
  drain();
  counts_.build_ns += table_.clock.now_ns() - start_ns;
  if (is_submitted) look_ahead();
  return is_submitted;
}

// Ahead of need, so that a step which takes one page seldom waits for another page to be saved.
void Scheduler::keep_some_free() {
  constexpr std::uint32_t kFreeCountMax = 64;
  if (!tiers_.is_on()) return;
  const std::uint32_t count = std::min(resources_.cache.page_count() / 16, kFreeCountMax);
  if (resources_.cache.available_soon() >= count) resources_.cache.make_room(count);
}

// Of the loads that an attempt has added to the batch.
void Scheduler::note_loads(bool is_of_tier) {
  building_.load_is_of_tier.resize(batch_.loads.size(), is_of_tier);
}

// Those of the tiers first: what they bring back, a context may be about to want.
void Scheduler::complete_transfers(Completion& completion) {
  QUIRE_CHECK(completion.loads.size() == flight_.load_is_of_tier.size(),
              "an outcome for each page that was loaded");
  QUIRE_CHECK(completion.load_bytes.size() == completion.loads.size(), "and its bytes");
  QUIRE_CHECK(completion.saves.size() >= flight_.tier_save_count,
              "an outcome for each page that was saved");
  tiers_.measure(flight_.row_count(), static_cast<std::uint32_t>(completion.loads.size()),
                 static_cast<std::uint32_t>(completion.saves.size()), completion.device_ns);
  std::vector<Result<void>> tier_loads;
  std::vector<inference::PageBytes> tier_bytes;
  std::vector<Result<void>> other_loads;
  for (std::size_t index = 0; index < completion.loads.size(); ++index) {
    const bool is_of_tier = flight_.load_is_of_tier[index];
    (is_of_tier ? tier_loads : other_loads).push_back(std::move(completion.loads[index]));
    if (is_of_tier) tier_bytes.push_back(std::move(completion.load_bytes[index]));
  }
  const auto split = completion.saves.begin() + flight_.tier_save_count;
  std::vector<Result<inference::PageBytes>> other_saves(
      std::make_move_iterator(split), std::make_move_iterator(completion.saves.end()));
  completion.saves.erase(split, completion.saves.end());
  tiers_.complete(std::move(tier_loads), std::move(tier_bytes), std::move(completion.saves),
                  woken_);
  opens_.complete(std::move(other_loads), woken_);
  add_woken();
  saves_.complete(std::move(other_saves));
}

bool Scheduler::submit_batch() {
  if (batch_.passes.empty() && batch_.distributions.empty() && batch_.loads.empty() &&
      batch_.copies.empty() && batch_.saves.empty()) {
    resources_.complete_batch(batch_.id);
    return false;
  }
  std::vector<inference::TableChange> changes = resources_.sequences.take_releases();
  if (!changes.empty()) {
    changes.insert(changes.end(), std::make_move_iterator(batch_.table_changes.begin()),
                   std::make_move_iterator(batch_.table_changes.end()));
    batch_.table_changes = std::move(changes);
  }
  QUIRE_CHECK(batch_.rows.size() <= resources_.device.row_count_max, "a batch beyond its limit");
  ++counts_.batch_count;
  if (!batch_.rows.empty()) histograms_.batch_rows.observe(batch_.rows.size());
  counts_.row_count += batch_.rows.size();
  counts_.pass_count += batch_.passes.size();
  QUIRE_CHECK(batch_.rows.size() == building_.row_count(), "a row that nobody was charged for");
  std::swap(flight_, building_);  // Buffers keep their capacity.
  is_in_flight_ = true;
  report(table_.walk, WalkStop::Scheduler);
  backend_.submit(std::move(batch_));
  return true;
}

void Scheduler::complete(Completion completion) {
  QUIRE_CHECK(is_in_flight_ && flight_.id == completion.id, "a batch completes once, in order");
  QUIRE_CHECK(completion.passes.size() == flight_.passes.size(), "an outcome for each pass");
  QUIRE_CHECK(completion.distributions.size() == flight_.distributions.size(),
              "an outcome for each distribution");
  vain_search_ = kNobody;
  counts_.device_ns += completion.device_ns;
  histograms_.step_ns.observe(completion.device_ns);
  if (completion.loads.empty() && completion.saves.empty() && flight_.row_count() > 0) {
    flight_.step.device_ns = completion.device_ns;
    steps_.note(flight_.step);
  }
  completed_at_ns_ = table_.clock.now_ns();
  resources_.cache.set_time(completed_at_ns_);
  resources_.complete_batch(completion.id);
  complete_transfers(completion);
  spare_ = std::move(completion.batch);
  std::vector<Result<void>> outcomes;
  outcomes.reserve(completion.passes.size());
  for (std::size_t index = 0; index < completion.passes.size(); ++index) {
    outcomes.push_back(complete_pass(index, std::move(completion.passes[index])));
  }
  if (is_planted(Fault::AnswerToAnother) && flight_.distributions.size() > 1 &&
      flight_.distributions.front().kind == flight_.distributions.back().kind) {
    std::swap(completion.distributions.front(), completion.distributions.back());
  }
  for (std::size_t index = 0; index < completion.distributions.size(); ++index) {
    const DistributionRecord& record = flight_.distributions[index];
    Operation* operation = record.operation.get();
    if (operation == nullptr) continue;
    Result<Distribution> distribution = std::move(completion.distributions[index]);
    if (record.pass != inference::kNoSlot && !outcomes[record.pass].ok()) {
      distribution = outcomes[record.pass].error().copy();
    }
    take_distribution(*operation, record, std::move(distribution));
  }
  settle_drafts();
  is_in_flight_ = false;
  went_on_at_ns_ = table_.clock.now_ns();
  taken_.clear();
  taken_.swap(ready_);
  for (const Candidate& each : taken_) {
    if (!each.is_host) {
      ready_.push_back(each);
    } else if (Operation* operation = each.operation.get()) {
      settle(*operation, attempt(*operation));
    }
  }
  drain();
  // No batch comes that would do it.
  if (ready_.empty() && waiters_.empty()) tiers_.drop_landed();
}

void Scheduler::deliver(store::DiskAnswer answer) {
  resources_.cache.set_time(table_.clock.now_ns());
  vain_search_ = kNobody;
  if (!saves_.deliver(answer) && !tiers_.deliver(answer)) {
    // Whoever gives a ticket back does not wait for the answer.
    opens_.deliver(answer, woken_);
    add_woken();
  }
  drain();  // A save that ends lets go on what waits to be the first of its queue.
}

Result<void> Scheduler::complete_pass(std::size_t index, Result<void> outcome) {
  PassRecord& pass = flight_.passes[index];
  if (outcome.ok() && pass.forward != inference::kNoSlot) {
    for (const std::uint32_t earlier : flight_.forwards[pass.forward].reads_passes) {
      if (!flight_.passes[earlier].has_failed) continue;
      outcome = Error(ErrorCode::Unavailable, "a forward pass whose pages it reads failed");
      break;
    }
  }
  pass.has_failed = !outcome.ok();
  if (pass.has_failed) {
    for (std::uint32_t each = 0; each < pass.output_count; ++each) {
      EmbedObject* embed = flight_.outputs[pass.output_first + each].get();
      const bool is_mine = embed != nullptr && embed->state == EmbedState::Output &&
                           embed->batch == static_cast<std::uint64_t>(flight_.id) &&
                           embed->pass == index;
      if (!is_mine) continue;
      drop_embed(*embed);
      embed->state = EmbedState::Failed;
      embed->error = outcome.error().copy();
    }
  }
  Result<void> kept = outcome.ok() ? Result<void>() : Result<void>(outcome.error().copy());
  if (Context* context = pass.context.get()) {
    complete_context(*context, pass, std::move(outcome));
  } else if (pass.forward != inference::kNoSlot) {
    complete_forward(pass, std::move(outcome));
  }
  return kept;
}

bool Scheduler::others_may_free() const {
  for (const auto& [order, instance] : table_.instances) {
    if (ledger(*instance).page_count() == 0) continue;
    // Whoever waits for nothing of ours runs, or waits for the world, and may let go later.
    if (instance->operation_count == 0 || instance->job_count > 0) return true;
    for (const Operation* each = instance->first; each != nullptr; each = each->instance_next) {
      if (each->model != this) return true;
    }
  }
  return false;
}

// Saves end with the disk, and so do opens that wait for no page themselves: then their pages can
// be given up. What is written to a tier makes room there for what must be kept.
bool Scheduler::disk_may_free() const {
  const auto opens_that_wait =
      std::count_if(waiters_.begin(), waiters_.end(),
                    [](const Ref<Operation>& each) { return is<ContextOpen>(*each.get()); });
  return !saves_.idle() || tiers_.is_busy() || tiers_.writes() ||
         opens_.count() > static_cast<std::size_t>(opens_that_wait);
}

// Where others go on they give pages back, so whoever waits for them is refused only where this
// turn built nothing; and, for having waited long, where no turn did for a while: a program that
// computes between its passes leaves turns with nothing to build.
void Scheduler::resolve_stuck() {
  std::erase_if(waiters_, [](const Ref<Operation>& each) { return each.get() == nullptr; });
  // What was to be measured alone found nothing to do: the next build takes the rest.
  const bool goes_on = has_sliced_ || has_suspended_ || loser_ || is_probing_ ||
                       (has_spared_search_ && has_progress_);
  // What finished has its answer, or makes another one ready, and no batch comes to wake anybody.
  if (goes_on || has_progress_) table_.wakeup.notify();
  if (has_progress_) went_on_at_ns_ = table_.clock.now_ns();
  if (waiters_.empty() || has_progress_ || goes_on) return;
  const std::uint64_t now_ns = table_.clock.now_ns();
  const bool went_on = now_ns - went_on_at_ns_ < options_.page_wait_ns_max / 10;
  std::size_t last = 0;
  for (std::size_t index = 0; index < waiters_.size(); ++index) {
    const Operation& each = *waiters_[index].get();
    const bool waited_long = now_ns - each.wait_since_ns >= options_.page_wait_ns_max;
    if (waited_long && !went_on) return fail_waiter(index);
    const Operation& chosen = *waiters_[last].get();
    if (importance_of(each) > importance_of(chosen)) last = index;
  }
  if (!others_may_free() && !disk_may_free()) fail_waiter(last);
}

// However much others do: it need not free a page, and those behind the one that waits wait as
// well.
void Scheduler::refuse_overdue() {
  if (waiters_.empty()) return;
  const std::uint64_t most_ns = options_.page_wait_ns_max * options_.page_wait_count_max;
  const std::uint64_t now_ns = table_.clock.now_ns();
  const auto overdue =
      std::find_if(waiters_.begin(), waiters_.end(), [&](const Ref<Operation>& each) {
        return each.get() != nullptr && now_ns - each.get()->wait_since_ns >= most_ns;
      });
  if (overdue != waiters_.end()) fail_waiter(static_cast<std::size_t>(overdue - waiters_.begin()));
}

void Scheduler::fail_waiter(std::size_t index) {
  Operation& operation = *waiters_[index].get();
  waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(index));
  fail(operation, explained_shortage(operation));
  table_.wakeup.notify();
}

std::vector<PageId> Scheduler::scratch_pages() const {
  std::vector<PageId> pages = tiers_.held_pages();
  if (!is_in_flight_) return pages;
  for (const ForwardRecord& record : flight_.forwards) {
    pages.insert(pages.end(), record.scratch.begin(), record.scratch.end());
  }
  return pages;
}

void Scheduler::verify() const {
  shares_.verify();
  resources_.cache.verify();
  resources_.tiers.verify();
  resources_.sequences.verify();
  for (const Ref<Operation>& each : waiters_) {
    const Operation* operation = each.get();
    QUIRE_CHECK(operation == nullptr || operation->wanted_page_count > 0, "waits for no page");
  }
  QUIRE_CHECK(!is_building_, "verified in the middle of a build");
}

}  // namespace quire::control
