// States of recurrent layers in the store: once for each page, as long as it is there.
#include <gtest/gtest.h>

#include <cerrno>

#include "control/store/page_space.h"
#include "control/store/snapshot_store.h"
#include "support/store_fixture.h"

namespace quire::store {
namespace {

using test::code_of;
using test::counting;
using test::make_snapshot;
using test::TestSnapshot;

constexpr std::uint64_t kStateBytes = 10'000;

class States : public test::StoreFixture {
 protected:
  static PageSpace space_of(const TestSnapshot& snapshot) {
    return states_of(snapshot.record.space, kStateBytes);
  }
  static std::vector<std::byte> state_of(const PageRecord& page) {
    return std::vector<std::byte>(kStateBytes, std::byte(page.name[0]));
  }
  // The states after these pages of the snapshot.
  Result<std::uint32_t> keep(const TestSnapshot& snapshot, std::vector<std::size_t> indexes,
                             std::optional<std::uint64_t> bytes_max = std::nullopt) {
    std::vector<PageName> names;
    for (const std::size_t index : indexes) names.push_back(snapshot.pages[index].name);
    const BegunSave begun = TRY(store().begin_save(space_of(snapshot), names));
    Result<std::uint32_t> kept = bring(snapshot, begun, bytes_max);
    if (!kept.ok()) store().release(begun.ticket);
    return kept;
  }
  void save(const TestSnapshot& snapshot) {
    const Result<SnapshotInfo> saved = simulated_.save(snapshot, true);
    ASSERT_TRUE(saved.ok()) << saved.error().message();
  }
  std::vector<std::uint32_t> stated(const std::string& name) {
    Result<OpenedSnapshot> opened = store().open_snapshot("a", name, nullptr);
    if (!opened.ok()) return {99};
    store().release(opened.value().ticket);
    return opened.value().stated_pages;
  }
  void expect_sound() {
    const Result<std::vector<Damage>> damages = store().verify();
    ASSERT_TRUE(damages.ok()) << damages.error().message();
    for (const Damage& each : damages.value()) ADD_FAILURE() << each.where << ": " << each.what;
  }

 private:
  Result<std::uint32_t> bring(const TestSnapshot& snapshot, const BegunSave& begun,
                              std::optional<std::uint64_t> bytes_max) {
    for (const PageRecord& page : snapshot.pages) {
      if (std::ranges::find(begun.missing, page.name) == begun.missing.end()) continue;
      PageRecord record = page;
      record.kv.clear();
      TRY(store().add_state(begun.ticket, record, state_of(page)));
    }
    return store().keep_states(begun.ticket, snapshot.record.space, "a", bytes_max);
  }
};

using Indexes = std::vector<std::uint32_t>;

TEST_F(States, AreThereAfterARestartForEverySnapshotOfTheirPages) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  save(one);
  EXPECT_EQ(keep(one, {1, 3}).value(), 2u);
  std::vector<std::uint32_t> tokens = counting(1, 8);
  tokens.push_back(99);
  save(make_snapshot("a", "two", tokens));
  simulated_.crash(CrashKeep::Nothing, 1);
  reopen();
  EXPECT_EQ(stated("one"), (Indexes{1, 3}));
  EXPECT_EQ(stated("two"), Indexes{1});
  const Result<PageRecord> read = store().read_page(space_of(one), one.pages[3].name);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value().kv, state_of(one.pages[3]));
  EXPECT_EQ(keep(one, {1, 3}).value(), 0u) << "they are stored once";
  expect_sound();
}

TEST_F(States, GoWithTheLastSnapshotOfTheirPage) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  save(one);
  save(make_snapshot("a", "two", counting(1, 8)));
  ASSERT_TRUE(keep(one, {1, 3}).ok());
  ASSERT_TRUE(store().remove("a", "one").ok());
  EXPECT_EQ(store().gc().value().page_count_freed, 3u) << "two pages and one state";
  EXPECT_EQ(stated("two"), Indexes{1});
  expect_sound();
  ASSERT_TRUE(store().remove("a", "two").ok());
  const GcReport all = store().gc().value();
  EXPECT_EQ(all.page_count_freed, 3u);
  EXPECT_EQ(all.file_count_removed, 2u);
  expect_sound();
}

TEST_F(States, OfAPageThatIsNotStoredAreLeftOut) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  const TestSnapshot shorter = make_snapshot("a", "one", counting(1, 8));
  save(shorter);
  EXPECT_EQ(keep(one, {1, 3}).value(), 1u);
  EXPECT_EQ(stated("one"), Indexes{1});
  EXPECT_EQ(store().counts().pending_page_count, 0u);
  expect_sound();
}

TEST_F(States, CountForTheTenantWhoHasNoMoreThanItsBytes) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  save(one);
  const std::uint64_t before = store().tenant_bytes("a").value();
  const std::uint64_t slot = slot_bytes_of(kStateBytes);
  EXPECT_EQ(keep(one, {1, 3}, before + slot).value(), 1u);
  EXPECT_EQ(stated("one"), Indexes{3}) << "the later one is worth more";
  EXPECT_EQ(store().tenant_bytes("a").value(), before + slot);
  EXPECT_EQ(store().counts().pending_page_count, 0u);
  ASSERT_TRUE(keep(one, {1, 3}, before + 2 * slot).ok());
  EXPECT_EQ(store().tenant_bytes("a").value(), before + 2 * slot);
  EXPECT_EQ(store().tenant_bytes("b").value(), 0u);
}

TEST_F(States, ADamagedOneIsNamedAndHealedByTheNextSave) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  save(one);
  ASSERT_TRUE(keep(one, {3}).ok());
  const std::string path = "machine/store/" + page_file_name(space_digest(space_of(one)));
  const auto file = static_cast<Descriptor>(simulated_.files.open(path, OpenMode::ReadWrite).value);
  const std::array<std::byte, 1> wrong{std::byte{0xa5}};
  ASSERT_EQ(simulated_.files.pwrite(file, wrong, 2 * 4096 + 9).value, 1);
  simulated_.files.close(file);

  EXPECT_EQ(code_of(store().read_page(space_of(one), one.pages[3].name)), ErrorCode::Corrupted);
  const std::vector<Damage> damages = store().verify().value();
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_TRUE(damages[0].where.starts_with("the state after page ")) << damages[0].where;
  EXPECT_EQ(stated("one"), Indexes{}) << "it is not offered";
  EXPECT_EQ(keep(one, {3}).value(), 1u);
  EXPECT_EQ(stated("one"), Indexes{3});
  expect_sound();
}

TEST_F(States, ATicketOfPagesTakesNone) {
  const TestSnapshot one = make_snapshot("a", "one", counting(1, 16));
  const BegunSave begun =
      store().begin_save(one.record.space, std::vector{one.pages[0].name}).value();
  PageRecord record = one.pages[0];
  record.kv.clear();
  EXPECT_EQ(code_of(store().add_state(begun.ticket, record, state_of(record))),
            ErrorCode::NotFound);
  EXPECT_EQ(code_of(store().keep_states(begun.ticket, one.record.space, "a")), ErrorCode::NotFound);
  store().release(begun.ticket);
}

}  // namespace
}  // namespace quire::store
