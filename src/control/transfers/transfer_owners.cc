#include "control/transfers/transfer_owners.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::control {
namespace {

TransferOutcomes take_outcomes(const TransferOwner& owner, const Flight& flight,
                               inference::Completion& completion) {
  TransferOutcomes taken;
  for (std::size_t index = 0; index < flight.loads.size(); ++index) {
    if (flight.loads[index] != &owner) continue;
    taken.loads.push_back({.outcome = std::move(completion.loads[index]),
                           .bytes = std::move(completion.load_bytes[index])});
  }
  for (std::size_t index = 0; index < flight.saves.size(); ++index) {
    if (flight.saves[index] == &owner) taken.saves.push_back(std::move(completion.saves[index]));
  }
  return taken;
}

}  // namespace

bool TransferOwners::wants_batch() const {
  return std::any_of(owners_.begin(), owners_.end(),
                     [](const TransferOwner* each) { return each->wants_batch(); });
}

bool TransferOwners::begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) const {
  bool has_let_go = false;
  for (TransferOwner* each : owners_) has_let_go |= each->begin_build(draft, woken);
  return has_let_go;
}

bool TransferOwners::end_build(BatchDraft& draft) const {
  bool has_let_go = false;
  for (TransferOwner* each : owners_) has_let_go |= each->end_build(draft);
  return has_let_go;
}

void TransferOwners::drop_kept() const {
  for (TransferOwner* each : owners_) each->drop_kept();
}

bool TransferOwners::may_free() const {
  return std::any_of(owners_.begin(), owners_.end(),
                     [](const TransferOwner* each) { return each->may_free(); });
}

bool TransferOwners::is_idle() const {
  return std::all_of(owners_.begin(), owners_.end(),
                     [](const TransferOwner* each) { return each->is_idle(); });
}

std::vector<inference::StateSlot> TransferOwners::held_states() const {
  std::vector<inference::StateSlot> all;
  for (const TransferOwner* each : owners_) {
    const std::vector<inference::StateSlot> held = each->held_states();
    all.insert(all.end(), held.begin(), held.end());
  }
  return all;
}

void TransferOwners::complete(const Flight& flight, inference::Completion& completion,
                              std::vector<Ref<Operation>>& woken) const {
  QUIRE_CHECK(completion.loads.size() == flight.loads.size(),
              "an outcome for each page that was loaded");
  QUIRE_CHECK(completion.load_bytes.size() == completion.loads.size(), "and its bytes");
  QUIRE_CHECK(completion.saves.size() == flight.saves.size(),
              "an outcome for each page that was saved");
  std::size_t taken_count = 0;
  for (TransferOwner* each : owners_) {
    TransferOutcomes outcomes = take_outcomes(*each, flight, completion);
    taken_count += outcomes.loads.size() + outcomes.saves.size();
    each->transferred(flight, std::move(outcomes), woken);
  }
  QUIRE_CHECK(taken_count == flight.loads.size() + flight.saves.size(),
              "a transfer of an owner that no batch calls");
}

bool TransferOwners::deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) const {
  return std::any_of(owners_.begin(), owners_.end(),
                     [&](TransferOwner* each) { return each->deliver(answer, woken); });
}

}  // namespace quire::control
