#include "control/transfers/state_loads.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/batches/batch_draft.h"
#include "control/contexts/context.h"

namespace quire::control {

using inference::PageBytes;

bool StateLoads::wait(Operation& operation, NodeId node, std::uint32_t length,
                      const Importance& importance) {
  const auto found = loads_.find(node);
  if (found != loads_.end() && is_wanted(node, found->second)) {
    found->second.waiting.emplace_back(&operation);
    return true;
  }
  if (found != loads_.end()) return false;  // Of a page that was there before; it ends by itself.
  const store::PageName name = resources_.cache.name(node);
  Result<store::DiskJobId> id =
      disk_.submit(store::ReadCachedJob{.space = disk_.states(), .names = {name}});
  if (!id.ok()) return false;  // The disk has too much to do: computing is as good.
  node_of_job_.emplace(static_cast<std::uint64_t>(id.value()), node);
  Load& load = loads_[node];
  load.name = name;
  load.length = length;
  load.tenant = operation.instance->tenant;
  load.importance = importance;
  load.waiting.emplace_back(&operation);
  return true;
}

// Whether the page is there still, and is the one that it was.
bool StateLoads::is_wanted(NodeId node, const Load& load) const {
  return resources_.states->is_stored(node) && resources_.cache.name(node) == load.name;
}

Result<PageBytes> StateLoads::check(const Load& load, store::DiskAnswer& answer) const {
  QUIRE_CHECK(answer.body.ok(), "each page of this job has an outcome of its own");
  auto& pages = std::get<store::CachedRead>(answer.body.value()).pages;
  QUIRE_CHECK(pages.size() == 1, "one state was asked for");
  store::CachedPage read = TRY(std::move(pages.front()));
  if (read.record.name != load.name || read.bytes.byte_count() != resources_.device.state_bytes) {
    return Error(ErrorCode::Corrupted, "the disk gave another state than was asked for");
  }
  return std::move(read.bytes);
}

bool StateLoads::deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& woken) {
  const auto job = node_of_job_.extract(static_cast<std::uint64_t>(answer.id));
  if (!job) return false;
  const auto found = loads_.find(job.mapped());
  Result<PageBytes> bytes = check(found->second, answer);
  if (bytes.ok()) {
    found->second.bytes = std::move(bytes).take();
  } else {
    if (is_wanted(found->first, found->second)) resources_.states->end_stored(found->first);
    end(found, woken);
  }
  table_.wakeup.notify();
  return true;
}

StateLoads::Loads::iterator StateLoads::end(Loads::iterator load,
                                            std::vector<Ref<Operation>>& woken) {
  for (Ref<Operation>& each : load->second.waiting) {
    if (each.get() != nullptr) woken.push_back(std::move(each));
  }
  return loads_.erase(load);
}

bool StateLoads::wants_batch() const {
  return std::ranges::any_of(loads_,
                             [](const auto& each) { return each.second.bytes.has_value(); });
}

bool StateLoads::begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) {
  for (auto each = loads_.begin(); each != loads_.end();) {
    auto& [node, load] = *each;
    if (!load.bytes.has_value()) {
      ++each;
    } else if (!is_wanted(node, load) || resources_.states->find(node).has_value()) {
      each = end(each, woken);  // Its page is gone, or the state was computed meanwhile.
    } else {
      const auto slot = resources_.states->take(load.importance);
      if (slot.has_value()) {
        load.slot = *slot;
        draft.add_load(*this, {.bytes = *std::exchange(load.bytes, {}), .state = *slot});
        in_batch_.push_back(node);
      }
      ++each;
    }
  }
  return false;
}

void StateLoads::transferred(const Flight& /*flight*/, TransferOutcomes outcomes,
                             std::vector<Ref<Operation>>& woken) {
  const std::vector<NodeId> nodes = std::exchange(in_batch_, {});
  QUIRE_CHECK(nodes.size() == outcomes.loads.size(), "an outcome for each state that was loaded");
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    const auto found = loads_.find(nodes[index]);
    const Load& load = found->second;
    const bool is_here = is_wanted(nodes[index], load);
    const bool has_come = outcomes.loads[index].outcome.ok();
    if (is_here && !has_come) resources_.states->end_stored(nodes[index]);
    // Another pass may have computed the state meanwhile.
    const bool is_kept = is_here && has_come && !resources_.states->find(nodes[index]).has_value();
    if (is_kept) keep(nodes[index], load);
    resources_.states->release(load.slot);
    end(found, woken);
  }
}

std::vector<inference::StateSlot> StateLoads::held_states() const {
  std::vector<inference::StateSlot> held;
  for (const NodeId node : in_batch_) held.push_back(loads_.at(node).slot);
  return held;
}

// The state is in its slot.
void StateLoads::keep(NodeId node, const Load& load) {
  StateCache& states = *resources_.states;
  states.note_written(load.slot, load.tenant);
  states.keep(node, load.slot, StateKind::Turn, load.length);
  states.note_loaded();
  for (const Ref<Operation>& each : load.waiting) {
    Operation* operation = each.get();
    if (operation == nullptr) continue;
    operation->context->parts().states()->reserve_for(states, load.slot, load.importance);
    return;
  }
}

}  // namespace quire::control
