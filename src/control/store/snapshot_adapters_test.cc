// Pages and snapshots that were written under adapters, and pages with media: as bytes and back.
#include <gtest/gtest.h>

#include "control/store/adapter_codec.h"
#include "control/store/byte_codec.h"
#include "control/store/export_file.h"
#include "control/store/page_image.h"
#include "control/store/page_space.h"
#include "control/store/record_codec.h"
#include "support/store_fixture.h"

namespace quire::store {
namespace {

using test::code_of;
using test::counting;
using test::Loaded;
using test::make_snapshot;
using test::small_space;
using test::TestSnapshot;

ScaledAdapter scaled(std::uint8_t first_byte, float scale = 1.0f) {
  ScaledAdapter made{.digest = {}, .scale = scale};
  made.digest[0] = first_byte;
  return made;
}

// Two full pages and a tail of three tokens, of which tokens 2 to 8 are under one adapter and those
// to come under two.
TestSnapshot adapted(const std::string& name) {
  TestSnapshot made = make_snapshot("a", name, counting(1, 11));
  SnapshotAdapters& adapters = made.record.adapters;
  adapters.runs = {{2, {scaled(1, 0.5f)}}, {9, {}}};
  adapters.in_force = {scaled(1), scaled(7, -2.0f)};
  adapters.named = {{scaled(1).digest, "french"}, {scaled(7).digest, "pirate"}};
  made.pages[0].adapters = {{2, {scaled(1, 0.5f)}}};
  made.pages[1].adapters = {{0, {scaled(1, 0.5f)}}};
  made.record.tail[0].adapters = {{0, {scaled(1, 0.5f)}}, {1, {}}};
  return made;
}

StoredPage stored(PageRecord page) {
  const auto count = static_cast<std::uint32_t>(page.tokens.size());
  return {.page = std::move(page), .is_tail = false, .written_count = count};
}

Result<StoredPage> decoded(PageHeaderBytes header, const PageRecord& page) {
  return decode_page(header, page.kv, small_space(), space_digest(small_space()), nullptr);
}

TEST(PageExtension, IsReadAsItWasWritten) {
  PageRecord page = adapted("one").pages[0];
  page.view = {1, 2, 3};
  page.media = {9, 8, 7};
  const PageHeaderBytes header = encode_page_header(stored(page), space_digest(small_space()));
  const Result<StoredPage> back = decoded(header, page);
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_TRUE(test::same_page(back.value().page, page));
}

TEST(PageExtension, IsNotThereWithoutAdaptersAndMedia) {
  const PageRecord page = make_snapshot("a", "one", counting(1, 11)).pages[0];
  const PageHeaderBytes header = encode_page_header(stored(page), space_digest(small_space()));
  const std::size_t end = 144 + 8 * page.tokens.size();
  for (std::size_t at = end; at < header.size(); ++at) ASSERT_EQ(header[at], std::byte{0}) << at;
  EXPECT_EQ(header[8], std::byte{0}) << "flags";
}

TEST(PageExtension, HasRoomForSoManyBytesAndNoMore) {
  PageRecord page = adapted("one").pages[0];
  page.view.assign(kViewBytesMax, 1);
  EXPECT_EQ(code_of(check_page(stored(page), small_space())), ErrorCode::Internal);
  page.media.assign(100, 1);
  const Result<void> refused = check_page(stored(page), small_space());
  ASSERT_EQ(code_of(refused), ErrorCode::TooLarge);
  EXPECT_EQ(refused.error().message(),
            "a page with 3757 bytes of view, media and adapters; at most 3680");
}

TEST(PageExtension, OfAFieldThatIsNotKnownIsRefusedByItsNumber) {
  PageRecord page = make_snapshot("a", "one", counting(1, 11)).pages[0];
  page.media = {1};
  PageHeaderBytes header = encode_page_header(stored(page), space_digest(small_space()));
  const std::size_t field = 144 + 8 * page.tokens.size() + 4;
  ASSERT_EQ(header[field], std::byte{2});
  header[field] = std::byte{3};
  test::repair_page(header, page.kv);
  const Result<StoredPage> back = decoded(header, page);
  ASSERT_EQ(code_of(back), ErrorCode::NotSupported);
  EXPECT_EQ(back.error().message(),
            "a page with field 3, which this build does not know; it reads 1 and 2");
}

TEST(PageExtension, ThatIsDamagedBehindARightChecksumIsRefusedOrIsARightPage) {
  const PageRecord page = adapted("one").pages[0];
  const PageHeaderBytes whole = encode_page_header(stored(page), space_digest(small_space()));
  const std::size_t first = 144 + 8 * page.tokens.size();
  const std::size_t bytes = page_extras_bytes(0, 0, page.adapters);
  for (std::size_t at = first; at < first + bytes; ++at) {
    for (const std::uint8_t bits : {0x01, 0x80, 0xff}) {
      PageHeaderBytes header = whole;
      header[at] ^= std::byte{bits};
      test::repair_page(header, page.kv);
      const Result<StoredPage> back = decoded(header, page);
      if (!back.ok()) continue;
      EXPECT_TRUE(check_page(back.value(), small_space()).ok()) << at;
      EXPECT_EQ(encode_page_header(back.value(), space_digest(small_space())), header) << at;
    }
  }
}

TEST(TailName, DiffersWithItsAdaptersAlone) {
  TailPage tail = adapted("one").record.tail[0];
  const Digest space = space_digest(small_space());
  const PageName with = tail_name(tail, {}, space);
  tail.adapters.back().first_slot = 2;
  EXPECT_NE(tail_name(tail, {}, space), with);
  tail.adapters.clear();
  EXPECT_NE(tail_name(tail, {}, space), with);
}

class SnapshotsWithAdapters : public test::StoreFixture {};

TEST_F(SnapshotsWithAdapters, AreThereAfterARestart) {
  const TestSnapshot snapshot = adapted("one");
  ASSERT_TRUE(simulated_.save(snapshot).ok());
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  const test::LoadResult loaded = test::load(store(), snapshot);
  EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
  EXPECT_TRUE(store().verify().value().empty());
}

TEST_F(SnapshotsWithAdapters, AreOfRecordVersion3AndOthersAsBefore) {
  const auto version = [](const SnapshotRecord& record) {
    return ByteReader(encode_record(record)).u32();
  };
  TestSnapshot snapshot = adapted("one");
  EXPECT_EQ(version(snapshot.record), 3u);
  snapshot.record.adapters = {};
  EXPECT_EQ(version(snapshot.record), 1u);
  snapshot.record.note = "n";
  EXPECT_EQ(version(snapshot.record), 2u);
}

TEST_F(SnapshotsWithAdapters, WithRunsThatContradictThemselvesAreRefused) {
  TestSnapshot snapshot = adapted("one");
  snapshot.record.adapters.named.pop_back();
  const Result<SnapshotInfo> refused = simulated_.save(snapshot);
  ASSERT_EQ(code_of(refused), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().message(), "a snapshot that names other adapters than its tokens have");
  snapshot = adapted("one");
  snapshot.pages[0].adapters[0].first_slot = 4;
  EXPECT_EQ(code_of(simulated_.save(snapshot)), ErrorCode::InvalidArgument);
}

TEST_F(SnapshotsWithAdapters, RecordsThatAreDamagedAreRefusedOrRight) {
  const std::vector<std::byte> whole = encode_record(adapted("one").record);
  for (std::size_t at = 4; at < whole.size(); ++at) {
    for (const std::uint8_t bits : {0x01, 0x80}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= std::byte{bits};
      const Result<DecodedRecord> back = decode_record(bytes);
      if (!back.ok()) continue;
      EXPECT_TRUE(check_snapshot_adapters(back.value().record.adapters).ok()) << at;
    }
  }
}

TEST_F(SnapshotsWithAdapters, AreExportedAndImported) {
  const TestSnapshot snapshot = adapted("one");
  ASSERT_TRUE(simulated_.save(snapshot).ok());
  ASSERT_TRUE(export_file(store(), simulated_.files, "a", "one", "outside/one").ok());
  ImportOptions options;
  options.tenant = "b";
  options.space = snapshot.record.space;
  ASSERT_TRUE(import_file(store(), simulated_.files, "outside/one", options).ok());
  TestSnapshot imported = snapshot;
  imported.record.tenant = "b";
  const test::LoadResult loaded = test::load(store(), imported);
  EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
}

}  // namespace
}  // namespace quire::store
