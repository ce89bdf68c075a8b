#include "control/store/snapshot_store.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "support/store_fixture.h"

namespace quire::store {
namespace {

using test::code_of;
using test::counting;
using test::Loaded;
using test::make_snapshot;
using test::SimulatedStore;
using test::TestSnapshot;

class Store : public test::StoreFixture {
 protected:
  void save(const TestSnapshot& snapshot, bool overwrite = false) {
    const Result<SnapshotInfo> saved = simulated_.save(snapshot, overwrite);
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    verify();
  }
  void expect_loads(const TestSnapshot& snapshot) {
    const test::LoadResult loaded = test::load(store(), snapshot);
    EXPECT_EQ(loaded.loaded, Loaded::Equal) << loaded.why;
  }
  void verify() {
    const Result<std::vector<Damage>> damages = store().verify();
    ASSERT_TRUE(damages.ok()) << damages.error().message();
    for (const Damage& each : damages.value()) ADD_FAILURE() << each.where << ": " << each.what;
  }
  GcReport gc() {
    Result<GcReport> report = store().gc();
    EXPECT_TRUE(report.ok());
    verify();
    return report.ok() ? report.value() : GcReport{};
  }

  // A byte of the keys and values in every slot.
  void damage_pages() {
    constexpr std::uint64_t kBlock =
        4096;  // Headers of the file and of a slot, and a slot's bytes.
    store::SimulatedFileSystem& files = simulated_.files;
    std::vector<std::string> names;
    ASSERT_EQ(files.list_folder("machine/store", names).error_number, 0);
    for (const std::string& name : names) {
      if (!name.starts_with("pages-")) continue;
      const auto opened = files.open("machine/store/" + name, OpenMode::ReadWrite);
      const auto file = static_cast<Descriptor>(opened.value);
      const auto bytes = static_cast<std::uint64_t>(files.file_bytes(file).value);
      for (std::uint64_t at = 2 * kBlock + 5; at < bytes; at += 2 * kBlock) {
        const std::array<std::byte, 1> wrong{std::byte{0xa5}};
        ASSERT_EQ(files.pwrite(file, wrong, at).value, 1);
      }
      files.close(file);
    }
  }
};

TEST_F(Store, GivesBackWhatWasSavedAlsoAfterARestart) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 11));
  save(saved);
  expect_loads(saved);
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  expect_loads(saved);
}

TEST_F(Store, KeepsACommonPrefixOnce) {
  save(make_snapshot("a", "one", counting(1, 16)));
  EXPECT_EQ(store().counts().stored_page_count, 4u);
  std::vector<std::uint32_t> tokens = counting(1, 8);
  tokens.push_back(99);
  const TestSnapshot other = make_snapshot("a", "two", tokens);
  const auto missing = store().missing(other.record.space, std::vector{other.pages[0].name});
  ASSERT_TRUE(missing.ok());
  EXPECT_TRUE(missing.value().empty());
  const Result<SnapshotInfo> saved = store().save(other.record, {}, {});
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  EXPECT_EQ(store().counts().stored_page_count, 5u) << "the tail alone is new";
  expect_loads(other);
}

TEST_F(Store, OverwritesOnlyWhenAsked) {
  save(make_snapshot("a", "one", counting(1, 5)));
  const TestSnapshot newer = make_snapshot("a", "one", counting(50, 9));
  EXPECT_EQ(code_of(simulated_.save(newer)), ErrorCode::AlreadyExists);
  save(newer, true);
  expect_loads(newer);
  EXPECT_EQ(gc().page_count_freed, 2u);
  expect_loads(newer);
}

TEST_F(Store, AForeignSnapshotIsAsAbsentAsNone) {
  save(make_snapshot("a", "one", counting(1, 5)));
  const auto foreign = store().open_snapshot("b", "one", nullptr);
  const auto absent = store().open_snapshot("b", "none", nullptr);
  ASSERT_FALSE(foreign.ok());
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(foreign.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(foreign.error().message(), "no snapshot \"one\"");
  EXPECT_EQ(absent.error().message(), "no snapshot \"none\"");
  EXPECT_EQ(code_of(store().remove("b", "one")), ErrorCode::NotFound);
  save(make_snapshot("b", "one", counting(7, 3)));
  expect_loads(make_snapshot("a", "one", counting(1, 5)));
}

TEST_F(Store, TakeDeletesWhenItIsFinishedAndItsTicketKeepsThePages) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 12));
  save(saved);
  const Result<OpenedSnapshot> taken = store().take("a", "one", &saved.record.space);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(code_of(store().take("a", "one", nullptr)), ErrorCode::Unavailable);
  expect_loads(saved);
  ASSERT_TRUE(store().remove("a", "one").ok());
  gc();
  for (const PageName& name : taken.value().chain) {
    EXPECT_TRUE(store().read_page(saved.record.space, name).ok());
  }
  EXPECT_TRUE(store().finish_take(taken.value().ticket).ok());
  EXPECT_EQ(gc().page_count_freed, 3u);
  EXPECT_EQ(store().counts().stored_page_count, 0u);
}

TEST_F(Store, ATakeThatIsGivenUpLeavesTheSnapshotAndOneThatIsFinishedDoesNot) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 12));
  save(saved);
  store().release(store().take("a", "one", nullptr).value().ticket);
  expect_loads(saved);
  const Result<OpenedSnapshot> taken = store().take("a", "one", nullptr);
  ASSERT_TRUE(taken.ok());
  EXPECT_TRUE(store().finish_take(taken.value().ticket).ok());
  EXPECT_EQ(code_of(store().take("a", "one", nullptr)), ErrorCode::NotFound);
  EXPECT_EQ(store().counts().ticket_count, 0u);
}

TEST_F(Store, ATakeThatReadItsPagesHoldsNoTicketAndIsTheOnlyOneAllTheSame) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 12));
  save(saved);
  const Result<OpenedSnapshot> taken = store().take("a", "one", nullptr);
  ASSERT_TRUE(taken.ok());
  store().end_reading(taken.value().ticket);
  EXPECT_EQ(store().counts().ticket_count, 0u);
  EXPECT_EQ(code_of(store().take("a", "one", nullptr)), ErrorCode::Unavailable);
  store().release(taken.value().ticket);
  const Result<OpenedSnapshot> again = store().take("a", "one", nullptr);
  ASSERT_TRUE(again.ok());
  store().end_reading(again.value().ticket);
  EXPECT_TRUE(store().finish_take(again.value().ticket).ok());
  EXPECT_EQ(code_of(store().take("a", "one", nullptr)), ErrorCode::NotFound);
}

TEST_F(Store, ATakeDeletesNothingThatCameUnderItsNameMeanwhile) {
  for (const bool is_removed : {false, true}) {
    SCOPED_TRACE(is_removed ? "removed and saved again" : "overwritten");
    save(make_snapshot("a", "one", counting(1, 12)), true);
    const Result<OpenedSnapshot> taken = store().take("a", "one", nullptr);
    ASSERT_TRUE(taken.ok());
    if (is_removed) {
      ASSERT_TRUE(store().remove("a", "one").ok());
    }
    const TestSnapshot newer = make_snapshot("a", "one", counting(50, 9));
    save(newer, !is_removed);
    EXPECT_TRUE(store().finish_take(taken.value().ticket).ok());
    expect_loads(newer);
    const Result<OpenedSnapshot> again = store().take("a", "one", nullptr);
    ASSERT_TRUE(again.ok()) << again.error().message();
    store().release(again.value().ticket);
  }
}

TEST_F(Store, WhereADiskFailsToDeleteWhatWasTakenItIsThereAndCanBeTakenAgain) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 12));
  save(saved);
  const Result<OpenedSnapshot> taken = store().take("a", "one", nullptr);
  ASSERT_TRUE(taken.ok());
  simulated_.files.inject = [](const SimulatedCall& call) {
    return SimulatedFault{.error_number = call.kind == CallKind::Write ? EIO : 0};
  };
  EXPECT_EQ(code_of(store().finish_take(taken.value().ticket)), ErrorCode::Io);
  simulated_.files.inject = nullptr;
  expect_loads(saved);
  EXPECT_TRUE(store().take("a", "one", nullptr).ok());
}

TEST_F(Store, GcSparesWhatASaveThatBeganReuses) {
  const TestSnapshot old = make_snapshot("a", "old", counting(1, 8));
  save(old);
  const TestSnapshot fresh = make_snapshot("a", "new", counting(1, 12));
  std::vector<PageName> names;
  for (const PageRecord& page : fresh.pages) names.push_back(page.name);
  const Result<BegunSave> begun = store().begin_save(fresh.record.space, names);
  ASSERT_TRUE(begun.ok());
  ASSERT_EQ(begun.value().missing, std::vector{names[2]});
  ASSERT_TRUE(store().remove("a", "old").ok());
  gc();
  ASSERT_TRUE(store().add_pages(begun.value().ticket, {&fresh.pages[2], 1}).ok());
  gc();
  const auto saved = store().save(fresh.record, {}, {.ticket = begun.value().ticket});
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  expect_loads(fresh);
  EXPECT_EQ(store().counts().ticket_count, 0u);
  EXPECT_EQ(gc().page_count_freed, 0u);
  expect_loads(fresh);
}

TEST_F(Store, AnAbandonedSaveLeavesNothing) {
  const TestSnapshot fresh = make_snapshot("a", "new", counting(1, 12));
  const Result<BegunSave> begun = store().begin_save(fresh.record.space, {});
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(store().add_pages(begun.value().ticket, fresh.pages).ok());
  EXPECT_EQ(store().counts().pending_page_count, 3u);
  store().release(begun.value().ticket);
  EXPECT_EQ(store().counts().pending_page_count, 0u);
  EXPECT_EQ(gc().file_count_removed, 1u);
}

TEST_F(Store, RefusesAChainThatIsNotWhole) {
  const TestSnapshot whole = make_snapshot("a", "one", counting(1, 12));
  const auto without_first = store().save(whole.record, std::span(whole.pages).subspan(1), {});
  ASSERT_FALSE(without_first.ok());
  EXPECT_EQ(without_first.error().code(), ErrorCode::NotFound);
  EXPECT_NE(without_first.error().message().find("(1 of 3) is neither stored nor given"),
            std::string::npos)
      << without_first.error().message();
  SnapshotRecord record = whole.record;
  record.page_count = 2;
  EXPECT_EQ(code_of(store().save(record, whole.pages, {})), ErrorCode::InvalidArgument);
  record.page_count = 4;
  EXPECT_EQ(code_of(store().save(record, whole.pages, {})), ErrorCode::InvalidArgument);
  std::vector<PageRecord> circle = whole.pages;
  circle[0].parent = circle[2].name;
  EXPECT_EQ(code_of(store().save(whole.record, circle, {})), ErrorCode::InvalidArgument);
  EXPECT_EQ(store().counts().stored_page_count, 0u);
  verify();
}

TEST_F(Store, QuotaCountsASharedPageOnceAndSaysTheNumbers) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 8));
  const TestSnapshot two = make_snapshot("a", "two", counting(1, 8));
  save(one);
  const std::uint64_t used = store().tenant_bytes("a").value();
  const std::uint64_t row = 4096 + 200;
  EXPECT_GE(used, 2 * 8192u);
  const auto within = store().save(two.record, two.pages, {.tenant_bytes_max = used + row});
  ASSERT_TRUE(within.ok()) << within.error().message();
  const TestSnapshot three = make_snapshot("a", "three", counting(90, 4));
  const auto beyond = store().save(three.record, three.pages, {.tenant_bytes_max = used + 2 * row});
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code(), ErrorCode::QuotaExceeded);
  const std::string told(beyond.error().message());
  EXPECT_TRUE(told.starts_with("snapshot_bytes_max: \"three\" takes ")) << told;
  EXPECT_NE(told.find(" of " + std::to_string(used + 2 * row) + " are used"), std::string::npos)
      << told;
  EXPECT_EQ(store().counts().stored_page_count, 2u);
  EXPECT_TRUE(simulated_.save(make_snapshot("b", "three", counting(90, 4))).ok())
      << "another tenant has its own";
  // Replacing frees what is replaced.
  const auto replaced = store().save(make_snapshot("a", "two", counting(90, 4)).record, three.pages,
                                     {.overwrite = true, .tenant_bytes_max = used + 8192 + row});
  EXPECT_TRUE(replaced.ok()) << replaced.error().message();
  verify();
}

TEST_F(Store, ASnapshotExpires) {
  TestSnapshot brief = make_snapshot("a", "brief", counting(1, 4));
  brief.record.expires_unix_ms = 1'000'100;
  save(brief);
  expect_loads(brief);
  simulated_.clock.set_unix_ms(1'000'100);
  EXPECT_EQ(code_of(store().open_snapshot("a", "brief", nullptr)), ErrorCode::NotFound);
  EXPECT_TRUE(store().list("a").value().empty());
  const GcReport report = gc();
  EXPECT_EQ(report.snapshot_count_expired, 1u);
  EXPECT_EQ(report.page_count_freed, 1u);
  EXPECT_TRUE(simulated_.save(make_snapshot("a", "brief", counting(1, 4))).ok());
}

TEST_F(Store, ListsATenantsSnapshotsByName) {
  save(make_snapshot("a", "b", counting(1, 9)));
  save(make_snapshot("a", "a", counting(1, 4)));
  save(make_snapshot("b", "c", counting(1, 4)));
  const auto list = store().list("a");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value().size(), 2u);
  EXPECT_EQ(list.value()[0].name, "a");
  EXPECT_EQ(list.value()[1].name, "b");
  EXPECT_EQ(list.value()[1].page_count, 3u);
  EXPECT_EQ(list.value()[1].token_count, 9u);
  EXPECT_EQ(list.value()[1].created_unix_ms, 1'000'000u);
  EXPECT_GT(list.value()[1].bytes, 3 * 8192u);
}

TEST_F(Store, SaysInWhatAModelDiffers) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 6));
  save(saved);
  const auto refusal = [&](auto change) {
    PageSpace wanted = saved.record.space;
    change(wanted);
    const auto opened = store().open_snapshot("a", "one", &wanted);
    EXPECT_EQ(code_of(opened), ErrorCode::NotSupported);
    return opened.ok() ? std::string() : std::string(opened.error().message());
  };
  EXPECT_NE(refusal([](PageSpace& space) { space.names.model[0] ^= 1; }).find("model"),
            std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) {
              space.names.numerics_id = "avx512 2";
            }).find("numerics \"test 1\", not \"avx512 2\""),
            std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) {
              space.names.kv_format = inference::KvFormat::BF16;
            }).find("KV format F16, not BF16"),
            std::string::npos);
  EXPECT_NE(
      refusal([](PageSpace& space) { space.names.page_size = 16; }).find("page size 4, not 16"),
      std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) { space.names.rope = "theta 1"; }).find("RoPE"),
            std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) {
              space.names.format_version = 2;
            }).find("page name format 1, not 2"),
            std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) { space.names.adapter[5] = 1; }).find("adapter"),
            std::string::npos);
  EXPECT_NE(refusal([](PageSpace& space) { space.page_bytes = 128; }).find("bytes of a page"),
            std::string::npos);
  expect_loads(saved);
}

TEST_F(Store, KeepsTheLinkOfADroppedPageUntilSomebodyBringsItsBytes) {
  const TestSnapshot whole = make_snapshot("a", "whole", counting(1, 12));
  TestSnapshot holed = make_snapshot("a", "holed", counting(1, 12));
  holed.record.dropped_pages = {1};
  holed.pages[1].kv.clear();
  save(holed);
  expect_loads(holed);
  EXPECT_EQ(store().counts().stored_page_count, 2u);
  EXPECT_EQ(store().missing(whole.record.space, std::vector{whole.pages[1].name}).value().size(),
            1u)
      << "a link is no page";
  EXPECT_EQ(code_of(store().save(whole.record, {}, {})), ErrorCode::NotFound);
  save(whole);
  expect_loads(whole);
  EXPECT_EQ(store().counts().stored_page_count, 3u);
  ASSERT_TRUE(store().remove("a", "whole").ok());
  gc();
  verify();
}

TEST_F(Store, CachedPagesAreBoundedBecomeStoredAndAreForgotten) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 24));
  const PageSpace& space = snapshot.record.space;
  for (const PageRecord& page : snapshot.pages) ASSERT_TRUE(store().put_cached(space, page).ok());
  EXPECT_EQ(store().counts().cached_page_count, 4u);
  EXPECT_FALSE(store().has_cached(space, snapshot.pages[0].name)) << "the oldest went";
  const Result<PageRecord> read = store().read_page(space, snapshot.pages[5].name);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(test::same_page(read.value(), snapshot.pages[5]));

  std::vector<PageName> names;
  for (const PageRecord& page : snapshot.pages) names.push_back(page.name);
  EXPECT_EQ(store().missing(space, names).value().size(), 6u) << "cached is not durable";
  const Result<BegunSave> begun = store().begin_save(space, names);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun.value().missing.size(), 2u);
  EXPECT_EQ(code_of(store().put_cached(space, make_snapshot("a", "x", counting(70, 4)).pages[0])),
            ErrorCode::Unavailable)
      << "a ticket keeps cached pages";
  const auto saved = store().save(snapshot.record, std::span(snapshot.pages).first(2),
                                  {.ticket = begun.value().ticket});
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  EXPECT_EQ(store().counts().cached_page_count, 0u);
  EXPECT_EQ(store().counts().stored_page_count, 6u);
  expect_loads(snapshot);
  verify();

  const TestSnapshot other = make_snapshot("a", "two", counting(50, 4));
  ASSERT_TRUE(store().put_cached(space, other.pages[0]).ok());
  EXPECT_EQ(gc().cached_count_dropped, 1u);
  ASSERT_TRUE(store().put_cached(space, other.pages[0]).ok());
  simulated_.crash(CrashKeep::Everything, 1);
  reopen();
  EXPECT_EQ(code_of(store().read_page(space, other.pages[0].name)), ErrorCode::NotFound);
  expect_loads(snapshot);
}

TEST_F(Store, ACachedPageThatIsDroppedUnderATicketGoesWhenTheTicketEnds) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 8));
  const PageSpace& space = snapshot.record.space;
  std::vector<PageName> names;
  for (const PageRecord& page : snapshot.pages) {
    names.push_back(page.name);
    ASSERT_TRUE(store().put_cached(space, page).ok());
  }
  const Result<BegunSave> begun = store().begin_save(space, names);
  ASSERT_TRUE(begun.ok());
  store().drop_cached(space, names);
  EXPECT_TRUE(store().has_cached(space, names[0])) << "the ticket keeps it";
  EXPECT_EQ(store().counts().cached_page_count, 0u);
  ASSERT_TRUE(store().put_cached(space, snapshot.pages[1]).ok());
  store().release(begun.value().ticket);
  EXPECT_FALSE(store().has_cached(space, names[0]));
  EXPECT_TRUE(store().has_cached(space, names[1])) << "it was put again";
  EXPECT_EQ(store().counts().cached_page_count, 1u);
  verify();
}

TEST_F(Store, ADamagedCachedPageIsWrittenAgainAlsoUnderATicket) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 4));
  const PageSpace& space = snapshot.record.space;
  const PageRecord& page = snapshot.pages[0];
  ASSERT_TRUE(store().put_cached(space, page).ok());
  const Result<BegunSave> begun = store().begin_save(space, std::vector{page.name});
  ASSERT_TRUE(begun.ok());
  damage_pages();
  EXPECT_EQ(code_of(store().read_page(space, page.name)), ErrorCode::Corrupted);
  ASSERT_TRUE(store().put_cached(space, page).ok());
  const Result<PageRecord> read = store().read_page(space, page.name);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(test::same_page(read.value(), page));
  store().release(begun.value().ticket);
}

TEST_F(Store, ASaveDoesNotRelyOnACachedPageThatWasFoundDamaged) {
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 4));
  const PageSpace& space = snapshot.record.space;
  ASSERT_TRUE(store().put_cached(space, snapshot.pages[0]).ok());
  const Result<BegunSave> begun = store().begin_save(space, std::vector{snapshot.pages[0].name});
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(begun.value().missing.empty());
  damage_pages();
  EXPECT_FALSE(store().read_page(space, snapshot.pages[0].name).ok());
  EXPECT_FALSE(store().save(snapshot.record, {}, {.ticket = begun.value().ticket}).ok());
  save(snapshot);
  expect_loads(snapshot);
}

TEST_F(Store, ACachedPageIsReadWhateverIsWrongWithTheIndex) {
  save(make_snapshot("a", "other", counting(50, 4)));
  const TestSnapshot snapshot = make_snapshot("a", "one", counting(1, 4));
  const PageSpace& space = snapshot.record.space;
  ASSERT_TRUE(store().put_cached(space, snapshot.pages[0]).ok());
  simulated_.files.inject = [](const SimulatedCall& call) -> SimulatedFault {
    if (call.path.find("index") == std::string::npos) return {};
    return {.error_number = EIO};
  };
  EXPECT_FALSE(simulated_.save(make_snapshot("a", "third", counting(70, 4))).ok());
  const Result<PageRecord> read = store().read_page(space, snapshot.pages[0].name);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(test::same_page(read.value(), snapshot.pages[0]));
  simulated_.files.inject = {};
}

TEST_F(Store, ASnapshotWithoutPagesIsOneToo) {
  const TestSnapshot empty = make_snapshot("a", "empty", {});
  save(empty);
  gc();
  reopen();
  expect_loads(empty);
  const TestSnapshot full = make_snapshot("a", "full", counting(1, 9));
  save(full);
  expect_loads(full);
}

TEST_F(Store, TicketsAreBounded) {
  simulated_.options.ticket_count_max = 2;
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  save(make_snapshot("a", "one", counting(1, 4)));
  ASSERT_TRUE(store().open_snapshot("a", "one", nullptr).ok());
  const Result<OpenedSnapshot> second = store().open_snapshot("a", "one", nullptr);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(code_of(store().open_snapshot("a", "one", nullptr)), ErrorCode::Unavailable);
  store().release(second.value().ticket);
  EXPECT_TRUE(store().open_snapshot("a", "one", nullptr).ok());
}

TEST_F(Store, HealsADamagedPageWithTheNextSaveOfIt) {
  const TestSnapshot saved = make_snapshot("a", "one", counting(1, 8));
  save(saved);
  auto image = simulated_.files.visible();
  for (auto& [path, bytes] : image) {
    if (path.ends_with(".quire")) bytes[4096 + 8192 + 4096 + 7] ^= std::byte{1};
  }
  SimulatedStore damaged(image);
  ASSERT_TRUE(damaged.open().ok());
  const test::LoadResult loaded = test::load(*damaged.store, saved);
  EXPECT_EQ(loaded.loaded, Loaded::Refused);
  EXPECT_EQ(loaded.code, ErrorCode::Corrupted);
  EXPECT_NE(loaded.why.find("the checksum does not match"), std::string::npos) << loaded.why;
  EXPECT_EQ(damaged.store->verify().value().size(), 1u);
  const TestSnapshot again = make_snapshot("a", "two", counting(1, 8));
  EXPECT_EQ(code_of(damaged.store->save(again.record, {}, {})), ErrorCode::NotFound);
  ASSERT_TRUE(damaged.save(again).ok());
  EXPECT_TRUE(damaged.store->verify().value().empty());
  EXPECT_EQ(test::load(*damaged.store, saved).loaded, Loaded::Equal);
}

TEST_F(Store, TwoStoresDoNotShareAFolder) {
  ManualWallClock clock;
  const auto second = SnapshotStore::open(simulated_.files, clock, simulated_.options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(second.error().message(), "the store machine/store is in use by another process");
}

TEST_F(Store, GcCutsTheFileAndBlanksWhatIsDeleted) {
  const TestSnapshot first = make_snapshot("a", "first", counting(1, 4));
  const TestSnapshot second = make_snapshot("a", "second", counting(10, 4));
  const TestSnapshot third = make_snapshot("a", "third", counting(20, 4));
  save(first);
  save(second);
  save(third);
  const auto file_bytes = [this] {
    for (const auto& [path, bytes] : simulated_.files.visible()) {
      if (path.ends_with(".quire")) return bytes.size();
    }
    return std::size_t{0};
  };
  ASSERT_TRUE(store().remove("a", "first").ok());
  ASSERT_TRUE(store().remove("a", "third").ok());
  const GcReport report = gc();
  EXPECT_EQ(report.page_count_freed, 2u);
  EXPECT_EQ(file_bytes(), 4096u + 2 * 8192);
  const auto image = simulated_.files.visible();
  for (const auto& [path, bytes] : image) {
    if (path.ends_with(".quire")) {
      EXPECT_EQ(bytes[4096], std::byte{}) << "slot 0 is blank";
    }
  }
  expect_loads(second);
  ASSERT_TRUE(store().remove("a", "second").ok());
  EXPECT_EQ(gc().file_count_removed, 1u);
  EXPECT_EQ(file_bytes(), 0u);
  save(first);
  expect_loads(first);
}

}  // namespace
}  // namespace quire::store
