#include "control/store/snapshot_store.h"

#include <utility>

#include "base/check.h"
#include "control/store/page_space.h"

namespace quire::store {

SnapshotStore::SnapshotStore(FileSystem& files, const WallClock& clock, StoreOptions options,
                             StoreFile lock)
    : files_(files),
      clock_(clock),
      options_(std::move(options)),
      lock_(std::move(lock)),
      vfs_(files) {}

SnapshotStore::~SnapshotStore() = default;

Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(FileSystem& files,
                                                           const WallClock& clock,
                                                           StoreOptions options) {
  const std::string folder = options.folder;
  TRY(create_folder(files, folder));
  TRY(sync_folder(files, folder_of(folder)));
  StoreFile lock = TRY(StoreFile::open(files, folder + "/store.lock", OpenMode::CreateOrOpen));
  Result<void> locked = lock.lock();
  if (!locked.ok() && locked.error().code() == ErrorCode::Unavailable) {
    return Error(ErrorCode::Unavailable, "the store " + folder + " is in use by another process");
  }
  TRY(std::move(locked));
  std::unique_ptr<SnapshotStore> store(
      new SnapshotStore(files, clock, std::move(options), std::move(lock)));
  TRY(store->recover());
  TRY(store->measure_disk());
  return store;
}

Result<void> SnapshotStore::ready() {
  if (index_ != nullptr && !index_->has_failed()) return {};
  return recover();
}

Result<void> SnapshotStore::recover() {
  index_.reset();
  for (auto& [id, ticket] : tickets_) {
    ticket.pending.clear();
    ticket.links.clear();
  }
  std::unique_ptr<StoreIndex> index = TRY(StoreIndex::open(vfs_, options_.folder));
  std::map<std::int64_t, Space*> by_id;
  std::map<Digest, Space> spaces;
  for (SpaceRow& row : TRY(index->spaces())) {
    const Digest digest = space_digest(row.space);
    Space& space = spaces[digest];
    space.id = row.id;
    space.space = std::move(row.space);
    space.digest = digest;
    by_id[space.id] = &space;
  }
  TRY(index->each_page([&by_id](const PageRow& row) -> Result<void> {
    const auto space = by_id.find(row.space);
    if (space == by_id.end() || (row.slot.has_value() && !space->second->slots.occupy(*row.slot))) {
      return Error(ErrorCode::Corrupted,
                   "index: page " + hex(row.name) + " lies in a slot that cannot be its own");
    }
    if (row.slot.has_value()) ++space->second->stored_count;
    return {};
  }));
  value_usage_ = TRY(index->value_usage());
  index_ = std::move(index);
  spaces_.swap(spaces);
  keep_cached(std::move(spaces));
  return {};
}

// A slot that the index gives to a page now is that page's: a commit that was thought to have
// failed may have made a cached page a stored one.
void SnapshotStore::keep_cached(std::map<Digest, Space> before) {
  std::vector<PageKey> gone;
  cached_.each([&](const PageKey& key, const PlacedPage& placed) {
    Space& old = before.at(key.space);
    Space& space = spaces_[key.space];
    if (space.id == kNoRow && !space.file.has_value()) {
      // The index knows nothing of its file, which another open would empty.
      space.space = old.space;
      space.digest = old.digest;
      space.file = std::exchange(old.file, std::nullopt);
    }
    if (!space.file.has_value() && space.id == kNoRow) {
      gone.push_back(key);
    } else if (!space.slots.occupy(placed.slot)) {
      gone.push_back(key);
    }
  });
  for (const PageKey& key : gone) cached_.erase(key);
}

std::string SnapshotStore::path_of(const Digest& space) const {
  return options_.folder + "/" + page_file_name(space);
}

Space* SnapshotStore::find_space(const Digest& digest) {
  const auto found = spaces_.find(digest);
  return found == spaces_.end() ? nullptr : &found->second;
}

Space* SnapshotStore::find_space(std::int64_t id) {
  for (auto& [digest, space] : spaces_) {
    if (space.id == id) return &space;
  }
  return nullptr;
}

Result<Space*> SnapshotStore::space_for(const PageSpace& page_space) {
  TRY(check_space(page_space));
  const Digest digest = space_digest(page_space);
  Space& space = spaces_[digest];
  space.space = page_space;
  space.digest = digest;
  return &space;
}

Result<PageFile*> SnapshotStore::file_of(Space& space) {
  if (space.file.has_value()) return &*space.file;
  const std::string path = path_of(space.digest);
  // A file that the index does not know is from a crash, or is not ours.
  Result<PageFile> file = space.id == kNoRow ? PageFile::create(files_, path, space.space)
                                             : PageFile::open(files_, path, space.space);
  space.file = TRY(std::move(file));
  return &*space.file;
}

Result<std::uint64_t> SnapshotStore::write_page(Space& space, const StoredPage& page,
                                                std::span<const std::byte> kv) {
  PageFile* file = TRY(file_of(space));
  TRY(check_reserve(space));
  const std::uint64_t slot = space.slots.take();
  if (slot == kSlotCountMax) {
    return Error(ErrorCode::Io, "page file " + file->path() + " has no free slot of " +
                                    std::to_string(kSlotCountMax));
  }
  space.blank.erase(slot);
  Result<void> written = file->write(slot, page, kv);
  if (!written.ok()) {
    space.slots.give_back(slot);
    return std::move(written).take_error();
  }
  return slot;
}

void SnapshotStore::give_back(Space& space, std::uint64_t slot) {
  space.slots.give_back(slot);
}

// The system may have dropped what it failed to write. After that, no snapshot relies on pages that
// are not in the index; those in it were synced first.
Result<void> SnapshotStore::sync_pages(Space& space) {
  PageFile* file = TRY(file_of(space));
  Result<void> synced = file->sync();
  if (synced.ok()) return synced;
  space.blank.clear();
  cached_.doubt_all(space.digest);
  for (auto& [id, ticket] : tickets_) {
    if (ticket.space != space.digest) continue;
    for (const auto& [name, placed] : ticket.pending) give_back(space, placed.slot);
    ticket.pending.clear();
  }
  return synced;
}

Result<TicketId> SnapshotStore::make_ticket(const Digest& space, std::vector<PageName> pinned) {
  if (tickets_.size() >= options_.ticket_count_max) {
    return Error(ErrorCode::Unavailable, "all " + std::to_string(options_.ticket_count_max) +
                                             " tickets for saving and opening are taken");
  }
  const TicketId id{next_ticket_++};
  for (const PageName& name : pinned) ++pins_[{space, name}];
  tickets_[id] = {.space = space, .pinned = std::move(pinned), .pending = {}, .links = {}};
  return id;
}

void SnapshotStore::release(TicketId id) {
  end_reading(id);
  std::erase_if(claims_, [id](const auto& claim) { return claim.second.ticket == id; });
}

void SnapshotStore::end_reading(TicketId id) {
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return;
  const Ticket& ticket = found->second;
  for (const PageName& name : ticket.pinned) {
    const auto pin = pins_.find({ticket.space, name});
    QUIRE_CHECK(pin != pins_.end(), "S4: a ticket's page is pinned");
    if (--pin->second > 0) continue;
    pins_.erase(pin);
    const PageKey key{ticket.space, name};
    if (!cached_.is_dropped(key)) continue;
    give_back(*find_space(ticket.space), cached_.find(key)->slot);
    cached_.erase(key);
  }
  Space* space = find_space(ticket.space);
  for (const auto& [name, placed] : ticket.pending) {
    QUIRE_CHECK(space != nullptr, "S1: a pending page has a space");
    give_back(*space, placed.slot);
  }
  tickets_.erase(found);
}

bool SnapshotStore::is_durable(const Space& space, const std::optional<PageRow>& row) const {
  return row.has_value() && row->slot.has_value() && !space.damaged.contains(row->name);
}

Result<void> SnapshotStore::put_cached(const PageSpace& page_space, const PageRecord& page,
                                       std::span<const std::byte> kv) {
  TRY(ready());
  Space* space = TRY(space_for(page_space));
  const StoredPage stored{.page = page, .is_tail = false, .written_count = 0};
  TRY(check_page(stored, kv, space->space));
  if (kv.empty()) return Error(ErrorCode::InvalidArgument, "a link cannot be cached");
  const PageKey key{space->digest, page.name};
  if (const PlacedPage* placed = cached_.find(key)) {
    cached_.touch(key);
    cached_.keep(key);
    if (!placed->is_doubtful) return {};
    PageFile* file = TRY(file_of(*space));
    TRY(file->write(placed->slot, stored, kv));
    cached_.trust(key);
    return {};
  }
  if (space->id != kNoRow && is_durable(*space, TRY(index_->find_page(space->id, page.name)))) {
    return {};
  }
  if (cached_.count() >= options_.cached_slot_count_max) {
    const auto oldest = cached_.oldest([this](const PageKey& each) { return !is_pinned(each); });
    if (!oldest.has_value()) {
      return Error(ErrorCode::Unavailable,
                   "no room for a cached page: " + std::to_string(cached_.count()) + " of " +
                       std::to_string(options_.cached_slot_count_max) + " are in use");
    }
    give_back(*find_space(oldest->space), cached_.find(*oldest)->slot);
    cached_.erase(*oldest);
  }
  const std::uint64_t slot = TRY(write_page(*space, stored, kv));
  cached_.insert(key, {slot, page.parent});
  return {};
}

void SnapshotStore::drop_cached(const PageSpace& page_space, std::span<const PageName> names) {
  const Digest digest = space_digest(page_space);
  for (const PageName& name : names) {
    const PageKey key{digest, name};
    const PlacedPage* placed = cached_.find(key);
    if (placed == nullptr) continue;
    if (is_pinned(key)) {
      cached_.drop_later(key);
      continue;
    }
    give_back(*find_space(digest), placed->slot);
    cached_.erase(key);
  }
}

bool SnapshotStore::has_cached(const PageSpace& page_space, const PageName& name) const {
  return cached_.find({space_digest(page_space), name}) != nullptr;
}

StoreCounts SnapshotStore::counts() const {
  StoreCounts counts;
  for (const auto& [digest, space] : spaces_) counts.stored_page_count += space.stored_count;
  counts.cached_page_count = cached_.count();
  for (const auto& [id, ticket] : tickets_) counts.pending_page_count += ticket.pending.size();
  counts.ticket_count = tickets_.size();
  return counts;
}

}  // namespace quire::store
