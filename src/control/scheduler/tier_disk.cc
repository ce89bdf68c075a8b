// The tiers' jobs for the disk: pages that are written there and read from there.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/scheduler/page_record.h"
#include "control/scheduler/tier_transfers.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kPagesPerJob = 16;
constexpr std::size_t kWriteJobCountMax = 2;  // So that who reads does not wait for many writes.

}  // namespace

bool TierTransfers::read(const std::vector<NodeId>& nodes) {
  PageTiers& tiers = resources_.tiers;
  bool has_any = false;
  for (std::size_t next = 0; next < nodes.size();) {
    store::ReadPagesJob job{.space = disk_.space(), .names = {}};
    Read read{.start_ns = table_.clock.now_ns(), .pages = {}};
    for (; next < nodes.size() && read.pages.size() < kPagesPerJob; ++next) {
      if (!tiers.is_to_be_read(nodes[next])) continue;
      const std::optional<TransferId> transfer = tiers.begin_read(nodes[next]);
      if (!transfer) {
        next = nodes.size();
        break;
      }
      job.names.push_back(resources_.cache.name(nodes[next]));
      read.pages.push_back({nodes[next], *transfer});
    }
    if (read.pages.empty()) break;
    const Result<store::DiskJobId> id = disk_.submit(std::move(job));
    if (!id.ok()) {
      for (const Moving& each : read.pages) tiers.cancel_read(each.node, each.transfer);
      break;
    }
    reads_.emplace(static_cast<std::uint64_t>(id.value()), std::move(read));
    has_any = true;
  }
  return has_any;
}

void TierTransfers::write_out() {
  PageTiers& tiers = resources_.tiers;
  // Before what is written, so that there is room, and a page that comes again stays.
  if (std::vector<PageName> names = tiers.take_forgotten(); !names.empty()) {
    store::DropCachedJob job{.space = disk_.space(), .names = names};
    if (!disk_.submit(std::move(job)).ok()) return tiers.keep_forgotten(std::move(names));
  }
  while (writes_.size() < kWriteJobCountMax) {
    const std::vector<PageTiers::Unwritten> pages = tiers.unwritten(kPagesPerJob);
    if (pages.empty()) return;
    store::PutCachedJob job{.space = disk_.space(), .pages = {}};
    std::vector<Moving> moving;
    for (const PageTiers::Unwritten& page : pages) {
      job.pages.push_back(record_of(resources_.cache, page.node));
      job.pages.back().kv.assign(page.bytes->span().begin(), page.bytes->span().end());
      moving.push_back({page.node, page.transfer});
    }
    const Result<store::DiskJobId> id = disk_.submit(std::move(job));
    if (!id.ok()) return;  // Too much to do: with the next batch, or answer.
    for (const Moving& each : moving) tiers.handed_over(each.node, each.transfer);
    writes_.emplace(static_cast<std::uint64_t>(id.value()), std::move(moving));
  }
}

Result<PageBytes> TierTransfers::check(NodeId node, Result<store::PageRecord> record) const {
  const store::PageRecord page = TRY(std::move(record));
  const PageTrie& trie = resources_.cache.trie();
  const auto tokens = trie.tokens(node);
  const bool is_it =
      page.name == trie.name(node) && page.kv.size() == resources_.device.page_bytes &&
      std::equal(page.tokens.begin(), page.tokens.end(), tokens.begin(), tokens.end());
  if (!is_it) return Error(ErrorCode::Corrupted, "the disk gave another page than was asked for");
  PageBytes bytes = PageBytes::uninitialised(page.kv.size());
  std::copy(page.kv.begin(), page.kv.end(), bytes.span().begin());
  return bytes;
}

bool TierTransfers::deliver(store::DiskAnswer& answer) {
  const auto id = static_cast<std::uint64_t>(answer.id);
  PageTiers& tiers = resources_.tiers;
  if (const auto write = writes_.find(id); write != writes_.end()) {
    for (const Moving& each : write->second) {
      tiers.written(each.node, each.transfer, answer.body.ok());
    }
    writes_.erase(write);
  } else if (const auto found = reads_.find(id); found != reads_.end()) {
    const Read read = std::move(found->second);
    reads_.erase(found);
    costs_.note_read(static_cast<std::uint32_t>(read.pages.size()),
                     table_.clock.now_ns() - read.start_ns);
    auto* pages =
        answer.body.ok() ? &std::get<store::PagesRead>(answer.body.value()).pages : nullptr;
    for (std::size_t index = 0; index < read.pages.size(); ++index) {
      const Moving& each = read.pages[index];
      if (!tiers.is_reading(each.node, each.transfer)) continue;
      tiers.end_read(each.node, each.transfer,
                     pages != nullptr ? check(each.node, std::move((*pages)[index]))
                                      : Result<PageBytes>(answer.body.error().copy()));
    }
    table_.wakeup.notify();
  } else {
    return false;
  }
  write_out();
  return true;
}

void TierTransfers::prefetch(const Context& context) {
  if (!is_on() || !context.is_suspended) return;
  std::vector<NodeId> nodes;
  for (NodeId node = context.head; !resources_.cache.is_root(node);
       node = resources_.cache.parent(node)) {
    if (!resources_.cache.is_resident(node) && resources_.tiers.is_to_be_read(node)) {
      nodes.push_back(node);
    }
  }
  std::reverse(nodes.begin(), nodes.end());
  read(nodes);
}

}  // namespace quire::control
