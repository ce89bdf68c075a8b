#include "control/store/record_codec.h"

#include <algorithm>
#include <string>

#include "control/store/adapter_codec.h"
#include "control/store/byte_codec.h"
#include "control/store/checksum.h"
#include "control/store/page_space.h"
#include "control/store/snapshot_name.h"

namespace quire::store {
namespace {

// A record has the lowest version that holds it, so that builds of before read what they can: 1
// without a note, 2 with one, 3 with adapters.
constexpr std::uint32_t kRecordVersion = 1;
constexpr std::uint32_t kNotedRecordVersion = 2;
constexpr std::uint32_t kExtendedRecordVersion = 3;
// The fields of an extended record, in this order: a number and a block each.
constexpr std::uint32_t kFieldAdapters = 1;

std::uint32_t version_of(const SnapshotRecord& record) {
  if (!record.adapters.is_base()) return kExtendedRecordVersion;
  return record.note.empty() ? kRecordVersion : kNotedRecordVersion;
}

Result<void> read_extension(ByteReader& reader, SnapshotRecord& record) {
  const Error damaged(ErrorCode::Corrupted, "the record of a snapshot is damaged");
  const std::vector<std::byte> bytes = reader.block();
  ByteReader fields(bytes);
  std::uint32_t last = 0;
  while (!fields.at_end()) {
    const std::uint32_t field = fields.u32();
    const std::vector<std::byte> value = fields.block();
    if (!fields.ok() || field <= last) return damaged.copy();
    last = field;
    if (field != kFieldAdapters) {
      return Error(ErrorCode::NotSupported, "a snapshot with field " + std::to_string(field) +
                                                ", which this build does not know; it reads " +
                                                std::to_string(kFieldAdapters));
    }
    ByteReader adapters(value);
    record.adapters = TRY(read_snapshot_adapters(adapters));
    if (!adapters.at_end()) return damaged.copy();
  }
  if (record.adapters.is_base()) return damaged.copy();
  return {};
}

Result<void> check_at_most(std::uint64_t count, std::uint64_t count_max, const char* what) {
  if (count <= count_max) return {};
  return Error(ErrorCode::TooLarge, std::string("a snapshot with ") + std::to_string(count) + " " +
                                        what + "; at most " + std::to_string(count_max));
}

// Rising indexes below the page count.
bool are_indexes(const std::vector<std::uint32_t>& pages, std::uint32_t page_count) {
  const auto not_rising = [](std::uint32_t one, std::uint32_t next) { return one >= next; };
  return (pages.empty() || pages.back() < page_count) &&
         std::adjacent_find(pages.begin(), pages.end(), not_rising) == pages.end();
}

}  // namespace

Result<void> check_record(const SnapshotRecord& record) {
  TRY(check_snapshot_name(record.name));
  TRY(check_space(record.space));
  TRY(check_at_most(record.tenant.size(), kTenantBytesMax, "bytes in its tenant's name"));
  TRY(check_at_most(record.tail.size(), kTailPageCountMax, "tail pages"));
  TRY(check_at_most(std::uint64_t{record.page_count} + record.tail.size(), kSnapshotPageCountMax,
                    "pages"));
  TRY(check_at_most(record.queued_tokens.size(), kQueuedTokenCountMax, "queued tokens"));
  TRY(check_at_most(record.context_state.size(), kContextStateBytesMax, "bytes of state"));
  TRY(check_at_most(record.note.size(), kNoteBytesMax, "bytes in its note"));
  TRY(check_snapshot_adapters(record.adapters));
  const auto invalid = [](const char* what) { return Error(ErrorCode::InvalidArgument, what); };
  if (!record.queued_positions.empty() &&
      record.queued_positions.size() != record.queued_tokens.size()) {
    return invalid("a snapshot with other numbers of queued tokens and positions");
  }
  if (!are_indexes(record.dropped_pages, record.page_count)) {
    return invalid("a snapshot whose dropped pages are not rising indexes of its pages");
  }
  if ((record.page_count == 0) != (record.head == record.root)) {
    return invalid("a snapshot whose head is its root exactly when it has no pages");
  }
  constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;  // SQLite's are signed.
  if (record.token_count > kNumberMax || record.expires_unix_ms > kNumberMax) {
    return invalid("a snapshot with a token count or time of expiry beyond 2^62");
  }
  return {};
}

std::vector<std::byte> encode_record(const SnapshotRecord& record) {
  ByteWriter writer;
  const std::uint32_t version = version_of(record);
  writer.u32(version);
  writer.raw(record.space.names.sharing_domain);
  writer.raw(record.root);
  writer.raw(record.head);
  writer.u32(record.page_count);
  writer.words(record.dropped_pages);
  writer.u64(record.token_count);
  writer.u32(static_cast<std::uint32_t>(record.tail.size()));
  writer.words(record.queued_tokens);
  writer.words(record.queued_positions);
  writer.block(record.context_state);
  if (version >= kNotedRecordVersion) writer.block(record.note);
  if (version == kExtendedRecordVersion) {
    ByteWriter adapters;
    write_snapshot_adapters(adapters, record.adapters);
    ByteWriter fields;
    fields.u32(kFieldAdapters);
    fields.block(adapters.bytes());
    writer.block(fields.bytes());
  }
  return std::move(writer).take();
}

Result<DecodedRecord> decode_record(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  DecodedRecord decoded;
  SnapshotRecord& record = decoded.record;
  const std::uint32_t version = reader.u32();
  if (reader.ok() && (version < kRecordVersion || version > kExtendedRecordVersion)) {
    return Error(ErrorCode::NotSupported, "a snapshot of format version " +
                                              std::to_string(version) + "; this build reads " +
                                              std::to_string(kRecordVersion) + " to " +
                                              std::to_string(kExtendedRecordVersion));
  }
  record.space.names.sharing_domain = reader.raw_array<32>();
  record.root = reader.raw_array<32>();
  record.head = reader.raw_array<32>();
  record.page_count = reader.u32();
  record.dropped_pages = reader.words<std::uint32_t>();
  record.token_count = reader.u64();
  decoded.tail_count = reader.u32();
  record.queued_tokens = reader.words<TokenId>();
  record.queued_positions = reader.words<std::uint32_t>();
  record.context_state = reader.block();
  if (version >= kNotedRecordVersion) record.note = reader.text();
  if (reader.ok() && version == kExtendedRecordVersion) TRY(read_extension(reader, record));
  if (!reader.at_end() || record.note.size() > kNoteBytesMax || version != version_of(record) ||
      decoded.tail_count > kTailPageCountMax || record.page_count > kSnapshotPageCountMax ||
      !are_indexes(record.dropped_pages, record.page_count)) {
    return Error(ErrorCode::Corrupted, "the record of a snapshot is damaged");
  }
  return decoded;
}

std::vector<std::byte> snapshot_checksum(const SnapshotRow& row, const Digest& space_digest,
                                         std::span<const PageName> all_pages) {
  ByteWriter writer;
  writer.block(row.tenant);
  writer.block(row.info.name);
  writer.u64(row.info.created_unix_ms);
  writer.u64(row.info.expires_unix_ms);
  writer.u32(row.info.page_count);
  writer.u64(row.info.token_count);
  writer.u64(row.info.bytes);
  writer.block(row.record);
  writer.raw(space_digest);
  for (const PageName& name : all_pages) writer.raw(name);
  const Checksum sum = checksum(writer.bytes());
  const auto bytes = std::as_bytes(std::span(sum));
  return {bytes.begin(), bytes.end()};
}

}  // namespace quire::store
