// Any bytes as an export file: an error that leaves nothing, or a snapshot that can be opened and
// read.
//
// The first byte says whether the checksums are put right first, so that the code after that check
// is reached too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "control/store/checksum.h"
#include "control/store/export_file.h"
#include "support/snapshot_harness.h"

using quire::Result;
using namespace quire::store;

namespace {

constexpr const char* kPath = "outside/fuzz";
constexpr std::size_t kFrontBytes = 16;
constexpr std::size_t kTrailerBytes = 32;

void put(std::span<std::byte> at, const Checksum& sum) {
  std::memcpy(at.data(), sum.data(), sum.size());
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t index = 0; index < count; ++index) {
    value |= static_cast<std::uint64_t>(bytes[at + index]) << (8 * index);
  }
  return value;
}

void repair(std::span<std::byte> file) {
  if (file.size() < kFrontBytes + kTrailerBytes) return;
  const std::uint64_t description = number_at(file, 12, 4);
  if (description < sizeof(Checksum) || description > file.size() - kFrontBytes - kTrailerBytes) {
    return;
  }
  const auto summed = file.subspan(kFrontBytes, description - sizeof(Checksum));
  put(file.subspan(kFrontBytes + summed.size()), checksum(summed));
  std::span<std::byte> pages = file.subspan(kFrontBytes + description);
  while (pages.size() >= kPageHeaderBytes + kTrailerBytes) {
    const std::uint64_t kv = number_at(pages, 24, 8);
    if (kv > pages.size() - kPageHeaderBytes - kTrailerBytes) break;
    std::ranges::fill(pages.subspan(32, sizeof(Checksum)), std::byte{});
    put(pages.subspan(32), checksum(pages.first(kPageHeaderBytes + kv)));
    pages = pages.subspan(kPageHeaderBytes + kv);
  }
  const auto body = file.first(file.size() - kTrailerBytes);
  const std::span<std::byte> trailer = file.last(kTrailerBytes);
  std::memcpy(trailer.data(), "QUIREEND", 8);
  for (std::size_t index = 0; index < 8; ++index) {
    trailer[8 + index] = static_cast<std::byte>(body.size() >> (8 * index));
  }
  put(trailer.subspan(16), checksum(body));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first + 1, first + bytes);
  if ((data[0] & 1) != 0) repair(file);
  quire::test::SimulatedStore simulated({{kPath, std::move(file)}});
  QUIRE_CHECK(simulated.open().ok(), "an empty store opens");
  SnapshotStore& store = *simulated.store;
  ImportOptions options;
  options.tenant = "a";
  options.space = quire::test::small_space();
  if ((data[0] & 2) != 0) options.name = "given";
  const Result<SnapshotInfo> imported = import_file(store, simulated.files, kPath, options);
  QUIRE_CHECK(store.counts().ticket_count == 0, "a ticket is left");
  QUIRE_CHECK(store.verify().value().empty(), "the store is sound");
  if (!imported.ok()) {
    QUIRE_CHECK(!imported.error().message().empty(), "an error says what is wrong");
    QUIRE_CHECK(store.list("a").value().empty(), "a failed import leaves a snapshot");
    QUIRE_CHECK(store.counts().stored_page_count == 0, "a failed import leaves pages");
    return 0;
  }
  const Result<OpenedSnapshot> opened =
      store.open_snapshot("a", imported.value().name, &options.space);
  QUIRE_CHECK(opened.ok(), "what was imported can be opened");
  QUIRE_CHECK(opened.value().record.note.size() <= kNoteBytesMax, "a note has a limit");
  for (const PageName& name : opened.value().chain) {
    QUIRE_CHECK(store.read_page(options.space, name).ok(), "what was imported can be read");
  }
  return 0;
}
