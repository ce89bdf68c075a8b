#pragma once
// Small snapshots with known content, and the comparison of what a store gives back with it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "control/store/byte_codec.h"
#include "control/store/checksum.h"
#include "control/store/page_space.h"
#include "control/store/simulated_file_system.h"
#include "control/store/snapshot_store.h"

namespace quire::test {

using store::PageName;
using store::PageRecord;
using store::PageSpace;
using store::SnapshotRecord;
using store::SnapshotStore;
using store::TokenId;

inline PageSpace small_space(std::uint32_t page_size = 4, std::uint64_t page_bytes = 96) {
  PageSpace space;
  space.names.model = sha256(std::as_bytes(std::span(std::string_view("a model"))));
  space.names.numerics_id = "test 1";
  space.names.rope = "theta 10000";
  space.names.page_size = page_size;
  space.page_bytes = page_bytes;
  return space;
}

inline PageName name_of(const PageName& parent, const std::vector<TokenId>& tokens) {
  store::ByteWriter writer;
  writer.raw(parent);
  writer.words(tokens);
  return sha256(writer.bytes());
}

inline PageName root_of(const PageSpace& space) {
  return name_of(store::space_digest(space), {});
}

// Bytes that only this page has.
inline std::vector<std::byte> kv_of(const PageName& name, std::uint64_t bytes) {
  std::uint64_t seed = 0;
  for (int index = 0; index < 8; ++index) seed = seed << 8 | name[static_cast<std::size_t>(index)];
  std::vector<std::byte> kv(bytes);
  SeededRandom(seed).fill(kv);
  return kv;
}

struct TestSnapshot {
  SnapshotRecord record;
  std::vector<PageRecord> pages;  // The whole chain.
};

inline TestSnapshot make_snapshot(const std::string& tenant, const std::string& name,
                                  const std::vector<std::uint32_t>& tokens,
                                  const PageSpace& space = small_space()) {
  TestSnapshot made;
  SnapshotRecord& record = made.record;
  record.tenant = tenant;
  record.name = name;
  record.space = space;
  record.root = record.head = root_of(space);
  record.token_count = tokens.size();
  for (std::size_t first = 0; first < tokens.size(); first += space.names.page_size) {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> positions;
    for (std::size_t at = first; at < tokens.size() && at < first + space.names.page_size; ++at) {
      ids.push_back(TokenId{tokens[at]});
      positions.push_back(static_cast<std::uint32_t>(at));
    }
    const PageName page = name_of(record.head, ids);
    if (ids.size() < space.names.page_size) {
      record.tail.push_back({.tokens = ids,
                             .positions = positions,
                             .view = {},
                             .written_count = static_cast<std::uint32_t>(ids.size()),
                             .kv = kv_of(page, space.page_bytes)});
      break;
    }
    made.pages.push_back({.name = page,
                          .parent = record.head,
                          .tokens = ids,
                          .positions = positions,
                          .view = {},
                          .is_opaque = false,
                          .kv = kv_of(page, space.page_bytes)});
    record.head = page;
    ++record.page_count;
  }
  // So that records differ where pages do not.
  record.queued_tokens = {TokenId{static_cast<std::uint32_t>(tokens.size())}};
  record.context_state = {std::byte{1}, std::byte{2}};
  return made;
}

inline bool same_page(const PageRecord& one, const PageRecord& other) {
  return one.name == other.name && one.parent == other.parent && one.tokens == other.tokens &&
         one.positions == other.positions && one.view == other.view && one.media == other.media &&
         one.adapters == other.adapters && one.is_opaque == other.is_opaque && one.kv == other.kv;
}

// Puts the checksum of a header that was changed right.
inline void repair_page(store::PageHeaderBytes& header, std::span<const std::byte> kv) {
  constexpr std::size_t kAt = 32;  // docs/reference/snapshot_format.md
  std::fill_n(header.begin() + kAt, sizeof(store::Checksum), std::byte{});
  const store::Checksum sum = store::Checksummer().add(header).add(kv).finish();
  std::memcpy(header.data() + kAt, sum.data(), sum.size());
}

// Empty if equal but for the time of creation.
inline std::string record_difference(const SnapshotRecord& is, const SnapshotRecord& want) {
  if (is.tenant != want.tenant || is.name != want.name) return "tenant or name";
  if (store::space_difference(is.space, want.space)) return "space";
  if (is.space.names.sharing_domain != want.space.names.sharing_domain) return "domain";
  if (is.root != want.root || is.head != want.head) return "root or head";
  if (is.page_count != want.page_count || is.token_count != want.token_count) return "counts";
  if (is.dropped_pages != want.dropped_pages) return "dropped pages";
  if (is.expires_unix_ms != want.expires_unix_ms) return "expiry";
  if (is.queued_tokens != want.queued_tokens) return "queued tokens";
  if (is.queued_positions != want.queued_positions) return "queued positions";
  if (is.context_state != want.context_state) return "state";
  if (is.note != want.note) return "note";
  if (is.adapters != want.adapters) return "adapters";
  if (is.tail.size() != want.tail.size()) return "tail count";
  for (std::size_t index = 0; index < is.tail.size(); ++index) {
    const auto& one = is.tail[index];
    const auto& other = want.tail[index];
    if (one.tokens != other.tokens || one.positions != other.positions || one.view != other.view ||
        one.written_count != other.written_count || one.kv != other.kv ||
        one.media != other.media || one.adapters != other.adapters) {
      return "tail page " + std::to_string(index);
    }
  }
  return "";
}

enum class Loaded : std::uint8_t { Equal, Refused, Wrong };

struct LoadResult {
  Loaded loaded = Loaded::Refused;
  ErrorCode code = ErrorCode::Internal;  // Why it was refused.
  std::string why;
};

// Opens a snapshot and reads all its pages.
inline LoadResult load(SnapshotStore& store, const TestSnapshot& want) {
  const SnapshotRecord& record = want.record;
  Result<store::OpenedSnapshot> opened =
      store.open_snapshot(record.tenant, record.name, &record.space);
  const auto refused = [](const Error& error) {
    return LoadResult{Loaded::Refused, error.code(), std::string(error.message())};
  };
  if (!opened.ok()) return refused(opened.error());
  const store::OpenedSnapshot& is = opened.value();
  LoadResult result{Loaded::Equal, ErrorCode::Internal, ""};
  const std::string difference = record_difference(is.record, record);
  if (!difference.empty()) result = {Loaded::Wrong, ErrorCode::Internal, difference};
  if (is.chain.size() != want.pages.size()) {
    result = {Loaded::Wrong, ErrorCode::Internal, "chain length"};
  }
  for (std::size_t index = 0; index < is.chain.size() && result.loaded == Loaded::Equal; ++index) {
    Result<PageRecord> page = store.read_page(record.space, is.chain[index]);
    if (!page.ok()) {
      result = refused(page.error());
    } else if (!same_page(page.value(), want.pages[index])) {
      result = {Loaded::Wrong, ErrorCode::Internal, "page " + std::to_string(index)};
    }
  }
  store.release(is.ticket);
  return result;
}

// A store on a simulated disk.
struct SimulatedStore {
  store::SimulatedFileSystem files;
  ManualWallClock clock;
  std::unique_ptr<SnapshotStore> store;
  store::StoreOptions options{.folder = "machine/store", .cached_slot_count_max = 4};

  SimulatedStore() { clock.set_unix_ms(1'000'000); }
  explicit SimulatedStore(const store::SimulatedFileSystem::Image& image) : files(image) {
    clock.set_unix_ms(1'000'000);
  }

  Result<void> open() {
    store.reset();
    store = TRY(SnapshotStore::open(files, clock, options));
    return {};
  }
  // The power goes, and comes back.
  void crash(store::CrashKeep keep, std::uint64_t seed) {
    files.crash();
    store.reset();
    files.restart(keep, seed);
  }
  Result<store::SnapshotInfo> save(const TestSnapshot& snapshot, bool overwrite = false) {
    return store->save(snapshot.record, snapshot.pages, {.overwrite = overwrite});
  }
};

inline std::vector<std::uint32_t> counting(std::uint32_t from, std::uint32_t count) {
  std::vector<std::uint32_t> tokens(count);
  for (std::uint32_t index = 0; index < count; ++index) tokens[index] = from + index;
  return tokens;
}

}  // namespace quire::test
