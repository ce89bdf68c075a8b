#include "control/store/adapter_codec.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace quire::store {
namespace {

constexpr std::uint64_t kAnyLength = std::numeric_limits<std::uint32_t>::max();

Error damaged() {
  return Error(ErrorCode::Corrupted, "what it says of adapters is damaged");
}

void write_set(ByteWriter& writer, const std::vector<Digest>& table,
               std::span<const ScaledAdapter> set) {
  writer.u8(static_cast<std::uint8_t>(set.size()));
  for (const ScaledAdapter& each : set) {
    const auto at = std::lower_bound(table.begin(), table.end(), each.digest) - table.begin();
    writer.u32(static_cast<std::uint32_t>(at));
    writer.u32(std::bit_cast<std::uint32_t>(each.scale));
  }
}

std::vector<ScaledAdapter> read_set(ByteReader& reader, const std::vector<Digest>& table) {
  std::vector<ScaledAdapter> set;
  const std::uint8_t count = reader.u8();
  for (std::uint8_t index = 0; index < count && reader.ok(); ++index) {
    const std::uint32_t at = reader.u32();
    const auto scale = std::bit_cast<float>(reader.u32());
    set.push_back({at < table.size() ? table[at] : Digest{}, scale});
  }
  return set;
}

void write_runs(ByteWriter& writer, const std::vector<Digest>& table,
                std::span<const AdapterRun> runs) {
  writer.u32(static_cast<std::uint32_t>(runs.size()));
  for (const AdapterRun& run : runs) {
    writer.u32(run.first_slot);
    write_set(writer, table, run.set);
  }
}

std::vector<AdapterRun> read_runs(ByteReader& reader, const std::vector<Digest>& table) {
  std::vector<AdapterRun> runs;
  const std::uint32_t count = reader.u32();
  for (std::uint32_t index = 0; index < count && reader.ok(); ++index) {
    const std::uint32_t first = reader.u32();
    runs.push_back({first, read_set(reader, table)});
  }
  return runs;
}

}  // namespace

std::vector<Digest> adapter_table(std::span<const AdapterRun> runs,
                                  std::span<const ScaledAdapter> in_force) {
  std::vector<Digest> table;
  const auto add = [&](std::span<const ScaledAdapter> set) {
    for (const ScaledAdapter& each : set) table.push_back(each.digest);
  };
  for (const AdapterRun& run : runs) add(run.set);
  add(in_force);
  std::sort(table.begin(), table.end());
  table.erase(std::unique(table.begin(), table.end()), table.end());
  return table;
}

void write_adapter_runs(ByteWriter& writer, std::span<const AdapterRun> runs) {
  const std::vector<Digest> table = adapter_table(runs);
  writer.u32(static_cast<std::uint32_t>(table.size()));
  for (const Digest& digest : table) writer.raw(digest);
  write_runs(writer, table, runs);
}

std::size_t adapter_runs_bytes(std::span<const AdapterRun> runs) {
  ByteWriter writer;
  write_adapter_runs(writer, runs);
  return writer.bytes().size();
}

Result<std::vector<AdapterRun>> read_adapter_runs(ByteReader& reader, std::uint32_t slot_count) {
  std::vector<Digest> table;
  const std::uint32_t count = reader.u32();
  for (std::uint32_t index = 0; index < count && reader.ok(); ++index) {
    table.push_back(reader.raw_array<32>());
  }
  std::vector<AdapterRun> runs = read_runs(reader, table);
  if (!reader.ok() || adapter_table(runs) != table ||
      !control::check_adapter_runs(runs, slot_count).ok()) {
    return damaged();
  }
  return runs;
}

Result<void> check_snapshot_adapters(const SnapshotAdapters& adapters) {
  const auto invalid = [](const std::string& what) {
    return Error(ErrorCode::InvalidArgument, what);
  };
  if (adapters.named.size() > kSnapshotAdapterCountMax) {
    return Error(ErrorCode::TooLarge, "a snapshot with " + std::to_string(adapters.named.size()) +
                                          " adapters; at most " +
                                          std::to_string(kSnapshotAdapterCountMax));
  }
  std::vector<Digest> digests;
  for (const NamedAdapter& each : adapters.named) {
    digests.push_back(each.digest);
    if (each.name.size() > kAdapterNameBytesMax ||
        utf8_valid_bytes(each.name) != each.name.size()) {
      return invalid("a snapshot with an adapter whose name is not UTF-8 of at most " +
                     std::to_string(kAdapterNameBytesMax) + " bytes");
    }
  }
  if (digests != adapter_table(adapters.runs, adapters.in_force)) {
    return invalid("a snapshot that names other adapters than its tokens have");
  }
  TRY(control::check_adapter_set(adapters.in_force));
  return control::check_adapter_runs(adapters.runs, kAnyLength);
}

void write_snapshot_adapters(ByteWriter& writer, const SnapshotAdapters& adapters) {
  std::vector<Digest> table;
  writer.u32(static_cast<std::uint32_t>(adapters.named.size()));
  for (const NamedAdapter& each : adapters.named) {
    writer.raw(each.digest);
    writer.block(each.name);
    table.push_back(each.digest);
  }
  write_runs(writer, table, adapters.runs);
  write_set(writer, table, adapters.in_force);
}

Result<SnapshotAdapters> read_snapshot_adapters(ByteReader& reader) {
  SnapshotAdapters adapters;
  std::vector<Digest> table;
  const std::uint32_t count = reader.u32();
  for (std::uint32_t index = 0; index < count && reader.ok(); ++index) {
    const Digest digest = reader.raw_array<32>();
    adapters.named.push_back({digest, reader.text()});
    table.push_back(digest);
  }
  adapters.runs = read_runs(reader, table);
  adapters.in_force = read_set(reader, table);
  if (!reader.ok() || !check_snapshot_adapters(adapters).ok()) return damaged();
  return adapters;
}

}  // namespace quire::store
