// Planning a save: where each page of the chain comes from, and whether the quota allows it.
#include <algorithm>
#include <utility>

#include "base/planted_fault.h"
#include "base/utf8.h"
#include "control/store/page_space.h"
#include "control/store/record_codec.h"
#include "control/store/snapshot_store.h"

namespace quire::store {
namespace {

Error page_error(ErrorCode code, const PageName& name, std::size_t index, std::uint32_t count,
                 const std::string& what) {
  return Error(code, "page " + hex(name) + " (" + std::to_string(index) + " of " +
                         std::to_string(count) + ") " + what);
}

}  // namespace

// Among the pages that were given, those added to the ticket and the cached ones.
void SnapshotStore::find_source(const Space& space, const GivenPages& given, const Ticket* ticket,
                                PlannedPage& page) const {
  const auto brought = given.find(page.name);
  if (brought != given.end()) page.given = brought->second;
  if (ticket != nullptr) {
    const auto pending = ticket->pending.find(page.name);
    const auto link = ticket->links.find(page.name);
    if (pending != ticket->pending.end()) page.placed = pending->second;
    if (page.given == nullptr && link != ticket->links.end()) page.given = &link->second;
  }
  const PlacedPage* cached = cached_.find_sound({space.digest, page.name});
  if (!page.placed.has_value() && cached != nullptr) {
    page.placed = *cached;
    page.is_cached = true;
  }
}

// From the head to the root by parents: those of the index where it knows the page.
Result<std::vector<PlannedPage>> SnapshotStore::plan_chain(Space& space,
                                                           const SnapshotRecord& record,
                                                           const GivenPages& given,
                                                           const Ticket* ticket) {
  std::vector<PlannedPage> plan;
  std::optional<PageRow> row;
  std::set<PageName> seen;
  std::size_t dropped_left = record.dropped_pages.size();
  for (PageName name = record.head; name != record.root;) {
    const std::uint32_t index = record.page_count - static_cast<std::uint32_t>(plan.size());
    const auto error = [&](ErrorCode code, const std::string& what) {
      return page_error(code, name, index, record.page_count, what);
    };
    if (index == 0) {
      return error(ErrorCode::InvalidArgument, "lies above the first page: the chain is longer");
    }
    if (!seen.insert(name).second) {
      return error(ErrorCode::InvalidArgument, "is its own ancestor");
    }
    const bool is_dropped = dropped_left > 0 && record.dropped_pages[dropped_left - 1] == index - 1;
    if (is_dropped) --dropped_left;

    PlannedPage page{.name = name};
    if (!row.has_value() && space.id != kNoRow) row = TRY(index_->find_page(space.id, name));
    page.row = row;
    const bool is_durable_now = is_durable(space, row);
    find_source(space, given, ticket, page);
    const bool has_bytes =
        page.placed.has_value() || (page.given != nullptr && !page.given->kv.empty());
    page.brings_bytes = has_bytes && !is_durable_now;
    const bool is_known = row.has_value() || has_bytes || page.given != nullptr;
    if (!is_known || (!is_dropped && !is_durable_now && !has_bytes)) {
      return error(ErrorCode::NotFound, "is neither stored nor given");
    }

    if (row.has_value()) {
      const std::int64_t parent = row->parent;
      row.reset();
      if (parent != kNoRow) row = TRY(index_->find_page(parent));
      if (parent != kNoRow && !row.has_value()) {
        return error(ErrorCode::Corrupted, "has lost its parent in the index");
      }
      page.parent = row.has_value() ? row->name : record.root;
    } else {
      page.parent = page.given != nullptr ? page.given->parent : page.placed->parent;
    }
    name = page.parent;
    plan.push_back(std::move(page));
  }
  if (plan.size() != record.page_count) {
    return Error(ErrorCode::InvalidArgument, "the chain has " + std::to_string(plan.size()) +
                                                 " pages, not " +
                                                 std::to_string(record.page_count));
  }
  std::reverse(plan.begin(), plan.end());
  return plan;
}

Result<void> SnapshotStore::plan_tail(Space& space, const SnapshotRecord& record,
                                      std::vector<PlannedPage>& plan) {
  PageName parent = record.head;
  for (const TailPage& tail : record.tail) {
    StoredPage stored{.page = {.name = tail_name(tail, parent, space.digest),
                               .parent = parent,
                               .tokens = tail.tokens,
                               .positions = tail.positions,
                               .view = tail.view,
                               .media = tail.media,
                               .adapters = tail.adapters,
                               .is_opaque = false,
                               .kv = tail.kv},
                      .is_tail = true,
                      .written_count = tail.written_count};
    TRY(check_page(stored, space.space));
    PlannedPage page{.name = stored.page.name, .parent = parent};
    if (space.id != kNoRow) page.row = TRY(index_->find_page(space.id, page.name));
    page.brings_bytes = !is_durable(space, page.row);
    page.tail = std::move(stored);
    parent = page.name;
    plan.push_back(std::move(page));
  }
  return {};
}

std::uint64_t SnapshotStore::planned_bytes(const Space& space, const PlannedPage& page) {
  if (page.brings_bytes) return slot_bytes_of(space.space);
  return page.row.has_value() ? page.row->bytes : kPageHeaderBytes;
}

Result<void> SnapshotStore::check_quota(const SnapshotRecord& record, const Space& space,
                                        const std::vector<PlannedPage>& plan, std::int64_t replaced,
                                        const SaveOptions& options, SnapshotInfo& info) {
  const std::unordered_set<std::int64_t> held =
      TRY(index_->pages_of_tenant(record.tenant, replaced));
  const std::uint64_t used = TRY(bytes_used(record.tenant, replaced));
  const std::uint64_t row_bytes = kSnapshotRowBytes + encode_record(record).size();
  std::uint64_t more = row_bytes;
  info.bytes = row_bytes;
  for (const PlannedPage& page : plan) {
    const std::uint64_t bytes = planned_bytes(space, page);
    info.bytes += bytes;
    const bool is_shared = page.row.has_value() && held.contains(page.row->id);
    if (!is_shared || is_planted(Fault::QuotaCountsTwice)) {
      more += bytes;
    } else if (bytes > page.row->bytes) {
      more += bytes - page.row->bytes;  // A link that becomes a page.
    }
  }
  // The index has the rows of snapshots and of values, so those of snapshots stop at half.
  TRY(check_disk(row_bytes, reserve_bytes_ / 2));
  const std::uint64_t own_max = options.tenant_bytes_max.value_or(options_.tenant_bytes_max);
  // The snapshot that is to be replaced is the tenant's too, until then.
  const std::uint64_t own = replaced == kNoRow ? used : TRY(bytes_used(record.tenant, kNoRow));
  const std::uint64_t share = snapshot_share(record.tenant, own);
  const std::uint64_t bytes_max = std::min(own_max, share);
  if (used <= bytes_max && more <= bytes_max - used) return {};
  const std::string limit = own_max <= share ? "snapshot_bytes_max" : "snapshot_bytes_total_max";
  return Error(ErrorCode::QuotaExceeded,
               limit + ": \"" + printable(record.name) + "\" takes " + std::to_string(more) +
                   " more bytes; " + std::to_string(used) + " of " + std::to_string(bytes_max) +
                   " are used by the tenant's other snapshots");
}

// Pages that no snapshot reaches count for those who want room, so they are collected before a save
// is refused. What the plan relied on may go with them, so it is made anew.
Result<std::vector<PlannedPage>> SnapshotStore::plan_save(
    const SnapshotRecord& record, const GivenPages& given, const Ticket* ticket,
    std::int64_t replaced, const SaveOptions& options, SnapshotInfo& info) {
  for (;;) {
    Space& space = *TRY(space_for(record.space));
    std::vector<PlannedPage> plan = TRY(plan_chain(space, record, given, ticket));
    TRY(plan_tail(space, record, plan));
    Result<void> fits = check_quota(record, space, plan, replaced, options, info);
    info.page_count = static_cast<std::uint32_t>(plan.size());
    if (fits.ok()) return plan;
    if (!has_garbage_) return std::move(fits).take_error();
    GcReport report;
    TRY(collect(report));
  }
}

}  // namespace quire::store
