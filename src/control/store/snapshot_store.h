#pragma once
// SnapshotStore: contexts that outlive their programs and the server, page by page, each once.
//
// A folder holds a lock file, an index (store_index.h) and a page file for each page space
// (page_file.h). A save writes pages into free slots, syncs the page file, then commits the index,
// then answers: what was answered survives any crash, and what was not is whole or absent. A page
// is checked whenever it is read, and a page that was found damaged counts as missing from then on,
// so that the next save of it heals it.
//
// Owns     the folder, while it lives. Knows nothing of contexts: what a name says is the caller's.
// Thread   one: that of disk_thread.h, or a test's. Every call may wait for the disk.
// Errors   InvalidArgument, TooLarge for what cannot be stored; NotFound for what is not there,
//          which is also what a foreign tenant gets; AlreadyExists; QuotaExceeded with the numbers;
//          Unavailable for too many tickets or another process in the folder; NotSupported for
//          pages of another model, number format or version; Corrupted for damage; Io. Nothing is
//          half-visible after an error, and the next call works if its cause is gone.
//
// Invariants, all checked by verify():
//   S1  A slot of a page file is taken exactly when one stored page, cached page or page of a save
//       in progress lies in it.
//   S2  The parent of a stored page is stored, in the same space, with a smaller id. A state's is
//       the page after which it stands, which has its name.
//   S3  Every page of a snapshot is stored; one with bytes lies in a slot that says so.
//   S4  A page that a ticket names is not collected, and neither are its ancestors.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "control/store/records.h"
#include "control/store/sqlite_vfs.h"
#include "control/store/store_index.h"
#include "control/store/store_options.h"
#include "control/store/store_tables.h"

namespace quire::store {

class SnapshotStore final {
 public:
  // Makes the folder (not its parents) where there is none.
  static Result<std::unique_ptr<SnapshotStore>> open(FileSystem& files, const WallClock& clock,
                                                     StoreOptions options);
  ~SnapshotStore();
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  const std::string& folder() const { return options_.folder; }

  // The pages of these that a save would have to bring: those not stored for good.
  Result<std::vector<PageName>> missing(const PageSpace& space, std::span<const PageName> names);
  // The same, and keeps those that are there, cached ones included, until the ticket ends.
  Result<BegunSave> begin_save(const PageSpace& space, std::span<const PageName> names);
  // Writes pages ahead of the save, so that no more than a few need be in memory at once. An Io
  // error of this or another call may have lost them: the save then says NotFound.
  Result<void> add_pages(TicketId ticket, std::span<const PageRecord> pages);
  // `pages` and those added before bring what is missing of record's chain. Sets created_unix_ms.
  Result<SnapshotInfo> save(SnapshotRecord record, std::span<const PageRecord> pages,
                            const SaveOptions& options);
  // Ends a ticket. It is not an error if the ticket has ended already.
  void release(TicketId ticket);

  // --- States of recurrent layers (PageSpace::is_of_states) ---
  // A state is there as long as its page is: each that is stored belongs to all snapshots with that
  // page. begin_save() of their space says which are missing.
  // Writes one ahead of keep_states(), as add_pages() does.
  Result<void> add_state(TicketId ticket, const PageRecord& page, std::span<const std::byte> state);
  // The states that were added belong to their pages in `pages`, durably, and the ticket ends.
  // One whose page is gone, or for which the tenant has no bytes, is left out. Gives their number.
  Result<std::uint32_t> keep_states(TicketId ticket, const PageSpace& pages,
                                    const std::string& tenant,
                                    std::optional<std::uint64_t> tenant_bytes_max = std::nullopt);

  // --- Opening ---
  // A difference between `wanted` and what was saved is NotSupported, with the first that differs;
  // null: take what there is. The ticket in the answer keeps the pages.
  Result<OpenedSnapshot> open_snapshot(const std::string& tenant, const std::string& name,
                                       const PageSpace* wanted);
  // The same, and no other take can begin until finish_take() deletes the snapshot or release()
  // leaves it. Unavailable while another take holds it.
  Result<OpenedSnapshot> take(const std::string& tenant, const std::string& name,
                              const PageSpace* wanted);
  // All pages were read and need not be kept; what the ticket takes it goes on taking. So a take
  // that is not finished for long counts as no ticket.
  void end_reading(TicketId ticket);
  // Ends the ticket; after an error the snapshot is still there. It is not an error if the snapshot
  // was replaced or deleted meanwhile.
  Result<void> finish_take(TicketId ticket);
  // A stored or cached page; its kv is empty where only its link is kept.
  Result<PageRecord> read_page(const PageSpace& space, const PageName& name);
  Result<void> remove(const std::string& tenant, const std::string& name);
  Result<std::vector<SnapshotInfo>> list(const std::string& tenant);
  // All bytes of the tenant's snapshots, shared pages once: what its quota counts.
  Result<std::uint64_t> tenant_bytes(const std::string& tenant);

  // --- The disk tier of the page cache ---
  // Unavailable where no cached page can make room. Not durable, but as lasting as the process: a
  // failure of the index or of a sync loses none that can be read.
  Result<void> put_cached(const PageSpace& space, const PageRecord& page) {
    return put_cached(space, page, page.kv);
  }
  // The same of a page whose keys and values lie elsewhere.
  Result<void> put_cached(const PageSpace& space, const PageRecord& page,
                          std::span<const std::byte> kv);
  void drop_cached(const PageSpace& space, std::span<const PageName> names);
  bool has_cached(const PageSpace& space, const PageName& name) const;

  // --- Values of tenants: interface/store.wit ---
  // Gives the value's version.
  Result<std::uint64_t> put_value(const std::string& tenant, const std::string& key,
                                  std::string value, ExpectedVersion expected);
  Result<StoredValue> get_value(const std::string& tenant, const std::string& key);
  Result<void> delete_value(const std::string& tenant, const std::string& key,
                            ExpectedVersion expected);
  Result<KeyList> list_keys(const std::string& tenant, const std::string& prefix,
                            const std::string& after, std::uint32_t count_max);

  // --- Upkeep ---
  // Forgets expired snapshots, cached pages and all that nothing reaches, and gives space back.
  Result<GcReport> gc();
  // Reads everything. Damage is in the answer; an error means that it could not be looked for.
  Result<std::vector<Damage>> verify();
  StoreCounts counts() const;

 private:
  SnapshotStore(FileSystem& files, const WallClock& clock, StoreOptions options, StoreFile lock);

  // snapshot_store.cc
  Result<void> ready();    // Opens the index again after it failed.
  Result<void> recover();  // Memory as the index says,
  void keep_cached(
      std::map<Digest, Space> before);  // and the cached pages that it knows nothing of.
  Result<Space*> space_for(const PageSpace& space);  // Makes one.
  Space* find_space(const Digest& digest);
  Space* find_space(std::int64_t id);
  Result<PageFile*> file_of(Space& space);
  Result<std::uint64_t> write_page(Space& space, const StoredPage& page) {
    return write_page(space, page, page.page.kv);
  }
  Result<std::uint64_t> write_page(Space& space, const StoredPage& page,
                                   std::span<const std::byte> kv);
  void give_back(Space& space, std::uint64_t slot);
  Result<void> sync_pages(Space& space);
  Result<TicketId> make_ticket(const Digest& space, std::vector<PageName> pinned);
  bool is_pinned(const PageKey& key) const { return pins_.contains(key); }
  bool is_durable(const Space& space, const std::optional<PageRow>& row) const;
  std::uint64_t now() const { return clock_.now_unix_ms(); }
  std::string path_of(const Digest& space) const;

  // snapshot_store_room.cc
  std::uint64_t stored_bytes() const;
  Result<void> measure_disk();
  void note_figures();
  // QuotaExceeded: so many more bytes would leave less than that free.
  Result<void> check_disk(std::uint64_t bytes, std::uint64_t kept_bytes);
  // QuotaExceeded: another page in the space would go into the reserve.
  Result<void> check_reserve(const Space& space);
  // Collects if the disk has no room for so much beyond the reserve.
  Result<void> collect_for(std::uint64_t bytes);
  // The bytes of snapshots that the tenant, which has `own` of them, may have now.
  std::uint64_t snapshot_share(const std::string& tenant, std::uint64_t own) const;

  // snapshot_store_plan.cc
  // The whole chain and its tail, within the quota.
  Result<std::vector<PlannedPage>> plan_save(const SnapshotRecord& record, const GivenPages& given,
                                             const Ticket* ticket, std::int64_t replaced,
                                             const SaveOptions& options, SnapshotInfo& info);
  void find_source(const Space& space, const GivenPages& given, const Ticket* ticket,
                   PlannedPage& page) const;
  Result<std::vector<PlannedPage>> plan_chain(Space& space, const SnapshotRecord& record,
                                              const GivenPages& given, const Ticket* ticket);
  Result<void> plan_tail(Space& space, const SnapshotRecord& record,
                         std::vector<PlannedPage>& plan);
  Result<void> check_quota(const SnapshotRecord& record, const Space& space,
                           const std::vector<PlannedPage>& plan, std::int64_t replaced,
                           const SaveOptions& options, SnapshotInfo& info);
  static std::uint64_t planned_bytes(const Space& space, const PlannedPage& page);

  // snapshot_store_save.cc
  Result<void> write_planned(Space& space, std::vector<PlannedPage>& plan);
  Result<void> commit_save(Space& space, const SnapshotRecord& record, const SnapshotInfo& info,
                           const std::vector<PlannedPage>& plan, std::int64_t replaced);
  void settle_save(Space& space, const std::vector<PlannedPage>& plan, TicketId ticket);

  // snapshot_store_states.cc
  Result<StateTicket> ticket_of_states(TicketId id);  // NotFound
  Result<std::vector<PlannedState>> plan_states(const Ticket& ticket, Space& states,
                                                const PageSpace& pages);
  Result<void> commit_states(Space& states, const std::vector<PlannedState>& plan);
  Result<std::uint64_t> bytes_used(const std::string& tenant, std::int64_t except);
  Result<void> find_states(std::span<const PageRow> pages, OpenedSnapshot& opened);
  bool is_of_states(const PageRow& row);

  // snapshot_store_read.cc
  Result<StoredPage> read_cached(Space& space, const PageName& name);
  Result<std::optional<PageRow>> find_row(const Digest& space, const PageName& name);
  Result<SnapshotRow> live_snapshot(const std::string& tenant, const std::string& name);
  Result<OpenedSnapshot> open_row(const SnapshotRow& row, const PageSpace* wanted);
  Result<void> delete_claimed(TicketId ticket);
  // The row's record and chain, checked against its sum.
  Result<OpenedSnapshot> read_snapshot(const SnapshotRow& row, const PageSpace* wanted,
                                       std::vector<PageRow>& pages);
  Result<void> read_tail(Space& space, std::span<const PageRow> pages, SnapshotRecord& record);

  // snapshot_store_values.cc
  Result<std::optional<ValueRow>> expected_value(const std::string& tenant, const std::string& key,
                                                 ExpectedVersion expected);
  Result<void> check_value_quota(const std::string& tenant, const ValueUsage& after) const;
  // Begins and commits around `change`; where it fails, nothing is changed.
  Result<void> change_values(const std::function<Result<void>()>& change);
  Result<void> check_values(std::vector<Damage>& damages);

  // snapshot_store_collect.cc
  Result<void> collect(GcReport& report);
  Result<std::uint64_t> forget_expired();
  void drop_all_cached(GcReport& report);
  Result<std::set<std::int64_t>> reachable_pages(const std::map<std::int64_t, PageRow>& pages);
  Result<void> give_space_back(GcReport& report);
  Result<void> blank_free_slots(Space& space);

  // snapshot_store_verify.cc
  Result<void> check_snapshots(std::vector<Damage>& damages);
  Result<void> check_slots(const std::map<std::int64_t, PageRow>& pages);

  FileSystem& files_;
  const WallClock& clock_;
  const StoreOptions options_;
  StoreFile lock_;  // Held, so that no other process opens the folder.
  SqliteVfs vfs_;
  std::unique_ptr<StoreIndex> index_;  // Null or failed: ready() opens it.
  std::map<Digest, Space> spaces_;
  CachedPages cached_;
  std::map<TicketId, Ticket> tickets_;
  std::map<std::int64_t, Claim> claims_;           // By the snapshot's row.
  std::map<PageKey, std::uint32_t> pins_;          // How many tickets keep a page.
  std::map<std::string, ValueUsage> value_usage_;  // By tenant, as the index has it.
  std::uint64_t next_ticket_ = 1;
  std::uint64_t snapshot_bytes_max_ = 0;  // Of all tenants.
  std::uint64_t reserve_bytes_ = 0;
  bool has_garbage_ = true;  // There may be pages that no snapshot reaches.
};

}  // namespace quire::store
