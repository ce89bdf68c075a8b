// Verifying: everything on disk is read again; what memory believes is compared with it.
#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

std::string page_text(const PageName& name) {
  return "page " + hex(name);
}

}  // namespace

// S1. Memory follows the index, so that only damage on disk makes a difference (or a bug of ours,
// which tests would see as damage): then the index is read again before the next call.
Result<void> SnapshotStore::check_slots(const std::map<std::int64_t, PageRow>& pages) {
  const char* violation = nullptr;
  const auto require = [&violation](bool holds, const char* what) {
    if (!holds) violation = what;
  };
  for (const auto& [digest, space] : spaces_) {
    std::set<std::uint64_t> seen;
    const auto take = [&, &slots = space.slots](std::uint64_t slot) {
      require(slots.is_taken(slot), "S1: a page lies in a slot that is not taken");
      require(seen.insert(slot).second, "S1: two pages lie in one slot");
    };
    std::uint64_t stored_count = 0;
    for (const auto& [id, row] : pages) {
      if (row.space != space.id || !row.slot.has_value()) continue;
      take(*row.slot);
      ++stored_count;
    }
    require(stored_count == space.stored_count, "S1: another number of pages is stored");
    cached_.each([&, &key_space = digest](const PageKey& key, const PlacedPage& placed) {
      if (key.space == key_space) take(placed.slot);
    });
    for (const auto& [id, ticket] : tickets_) {
      if (ticket.space != digest) continue;
      for (const auto& [name, placed] : ticket.pending) take(placed.slot);
    }
    require(seen.size() == space.slots.taken_count(), "S1: a taken slot holds no page");
    for (const std::uint64_t slot : space.blank) {
      require(!space.slots.is_taken(slot), "S1: a blank slot is taken");
    }
  }
  if (violation == nullptr) return {};
  index_.reset();
  return Error(ErrorCode::Corrupted,
               std::string("the index is not what was read before: ") + violation);
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
  Result<void> slots = check_slots(pages);
  if (!slots.ok()) {
    damages.push_back({"index", std::string(slots.error().message())});
    return damages;
  }

  for (const auto& [id, row] : pages) {
    const auto report = [&, &page = row](std::string what) {
      damages.push_back(
          {(is_of_states(page) ? "the state after " : "") + page_text(page.name), std::move(what)});
    };
    const auto parent = pages.find(row.parent);
    const bool is_state = is_of_states(row);
    const auto is_parent = [&](const PageRow& page) {
      return is_state ? page.name == row.name && !is_of_states(page) : page.space == row.space;
    };
    if ((is_state || row.parent != kNoRow) &&
        (parent == pages.end() || !is_parent(parent->second) || row.parent >= row.id)) {
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
    if (!is_state && parent != pages.end() && stored.value().page.parent != parent->second.name) {
      report("S2: it says that its parent is " + hex(stored.value().page.parent));
    }
  }

  TRY(check_snapshots(damages));
  TRY(check_values(damages));
  return damages;
}

Result<void> SnapshotStore::check_snapshots(std::vector<Damage>& damages) {
  for (const SnapshotKey& key : TRY(index_->snapshot_keys())) {
    TRY(ready());  // Reading a page may have closed the index.
    const std::optional<SnapshotRow> row = TRY(index_->find_snapshot(key.tenant, key.name));
    if (!row.has_value()) continue;
    std::vector<PageRow> chain;
    Result<OpenedSnapshot> opened = read_snapshot(*row, nullptr, chain);
    if (opened.ok() && !chain.empty()) {
      const Result<PageRecord> first = read_page(opened.value().record.space, chain.front().name);
      if (first.ok() && first.value().parent != opened.value().record.root) {
        opened = Error(ErrorCode::Corrupted, "its first page descends from another root");
      }
    }
    if (!opened.ok()) {
      damages.push_back(
          {"snapshot \"" + printable(key.name) + "\" of tenant \"" + printable(key.tenant) + "\"",
           "S3: " + std::string(opened.error().message())});
    }
  }
  return {};
}

}  // namespace quire::store
