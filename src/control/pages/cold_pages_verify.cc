// ColdPages::verify(): the invariants of cold_pages.h, by walking all of it.
#include "base/check.h"
#include "control/pages/cold_pages.h"

namespace quire::control {

void ColdPages::verify_queues(std::vector<std::uint8_t>& queued) const {
  for (std::uint32_t index = 0; index < tenants_.size(); ++index) {
    const Tenant& tenant = tenants_[index];
    std::array<bool, kPhaseCount> has_entries{};
    for (std::uint32_t slot = 0; slot < tenant.queues.size(); ++slot) {
      const Queue& queue = tenant.queues[slot];
      const std::uint32_t tier = slot / queue_count_;
      std::uint32_t count = 0;
      EntryId older = kNoEntry;
      for (EntryId entry = queue.oldest; entry != kNoEntry; entry = at(entry).newer) {
        const Entry& one = at(entry);
        QUIRE_CHECK(one.place == Place::Queued && one.older == older, "E3");
        QUIRE_CHECK(one.tenant == index, "E1");
        QUIRE_CHECK(one.tier == tier && one.queue == slot % queue_count_, "E1");
        QUIRE_CHECK(one.state == State::Cold || policy_->keeps_place(), "E1");
        QUIRE_CHECK(queued[index_of(entry)]++ == 0, "E1");
        older = entry;
        ++count;
      }
      QUIRE_CHECK(older == queue.newest && count == queue.count, "E3");
      const bool bit = (tenant.queues_in_use[tier] >> (slot % queue_count_) & 1) != 0;
      QUIRE_CHECK(bit == (count > 0), "E3");
      if (count > 0) has_entries[phase_of(tier)] = true;
    }
    for (std::uint32_t phase = 0; phase < kPhaseCount; ++phase) {
      QUIRE_CHECK(most_above_[phase].has(index) == has_entries[phase], "E3");
    }
  }
  for (const ShareHeap& heap : most_above_) heap.verify();
}

void ColdPages::verify_tenants() const {
  std::vector<std::uint32_t> pages(tenants_.size(), 0);
  std::vector<std::uint32_t> kept(tenants_.size(), 0);
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].state != State::Absent) ++pages[entries_[index].tenant];
    if (keeps_.has(EntryId{index})) ++kept[entries_[index].tenant];
  }
  std::size_t live = 0;
  std::uint64_t weights = 0;
  for (std::uint32_t index = 0; index < tenants_.size(); ++index) {
    QUIRE_CHECK(tenants_[index].page_count == pages[index], "E4");
    QUIRE_CHECK(tenants_[index].kept_count == kept[index], "E4");
    if (pages[index] == 0) continue;
    QUIRE_CHECK(tenants_[index].weight == weight_of(tenants_[index].id), "E4");
    ++live;
    weights += tenants_[index].weight;
  }
  QUIRE_CHECK(live == tenant_by_id_.size() && weights == weight_sum_, "E4");
}

void ColdPages::verify() const {
  std::vector<std::uint8_t> queued(entries_.size(), 0);
  std::vector<std::uint32_t> children(entries_.size(), 0);
  std::vector<bool> is_listed_fenced(entries_.size(), false);
  for (const EntryId entry : fenced_) is_listed_fenced[index_of(entry)] = true;
  verify_queues(queued);
  std::uint32_t cold = 0;
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    const Entry& one = entries_[index];
    if (one.state == State::Absent) continue;
    if (one.state == State::Cold) {
      ++cold;
      const EntryId parent = parent_of(EntryId{index});
      if (parent != kNoEntry) ++children[index_of(parent)];
    }
    QUIRE_CHECK((one.place == Place::Queued) == (queued[index] == 1), "E1");
    QUIRE_CHECK(one.state == State::Held || one.place != Place::None, "E1");
    QUIRE_CHECK(one.state == State::Cold || one.place == Place::None ||
                    (policy_->keeps_place() && one.place == Place::Queued),
                "E1");
    QUIRE_CHECK(one.place != Place::Blocked || one.cold_child_count > 0, "E5");
    QUIRE_CHECK(one.place != Place::Fenced || is_listed_fenced[index], "E5");
    QUIRE_CHECK(keeps_.has(EntryId{index}) == (one.state == State::Cold && one.tier == kKept),
                "E4");
  }
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].state != State::Absent) {
      QUIRE_CHECK(entries_[index].cold_child_count == children[index], "E2");
    }
  }
  QUIRE_CHECK(cold == cold_count_, "E1");
  verify_tenants();
  keeps_.verify();
  policy_->verify();
}

}  // namespace quire::control
