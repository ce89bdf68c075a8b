#pragma once
// SnapshotSaves writes contexts to the store while their programs go on.
//
// A save works on a fork (its shadow), which holds the pages until they are on disk; the context
// itself is free at once. Pages that the store has are not read again. The others come from the
// device a few per batch, so that saving delays no program's next token by much. They go to the
// disk as they come.
//
// Owns     the saves under way. Their shadows belong to the operation, and go with the instance.
// Thread   engine thread only.
// Errors   answered to the save's future. A save whose instance ends stops; nothing is half saved.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/server_limits.h"
#include "control/api/tenant_shares.h"
#include "control/batches/transfer_owner.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/objects/operation_table.h"
#include "control/objects/store_link.h"

namespace quire::control {

class SnapshotSaves final : public TransferOwner {
 public:
  // Under way at once, each with one job of the disk at most; shared as the opens of SnapshotOpens.
  static constexpr std::size_t kCountMax = default_of<ServerLimit::SnapshotSaveCountMax>();

  SnapshotSaves(ModelResources& resources, OperationTable& table, StoreLink& disk)
      : resources_(resources), table_(table), disk_(disk) {}

  // Whether a snapshot can keep all that the context's pages are named by; NotSupported.
  // O(pages of the context).
  static Result<void> check(const Context& context, const PageCache& cache);
  bool has_room(TenantId tenant) const { return shares_.may_take(tenant, 1); }

  // `operation` is a ContextSave, `operation.child` its shadow. Answers it in the end.
  void start(Operation& operation);
  // The operation's instance ends.
  void abandon(const Operation& operation);

  bool wants_batch() const override;
  // Asks for a few pages of each save that waits for the device.
  bool end_build(BatchDraft& draft) override;
  void transferred(const Flight& flight, TransferOutcomes outcomes,
                   std::vector<Ref<Operation>>& woken) override;
  bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) override;
  std::vector<inference::StateSlot> held_states() const override;
  bool is_idle() const override { return saves_.empty(); }
  bool may_free() const override { return !is_idle(); }  // A save ends with the disk.

 private:
  struct Save {
    Ref<Operation> operation;
    TenantId tenant{};
    store::SnapshotRecord record;
    store::SaveOptions options;
    std::vector<NodeId> chain;  // Root first; held by the shadow.
    std::vector<store::PageRecord> links;
    std::vector<std::uint32_t> missing;  // Indexes into the chain, to be read.
    std::size_t next = 0;                // In `missing`.
    std::uint32_t reading_count = 0;     // Pages in the batch under way, from `next` on.
    bool reads_tail = false;             // The tail is in that batch.
    bool has_tail = false;               // The tail is yet to be read.
    bool waits_for_disk = true;
    // The snapshot is stored, and the states after its pages are on their way: `missing` and `next`
    // are of these.
    bool is_of_states = false;
    bool is_in_batch() const { return reading_count > 0 || reads_tail || !reading_states.empty(); }
    std::vector<StateRef> reading_states;  // In the batch under way, held.
  };
  using Iterator = std::unordered_map<std::uint64_t, std::unique_ptr<Save>>::iterator;

  Result<void> submit(std::uint64_t key, store::DiskJob job);
  // Goes on with what comes next; ends the save where it fails.
  void advance(Iterator found);
  void begin_states(Iterator found);
  void add_states(Save& save, BatchDraft& draft);
  Result<void> take_states_read(Save& save, std::uint64_t key,
                                std::vector<Result<inference::PageBytes>> states);
  void note_stored(const Save& save);
  Result<void> take_pages_read(Save& save, std::uint64_t key,
                               std::vector<Result<inference::PageBytes>> pages);
  void end(Iterator found, Result<AnswerBody> answer);
  void erase(Iterator found);

  ModelResources& resources_;
  OperationTable& table_;
  StoreLink& disk_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Save>> saves_;
  TenantShares shares_{kCountMax};  // Of saves_.
  std::unordered_map<std::uint64_t, std::uint64_t> save_of_job_;
  std::vector<std::uint64_t> in_batch_;  // Saves whose pages the batch reads, in its order.
  std::uint64_t count_ = 0;
};

}  // namespace quire::control
