#pragma once
// The codec of the part of a SnapshotRecord that is one blob, in the index and in an export file.
// It also makes the sum that ties a snapshot's row, its space and the names of its pages together.
// docs/reference/snapshot_format.md gives the bytes.
#include <span>
#include <vector>

#include "base/result.h"
#include "control/store/store_index.h"

namespace quire::store {

Result<void> check_record(const SnapshotRecord& record);  // InvalidArgument, TooLarge.

// Neither tenant, name and times nor the pages of the tail, of which it holds the count.
std::vector<std::byte> encode_record(const SnapshotRecord& record);

struct DecodedRecord {
  SnapshotRecord record;
  std::uint32_t tail_count = 0;
};
Result<DecodedRecord> decode_record(std::span<const std::byte> bytes);

// Over everything that the snapshot is, the names of all its pages included.
std::vector<std::byte> snapshot_checksum(const SnapshotRow& row, const Digest& space_digest,
                                         std::span<const PageName> all_pages);

}  // namespace quire::store
