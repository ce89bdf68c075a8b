#pragma once
// Jobs of the disk and their answers. They are values, so that a thread or a process boundary could
// lie between.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "control/store/checksum.h"
#include "control/store/export_file.h"
#include "control/store/snapshot_store.h"
#include "inference/api/page_bytes.h"

namespace quire::store {

using inference::PageBytes;

// Chosen by the sender of the job; comes back with the answer.
enum class DiskJobId : std::uint64_t {};

struct BeginSaveJob {
  PageSpace space;
  std::vector<PageName> names;
};
struct AddPagesJob {
  TicketId ticket = kNoTicket;
  std::vector<PageRecord> pages;
};
// A state of recurrent layers, beside the record of its page.
struct StateBytes {
  PageRecord page;
  PageBytes bytes;
};
struct AddStatesJob {
  TicketId ticket = kNoTicket;
  std::vector<StateBytes> states;
};
struct KeepStatesJob {
  TicketId ticket = kNoTicket;
  PageSpace pages;
  std::string tenant;
};
struct SaveJob {
  SnapshotRecord record;
  std::vector<PageRecord> pages;
  SaveOptions options;
};
struct OpenJob {
  std::string tenant;
  std::string name;
  std::optional<PageSpace> wanted;
  bool takes = false;
};
// Several at once, so that a long context does not wait for a turn of the engine for each page.
struct ReadPagesJob {
  PageSpace space;
  std::vector<PageName> names;
};
// Release: all of it. Reading: of a take, whose claim goes on. Take: with the snapshot.
enum class TicketEnd : std::uint8_t { Release, Reading, Take };
struct ReleaseJob {
  TicketId ticket = kNoTicket;
  TicketEnd end = TicketEnd::Release;
};
struct RemoveJob {
  std::string tenant;
  std::string name;
};
struct ListJob {
  std::string tenant;
};
// The keys and values lie beside the record, whose own are empty. Work that costs as much as the
// transfer thus moves to the disk's thread and back.
struct CachedPage {
  PageRecord record;
  PageBytes bytes;
  Checksum checksum{};  // Of the bytes when they came: those to be written, or those read.
};
struct PutCachedJob {
  PageSpace space;
  std::vector<CachedPage> pages;
};
// Like ReadPagesJob, with bytes as the device takes them.
struct ReadCachedJob {
  PageSpace space;
  std::vector<PageName> names;
};
struct DropCachedJob {
  PageSpace space;
  std::vector<PageName> names;
};
struct PutValueJob {
  std::string tenant;
  std::string key;
  std::string value;
  ExpectedVersion expected;
};
struct GetValueJob {
  std::string tenant;
  std::string key;
};
struct DeleteValueJob {
  std::string tenant;
  std::string key;
  ExpectedVersion expected;
};
struct ListKeysJob {
  std::string tenant;
  std::string prefix;
  std::string after;
  std::uint32_t count_max = 0;
};
struct GcJob {};
struct VerifyJob {};
struct ExportJob {
  std::string tenant;
  std::string name;
  std::string path;
};
struct ImportJob {
  std::string path;
  ImportOptions options;
};
using DiskJob = std::variant<BeginSaveJob, AddPagesJob, SaveJob, AddStatesJob, KeepStatesJob,
                             OpenJob, ReadPagesJob, ReleaseJob, RemoveJob, ListJob, PutCachedJob,
                             ReadCachedJob, DropCachedJob, PutValueJob, GetValueJob, DeleteValueJob,
                             ListKeysJob, GcJob, VerifyJob, ExportJob, ImportJob>;

struct Done {};
// For each page that was asked for, in that order.
struct PagesRead {
  std::vector<Result<PageRecord>> pages;
};
// The outcome for each page of the job, in its order: a page that cannot be stored does not fail
// the rest.
struct PutPage {
  Result<void> outcome;
  PageBytes bytes;          // Those of the job, back.
  bool is_damaged = false;  // They are not what their checksum says, and were not written.
};
struct PagesPut {
  std::vector<PutPage> pages;
};
struct CachedRead {
  std::vector<Result<CachedPage>> pages;
  std::uint64_t ns = 0;  // That the job took once it had its turn.
};
struct StatesKept {
  std::uint32_t count = 0;
};
struct SnapshotList {
  std::vector<SnapshotInfo> snapshots;
  std::uint64_t tenant_bytes = 0;
};
struct ValuePut {
  std::uint64_t version = 0;
};
using DiskAnswerBody = std::variant<Done, ValuePut, StoredValue, KeyList, BegunSave, SnapshotInfo,
                                    OpenedSnapshot, PagesRead, PagesPut, CachedRead, StatesKept,
                                    SnapshotList, GcReport, std::vector<Damage>>;

struct DiskAnswer {
  DiskJobId id{};
  Result<DiskAnswerBody> body;
};

// Does one job, on the thread that calls. Saving and importing answer with a SnapshotInfo; adding,
// releasing, removing, forgetting and exporting with Done.
DiskAnswer run_disk_job(SnapshotStore& store, FileSystem& files, const Clock& clock, DiskJobId id,
                        DiskJob job);

}  // namespace quire::store
