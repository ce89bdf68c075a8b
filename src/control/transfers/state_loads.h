#pragma once
// StateLoads brings states back that the store alone has, for operations that would compute their
// tokens again otherwise.
//
// A load reads the state from the disk and puts it into a slot in the next batch that has one for
// it. The state is kept after its page then, as if it had been computed. Operations that want the
// same state wait for one load. One that fails is as if the store never had the state: those that
// waited compute.
//
// Owns     the loads under way.  Thread  engine thread only.
// Errors   none. The disk's thread reports what it cannot read to the operator.
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "control/batches/transfer_owner.h"
#include "control/contexts/model_resources.h"
#include "control/objects/operation_table.h"
#include "control/objects/store_link.h"
#include "control/pages/importance.h"

namespace quire::control {

class StateLoads final : public TransferOwner {
 public:
  StateLoads(ModelResources& resources, OperationTable& table, StoreLink& disk)
      : resources_(resources), table_(table), disk_(disk) {}

  // Whether the operation, which is woken then, waits for the state after `node`, of so many
  // tokens. Requires: states->is_stored(node).
  bool wait(Operation& operation, NodeId node, std::uint32_t length, const Importance& importance);

  bool wants_batch() const override;
  bool begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) override;
  void transferred(const Flight& flight, TransferOutcomes outcomes,
                   std::vector<Ref<Operation>>& woken) override;
  bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) override;
  bool is_idle() const override { return loads_.empty(); }
  bool may_free() const override { return !is_idle(); }  // Who waits goes on, and ends.

  std::vector<inference::StateSlot> held_states() const override;

 private:
  struct Load {
    store::PageName name{};
    std::uint32_t length = 0;
    TenantId tenant{};  // Of the first who waits, like the importance.
    Importance importance{};
    std::vector<Ref<Operation>> waiting;
    std::optional<inference::PageBytes> bytes;        // They came from the disk.
    inference::StateSlot slot = inference::kNoState;  // In the batch under way.
  };
  using Loads = std::unordered_map<NodeId, Load>;

  bool is_wanted(NodeId node, const Load& load) const;
  Result<inference::PageBytes> check(const Load& load, store::DiskAnswer& answer) const;
  void keep(NodeId node, const Load& load);
  Loads::iterator end(Loads::iterator load, std::vector<Ref<Operation>>& woken);

  ModelResources& resources_;
  OperationTable& table_;
  StoreLink& disk_;
  Loads loads_;
  std::unordered_map<std::uint64_t, NodeId> node_of_job_;
  std::vector<NodeId> in_batch_;  // In its order.
};

}  // namespace quire::control
