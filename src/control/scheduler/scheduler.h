#pragma once
// Scheduler builds the batches of one model: stop 7 of the walk.
//
// Unless another DispatchPolicy says so, it is work-conserving: whenever the device is free it
// takes everything that is ready, whoever asked: all decoding (operations of few rows), and prefill
// in chunks under a budget (StepModel). BatchOrder says who goes first, and who is cut where the
// device takes no more. Operations behind one that was placed join the same batch where the
// device's order within a batch keeps their meaning: embed_txt, forward and get_next_dist become
// one step.
//
// Pages. An operation takes all the pages it needs at its first placement, or waits. Those who wait
// are served by importance, which is priority and then age of their instances: nobody takes a page
// while one who is more important waits for one, so the first always progresses. For one that lacks
// pages, contexts that others can do without are suspended (suspension.cc), or under
// WhenFull::FcfsKill the newest instance ends (fcfs_kill.cc). When nothing is left that could free
// a page, the least important who waits gets NoFreePage with the numbers and who has the pages
// (page_shortage.cc).
//
// Owns     the model's pages, embed slots and sequences, the operations that are ready, and the
//          record of the batch under way (one at a time).
// Thread   engine thread only.
// Errors   answered to the one whose operation it was.
//
// Invariants, checked by verify():
//   S1  A page, an embed slot or a sequence that the batch under way touches is given to nobody
//       else before it completes.
//   S2  What a pass of this batch made is read in this batch only where the device's order allows
//       it: keys and values by passes, outputs by distributions.
//   S3  Ledgers and holds of pages equal a recount from all objects (I2).
//   S4  Each instance and each tenant counts the embeds whose outputs have a slot.
//   S5  An instance holds no more pages than its limit; who sets the limit leaves it what it holds.
//   S6  The shares and the cold pages of each model weigh a tenant alike: as the operator said last,
//       else 1.
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/batches/step_model.h"
#include "control/contexts/context.h"
#include "control/objects/miss_log.h"
#include "control/objects/model_resources.h"
#include "control/objects/operation_table.h"
#include "control/scheduler/batch_order.h"
#include "control/scheduler/dispatch_policy.h"
#include "control/steps/matcher_jobs.h"
#include "control/transfers/snapshot_opens.h"
#include "control/transfers/snapshot_saves.h"
#include "control/transfers/tier_transfers.h"
#include "inference/api/backend.h"

namespace quire::control {

// Who makes room when no page is free and none is cold.
enum class WhenFull : std::uint8_t {
  Suspend,   // Contexts that others can do without; nobody ends.
  FcfsKill,  // First come, first served: the instance that started last loses all it has.
};

// Who ends for want of pages, and why.
struct Loser {
  InstanceId instance{};
  Error error;
};

struct SchedulerOptions {
  ModelIndex model{};
  DispatchPolicy dispatch{};
  std::uint32_t prefill_row_budget = 0;       // Of a batch that also decodes; 0: as StepModel says.
  std::uint32_t decode_row_count_max = 16;    // An operation of at most so many rows is decoding.
  std::uint64_t aging_ns = 1'000'000'000;     // As of BatchOrder.
  std::uint32_t lookup_page_count_max = 512;  // Looked up in one build: 100 us.
  // What has no row takes the device's time too: reads and copied pages of one instance in a batch,
  // long answers counting more than once; of all, as many as rows. And what the answers of a batch
  // may take. One has room, however long its answer and however many pages it copies.
  std::uint32_t rowless_count_max = 32;
  std::uint64_t answer_bytes_max = 64u << 20;
  // Then NoFreePage, though others might free some: unless they go on, with something built or done
  // in the last tenth of it. Behind so many times as long, whatever they do: nobody who is less
  // important takes a page meanwhile.
  std::uint64_t page_wait_ns_max = 10'000'000'000;
  std::uint32_t page_wait_count_max = 6;
  store::Disk* disk = nullptr;  // Null: snapshots are not supported, and no tier is on disk.
  PageTierOptions tiers{};      // page_bytes is the backend's.
  TierChoice tier_choice = TierChoice::Measured;
  double copy_ns_per_byte = 0;  // Of this machine's memory: the prior of the cost model.
  WhenFull when_full = WhenFull::Suspend;
  std::uint32_t miss_count_max = 0;  // Of the MissLog; 0: nothing is noted.
  MissScope miss_scope = MissScope::Everything;
};

struct SchedulerCounts {
  std::uint64_t batch_count = 0;
  std::uint64_t row_count = 0;
  std::uint64_t pass_count = 0;
  std::uint64_t found_token_count = 0;
  std::uint64_t prompt_token_count = 0;  // As of InstanceStatistics.
  std::uint64_t found_prompt_token_count = 0;
  std::uint64_t generated_token_count = 0;
  std::uint64_t device_ns = 0;
  std::uint64_t build_ns = 0;
  std::uint64_t suspension_count = 0;
  std::uint64_t swap_count = 0;        // Of these, of contexts whose tokens alone do not suffice.
  std::uint64_t search_count = 0;      // For contexts to suspend.
  std::uint64_t lost_token_count = 0;  // Written again after a suspension, or found again.
  std::uint64_t late_mask_count = 0;   // Draws put off because their masks were not ready.
};

class Scheduler {
 public:
  Scheduler(inference::Backend& backend, const PageCacheOptions& cache,
            const SchedulerOptions& options, OperationTable& table, MatcherJobs& matchers);

  // An operation that waits for no other: runs now if it needs no batch, else when its turn comes.
  void run(Operation& operation);
  // Builds and submits a batch if the device is free and there is something for it that the policy
  // lets go.
  bool dispatch();
  // When dispatch() has something to do though nothing else happens; empty: nothing waits for time.
  std::optional<std::uint64_t> next_dispatch_ns() const {
    return is_in_flight_ ? std::nullopt : timer_.due_ns();
  }
  // After each dispatch(): the instance that must end now, which is the caller's to do.
  std::optional<Loser> take_loser() { return std::exchange(loser_, std::nullopt); }
  void complete(inference::Completion completion);
  void deliver(store::DiskAnswer answer);
  // An open, a save or pages on their way from a tier, that the disk has not answered yet.
  bool waits_for_disk() const { return !opens_.idle() || !saves_.idle() || tiers_.is_busy(); }
  bool has_batch(BatchId batch) const { return is_in_flight_ && flight_.id == batch; }
  bool is_in_flight() const { return is_in_flight_; }

  // Gives back what an instance that ends holds in this model.
  void drop_page(Instance& instance, PageObject& page);
  void drop_embed(EmbedObject& embed);
  void drop_context(Context& context);
  // Its program has what it took: the snapshot goes. False: it took nothing, or has it already.
  bool keep_taken(Context& context);
  void abandon(Operation& operation);  // Before it is discarded.

  ModelResources& resources() { return resources_; }
  const ModelResources& resources() const { return resources_; }
  const SchedulerCounts& counts() const { return counts_; }
  const ControlHistograms& histograms() const { return histograms_; }
  std::uint64_t store_refused_count() const { return disk_.refused_count(); }
  const MissLog& misses() const { return misses_; }
  ModelIndex model() const { return options_.model; }
  FairShares& shares() { return shares_; }
  // The tenant's share of this model's batches and of its pool, from the next batch on.
  void set_weight(TenantId tenant, std::uint32_t weight);
  // The priority of a queue has changed: what is ready in it has another place.
  void note_priorities() { has_new_priorities_ = true; }
  PageLedger& ledger(Instance& instance) const {
    return instance.ledgers[static_cast<std::size_t>(options_.model)];
  }
  const TierTransfers& tiers() const { return tiers_; }
  // Pages that no object holds: of the batch under way, and on their way from a tier.
  std::vector<PageId> scratch_pages() const;
  void verify() const;

 private:
  enum class Attempt : std::uint8_t {
    Done,     // Finished and gone.
    Placed,   // All of it is in the batch.
    Later,    // To be tried again in the next batch; a part of it may be in this one.
    Blocked,  // Will be issued again by the one it waits for.
    WaitPage,
  };
  // Smaller is more important: the higher priority, then the older instance, then what was issued
  // first. One order for who is served first and who is suspended for whom, or two could take turns
  // for ever.
  struct Importance {
    int below_high;  // Priorities between it and the highest.
    std::uint64_t instance_order;
    std::uint64_t age;
    auto operator<=>(const Importance&) const = default;
  };
  struct PageWrite {
    Ref<PageObject> page;
    std::uint32_t bits = 0;
  };
  // Of a low-level forward.
  struct ForwardRecord {
    std::vector<PageWrite> writes{};
    std::vector<std::uint32_t> reads_passes{};  // Passes of this batch whose slots it sees.
    std::vector<PageId> scratch{};              // Pages that end with the pass.
    inference::SequenceId sequence{};           // Likewise.
  };
  struct PassRecord {
    Ref<Operation> operation{};
    Ref<Context> context{};                      // Of a context's pass, while it lives.
    std::uint32_t forward = inference::kNoSlot;  // Index into Flight::forwards, of a forward's.
    std::uint32_t output_first = 0;              // Into Flight::outputs.
    std::uint32_t output_count = 0;
    std::uint32_t draft_count = 0;  // Of its rows the last ones, which may have to go again.
    bool is_last = false;           // Of its operation.
    bool has_failed = false;
  };
  struct DistributionRecord {
    Ref<Operation> operation;
    inference::DistributionKind kind{};
    std::uint32_t pass = inference::kNoSlot;  // Of this batch, whose output it is.
    std::uint32_t place = 0;                  // Among the requests of its operation.
  };
  struct Flight {
    BatchId id{};
    std::vector<PassRecord> passes;
    std::vector<ForwardRecord> forwards;
    std::vector<Ref<EmbedObject>> outputs;
    std::vector<DistributionRecord> distributions;
    StepModel::Step step;               // Without its time.
    std::vector<bool> load_is_of_tier;  // For each load of the batch; the others are of opens.
    std::uint32_t tier_save_count = 0;  // Saves before those of snapshots.
    std::uint32_t rowless_count = 0;    // Reads and copied pages.
    std::uint64_t answer_bytes = 0;     // Of the reads.
    std::uint32_t last_pass() const { return static_cast<std::uint32_t>(passes.size()) - 1; }
    std::uint32_t row_count() const { return step.decode_row_count + step.prefill_row_count; }
    void clear() {
      passes.clear();
      forwards.clear();
      outputs.clear();
      distributions.clear();
      step = {};
      load_is_of_tier.clear();
      tier_save_count = rowless_count = 0;
      answer_bytes = 0;
    }
  };
  enum class Rank : std::uint8_t { Idle, LessImportant, Own };
  struct Victim {
    Rank rank = Rank::Idle;
    double page_load = 0;  // Of its tenant, where it is less important: the largest goes first.
    std::uint8_t priority = 0;
    std::uint64_t order = 0;  // Smaller goes first, within a rank and a priority.
    Context* context = nullptr;
  };

  // scheduler.cc
  void settle(Operation& operation, Attempt attempt);
  void drain() {
    while (table_.has_runnable()) {
      if (Operation* next = table_.next_runnable()) next->model->run(*next);
    }
  }
  static Priority priority_of(const Operation& operation);
  static Importance importance_of(const Operation& operation);
  bool is_due();
  void keep_some_free();
  void note_loads(bool is_of_tier);
  void complete_transfers(inference::Completion& completion);
  bool submit_batch();
  void resolve_stuck();
  void refuse_overdue();
  bool others_may_free() const;
  bool disk_may_free() const;
  void fail_waiter(std::size_t index);

  // placement.cc
  std::uint32_t row_count_of(const Operation& operation) const;
  std::uint32_t slot_count_of(const Operation& operation) const;
  FairShare& share_of(const Operation& operation) const {
    return *operation.instance->shares[static_cast<std::size_t>(options_.model)];
  }
  Candidate candidate_of(Operation& operation) const;
  void add_ready(Operation& operation);
  void add_woken();
  void charge(Operation& operation, std::uint32_t row_count);
  std::size_t batch_part_count() const {
    return batch_.passes.size() + batch_.distributions.size() + batch_.loads.size() +
           batch_.copies.size();
  }
  std::uint32_t device_row_limit() const;
  bool has_rowless_room(const Operation& operation);
  void note_rowless(const Operation& operation, std::uint32_t count);
  std::uint32_t take(Operation& operation, bool is_prefill, std::uint32_t rows_max);
  void collect();
  void serve_waiters();
  void place_first();
  void place_all();
  void place(Turn turn, std::uint32_t prefill_rows_max);
  void fetch_ahead() const;
  void look_ahead();

  // host_operations.cc: what needs no device.
  Attempt attempt(Operation& operation);
  Attempt attempt_host(Operation& operation);
  Attempt alloc_pages(Operation& operation);
  Attempt embed_text(Operation& operation);
  Attempt mask_page(Operation& operation);
  Attempt fork(Operation& operation);
  Attempt edit(Operation& operation);
  Attempt splice(Operation& operation);
  Attempt reserve(Operation& operation, std::uint32_t count);
  static ObjectId context_id(const Operation& operation);  // The guest's; kNoObject: of none.
  Attempt finish_context(Operation& operation);
  Attempt save(Operation& operation);
  Attempt open(Operation& operation);
  Attempt destroy_queue(Operation& operation);
  void release_queue(QueueObject& queue);

  // page_steps.cc: copies, exports, and pages of contexts.
  Attempt copy_page(Operation& operation);
  Attempt export_pages(Operation& operation);
  Attempt import_pages(Operation& operation);
  Attempt unexport_pages(Operation& operation);
  Attempt list_exports(Operation& operation);
  Attempt share_context(Operation& operation);
  Attempt make_from_pages(Operation& operation);
  // Written by a pass of the batch that is being built, which copies before it.
  bool is_being_written(const PageObject& page) const {
    return page.writer_batch == static_cast<std::uint64_t>(batch_.id);
  }

  // context_steps.cc
  Attempt compute_context(Operation& operation);
  Result<void> start_context(Operation& operation);
  FindEnd find_context(Operation& operation);
  void note_miss(Operation& operation);
  void queue_drawn(Context& context, std::uint32_t token);
  void count_asked(Operation& operation, std::uint32_t own);
  void count_found(Operation& operation, const FindResult& found);
  void count_generated(Operation& operation, std::size_t count);
  // Of an operation on a context, in one batch.
  struct Chunk {
    std::uint32_t requery_count = 0;  // Rows that run once more without writing,
    std::uint32_t queued_count = 0;   // then queued tokens,
    std::uint32_t draft_count = 0;    // then drafts, with the last of those alone.
    bool is_last = false;
    std::uint32_t row_count() const { return requery_count + queued_count + draft_count; }
  };
  Chunk chunk_of(Operation& operation, std::uint32_t remaining, std::uint32_t row_limit,
                 bool restores);
  std::optional<Attempt> want_pages_for(Operation& operation, std::uint32_t token_count);
  Attempt place_context(Operation& operation, std::uint32_t row_limit, bool restores = false);
  Attempt fly(Operation& operation, const Chunk& chunk);
  Error no_page_table() const;
  // Empty: the context has all that was ever written; otherwise what to do with the operation.
  std::optional<Attempt> restore(Operation& operation);
  std::optional<Attempt> find_lost(Operation& operation);
  // tier_steps.cc: empty if nothing on a tier is wanted; otherwise what to do with the operation.
  std::optional<Attempt> fetch(Operation& operation, std::uint32_t page_count_max);
  std::optional<Attempt> restore_swapped(Operation& operation);
  // Outputs that a flush, a forward or a sampling of a context wants of its last tokens.
  static std::uint32_t output_count_of(const Operation& operation);
  void add_context_rows(Operation& operation, const Chunk& chunk);
  void complete_context(Context& context, PassRecord& pass, Result<void> outcome);

  // draw_steps.cc: tokens that are drawn after a context's, and masks for them.
  //
  // Before the operation is placed. Empty: it may be; otherwise what to do with it.
  std::optional<Attempt> prepare_draw(Operation& operation);
  void start_masks(Operation& operation, std::vector<double> randoms);
  void masks_ready(Operation& operation);
  std::uint32_t choose_drafts(Operation& operation, std::uint32_t queued);
  // Whether what is issued on its context waits for the end of its pass.
  static bool changes_after_pass(const Operation& operation);
  // The token at a place of the draw, behind a row of the pass that is being added.
  void want_draw(Operation& operation, std::uint32_t row, std::uint32_t place);
  void describe_draw(const Operation& operation, std::uint32_t place,
                     inference::DistributionRequest& request) const;
  void take_distribution(Operation& operation, const DistributionRecord& record,
                         Result<inference::Distribution> distribution);
  void take_back_drafts(Context& context, std::uint32_t count);
  void settle_drafts();
  void complete_draw(Operation& operation, inference::Distribution drawn);
  void complete_draws(Operation& operation, std::uint32_t draft_count);
  void draw_again(Operation& operation, std::uint32_t draft_count);
  struct DrawOutcome;
  Result<DrawOutcome> outcome_of(const Operation& operation) const;
  void advance_matchers(Operation& operation, const DrawOutcome& outcome);
  void finish_reads(Operation& operation);
  Attempt matcher_step(Operation& operation);

  // output_slots.cc
  struct OutputRange {
    std::uint32_t first = 0;  // Index into the operation's output_embeds.
    std::uint32_t count = 0;
  };
  // For what is sure to have slots at little cost: where half of them are free after it, nobody can
  // have too many.
  bool has_ample_slots(std::uint32_t output_limit) const {
    const auto& slots = resources_.embed_slots;
    return output_limit == 0 || output_limit + slots.slot_count() / 2 <= slots.free_count();
  }
  // Empty: the chunk that is to be placed can have them; otherwise what to do with the operation.
  std::optional<Attempt> want_slots(Operation& operation, OutputRange outputs);
  Result<void> check_output_count(const Instance& instance, std::uint32_t more) const;
  Error no_embed_slot(std::uint32_t wanted) const;
  static OutputRange context_outputs(const Operation& operation, std::uint32_t requery_count,
                                     std::uint32_t chunk);
  static OutputRange forward_outputs(const Operation& operation, std::uint32_t row_count);

  // forward_steps.cc
  Attempt forward(Operation& operation);
  Result<void> check_forward(Operation& operation);
  Result<void> check_distance(const Operation& operation) const;
  bool is_chunkable(const Operation& operation) const;
  Attempt place_forward(Operation& operation, std::uint32_t row_count);
  std::vector<inference::TableEntry> forward_table(const Operation& operation,
                                                   ForwardRecord& record);
  void add_forward_rows(Operation& operation, std::uint32_t row_count, ForwardRecord& record,
                        std::vector<inference::TableEntry>& entries);
  void add_output(EmbedObject& embed, std::uint32_t row);  // Of the last pass.
  void take_slot(EmbedObject& embed);
  inference::SlotMask forward_mask(const Operation& operation, std::uint32_t row_first,
                                   std::uint32_t row_count, std::uint32_t slot_count) const;
  void complete_forward(PassRecord& pass, Result<void> outcome);

  // host_operations.cc: a request of the device, but no row.
  Attempt distribution(Operation& operation);
  std::optional<Attempt> prepare_reads(Operation& operation);
  void describe(const Operation& operation, std::uint32_t place,
                inference::DistributionRequest& request) const;

  // What several of them use.
  Attempt fail(Operation& operation, Error error);
  Attempt want_pages(Operation& operation, std::uint32_t count);
  // Whether the instance may have `count` pages more. For `returning`, those that it gave up to a
  // suspension are not more.
  Result<void> check_quota(Instance& instance, std::uint32_t count,
                           const Context* returning = nullptr);
  // Whether another context of the instance computes, and has all the pages that it needs for that.
  bool others_go_on(const Operation& operation) const;
  // Whether it may hold the page of that name, which is resident.
  Result<void> check_found(Instance& instance, NodeId node);
  Error beyond_quota(Instance& instance, std::uint32_t count);
  Error beyond_tenant_quota(const Instance& instance, std::uint32_t count) const;
  // What the instance may hold of this model: its limit is for all models together, and so is its
  // tenant's, which never keeps it from having back what it gave up to a suspension.
  std::uint32_t quota_of(Instance& instance);
  std::uint32_t own_quota_of(Instance& instance) const;  // By its own limit alone.
  // Counts tokens that are to be computed; QuotaExceeded where they are too many, and counts none.
  static Result<void> meter_tokens(Instance& instance, std::uint64_t count);
  // Whether another instance's operation that waits for pages comes first.
  bool gives_way(const Operation& operation) const;
  bool can_take(const Operation& operation, std::uint32_t count);

  // fcfs_kill.cc
  void choose_loser(const Operation& operation, std::uint32_t count);

  // suspension.cc
  bool make_room(const Operation& operation, std::uint32_t count);
  std::optional<Victim> victim_of(const Operation& operation, Context& context) const;
  void count_tenant_pages() const;
  std::vector<Context*> suspendable(const Operation& operation) const;
  bool has_searched_for(const Operation& operation) const;
  void note_search(const Operation& operation);
  void suspend(Context& context);
  void resume(Context& context);  // Where it is suspended.
  Error no_free_page(const Instance& instance, std::uint32_t wanted) const;

  // page_shortage.cc: the same, and what keeps the pages that are in use from being given up.
  Error explained_shortage(const Operation& operation) const;

  Result<void> complete_pass(std::size_t index, Result<void> outcome);
  std::uint32_t rows_left() const {
    if (is_closed()) return 0;
    const auto placed = static_cast<std::uint32_t>(batch_.rows.size());
    return row_limit_ > placed ? row_limit_ - placed : 0;
  }

  // The batch that is built takes no command any more, not even behind one that it has.
  bool is_closed() const { return is_building_ && commands_left_ == 0 && !timer_.joins(); }

  inference::Backend& backend_;
  const SchedulerOptions options_;
  OperationTable& table_;
  MatcherJobs& matchers_;
  ModelResources resources_;
  StoreLink disk_;
  SnapshotSaves saves_;
  SnapshotOpens opens_;
  TierTransfers tiers_;
  MissLog misses_;
  const MissScope miss_scope_;
  DispatchTimer timer_;
  FairShares shares_;
  BatchOrder order_;
  StepModel steps_;

  std::vector<Candidate> ready_;         // Need a batch.
  std::vector<Ref<Operation>> woken_;    // On their way to ready_.
  bool has_new_priorities_ = false;      // Candidates in ready_ may have old ones.
  std::vector<Ref<Operation>> waiters_;  // For pages; by importance while a batch is built.
  static constexpr Importance kNobody{.below_high = 255, .instance_order = 0, .age = 0};
  Importance first_waiter_ = kNobody;  // The most important among them, or one before it.
  Importance vain_search_ = kNobody;   // Whose look for contexts to suspend found too few.
  std::vector<Candidate> taken_;       // Of ready_, while it is worked through.
  Flight flight_;                      // Submitted and not complete,
  bool is_in_flight_ = false;          // if there is one.
  std::uint64_t completed_at_ns_ = 0;  // When the batch finished whose outcomes are looked at.
  // When a batch last finished, or a turn that built none finished something without the device.
  std::uint64_t went_on_at_ns_ = 0;

  // While a batch is built.
  bool is_building_ = false;
  bool has_progress_ = false;       // Something finished without the device.
  bool has_sliced_ = false;         // A look-up goes on in the next build.
  bool has_suspended_ = false;      // Pages, or embed slots, will be free for the next build.
  bool has_spared_search_ = false;  // Something may be found that was not there the first time.
  std::optional<Loser> loser_;
  inference::Batch batch_;
  inference::Batch spare_;  // The last one that the device gave back, for its memory.
  Flight building_;
  std::uint32_t row_limit_ = 0;
  PrefillBudget budget_;        // What is left of it.
  bool is_probing_ = false;     // Decoding alone, to see what it takes.
  bool is_prefilling_ = false;  // Rows that are added now are of prefill.
  std::uint32_t lookups_left_ = 0;
  std::uint32_t commands_left_ = 0;  // That the policy lets into the batch.
  Ref<Operation> first_next_;        // Found no room for all its rows: goes first next time.
  Ref<Operation> first_now_;         // The one that found none in the last batch.
  Ref<Operation> served_first_;      // The one that went first in this batch.
  SchedulerCounts counts_;
  ControlHistograms histograms_;
};

}  // namespace quire::control
