#pragma once
// TierTransfers moves pages between the device and the tiers, as parts of batches.
//
// Away: a cold page that is to be evicted, and is worth it, is saved by the batch being built, and
// free for the next one (takes()). So are the pages of a suspended context. Back: a look-up that
// ends at a node without bytes asks look(). Pages that are brought back are claimed like pages that
// are computed, so that all operations that want them wait together. They are found when they have
// landed; the operation that asked for them need not live so long.
//
// A context that is swapped (context_swap.cc) first gets all the pages of the pool that it needs,
// or waits for them. Then its bytes come, in as many batches as they take. Each page is on its way
// no longer than from the disk to the next batch. So two contexts never wait for one another with
// half of their pages each, and one may have more pages than there is room for on the way.
//
// No batch moves more than kSavesPerBatch and kLoadsPerBatch pages, so that operations that compute
// in it wait about as long as for a chunk of prefill. Only a context's own pages, which go and
// whose tail comes at once, may be more.
//
// Owns     the transfers under way, with the working pages that they load into. Holds on the pages
//          that landed, until the next batch is built, so that waiting operations find them. Holds
//          on pages of tails that a fork has too, until they are saved. The jobs of the disk for
//          its tier.
// Thread   engine thread only.
// Errors   a page that cannot be brought back is forgotten: it is computed. If a swapped context
//          needs it, that context's next operation gets the error, and the page is kept if the
//          error may pass.
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/batches/transfer_owner.h"
#include "control/contexts/model_resources.h"
#include "control/objects/operation_table.h"
#include "control/objects/store_link.h"
#include "control/tiers/cost_model.h"

namespace quire::control {

class TierTransfers final : public EvictionSink, public TransferOwner {
 public:
  static constexpr std::uint32_t kSavesPerBatch = 64;
  static constexpr std::uint32_t kLoadsPerBatch = 64;
  // Jobs of the disk at once, which has room for so many of all kinds.
  static constexpr std::size_t kReadJobCountMax = 12;
  static constexpr std::size_t kWriteJobCountMax = 2;  // Who reads does not wait for many writes.

  TierTransfers(ModelResources& resources, OperationTable& table, StoreLink& disk, CostModel costs)
      : resources_(resources), table_(table), disk_(disk), costs_(costs) {}

  bool is_on() const { return resources_.tiers.is_on(); }

  // --- While a batch is built ---
  bool wants_batch() const override { return !swaps_.empty(); }
  // Swaps that have begun go on: their operations have their pages already, and other operations
  // may wait for the same pages.
  bool begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) override;
  bool takes(NodeId node, bool is_done) override;
  // A context was suspended: its pages that are not held now are worth keeping.
  void keep_cold(const Context& context);
  // Whether the batch has room for the pages of one more context that is swapped out.
  bool can_swap_out() const { return saving_.size() < kSavesPerBatch; }
  void swap_out(Context& context);

  enum class FetchEnd : std::uint8_t { Compute, Waits, WantsPages };
  struct Fetch {
    FetchEnd end = FetchEnd::Compute;
    std::uint32_t page_count = 0;
  };
  // Nodes in a row, each the parent of the next, that are on a tier and nowhere else.
  Fetch look(const std::vector<NodeId>& run);
  // Pages of it, from the first on, whose bytes are in memory.
  std::uint32_t ready_count(const std::vector<NodeId>& run) const;
  // Pages that the batch has room for.
  std::uint32_t load_room() const {
    const auto count = static_cast<std::uint32_t>(loading_.size());
    return count < kLoadsPerBatch ? kLoadsPerBatch - count : 0;
  }
  // Loads the first pages of the run, and returns how many: the bytes of one may be damaged.
  // Requires: so many are ready, and can be taken.
  std::uint32_t load(const std::vector<NodeId>& run, std::uint32_t page_count, BatchDraft& draft);

  // The pages that the operation's context, which is swapped, needs.
  Result<Fetch> look_swapped(const Operation& operation);
  // The context's pages that are in the pool already stay there, until drop_here() or the end of
  // the load.
  std::vector<NodeId> hold_here(const Context& context);
  void drop_here(const std::vector<NodeId>& held);
  // Takes the pages of the pool and begins to load; the context is in flight until it is back, or
  // its operation has an error. Requires: look_swapped() said how many pages, and they can be
  // taken.
  void begin_swap_in(Operation& operation, std::vector<NodeId> held, BatchDraft& draft);
  // Every operation that waited for landed pages has had its turn; those that are left go cold.
  bool end_build(BatchDraft& draft) override;
  void drop_kept() override { drop_landed(); }
  std::uint32_t save_count() const { return static_cast<std::uint32_t>(saving_.size()); }

  // --- After it ---
  // Operations whose context is back are ready for their next step.
  void transferred(const Flight& flight, TransferOutcomes outcomes,
                   std::vector<Ref<Operation>>& woken) override;
  bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) override;
  bool is_idle() const override { return reads_.empty() && swaps_.empty(); }
  // A page that is written to a tier makes room there for one that must be kept.
  bool may_free() const override { return !is_idle() || !writes_.empty(); }

  // Reads what a suspended context will want, as far as there is room.
  void prefetch(const Context& context);

  const CostModel& costs() const { return costs_; }
  std::uint64_t lost_count() const { return lost_count_; }  // Worth keeping, and evicted unkept.
  // Working pages, and holds on committed ones, that are this one's.
  std::vector<PageId> held_pages() const;

 private:
  struct Save {
    SwapSave page;
    Ref<Context> context;  // Of a page of a tail.
  };
  struct SwapIn {
    Ref<Operation> operation;
    Ref<Context> context;
    std::vector<NodeId> held;  // In the pool, and held there.
    // Not on their way into it yet: indexes into SwappedContext::pages, root first,
    std::vector<std::size_t> pending;
    std::vector<PageId> spare;  // and a working page for each.
    std::vector<PageId> tail;   // Working pages.
    std::vector<PageBytes> tail_bytes;
    bool has_tail = false;            // Its bytes were loaded, or are being.
    std::uint32_t loading_count = 0;  // Pages of the batch.
    std::optional<Error> error;
  };
  struct Load {
    PageId page{};
    NodeId node = kNoNode;  // kNoNode: of a tail.
    TransferId transfer = kNoTransfer;
    SwapIn* swap = nullptr;  // Null: the page is for any operation that wants it.
    std::size_t index = 0;   // Into SwappedContext::pages.
  };
  struct Moving {
    NodeId node = kNoNode;
    TransferId transfer = kNoTransfer;
  };

  bool may_read() const { return reads_.size() < kReadJobCountMax; }
  bool keeps(NodeId node);
  bool begin_load(NodeId node, PageId page, SwapIn* swap, BatchDraft& draft);
  // Asks the disk for those of `nodes` that only it has. False: nothing is on its way.
  bool read(const std::vector<NodeId>& nodes);
  void write_out();
  void keep_some_free();
  bool drop_landed();  // True: there were some.
  void measure(const Flight& flight);
  void end_saves(std::vector<Result<PageBytes>> outcomes);
  void land(const Load& load, bool is_loaded);
  bool continue_swaps(BatchDraft& draft, std::vector<Ref<Operation>>& woken);
  bool advance(SwapIn& swap, BatchDraft& draft);  // True: let pages go.
  void load_tail(SwapIn& swap, Context& context, BatchDraft& draft);
  void end_load(const Load& load, PageBytes bytes, Result<void> outcome);
  bool finish_swaps(std::vector<Ref<Operation>>& woken);  // True: there were some.
  static bool is_done(const SwapIn& swap);
  void finish(SwapIn& swap, std::vector<Ref<Operation>>& woken);
  Result<PageTiers::ReadBytes> check(NodeId node, Result<store::CachedPage> read) const;
  void end_write(const std::vector<Moving>& pages, store::DiskAnswer& answer);
  void end_read(const std::vector<Moving>& pages, store::DiskAnswer& answer);

  ModelResources& resources_;
  OperationTable& table_;
  StoreLink& disk_;
  CostModel costs_;
  bool is_building_ = false;
  std::vector<Save> saving_;   // By the batch being built or under way,
  std::vector<Load> loading_;  // and what it loads.
  std::list<SwapIn> swaps_;
  std::vector<NodeId> landed_;
  std::unordered_map<std::uint64_t, std::vector<Moving>> reads_;  // By job.
  std::unordered_map<std::uint64_t, std::vector<Moving>> writes_;
  std::uint64_t lost_count_ = 0;
};

}  // namespace quire::control
