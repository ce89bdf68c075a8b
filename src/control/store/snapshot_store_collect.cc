// Collecting: expired snapshots, pages that nothing reaches, slots, files.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/planted_fault.h"
#include "control/store/snapshot_store.h"

namespace quire::store {

Result<std::uint64_t> SnapshotStore::forget_expired() {
  const std::vector<std::int64_t> expired = TRY(index_->expired(now()));
  if (expired.empty()) return std::uint64_t{0};
  const auto remove_all = [&]() -> Result<void> {
    TRY(index_->begin());
    for (const std::int64_t id : expired) TRY(index_->delete_snapshot(id));
    return index_->commit();
  };
  Result<void> removed = remove_all();
  if (!removed.ok()) {
    index_->roll_back();
    return std::move(removed).take_error();
  }
  for (const std::int64_t id : expired) claims_.erase(id);
  has_garbage_ = true;
  return std::uint64_t{expired.size()};
}

void SnapshotStore::drop_all_cached(GcReport& report) {
  std::vector<PageKey> dropped;
  cached_.each([&](const PageKey& key, const PlacedPage& placed) {
    if (is_pinned(key)) return;
    dropped.push_back(key);
    give_back(*find_space(key.space), placed.slot);
  });
  for (const PageKey& key : dropped) cached_.erase(key);
  report.cached_count_dropped = dropped.size();
}

Result<std::set<std::int64_t>> SnapshotStore::reachable_pages(
    const std::map<std::int64_t, PageRow>& pages) {
  std::set<std::int64_t> reached;
  for (const SnapshotEnd& end : TRY(index_->snapshot_ends())) reached.insert(end.last_page);
  for (const auto& [id, row] : pages) {
    if (is_planted(Fault::CollectsReusedPage)) break;
    const Space* space = find_space(row.space);
    if (space != nullptr && is_pinned({space->digest, row.name})) reached.insert(id);
  }
  // Parents have smaller ids than their children.
  for (auto each = pages.rbegin(); each != pages.rend(); ++each) {
    if (reached.contains(each->first)) reached.insert(each->second.parent);
  }
  for (const auto& [id, row] : pages) {
    if (is_of_states(row) && reached.contains(row.parent)) reached.insert(id);
  }
  reached.erase(kNoRow);
  return reached;
}

Result<GcReport> SnapshotStore::gc() {
  TRY(ready());
  GcReport report;
  report.snapshot_count_expired = TRY(forget_expired());
  drop_all_cached(report);
  TRY(collect(report));
  return report;
}

Result<void> SnapshotStore::collect(GcReport& report) {
  std::map<std::int64_t, PageRow> pages;
  TRY(index_->each_page([&pages](const PageRow& row) -> Result<void> {
    pages[row.id] = row;
    return {};
  }));
  TRY(check_slots(pages));
  const std::set<std::int64_t> reached = TRY(reachable_pages(pages));
  std::unordered_map<std::int64_t, std::uint64_t> left_in_space;
  std::vector<const PageRow*> unreached;
  for (const auto& [id, row] : pages) {
    if (reached.contains(id)) {
      ++left_in_space[row.space];
    } else {
      unreached.push_back(&row);
    }
  }
  std::vector<Space*> empty_spaces;
  for (auto& [digest, space] : spaces_) {
    if (space.id != kNoRow && !left_in_space.contains(space.id)) empty_spaces.push_back(&space);
  }
  // Snapshots without any page keep their space.
  for (const SnapshotEnd& end : TRY(index_->snapshot_ends())) {
    std::erase_if(empty_spaces, [&end](const Space* space) { return space->id == end.space; });
  }

  const auto delete_all = [&]() -> Result<void> {
    TRY(index_->begin());
    for (const PageRow* row : unreached) TRY(index_->delete_page(row->id));
    for (const Space* space : empty_spaces) TRY(index_->delete_space(space->id));
    return index_->commit();
  };
  if (!unreached.empty() || !empty_spaces.empty()) {
    Result<void> deleted = delete_all();
    if (!deleted.ok()) {
      index_->roll_back();
      return std::move(deleted).take_error();
    }
  }
  for (const PageRow* row : unreached) {
    Space* space = find_space(row->space);
    if (space == nullptr) continue;
    space->damaged.erase(row->name);
    if (!row->slot.has_value()) continue;
    give_back(*space, *row->slot);
    --space->stored_count;
    ++report.page_count_freed;
    report.bytes_freed += row->bytes;
  }
  for (Space* space : empty_spaces) space->id = kNoRow;
  TRY(give_space_back(report));
  has_garbage_ = false;
  note_figures();
  return {};
}

// Free slots are blanked, so that a deleted page cannot be found by its header; the end of a file
// is cut, and a file that nothing uses goes.
Result<void> SnapshotStore::give_space_back(GcReport& report) {
  std::set<std::string> kept;
  for (auto each = spaces_.begin(); each != spaces_.end();) {
    Space& space = each->second;
    const bool is_used = space.id != kNoRow || space.slots.taken_count() > 0;
    const bool is_named = std::any_of(tickets_.begin(), tickets_.end(), [&](const auto& ticket) {
      return ticket.second.space == space.digest;
    });
    if (is_used) {
      kept.insert(page_file_name(space.digest));
      if (space.slots.taken_count() > 0 || space.file.has_value()) TRY(blank_free_slots(space));
    } else {
      space.file.reset();
      space.blank.clear();
    }
    each = is_used || is_named ? std::next(each) : spaces_.erase(each);
  }
  for (const std::string& name : TRY(list_folder(files_, options_.folder))) {
    if (!is_page_file_name(name) || kept.contains(name)) continue;
    TRY(remove_file(files_, options_.folder + "/" + name));
    ++report.file_count_removed;
  }
  return report.file_count_removed > 0 ? sync_folder(files_, options_.folder) : Result<void>();
}

Result<void> SnapshotStore::blank_free_slots(Space& space) {
  Result<PageFile*> opened = file_of(space);
  // A damaged file does not keep the other files from being collected: reading it gives the error.
  if (!opened.ok() && opened.error().code() != ErrorCode::Io) return {};
  PageFile* file = TRY(std::move(opened));
  TRY(file->cut(space.slots.slot_count()));
  for (std::uint64_t slot = 0; slot < space.slots.slot_count(); ++slot) {
    if (space.slots.is_taken(slot) || space.blank.contains(slot)) continue;
    if (!TRY(file->is_blank(slot))) TRY(file->blank(slot));
    space.blank.insert(slot);
  }
  return sync_pages(space);
}

}  // namespace quire::store
