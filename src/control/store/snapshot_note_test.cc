// The note of a snapshot: what its program kept with the context.
#include <gtest/gtest.h>

#include "control/store/byte_codec.h"
#include "control/store/export_file.h"
#include "control/store/record_codec.h"
#include "support/store_fixture.h"

namespace quire::store {
namespace {

using test::code_of;
using test::counting;
using test::Loaded;
using test::make_snapshot;
using test::TestSnapshot;

constexpr std::size_t kVersionBytes = 4;

TestSnapshot noted(const std::string& name, std::string note) {
  TestSnapshot made = make_snapshot("a", name, counting(1, 11));
  made.record.note = std::move(note);
  return made;
}

std::uint32_t version_of(const std::vector<std::byte>& record) {
  return ByteReader(record).u32();
}

class Notes : public test::StoreFixture {
 protected:
  void expect_loads(const TestSnapshot& snapshot) {
    const test::LoadResult loaded = test::load(store(), snapshot);
    EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
    EXPECT_TRUE(store().verify().value().empty());
  }
};

TEST_F(Notes, AreThereAfterARestartAndGoWithTheirSnapshot) {
  const TestSnapshot first = noted("one", std::string("turns\0of a chat", 15));
  ASSERT_TRUE(simulated_.save(first).ok());
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  expect_loads(first);
  const TestSnapshot without = noted("one", "");
  ASSERT_TRUE(simulated_.save(without, true).ok());
  expect_loads(without);
  ASSERT_TRUE(store().remove("a", "one").ok());
  EXPECT_EQ(store().tenant_bytes("a").value(), 0u);
}

TEST_F(Notes, CountInTheQuotaByTheirBytes) {
  const std::string note(5000, 'n');
  const std::uint64_t without = simulated_.save(noted("one", "")).value().bytes;
  const std::uint64_t with = simulated_.save(noted("two", note)).value().bytes;
  EXPECT_EQ(with, without + note.size() + sizeof(std::uint32_t));
  const TestSnapshot third = noted("three", note);
  const std::uint64_t held = store().tenant_bytes("a").value();
  // The pages are shared, so that the row, the record and its note are all that a third one adds.
  const std::uint64_t more = kSnapshotRowBytes + encode_record(third.record).size();
  SaveOptions options{.tenant_bytes_max = held + more - 1};
  const Result<SnapshotInfo> refused = store().save(third.record, third.pages, options);
  EXPECT_EQ(code_of(refused), ErrorCode::QuotaExceeded);
  options.tenant_bytes_max = held + more;
  EXPECT_TRUE(store().save(third.record, third.pages, options).ok());
}

TEST_F(Notes, OfMoreThanAMebibyteAreTooLarge) {
  const TestSnapshot most = noted("most", std::string(kNoteBytesMax, 'n'));
  ASSERT_TRUE(simulated_.save(most).ok());
  expect_loads(most);
  const Result<SnapshotInfo> refused =
      simulated_.save(noted("more", std::string(kNoteBytesMax + 1, 'n')));
  ASSERT_EQ(code_of(refused), ErrorCode::TooLarge);
  EXPECT_EQ(refused.error().message(),
            "a snapshot with 1048577 bytes in its note; at most 1048576");
}

TEST_F(Notes, AreExportedAndImported) {
  const TestSnapshot snapshot = noted("one", "turns");
  ASSERT_TRUE(simulated_.save(snapshot).ok());
  ASSERT_TRUE(export_file(store(), simulated_.files, "a", "one", "outside/one").ok());
  ImportOptions options;
  options.tenant = "b";
  options.name = "two";
  options.space = snapshot.record.space;
  ASSERT_TRUE(import_file(store(), simulated_.files, "outside/one", options).ok());
  TestSnapshot want = snapshot;
  want.record.tenant = "b";
  want.record.name = "two";
  expect_loads(want);
}

// The record of a snapshot without a note still has the bytes that an earlier quire wrote.
TEST_F(Notes, ARecordOfBeforeThereWereNotesIsReadAsOneWithout) {
  const SnapshotRecord record = make_snapshot("a", "one", counting(1, 6)).record;
  ByteWriter before;
  before.u32(1);
  before.raw(record.space.names.sharing_domain);
  before.raw(record.root);
  before.raw(record.head);
  before.u32(1);  // Pages.
  before.u32(0);  // None was dropped.
  before.u64(6);
  before.u32(1);  // Tail pages.
  before.words(record.queued_tokens);
  before.u32(0);  // No positions of theirs.
  before.block(record.context_state);
  EXPECT_EQ(encode_record(record), before.bytes());
  const Result<DecodedRecord> decoded = decode_record(before.bytes());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().record.note, "");
  EXPECT_EQ(decoded.value().record.context_state, record.context_state);
}

TEST_F(Notes, ADamagedNoteIsRefused) {
  const std::vector<std::byte> whole = encode_record(noted("one", "turns").record);
  EXPECT_EQ(version_of(whole), 2u);
  EXPECT_EQ(decode_record(whole).value().record.note, "turns");
  for (std::size_t bytes = kVersionBytes; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(code_of(decode_record(std::span(whole).first(bytes))), ErrorCode::Corrupted) << bytes;
  }
  const std::vector<std::byte> bare = encode_record(noted("one", "").record);
  const auto with_note = [&bare](std::string_view note) {
    ByteWriter writer;
    writer.u32(2);
    writer.raw(std::span(bare).subspan(kVersionBytes));
    writer.block(note);
    return std::move(writer).take();
  };
  EXPECT_EQ(decode_record(with_note("x")).value().record.note, "x");
  EXPECT_EQ(code_of(decode_record(with_note(""))), ErrorCode::Corrupted);
  EXPECT_EQ(code_of(decode_record(with_note(std::string(kNoteBytesMax + 1, 'n')))),
            ErrorCode::Corrupted);
  std::vector<std::byte> later = whole;
  later[0] = std::byte{4};
  const Result<DecodedRecord> refused = decode_record(later);
  ASSERT_EQ(code_of(refused), ErrorCode::NotSupported);
  EXPECT_EQ(refused.error().message(), "a snapshot of format version 4; this build reads 1 to 3");
}

TEST_F(Notes, AreNotReadToListSnapshotsOrToCollect) {
  for (const char* name : {"one", "two", "three"}) {
    ASSERT_TRUE(simulated_.save(noted(name, std::string(kNoteBytesMax, 'n'))).ok());
  }
  reopen();
  std::uint64_t reads = 0;
  simulated_.files.inject = [&reads](const SimulatedCall& call) {
    if (call.kind == CallKind::Read) ++reads;
    return SimulatedFault{};
  };
  EXPECT_EQ(store().list("a").value().size(), 3u);
  EXPECT_TRUE(store().gc().ok());
  simulated_.files.inject = nullptr;
  EXPECT_LT(reads, 64u) << "three notes take 768 reads of 4 KiB";
}

}  // namespace
}  // namespace quire::store
