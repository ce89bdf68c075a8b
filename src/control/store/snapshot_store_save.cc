// Saving: plan the chain, check the quota, write the pages, sync them, commit the index, answer.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "base/utf8.h"
#include "control/store/page_space.h"
#include "control/store/record_codec.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

std::vector<std::byte> link_of(const PageRecord& page, const Digest& space) {
  const PageHeaderBytes header = encode_page_header(committed(page), space);
  return {header.begin(), header.end()};
}

}  // namespace

Result<std::vector<PageName>> SnapshotStore::missing(const PageSpace& page_space,
                                                     std::span<const PageName> names) {
  TRY(ready());
  TRY(check_space(page_space));
  const Space* space = find_space(space_digest(page_space));
  std::vector<PageName> missing;
  for (const PageName& name : names) {
    const bool is_there = space != nullptr && space->id != kNoRow &&
                          is_durable(*space, TRY(index_->find_page(space->id, name)));
    if (!is_there) missing.push_back(name);
  }
  return missing;
}

Result<BegunSave> SnapshotStore::begin_save(const PageSpace& page_space,
                                            std::span<const PageName> names) {
  BegunSave begun;
  begun.missing = TRY(missing(page_space, names));
  const Digest digest = space_digest(page_space);
  std::erase_if(begun.missing, [&](const PageName& name) {
    return cached_.find_sound({digest, name}) != nullptr;
  });
  TRY(space_for(page_space));
  begun.ticket = TRY(make_ticket(digest, {names.begin(), names.end()}));
  return begun;
}

Result<void> SnapshotStore::add_pages(TicketId id, std::span<const PageRecord> pages) {
  TRY(ready());
  if (!pages.empty()) TRY(collect_for(pages.size() * slot_bytes_of(pages.front().kv.size())));
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) {
    return Error(ErrorCode::NotFound, "this ticket for saving has ended");
  }
  Ticket& ticket = found->second;
  Space* space = find_space(ticket.space);
  if (space == nullptr) {
    return Error(ErrorCode::Unavailable,
                 "the store had to start again since this save began; begin again");
  }
  for (const PageRecord& page : pages) {
    const StoredPage stored = committed(page);
    TRY(check_page(stored, space->space));
    if (page.kv.empty()) {
      ticket.links[page.name] = page;
    } else if (!ticket.pending.contains(page.name)) {
      const std::uint64_t slot = TRY(write_page(*space, stored));
      ticket.pending[page.name] = {slot, page.parent};
    }
  }
  return {};
}

Result<void> SnapshotStore::write_planned(Space& space, std::vector<PlannedPage>& plan) {
  // A space in the index has its file, also while it has no pages.
  TRY(file_of(space));
  for (PlannedPage& page : plan) {
    if (!page.brings_bytes || page.placed.has_value()) continue;
    const StoredPage stored = page.tail.has_value() ? *page.tail : committed(*page.given);
    page.slot = TRY(write_page(space, stored));
  }
  const bool is_anything_new = std::any_of(
      plan.begin(), plan.end(), [](const PlannedPage& each) { return each.brings_bytes; });
  if (!is_anything_new || is_planted(Fault::IndexBeforePages)) return {};
  return sync_pages(space);
}

Result<void> SnapshotStore::commit_save(Space& space, const SnapshotRecord& record,
                                        const SnapshotInfo& info,
                                        const std::vector<PlannedPage>& plan,
                                        std::int64_t replaced) {
  TRY(index_->begin());
  std::int64_t space_id = space.id;
  if (space_id == kNoRow) space_id = TRY(index_->insert_space(space.space, space.digest));
  std::int64_t parent = kNoRow;
  std::vector<PageName> names;
  for (const PlannedPage& page : plan) {
    names.push_back(page.name);
    const std::uint64_t bytes = planned_bytes(space, page);
    const std::optional<std::uint64_t> slot =
        page.placed.has_value() ? std::optional(page.placed->slot) : page.slot;
    if (page.row.has_value()) {
      if (page.brings_bytes) TRY(index_->move_page(page.row->id, *slot, bytes));
      parent = page.row->id;
      continue;
    }
    PageRow row{.id = kNoRow,
                .space = space_id,
                .name = page.name,
                .parent = parent,
                .slot = std::nullopt,
                .link = {},
                .bytes = bytes};
    if (page.brings_bytes) {
      row.slot = slot;
    } else {
      row.link = link_of(*page.given, space.digest);
    }
    parent = TRY(index_->insert_page(row));
  }
  if (replaced != kNoRow) TRY(index_->delete_snapshot(replaced));
  has_garbage_ |= replaced != kNoRow;
  SnapshotRow row{.id = kNoRow,
                  .tenant = record.tenant,
                  .info = info,
                  .space = space_id,
                  .last_page = parent,
                  .record = encode_record(record),
                  .checksum = {}};
  row.checksum = snapshot_checksum(row, space.digest, names);
  TRY(index_->insert_snapshot(row));
  TRY(index_->commit());
  space.id = space_id;
  return {};
}

// Slots of pending, cached and written pages are stored pages now.
void SnapshotStore::settle_save(Space& space, const std::vector<PlannedPage>& plan, TicketId id) {
  const auto ticket = tickets_.find(id);
  for (const PlannedPage& page : plan) {
    if (!page.brings_bytes) continue;
    ++space.stored_count;
    if (page.is_cached) cached_.erase({space.digest, page.name});
    if (page.placed.has_value() && !page.is_cached) ticket->second.pending.erase(page.name);
    if (page.row.has_value() && page.row->slot.has_value()) {  // It was damaged.
      if (space.slots.is_taken(*page.row->slot)) give_back(space, *page.row->slot);
      --space.stored_count;
    }
    space.damaged.erase(page.name);
  }
  release(id);
}

Result<SnapshotInfo> SnapshotStore::save(SnapshotRecord record, std::span<const PageRecord> pages,
                                         const SaveOptions& options) {
  TRY(ready());
  TRY(check_record(record));
  TRY(forget_expired());
  const Digest digest = space_digest(record.space);
  const Ticket* ticket = nullptr;
  if (options.ticket != kNoTicket) {
    const auto found = tickets_.find(options.ticket);
    if (found == tickets_.end() || found->second.space != digest) {
      return Error(ErrorCode::NotFound, "this ticket for saving has ended, or is of other pages");
    }
    ticket = &found->second;
  }
  const std::optional<SnapshotRow> old = TRY(index_->find_snapshot(record.tenant, record.name));
  if (old.has_value() && !options.overwrite) {
    return Error(ErrorCode::AlreadyExists, "snapshot \"" + printable(record.name) +
                                               "\" exists; overwriting was not asked for");
  }
  const std::int64_t replaced = old.has_value() ? old->id : kNoRow;

  TRY(collect_for(pages.size() * slot_bytes_of(record.space)));
  GivenPages given;
  for (const PageRecord& page : pages) {
    TRY(check_page(committed(page), record.space));
    given[page.name] = &page;
  }
  record.created_unix_ms = now();
  SnapshotInfo info{.name = record.name,
                    .created_unix_ms = record.created_unix_ms,
                    .expires_unix_ms = record.expires_unix_ms,
                    .token_count = record.token_count};
  std::vector<PlannedPage> plan = TRY(plan_save(record, given, ticket, replaced, options, info));
  Space& space = *TRY(space_for(record.space));

  Result<void> saved = write_planned(space, plan);
  if (saved.ok()) {
    saved = commit_save(space, record, info, plan, replaced);
    if (is_planted(Fault::IndexBeforePages) && saved.ok()) saved = sync_pages(space);
    if (saved.ok()) {
      settle_save(space, plan, options.ticket);
      claims_.erase(replaced);
      note_figures();
      return info;
    }
    index_->roll_back();
  }
  // If the index failed, the content of these slots is known only when it has been read again.
  if (!index_->has_failed()) {
    for (const PlannedPage& page : plan) {
      if (page.slot.has_value()) give_back(space, *page.slot);
    }
  }
  return std::move(saved).take_error();
}

}  // namespace quire::store
