// Room for snapshots: what they may have of the store's disk, and what is collected for them.
#include <algorithm>

#include "base/readable.h"
#include "base/utf8.h"
#include "control/store/snapshot_store.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

constexpr std::uint64_t kTotalPercent = 80;   // Of what the file system had free at the start,
constexpr std::uint64_t kReservePercent = 5;  // and of its size.
constexpr std::uint64_t kReserveBytesMax = std::uint64_t{1} << 30;

// Does not overflow.
std::uint64_t percent_of(std::uint64_t bytes, std::uint64_t percent) {
  return bytes / 100 * percent + bytes % 100 * percent / 100;
}

}  // namespace

std::uint64_t SnapshotStore::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [digest, space] : spaces_) {
    bytes += space.stored_count * slot_bytes_of(space.space);
  }
  return bytes;
}

// Snapshots that are there already count as free, or each start would leave less to them.
Result<void> SnapshotStore::measure_disk() {
  const DiskSpace disk = TRY(disk_space(files_, options_.folder));
  snapshot_bytes_max_ = options_.snapshot_bytes_total_max.value_or(
      percent_of(disk.free_bytes + stored_bytes(), kTotalPercent));
  reserve_bytes_ = std::min(percent_of(disk.bytes, kReservePercent), kReserveBytesMax);
  note_figures();
  return {};
}

// Figures that cannot be had stay as they were: what wants the disk next reports why.
void SnapshotStore::note_figures() {
  if (options_.shares == nullptr) return;
  const Result<DiskSpace> disk = disk_space(files_, options_.folder);
  if (!disk.ok()) return;
  options_.shares->set_figures({.bytes = stored_bytes(),
                                .bytes_max = snapshot_bytes_max_,
                                .reserve_bytes = reserve_bytes_,
                                .free_bytes = disk.value().free_bytes});
}

Result<void> SnapshotStore::check_disk(std::uint64_t bytes, std::uint64_t kept_bytes) {
  const DiskSpace disk = TRY(disk_space(files_, options_.folder));
  if (disk.free_bytes >= kept_bytes && disk.free_bytes - kept_bytes >= bytes) return {};
  return Error(ErrorCode::QuotaExceeded,
               "the disk of the store is short: " + readable_bytes(bytes) + " wanted, " +
                   readable_bytes(disk.free_bytes) + " free, of which " +
                   readable_bytes(kept_bytes) +
                   " are not for snapshots; delete some, or ask the operator for room");
}

// A slot in the middle of a file has its place on the disk already.
Result<void> SnapshotStore::check_reserve(const Space& space) {
  if (space.slots.free_count() > 0) return {};
  return check_disk(slot_bytes_of(space.space), reserve_bytes_);
}

// Pages that no snapshot reaches stay until something wants their room.
Result<void> SnapshotStore::collect_for(std::uint64_t bytes) {
  if (!has_garbage_) return {};
  const DiskSpace disk = TRY(disk_space(files_, options_.folder));
  if (disk.free_bytes >= reserve_bytes_ && disk.free_bytes - reserve_bytes_ >= bytes) return {};
  GcReport report;
  return collect(report);
}

std::uint64_t SnapshotStore::snapshot_share(const std::string& tenant, std::uint64_t own) const {
  const std::uint64_t all = stored_bytes();
  const std::uint64_t others = all - std::min(all, own);
  if (options_.shares != nullptr) {
    return options_.shares->share_of(tenant, snapshot_bytes_max_, others);
  }
  return snapshot_bytes_max_ - std::min(snapshot_bytes_max_, others);
}

}  // namespace quire::store
