// Verifying: everything on disk is read again; what memory believes is compared with it.
#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

std::string page_text(const PageName& name) {
  return "page " + hex(name);
}

}  // namespace

// S1: memory is ours, so that a difference is a bug and not damage.
void SnapshotStore::check_slots(const std::map<std::int64_t, PageRow>& pages) const {
  for (const auto& [digest, space] : spaces_) {
    std::uint64_t taken_count = 0;
    std::set<std::uint64_t> seen;
    const auto take = [&, &space_slots = space.slots](std::uint64_t slot) {
      QUIRE_CHECK(space_slots.is_taken(slot), "S1: a page lies in a taken slot");
      QUIRE_CHECK(seen.insert(slot).second, "S1: two pages lie in one slot");
      ++taken_count;
    };
    std::uint64_t stored_count = 0;
    for (const auto& [id, row] : pages) {
      if (row.space != space.id || !row.slot.has_value()) continue;
      take(*row.slot);
      ++stored_count;
    }
    QUIRE_CHECK(stored_count == space.stored_count, "S1: stored pages are counted");
    cached_.each([&, &key_space = digest](const PageKey& key, const PlacedPage& placed) {
      if (key.space == key_space) take(placed.slot);
    });
    for (const auto& [id, ticket] : tickets_) {
      if (ticket.space != digest) continue;
      for (const auto& [name, placed] : ticket.pending) take(placed.slot);
    }
    QUIRE_CHECK(taken_count == space.slots.taken_count(), "S1: a taken slot holds a page");
    for (const std::uint64_t slot : space.blank) {
      QUIRE_CHECK(!space.slots.is_taken(slot), "S1: a blank slot is free");
    }
  }
}

Result<std::vector<Damage>> SnapshotStore::verify() {
  TRY(ready());
  std::vector<Damage> damages;
  for (std::string& text : TRY(index_->damages())) damages.push_back({"index", printable(text)});

  std::map<std::int64_t, PageRow> pages;
  TRY(index_->each_page([&pages](const PageRow& row) -> Result<void> {
    pages[row.id] = row;
    return {};
  }));
  check_slots(pages);

  for (const auto& [id, row] : pages) {
    const auto report = [&damages, name = row.name](std::string what) {
      damages.push_back({page_text(name), std::move(what)});
    };
    const auto parent = pages.find(row.parent);
    if (row.parent != kNoRow &&
        (parent == pages.end() || parent->second.space != row.space || row.parent >= row.id)) {
      report("S2: its parent is not stored before it");
      continue;
    }
    Space* space = find_space(row.space);
    if (space == nullptr) {
      report("S2: it belongs to no page space");
      continue;
    }
    const auto read = [&]() -> Result<StoredPage> {
      if (row.slot.has_value()) return TRY(file_of(*space))->read(*row.slot, &row.name);
      PageHeaderBytes header;
      std::copy(row.link.begin(), row.link.end(), header.begin());
      return decode_page(header, {}, space->space, space->digest, &row.name);
    };
    Result<StoredPage> stored = read();
    if (!stored.ok()) {
      if (stored.error().code() == ErrorCode::Io) return std::move(stored).take_error();
      if (stored.error().code() == ErrorCode::Corrupted) space->damaged.insert(row.name);
      report("S3: " + std::string(stored.error().message()));
      continue;
    }
    if (parent != pages.end() && stored.value().page.parent != parent->second.name) {
      report("S2: it says that its parent is " + hex(stored.value().page.parent));
    }
  }

  for (const SnapshotRow& row : TRY(index_->snapshots())) {
    std::vector<PageRow> chain;
    Result<OpenedSnapshot> opened = read_snapshot(row, nullptr, chain);
    if (opened.ok() && !chain.empty()) {
      const Result<PageRecord> first = read_page(opened.value().record.space, chain.front().name);
      if (first.ok() && first.value().parent != opened.value().record.root) {
        opened = Error(ErrorCode::Corrupted, "its first page descends from another root");
      }
    }
    if (!opened.ok()) {
      damages.push_back({"snapshot \"" + printable(row.info.name) + "\" of tenant \"" +
                             printable(row.tenant) + "\"",
                         "S3: " + std::string(opened.error().message())});
    }
  }
  return damages;
}

}  // namespace quire::store
