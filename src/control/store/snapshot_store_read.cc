// Opening, taking, removing and listing snapshots; reading pages.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "control/store/page_space.h"
#include "control/store/record_codec.h"
#include "control/store/snapshot_name.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

bool is_expired(const SnapshotInfo& info, std::uint64_t now_unix_ms) {
  return info.expires_unix_ms != kNever && info.expires_unix_ms <= now_unix_ms;
}

}  // namespace

Result<SnapshotRow> SnapshotStore::live_snapshot(const std::string& tenant,
                                                 const std::string& name) {
  TRY(ready());
  TRY(check_snapshot_name(name));
  std::optional<SnapshotRow> row = TRY(index_->find_snapshot(tenant, name));
  if (!row.has_value() || is_expired(row->info, now())) {
    return Error(ErrorCode::NotFound, "no snapshot \"" + printable(name) + "\"");
  }
  return *std::move(row);
}

Result<OpenedSnapshot> SnapshotStore::read_snapshot(const SnapshotRow& row, const PageSpace* wanted,
                                                    std::vector<PageRow>& pages) {
  const auto damaged = [&row](const std::string& what) {
    return Error(ErrorCode::Corrupted, "snapshot \"" + printable(row.info.name) + "\": " + what);
  };
  Space* space = find_space(row.space);
  if (space == nullptr) return damaged("it belongs to no page space");
  if (wanted != nullptr) {
    if (const auto difference = space_difference(space->space, *wanted)) {
      return Error(ErrorCode::NotSupported,
                   "snapshot \"" + printable(row.info.name) + "\" was saved with " + *difference);
    }
  }
  DecodedRecord decoded = TRY(decode_record(row.record));
  OpenedSnapshot opened;
  opened.record = std::move(decoded.record);
  SnapshotRecord& record = opened.record;
  if (std::uint64_t{record.page_count} + decoded.tail_count != row.info.page_count) {
    return damaged("its row and its record disagree about its pages");
  }
  pages = TRY(index_->chain(row.last_page, row.info.page_count));
  for (const PageRow& page : pages) {
    if (page.space != row.space) return damaged("a page of it is of another page space");
    opened.chain.push_back(page.name);
  }
  if (row.checksum != snapshot_checksum(row, space->digest, opened.chain)) {
    return damaged("the checksum of its row does not match");
  }
  const Digest sharing_domain = record.space.names.sharing_domain;
  record.space = space->space;
  record.space.names.sharing_domain = sharing_domain;
  record.tenant = row.tenant;
  record.name = row.info.name;
  record.created_unix_ms = row.info.created_unix_ms;
  record.expires_unix_ms = row.info.expires_unix_ms;
  record.tail.resize(decoded.tail_count);
  opened.chain.resize(record.page_count);
  return opened;
}

Result<void> SnapshotStore::read_tail(Space& space, std::span<const PageRow> pages,
                                      SnapshotRecord& record) {
  if (record.tail.empty()) return {};
  PageFile* file = TRY(file_of(space));
  for (std::size_t index = 0; index < record.tail.size(); ++index) {
    const PageRow& row = pages[record.page_count + index];
    if (!row.slot.has_value()) return Error(ErrorCode::Corrupted, "a tail page without bytes");
    Result<StoredPage> read = file->read(*row.slot, &row.name);
    if (!read.ok()) {
      if (read.error().code() == ErrorCode::Corrupted) space.damaged.insert(row.name);
      return std::move(read).take_error();
    }
    StoredPage stored = std::move(read).take();
    record.tail[index] = {.tokens = std::move(stored.page.tokens),
                          .positions = std::move(stored.page.positions),
                          .view = std::move(stored.page.view),
                          .media = std::move(stored.page.media),
                          .adapters = std::move(stored.page.adapters),
                          .written_count = stored.written_count,
                          .kv = std::move(stored.page.kv)};
  }
  return {};
}

Result<OpenedSnapshot> SnapshotStore::open_snapshot(const std::string& tenant,
                                                    const std::string& name,
                                                    const PageSpace* wanted) {
  return open_row(TRY(live_snapshot(tenant, name)), wanted);
}

Result<OpenedSnapshot> SnapshotStore::open_row(const SnapshotRow& row, const PageSpace* wanted) {
  std::vector<PageRow> pages;
  OpenedSnapshot opened = TRY(read_snapshot(row, wanted, pages));
  Space& space = *find_space(row.space);
  TRY(read_tail(space, pages, opened.record));
  TRY(find_states(std::span(pages).first(opened.chain.size()), opened));
  opened.ticket = TRY(make_ticket(space.digest, opened.chain));
  return opened;
}

Result<OpenedSnapshot> SnapshotStore::take(const std::string& tenant, const std::string& name,
                                           const PageSpace* wanted) {
  const SnapshotRow row = TRY(live_snapshot(tenant, name));
  const auto claim = claims_.find(row.id);
  if (claim != claims_.end() && claim->second.checksum == row.checksum) {
    return Error(ErrorCode::Unavailable,
                 "snapshot \"" + printable(name) + "\" is being taken by another program");
  }
  OpenedSnapshot opened = TRY(open_row(row, wanted));
  claims_[row.id] = {
      .ticket = opened.ticket, .tenant = tenant, .name = name, .checksum = row.checksum};
  return opened;
}

Result<void> SnapshotStore::delete_claimed(TicketId ticket) {
  const auto claim = std::find_if(claims_.begin(), claims_.end(), [ticket](const auto& each) {
    return each.second.ticket == ticket;
  });
  if (claim == claims_.end()) return {};
  TRY(ready());
  const std::optional<SnapshotRow> row =
      TRY(index_->find_snapshot(claim->second.tenant, claim->second.name));
  const bool is_it =
      row.has_value() && row->id == claim->first && row->checksum == claim->second.checksum;
  has_garbage_ |= is_it;
  return is_it ? index_->delete_snapshot(row->id) : Result<void>();
}

Result<void> SnapshotStore::finish_take(TicketId ticket) {
  Result<void> deleted = delete_claimed(ticket);
  release(ticket);
  return deleted;
}

Result<PageRecord> SnapshotStore::read_page(const PageSpace& page_space, const PageName& name) {
  const Digest digest = space_digest(page_space);
  const auto absent = [&name] {
    return Error(ErrorCode::NotFound, "no page " + hex(name) + " is stored");
  };
  // A cached page is not in the index, and an error of it does not matter.
  std::optional<Error> cached_error;
  if (cached_.find({digest, name}) != nullptr) {
    Result<StoredPage> read = read_cached(*find_space(digest), name);
    if (read.ok()) return std::move(read.value().page);
    cached_error = std::move(read).take_error();
  }
  Result<std::optional<PageRow>> found = find_row(digest, name);
  if (cached_error && (!found.ok() || !found.value().has_value())) return *std::move(cached_error);
  const std::optional<PageRow> row = TRY(std::move(found));
  if (!row.has_value()) return absent();
  Space& space = *find_space(digest);
  if (!row->slot.has_value()) {
    PageHeaderBytes header;
    std::copy(row->link.begin(), row->link.end(), header.begin());
    return TRY(decode_page(header, {}, space.space, digest, &name)).page;
  }
  PageFile* file = TRY(file_of(space));
  Result<StoredPage> read = file->read(*row->slot, &name);
  if (!read.ok()) {
    if (read.error().code() == ErrorCode::Corrupted) space.damaged.insert(name);
    return std::move(read).take_error();
  }
  StoredPage stored = std::move(read).take();
  if (stored.is_tail) return absent();  // Unnamed to all but its snapshot.
  return std::move(stored.page);
}

Result<StoredPage> SnapshotStore::read_cached(Space& space, const PageName& name) {
  const PageKey key{space.digest, name};
  cached_.touch(key);
  PageFile* file = TRY(file_of(space));
  Result<StoredPage> read = file->read(cached_.find(key)->slot, &name);
  // A page that could not be read now may be readable the next time.
  if (!read.ok() && read.error().code() == ErrorCode::Corrupted) {
    cached_.doubt(key);
    drop_cached(space.space, {&name, 1});
  }
  return read;
}

Result<std::optional<PageRow>> SnapshotStore::find_row(const Digest& space, const PageName& name) {
  TRY(ready());
  const Space* found = find_space(space);
  if (found == nullptr || found->id == kNoRow) return std::optional<PageRow>();
  return index_->find_page(found->id, name);
}

Result<void> SnapshotStore::remove(const std::string& tenant, const std::string& name) {
  const SnapshotRow row = TRY(live_snapshot(tenant, name));
  TRY(index_->delete_snapshot(row.id));
  has_garbage_ = true;
  claims_.erase(row.id);
  return {};
}

Result<std::vector<SnapshotInfo>> SnapshotStore::list(const std::string& tenant) {
  TRY(ready());
  std::vector<SnapshotInfo> infos;
  for (SnapshotInfo& info : TRY(index_->snapshot_infos(tenant))) {
    if (!is_expired(info, now())) infos.push_back(std::move(info));
  }
  return infos;
}

Result<std::uint64_t> SnapshotStore::tenant_bytes(const std::string& tenant) {
  TRY(ready());
  return bytes_used(tenant, kNoRow);
}

}  // namespace quire::store
