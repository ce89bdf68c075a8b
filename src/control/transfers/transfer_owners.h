#pragma once
// TransferOwners calls the owners of a replica's loads and saves, each in its turn.
//
// Owns     nothing. The owners outlive it.
// Thread   engine thread only.
#include <vector>

#include "control/batches/flight.h"
#include "control/batches/transfer_owner.h"

namespace quire::control {

class TransferOwners {
 public:
  // In the order in which they are called.
  explicit TransferOwners(std::vector<TransferOwner*> owners) : owners_(std::move(owners)) {}

  // As the functions of TransferOwner. One that returns bool is true if it is true of any owner.
  bool wants_batch() const;
  bool begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) const;
  bool end_build(BatchDraft& draft) const;
  void drop_kept() const;
  bool may_free() const;
  bool is_idle() const;  // All of them.
  std::vector<inference::StateSlot> held_states() const;

  // Gives each owner the outcomes of its own transfers, which `completion` has no more then.
  void complete(const Flight& flight, inference::Completion& completion,
                std::vector<Ref<Operation>>& woken) const;
  // False: no owner asked for it.
  bool deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) const;

 private:
  std::vector<TransferOwner*> owners_;
};

}  // namespace quire::control
