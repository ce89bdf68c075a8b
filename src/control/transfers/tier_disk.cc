// The tiers' jobs for the disk: pages that are written there and read from there.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/transfers/page_record.h"
#include "control/transfers/tier_transfers.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kPagesPerJob = 16;

}  // namespace

bool TierTransfers::read(const std::vector<NodeId>& nodes) {
  PageTiers& tiers = resources_.tiers;
  bool has_any = false;
  for (std::size_t next = 0; next < nodes.size() && may_read();) {
    store::ReadCachedJob job{.space = disk_.space(), .names = {}};
    std::vector<Moving> moving;
    for (; next < nodes.size() && moving.size() < kPagesPerJob; ++next) {
      if (!tiers.is_to_be_read(nodes[next])) continue;
      const std::optional<TransferId> transfer = tiers.begin_read(nodes[next]);
      if (!transfer) {
        next = nodes.size();
        break;
      }
      job.names.push_back(resources_.cache.name(nodes[next]));
      moving.push_back({nodes[next], *transfer});
    }
    if (moving.empty()) break;
    const Result<store::DiskJobId> id = disk_.submit(std::move(job));
    if (!id.ok()) {
      for (const Moving& each : moving) tiers.cancel_read(each.node, each.transfer);
      break;
    }
    reads_.emplace(static_cast<std::uint64_t>(id.value()), std::move(moving));
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
    store::PutCachedJob put{.space = disk_.space(), .pages = {}};
    std::vector<Moving> moving;
    for (const PageTiers::Unwritten& page : pages) {
      put.pages.push_back({.record = record_of(resources_.cache, page.node),
                           .bytes = tiers.hand_over(page.node, page.transfer),
                           .checksum = page.checksum});
      moving.push_back({page.node, page.transfer});
    }
    store::DiskJob job(std::move(put));
    const Result<store::DiskJobId> id = disk_.submit(job);
    if (!id.ok()) {  // Too much to do: with the next batch, or answer.
      auto& kept = std::get<store::PutCachedJob>(job).pages;
      for (std::size_t index = kept.size(); index > 0; --index) {
        const Moving& each = moving[index - 1];
        tiers.take_back(each.node, each.transfer, std::move(kept[index - 1].bytes));
      }
      return;
    }
    writes_.emplace(static_cast<std::uint64_t>(id.value()), std::move(moving));
  }
}

Result<PageTiers::ReadBytes> TierTransfers::check(NodeId node,
                                                  Result<store::CachedPage> read) const {
  store::CachedPage page = TRY(std::move(read));
  const store::PageRecord& record = page.record;
  const PageTrie& trie = resources_.cache.trie();
  const auto tokens = trie.tokens(node);
  const bool is_it =
      record.name == trie.name(node) && page.bytes.byte_count() == resources_.device.page_bytes &&
      std::equal(record.tokens.begin(), record.tokens.end(), tokens.begin(), tokens.end());
  if (!is_it) return Error(ErrorCode::Corrupted, "the disk gave another page than was asked for");
  return PageTiers::ReadBytes{.bytes = std::move(page.bytes), .checksum = page.checksum};
}

void TierTransfers::end_write(const std::vector<Moving>& pages, store::DiskAnswer& answer) {
  QUIRE_CHECK(answer.body.ok(), "each page of this job has an outcome of its own");
  auto& put = std::get<store::PagesPut>(answer.body.value()).pages;
  for (std::size_t index = 0; index < pages.size(); ++index) {
    const auto [node, transfer] = pages[index];
    auto& [outcome, bytes, is_damaged] = put[index];
    if (is_damaged) {
      resources_.tiers.found_damaged(node, transfer, std::move(outcome).take_error(),
                                     std::move(bytes));
    } else {
      resources_.tiers.written(node, transfer, std::move(outcome), std::move(bytes));
    }
  }
}

void TierTransfers::end_read(const std::vector<Moving>& moving, store::DiskAnswer& answer) {
  QUIRE_CHECK(answer.body.ok(), "each page of this job has an outcome of its own");
  store::CachedRead& done = std::get<store::CachedRead>(answer.body.value());
  std::vector<Result<store::CachedPage>>& pages = done.pages;
  const bool is_sample = std::all_of(
      pages.begin(), pages.end(), [](const Result<store::CachedPage>& page) { return page.ok(); });
  if (is_sample) costs_.note_read(static_cast<std::uint32_t>(pages.size()), done.ns);
  for (std::size_t index = 0; index < moving.size(); ++index) {
    const Moving& each = moving[index];
    if (!resources_.tiers.is_reading(each.node, each.transfer)) continue;
    resources_.tiers.end_read(each.node, each.transfer, check(each.node, std::move(pages[index])));
  }
}

bool TierTransfers::deliver(store::DiskAnswer& answer, std::vector<Ref<Operation>>& /*woken*/) {
  const auto id = static_cast<std::uint64_t>(answer.id);
  if (const auto write = writes_.extract(id)) {
    end_write(write.mapped(), answer);
  } else if (const auto read = reads_.extract(id)) {
    end_read(read.mapped(), answer);
  } else {
    return false;
  }
  write_out();
  table_.wakeup.notify();  // Who waits for one of these pages can go on.
  return true;
}

void TierTransfers::prefetch(const Context& context) {
  if (!is_on() || !context.is_suspended()) return;
  std::vector<NodeId> nodes;
  for (NodeId node = context.chain().head(); !resources_.cache.is_root(node);
       node = resources_.cache.parent(node)) {
    if (!resources_.cache.is_resident(node) && resources_.tiers.is_to_be_read(node)) {
      nodes.push_back(node);
    }
  }
  std::reverse(nodes.begin(), nodes.end());
  read(nodes);
}

}  // namespace quire::control
