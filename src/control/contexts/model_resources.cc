#include "control/contexts/model_resources.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/check.h"
#include "control/contexts/context.h"

namespace quire::control {

using inference::SequenceId;
using inference::TableChange;

SequencePool::SequencePool(std::uint32_t sequence_count, bool may_steal)
    : entries_(sequence_count), may_steal_(may_steal) {
  for (std::uint32_t index = sequence_count; index > 0; --index) free_.push_back(index - 1);
}

void SequencePool::announce_release(std::uint32_t index) {
  releases_.push_back({.sequence = SequenceId{index}, .release = true});
  entries_[index] = Entry{};
}

bool SequencePool::find(std::uint32_t& index, BatchId batch) {
  if (free_.empty()) {
    if (!may_steal_) return false;
    Context* oldest = find_oldest(static_cast<std::uint64_t>(batch));
    if (oldest == nullptr) return false;
    release(*oldest);
  }
  index = free_.back();
  free_.pop_back();
  entries_[index].used = static_cast<std::uint64_t>(batch);
  entries_[index].is_taken = true;
  return true;
}

void SequencePool::list_all(std::uint64_t batch) {
  listed_batch_ = batch;
  oldest_.clear();
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    if (entry.owner.get() != nullptr && entry.used < batch) oldest_.push_back({entry.used, index});
  }
  std::make_heap(oldest_.begin(), oldest_.end(), std::greater());
}

bool SequencePool::is_current(const Use& use) const {
  return entries_[use.index].used == use.batch && entries_[use.index].owner.get() != nullptr;
}

// Null where every one is used by `batch` itself.
Context* SequencePool::find_oldest(std::uint64_t batch) {
  for (;;) {
    while (!oldest_.empty() && !is_current(oldest_.front())) {
      std::pop_heap(oldest_.begin(), oldest_.end(), std::greater());
      oldest_.pop_back();
    }
    if (!oldest_.empty()) break;
    if (listed_batch_ == batch) return nullptr;
    list_all(batch);
  }
  Context* owner = entries_[oldest_.front().index].owner.get();
  return owner->is_in_flight() ? nullptr : owner;  // Then so are all that were used since.
}

bool SequencePool::acquire(Context& context, BatchId batch) {
  auto index = static_cast<std::uint32_t>(context.table().sequence());
  if (context.table().sequence() == kNoSequence) {
    if (!find(index, batch)) return false;
    entries_[index].owner = Ref<Context>(&context);
    context.parts().begin_sequence(SequenceId{index});
  }
  entries_[index].used = static_cast<std::uint64_t>(batch);
  return true;
}

bool SequencePool::acquire_ephemeral(SequenceId& sequence, BatchId batch) {
  std::uint32_t index = 0;
  if (!find(index, batch)) return false;
  sequence = SequenceId{index};
  return true;
}

void SequencePool::release(Context& context) {
  if (context.table().sequence() == kNoSequence) return;
  release_ephemeral(context.table().sequence());
  context.parts().end_sequence();
}

void SequencePool::release_ephemeral(SequenceId sequence) {
  const auto index = static_cast<std::uint32_t>(sequence);
  QUIRE_CHECK(entries_[index].is_taken, "a sequence was released twice");
  announce_release(index);
  free_.push_back(index);
}

std::vector<TableChange> SequencePool::take_releases() {
  return std::exchange(releases_, {});
}

std::uint32_t SequencePool::taken_count() const {
  return static_cast<std::uint32_t>(entries_.size() - free_.size());
}

void SequencePool::verify() const {
  std::vector<bool> is_free(entries_.size());
  for (const std::uint32_t index : free_) {
    QUIRE_CHECK(!is_free[index] && !entries_[index].is_taken, "Q2");
    is_free[index] = true;
  }
  std::set<Use> listed(oldest_.begin(), oldest_.end());
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    QUIRE_CHECK(is_free[index] != entry.is_taken, "Q2");
    const Context* owner = entry.owner.get();
    if (owner == nullptr) continue;
    QUIRE_CHECK(entry.is_taken && owner->table().sequence() == SequenceId{index}, "Q2");
    QUIRE_CHECK(entry.used >= listed_batch_ || listed.contains({entry.used, index}), "Q1");
  }
}

namespace {

PageTierOptions tiers_of(const inference::Backend& backend, PageTierOptions options) {
  options.page_bytes = backend.capabilities().page_bytes;
  return options;
}

}  // namespace

ModelResources::ModelResources(const inference::Backend& backend, const PageCacheOptions& options,
                               PageTierOptions tier_options)
    : model(backend.model()),
      device(backend.capabilities()),
      cache(options),
      tiers(cache, tiers_of(backend, tier_options)),
      states(device.state_count == 0 ? nullptr : std::make_unique<StateCache>(device.state_count)),
      embed_slots(device.embed_slot_count),
      sequences(device.sequence_count, device.kv_mode != inference::KvMode::Basic) {
  cache.set_lost_page_sink(states.get());
}

}  // namespace quire::control
