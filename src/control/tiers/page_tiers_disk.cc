// The disk's part of PageTiers: what is to be written there, and what is read from it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/tiers/page_tiers.h"

namespace quire::control {

std::vector<PageTiers::Unwritten> PageTiers::unwritten(std::uint32_t count) const {
  std::vector<Unwritten> pages;
  for (const NodeId node : unwritten_) {
    if (pages.size() == count) break;
    const Entry* entry = find(node);
    pages.push_back({.node = node, .transfer = entry->transfer, .bytes = &entry->bytes});
  }
  return pages;
}

// The job has a copy of its own: from now on the page is as good as on disk, because jobs are done
// in order.
void PageTiers::handed_over(NodeId node, TransferId transfer) {
  Entry* entry = find(node, transfer);
  QUIRE_CHECK(entry != nullptr && entry->use == Use::Unwritten, "handed over what nobody writes");
  unwritten_.remove(node);
  unstage(*entry);
  entry->use = Use::None;
  entry->written_by = transfer;
  settle(node, *entry);
}

void PageTiers::written(NodeId node, TransferId transfer, bool is_written) {
  Entry* entry = find(node);
  if (entry == nullptr || entry->written_by != transfer) return;
  entry->written_by = kNoTransfer;
  if (is_written) return;
  ++counts_.damaged_count;
  entry->use = Use::None;
  forget(node);
}

std::optional<TransferId> PageTiers::begin_read(NodeId node) {
  QUIRE_CHECK(is_to_be_read(node), "read what is here");
  if (!has_staging_room()) return std::nullopt;
  Entry& entry = at(node);
  stage(entry);
  return begin(entry, Use::Reading);
}

bool PageTiers::is_reading(NodeId node, TransferId transfer) const {
  const Entry* entry = find(node);
  return entry != nullptr && entry->use == Use::Reading && entry->transfer == transfer;
}

void PageTiers::cancel_read(NodeId node, TransferId transfer) {
  QUIRE_CHECK(is_reading(node, transfer), "nobody reads it");
  Entry& entry = at(node);
  unstage(entry);
  settle(node, entry);
}

void PageTiers::end_read(NodeId node, TransferId transfer, Result<PageBytes> bytes) {
  Entry* entry = find(node, transfer);
  if (entry == nullptr) return;
  if (!bytes.ok()) {
    ++counts_.damaged_count;
    entry->use = Use::None;
    return forget(node);
  }
  entry->bytes = std::move(bytes).take();
  entry->checksum = store::checksum(entry->bytes.span());
  while (read_.size() >= 2 * std::size_t{staged_max_}) unstage_oldest();
  read_.push_back({node, entry->id});
  settle(node, *entry);
}

}  // namespace quire::control
