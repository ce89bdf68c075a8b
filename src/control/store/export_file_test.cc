#include "control/store/export_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "control/store/snapshot_name.h"
#include "support/snapshot_harness.h"

namespace quire::store {
namespace {

using test::counting;
using test::load;
using test::Loaded;
using test::make_snapshot;
using test::SimulatedStore;
using test::TestSnapshot;

constexpr const char* kPath = "outside/one.kv";

// Ten tokens on pages of four, so two pages and a tail; one more page is dropped where asked.
TestSnapshot some_snapshot(bool has_hole = false) {
  TestSnapshot made = make_snapshot("a", "one", counting(1, 14));
  if (has_hole) {
    made.record.dropped_pages = {1};
    made.pages[1].kv.clear();
  }
  return made;
}

std::vector<std::byte> exported(const TestSnapshot& snapshot) {
  SimulatedStore simulated;
  EXPECT_TRUE(simulated.open().ok());
  EXPECT_TRUE(simulated.save(snapshot).ok());
  const Result<void> done = export_file(*simulated.store, simulated.files, "a", "one", kPath);
  EXPECT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(simulated.store->counts().ticket_count, 0u);
  simulated.crash(CrashKeep::Nothing, 1);
  return simulated.files.visible().at(kPath);
}

ImportOptions into(const std::string& tenant, const PageSpace& space) {
  return {
      .tenant = tenant, .name = "", .space = space, .name_page = {}, .name_root = {}, .save = {}};
}

class Importing {
 public:
  explicit Importing(std::vector<std::byte> bytes) : simulated({{kPath, std::move(bytes)}}) {
    EXPECT_TRUE(simulated.open().ok());
  }
  Result<SnapshotInfo> import_with(const ImportOptions& options) {
    return import_file(*simulated.store, simulated.files, kPath, options);
  }
  // Nothing of a failed import is left.
  bool is_empty() {
    return simulated.store->list("b").value().empty() &&
           simulated.store->counts().pending_page_count == 0 &&
           simulated.store->counts().stored_page_count == 0 &&
           simulated.store->counts().ticket_count == 0;
  }
  SimulatedStore simulated;
};

TEST(ExportFile, AnotherStoreGivesTheSameSnapshot) {
  for (const bool has_hole : {false, true}) {
    const TestSnapshot snapshot = some_snapshot(has_hole);
    Importing importing(exported(snapshot));
    ImportOptions options = into("b", snapshot.record.space);
    options.name = "two";
    const Result<SnapshotInfo> imported = importing.import_with(options);
    ASSERT_TRUE(imported.ok()) << imported.error().message();
    TestSnapshot want = snapshot;
    want.record.tenant = "b";
    want.record.name = "two";
    const test::LoadResult loaded = load(*importing.simulated.store, want);
    EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
    EXPECT_TRUE(importing.simulated.store->verify().value().empty());
    EXPECT_EQ(importing.import_with(options).error().code(), ErrorCode::AlreadyExists);
    options.save.overwrite = true;
    EXPECT_TRUE(importing.import_with(options).ok());
  }
}

TEST(ExportFile, AnotherSharingDomainTakesNewNames) {
  const TestSnapshot snapshot = some_snapshot();
  Importing importing(exported(snapshot));
  ImportOptions options = into("b", snapshot.record.space);
  options.space.names.sharing_domain[0] = 1;
  const Result<SnapshotInfo> refused = importing.import_with(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(refused.error().message().find("sharing domain"), std::string::npos);
  options.name_root = [](const PageNameSpace& names) { return names.sharing_domain; };
  options.name_page = [](const PageNameSpace&, const PageName& parent, const PageRecord& page) {
    return test::name_of(parent, page.tokens);
  };
  ASSERT_TRUE(importing.import_with(options).ok());
  SnapshotStore& store = *importing.simulated.store;
  const Result<OpenedSnapshot> opened = store.open_snapshot("b", "one", &options.space);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().record.space.names.sharing_domain, options.space.names.sharing_domain);
  PageName parent = options.space.names.sharing_domain;
  ASSERT_EQ(opened.value().chain.size(), snapshot.pages.size());
  for (std::size_t index = 0; index < snapshot.pages.size(); ++index) {
    const PageRecord page = store.read_page(options.space, opened.value().chain[index]).take();
    EXPECT_EQ(page.parent, parent);
    EXPECT_EQ(page.kv, snapshot.pages[index].kv);
    EXPECT_NE(page.name, snapshot.pages[index].name);
    parent = page.name;
  }
  EXPECT_TRUE(store.verify().value().empty());
}

TEST(ExportFile, RefusesAnotherModelAndVersion) {
  const TestSnapshot snapshot = some_snapshot();
  std::vector<std::byte> bytes = exported(snapshot);
  Importing importing(bytes);
  ImportOptions options = into("b", snapshot.record.space);
  options.space.names.model[3] ^= 1;
  const Result<SnapshotInfo> other_model = importing.import_with(options);
  ASSERT_FALSE(other_model.ok());
  EXPECT_EQ(other_model.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(other_model.error().message().find("was saved with model"), std::string::npos);
  bytes[8] = std::byte{9};
  Importing version(bytes);
  const Result<SnapshotInfo> other_version = version.import_with(into("b", snapshot.record.space));
  ASSERT_FALSE(other_version.ok());
  EXPECT_EQ(other_version.error().message(),
            "outside/one.kv has format version 9; this build reads 1");
  EXPECT_TRUE(importing.is_empty() && version.is_empty());
}

TEST(ExportFile, RefusesEveryCutAndLeavesNothing) {
  const TestSnapshot snapshot = some_snapshot();
  const std::vector<std::byte> bytes = exported(snapshot);
  for (std::size_t count = 0; count < bytes.size(); count += 97) {
    Importing importing({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)});
    const Result<SnapshotInfo> imported = importing.import_with(into("b", snapshot.record.space));
    ASSERT_FALSE(imported.ok()) << count;
    EXPECT_EQ(imported.error().code(), ErrorCode::Corrupted) << imported.error().message();
    EXPECT_TRUE(importing.is_empty()) << count;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{});
  EXPECT_FALSE(Importing(longer).import_with(into("b", snapshot.record.space)).ok());
}

TEST(ExportFile, RefusesEveryFlippedByte) {
  const TestSnapshot snapshot = some_snapshot();
  const std::vector<std::byte> bytes = exported(snapshot);
  Importing importing(bytes);
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    std::vector<std::byte> flipped = bytes;
    flipped[at] ^= std::byte{0x10};
    Result<StoreFile> file =
        StoreFile::open(importing.simulated.files, kPath, OpenMode::CreateOrOpen);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value().write(0, flipped).ok());
    const Result<SnapshotInfo> imported = importing.import_with(into("b", snapshot.record.space));
    ASSERT_FALSE(imported.ok()) << "byte " << at;
    ASSERT_TRUE(importing.is_empty()) << "byte " << at;
  }
}

TEST(ExportFile, AFailedExportLeavesTheOldFile) {
  SimulatedStore simulated;
  ASSERT_TRUE(simulated.open().ok());
  ASSERT_TRUE(simulated.save(some_snapshot()).ok());
  ASSERT_TRUE(export_file(*simulated.store, simulated.files, "a", "one", kPath).ok());
  const auto before = simulated.files.visible();
  std::uint64_t failed_count = 0;
  for (std::uint64_t after = 1; failed_count < 100; ++after) {
    const std::uint64_t failing = simulated.files.call_count() + after;
    simulated.files.inject = [=](const SimulatedCall& call) {
      return SimulatedFault{.error_number = call.number == failing ? ENOSPC : 0};
    };
    const Result<void> done = export_file(*simulated.store, simulated.files, "a", "one", kPath);
    if (done.ok()) break;
    ++failed_count;
    EXPECT_EQ(done.error().code(), ErrorCode::Io) << done.error().message();
    EXPECT_EQ(simulated.files.visible().at(kPath), before.at(kPath));
    EXPECT_EQ(simulated.files.visible().size(), before.size()) << "no partial file";
  }
  EXPECT_GT(failed_count, 5u);
}

}  // namespace
}  // namespace quire::store
