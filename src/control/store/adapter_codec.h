#pragma once
// Runs of adapters as bytes, in pages and in records of snapshots.
//
// A table of digests comes first, because few adapters are in many runs; runs and sets name them by
// their places in it. docs/reference/snapshot_format.md gives the bytes.
//
// Errors   a reader that fails, or Corrupted, for bytes that are not what a writer here writes.
#include <span>
#include <vector>

#include "base/result.h"
#include "control/store/byte_codec.h"
#include "control/store/records.h"

namespace quire::store {

// The digests of all adapters in `runs` and `in_force`, rising, each once.
std::vector<Digest> adapter_table(std::span<const AdapterRun> runs,
                                  std::span<const ScaledAdapter> in_force = {});

void write_adapter_runs(ByteWriter& writer, std::span<const AdapterRun> runs);
Result<std::vector<AdapterRun>> read_adapter_runs(ByteReader& reader, std::uint32_t slot_count);
// How many bytes write_adapter_runs() writes.
std::size_t adapter_runs_bytes(std::span<const AdapterRun> runs);

// InvalidArgument, TooLarge for what no context has.
Result<void> check_snapshot_adapters(const SnapshotAdapters& adapters);
void write_snapshot_adapters(ByteWriter& writer, const SnapshotAdapters& adapters);
Result<SnapshotAdapters> read_snapshot_adapters(ByteReader& reader);

}  // namespace quire::store
