#pragma once
// SnapshotOpens brings saved contexts back.
//
// An open walks the snapshot's chain from its root: pages that are in the pool are attached by
// name, the others are read from disk and loaded a few per batch. Each page's content must give its
// name, so a corrupt file makes an error and never wrong keys. While a page is loaded it is claimed
// like one that is computed: other operations that want it wait for it.
//
// A take is an open that excludes any other take meanwhile. Its snapshot goes when the program is
// known to have the context (keep_taken() in objects/give_back.h), and stays otherwise.
//
// Owns     the opens under way. The new context belongs to the instance.
// Thread   engine thread only.
// Errors   answered to the open's future; the context is empty then. NotSupported with the reason
//          for a snapshot of another model, numerics, format or sharing domain; Corrupted.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/server_limits.h"
#include "control/api/tenant_shares.h"
#include "control/batches/transfer_owner.h"
#include "control/contexts/chosen_adapters.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/objects/operation_table.h"
#include "control/objects/store_link.h"

namespace quire::control {

class SnapshotOpens final : public TransferOwner {
 public:
  // The most opens among the jobs that the disk has room for. Each tenant has half of what the
  // others leave (TenantShares), so that one that opens much does not keep another from it.
  static constexpr std::size_t kOnDiskCountMax = default_of<ServerLimit::SnapshotOpenCountMax>();

  SnapshotOpens(ModelResources& resources, OperationTable& table, StoreLink& disk)
      : resources_(resources), table_(table), disk_(disk) {}

  enum class StepEnd : std::uint8_t {
    Waits,       // For the disk or for the batch under way.
    Again,       // For a page that another brings, or for the disk: look again in the next build.
    WantsPages,  // So many as wanted_page_count() says.
    Done,
  };
  struct Step {
    StepEnd end = StepEnd::Waits;
    std::uint32_t wanted_page_count = 0;
    std::string note = {};  // Of the snapshot; when it is Done.
  };
  // Whether the instance may hold that page, which is resident.
  using MayHold = std::function<Result<void>(NodeId)>;
  // Goes on with the open that `operation` (a ContextOpen) asks for. `may_take` says whether so
  // many pages are free for it, and makes them so.
  template <typename MayTake>
  Result<Step> step(Operation& operation, BatchDraft& draft, const MayHold& may_hold,
                    MayTake may_take) {
    const Step next = TRY(look(operation, may_hold));
    if (next.end != StepEnd::WantsPages || !TRY(may_take(next.wanted_page_count))) return next;
    load(operation, draft, next.wanted_page_count);
    return Step{.end = StepEnd::Waits};
  }
  // Operations whose pages came are ready for their next step.
  void transferred(const Flight& flight, TransferOutcomes outcomes,
                   std::vector<Ref<Operation>>& woken) override;
  // The operation whose job it was is ready for its next step.
  bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) override;
  // The operation is about to be answered with an error.
  void forget(Operation& operation);
  // The operation's instance ends.
  void abandon(Operation& operation);

  bool is_idle() const override { return opens_.empty(); }
  // Opens end with the disk, unless they wait for pages themselves. Then their pages can be given
  // up.
  bool may_free() const override;

 private:
  struct Open {
    Ref<Operation> operation;
    std::uint64_t key = 0;
    store::OpenedSnapshot opened;
    bool is_started = false;
    bool waits = false;                   // For the disk or a batch.
    std::size_t next = 0;                 // Page of the chain.
    std::vector<store::PageRecord> read;  // From `next` on.
    std::uint32_t loading_count = 0;      // Pages in the batch under way, from `next` on.
    bool has_tail = false;                // The tail is yet to be loaded.
    std::optional<Error> error;
    ContextAdapters adapters;  // Of its tokens.
  };

  Result<Step> look(Operation& operation, const MayHold& may_hold);
  Result<void> begin(Open& open, Operation& operation);
  Result<void> accept(Open& open, Operation& operation);
  Result<void> check(const Open& open, const Context& context, std::size_t offset) const;
  Result<std::size_t> count_loads(const Open& open, const Context& context) const;
  bool has_disk_room(const Operation& operation) const {
    return on_disk_.may_take(operation.instance->tenant, 1);
  }
  bool is_dropped(const Open& open, std::size_t index) const;
  void attach(Open& open, Operation& operation, NodeId node);
  static void pass(Open& open);
  void commit_loaded(Open& open, Operation& operation, std::size_t count);
  Result<void> read_more(Open& open, const Operation& operation);
  void load(Operation& operation, BatchDraft& draft, std::uint32_t count);
  void note_states(const Open& open, const Context& context);
  std::string finish_tail(Open& open, Operation& operation);  // Gives the note.
  Result<void> submit(Open& open, const Operation& operation, store::DiskJob job);
  Open& open_of(Operation& operation);
  PageLedger& ledger(Operation& operation) const;

  ModelResources& resources_;
  OperationTable& table_;
  StoreLink& disk_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Open>> opens_;  // By the operation's age.
  struct OnDisk {
    std::uint64_t open = 0;  // Its key.
    TenantId tenant{};
  };
  std::unordered_map<std::uint64_t, OnDisk> open_of_job_;
  TenantShares on_disk_{kOnDiskCountMax};  // Jobs.
  std::vector<std::uint64_t> in_batch_;
};

}  // namespace quire::control
