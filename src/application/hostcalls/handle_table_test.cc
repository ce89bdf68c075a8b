#include "application/hostcalls/handle_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/seeds.h"

namespace quire::hostcalls {
namespace {

constexpr HandleKind kKinds[] = {HandleKind::Future, HandleKind::Queue,   HandleKind::Page,
                                 HandleKind::Embed,  HandleKind::Context, HandleKind::Model};

HandleTable table_with_limits(std::uint32_t count_max) {
  HandleTable table;
  for (const HandleKind kind : kKinds) table.set_limit(kind, count_max);
  return table;
}

TEST(HandleTable, NamesTheLimitWhenItIsReached) {
  HandleTable table = table_with_limits(2);
  EXPECT_TRUE(table.add(HandleKind::Page, {}).ok());
  EXPECT_TRUE(table.add(HandleKind::Page, {}).ok());
  const Result<GuestHandle> third = table.add(HandleKind::Page, {});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code(), ErrorCode::QuotaExceeded);
  EXPECT_EQ(third.error().message(), "page_count_max: 1 wanted, 2 of 2 held");
  EXPECT_FALSE(table.check_room(HandleKind::Queue, 0xffffffffu).ok());
  table.set_limit(HandleKind::Page, {.own = 2, .childrens = 5});
  EXPECT_EQ(table.check_room(HandleKind::Page, 1).error().message(),
            "page_count_max: 1 wanted, 2 of 7 held, 5 are its children's");
}

TEST(HandleTable, NamesTheLimitOfThatKindAndNotOneThatSoundsLikeIt) {
  const std::pair<HandleKind, const char*> names[] = {
      {HandleKind::Child, "child_handle_count_max: "},
      {HandleKind::Model, "model_handle_count_max: "},
      {HandleKind::ReservedContext, "context_count_max: "},
      {HandleKind::Exchange, "http.exchange_count_max: "}};
  const HandleTable table;
  for (const auto& [kind, name] : names) {
    EXPECT_TRUE(table.check_room(kind, 1).error().message().starts_with(name)) << name;
  }
}

TEST(HandleTable, TheLastSlotsAreForFuturesSoThatACallThatAskedForOneGetsIt) {
  HandleTable table;
  table.set_limit(HandleKind::Context, HandleTable::kSlotCountMax);
  table.set_limit(HandleKind::Future, HandleTable::kSlotCountMax);
  const std::uint32_t all = HandleTable::kSlotCountMax;
  for (std::uint32_t i = 0; i < all - HandleTable::kFutureSlots; ++i) {
    ASSERT_TRUE(table.add(HandleKind::Context, {}).ok());
  }
  const Result<GuestHandle> refused = table.add(HandleKind::Context, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("handle_count_max"), std::string::npos);
  for (std::uint32_t i = 0; i < HandleTable::kFutureSlots; ++i) {
    ASSERT_TRUE(table.check_room(HandleKind::Future, 1).ok());
    ASSERT_TRUE(table.add(HandleKind::Future, {}).ok());
  }
  EXPECT_FALSE(table.check_room(HandleKind::Future, 1).ok());
  table.verify();
}

TEST(HandleTable, RefusesZeroNegativeStaleAndWrongKinds) {
  HandleTable table = table_with_limits(4);
  const GuestHandle page = table.add(HandleKind::Page, {}).value();
  for (const std::int32_t forged : {0, -1, INT32_MIN, INT32_MAX, 1, 2, 1 << 21}) {
    if (forged == static_cast<std::int32_t>(page)) continue;
    EXPECT_FALSE(table.find(GuestHandle{forged}, HandleKind::Page).ok()) << forged;
  }
  EXPECT_FALSE(table.find(page, HandleKind::Embed).ok());
  table.remove(page);
  EXPECT_EQ(table.find(page, HandleKind::Page).error().code(), ErrorCode::NotFound);
}

TEST(HandleTable, NeverGivesOutAHandleTwice) {
  HandleTable table = table_with_limits(4);
  std::set<GuestHandle> given;
  for (int i = 0; i < 5000; ++i) {
    const GuestHandle handle = table.add(HandleKind::Future, {}).value();
    EXPECT_TRUE(given.insert(handle).second);
    table.remove(handle);
  }
  table.verify();
}

// Beside a map of what was given out and not removed, the simplest model that could be right.
TEST(HandleTable, AgreesWithAMapUnderRandomOperations) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    HandleTable table = table_with_limits(40);
    std::map<GuestHandle, HandleTable::Entry> model;
    std::vector<GuestHandle> ever;
    for (int step = 0; step < 3000; ++step) {
      const HandleKind kind = kKinds[random.next() % std::size(kKinds)];
      if (random.next() % 2 == 0) {
        const HandleTable::Entry entry{kind, static_cast<std::uint8_t>(random.next() % 3),
                                       static_cast<std::uint32_t>(random.next())};
        std::uint32_t held = 0;
        for (const auto& [handle, each] : model) held += each.kind == kind ? 1 : 0;
        Result<GuestHandle> added = table.add(kind, entry);
        ASSERT_EQ(added.ok(), held < 40);
        if (!added.ok()) continue;
        ASSERT_FALSE(model.contains(added.value()));
        model[added.value()] = entry;
        ever.push_back(added.value());
      } else if (!ever.empty()) {
        const GuestHandle handle = ever[random.next() % ever.size()];
        const auto known = model.find(handle);
        const Result<HandleTable::Entry> found = table.find_any(handle);
        ASSERT_EQ(found.ok(), known != model.end());
        if (!found.ok()) continue;
        ASSERT_EQ(found.value().payload, known->second.payload);
        ASSERT_EQ(found.value().kind, known->second.kind);
        ASSERT_EQ(table.find(handle, kind).ok(), kind == known->second.kind);
        table.remove(handle);
        model.erase(known);
      }
      table.verify();
    }
  }
}

}  // namespace
}  // namespace quire::hostcalls
