// Tests of the error of a program for which no page could be freed: it names the holders of the
// pages, and what would help.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control::page_shortage_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint64_t kPageBytes = 24 * kPageSize;  // Of the simulated device.
constexpr std::uint64_t kWaitNs = 11'000'000'000;     // Longer than the wait for a page may be.

Harness::Options pool_of(std::uint32_t page_count) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 512;
  return options;
}

struct Program {
  InstanceId id{};
  ObjectId queue{};
  ObjectId context{};
};

Program start(Harness& harness) {
  Program program{.id = harness.start()};
  program.queue = harness.queue(program.id);
  program.context = harness.context(program.id, program.queue);
  return program;
}

FutureId flush(Harness& harness, const Program& program, std::uint32_t token_count,
               std::uint32_t seed = 1) {
  harness.send(program.id, ContextAppend{program.context, count_tokens(token_count, seed)}, false);
  return harness.send(program.id, ContextFlush{program.context});
}

std::string refusal(Harness& harness, const Program& program, std::uint32_t token_count) {
  const FutureId refused = flush(harness, program, token_count, 3);
  for (int turn = 0; turn < 5; ++turn) harness.run();  // Until all others count as idle.
  EXPECT_FALSE(harness.has(program.id, refused));
  harness.clock.advance_ns(kWaitNs);
  harness.run();
  EXPECT_EQ(harness.error(program.id, refused), ErrorCode::NoFreePage);
  return harness.message(program.id, refused);
}

// 100 tokens in seven pages, of which two are wholly dropped.
void fill_with_holes(Harness& harness) {
  const Program program = start(harness);
  flush(harness, program, 100);
  harness.send(program.id, ContextDropRange{program.context, 20, 70}, false);
  harness.run();
}

TEST(PageShortage, NamesPagesOfContextsThatDroppedSlotsAndTheTierThatIsMissing) {
  Harness harness(pool_of(9));
  fill_with_holes(harness);
  EXPECT_EQ(
      refusal(harness, start(harness), 130),
      "no free KV page: 9 wanted, 4 of 9 free, 0 held by this instance; in use: 5 by contexts "
      "that dropped slots (no tier takes them: --kv-host or --kv-disk adds one)");
}

TEST(PageShortage, SaysThatTheTiersHaveNoRoomWhereThereAreSome) {
  Harness::Options options = pool_of(9);
  options.controller.tiers.host_bytes_max = 3 * kPageBytes;
  options.controller.costs.choice = TierChoice::Restore;
  Harness harness(options);
  fill_with_holes(harness);
  EXPECT_EQ(
      refusal(harness, start(harness), 130),
      "no free KV page: 9 wanted, 4 of 9 free, 0 held by this instance; in use: 5 by contexts "
      "that dropped slots (no tier has room for them: more --kv-host or --kv-disk gives it)");
}

// A program that goes on need not free a page, and meanwhile no less important program takes one.
TEST(PageShortage, EndsTheWaitOfOneForWhomThereIsNoPageHoweverMuchOthersDo) {
  Harness harness(pool_of(8));
  PageGuest first(harness, TenantId{1});
  first.alloc(1);
  PageGuest hoarder(harness, TenantId{1});
  const std::vector<ObjectId> held = hoarder.alloc(5);
  PageGuest younger(harness, TenantId{2});
  harness.run();
  const FutureId wanted = first.send(AllocPages{first.queue, harness.new_objects(3)});
  const FutureId behind = younger.send(AllocPages{younger.queue, harness.new_objects(1)});
  constexpr std::uint64_t kThoughtNs = 900'000'000;
  std::uint64_t waited_ns = 0;
  for (; !harness.has(younger.id, behind) && waited_ns < 70'000'000'000; waited_ns += kThoughtNs) {
    hoarder.begin_probe({held[0]}, kPageSize);
    for (int turn = 0; turn < 3; ++turn) harness.step();
    harness.clock.advance_ns(kThoughtNs);
  }
  EXPECT_EQ(harness.error(first.id, wanted), ErrorCode::NoFreePage);
  ASSERT_TRUE(harness.has(younger.id, behind));
  EXPECT_FALSE(harness.error(younger.id, behind));
  EXPECT_GT(waited_ns, 59'000'000'000u) << "as long as others may free some, it waits";
}

TEST(PageShortage, NamesOpaquePages) {
  Harness harness(pool_of(8));
  PageGuest author(harness, TenantId{1});
  const auto pages = author.alloc(2);
  author.write(pages, count_tokens(20), 0);
  author.send(ContextFromPages{harness.new_object(), author.queue, pages, count_tokens(20)});
  author.dealloc(pages);
  harness.run();
  EXPECT_EQ(
      refusal(harness, start(harness), 120),
      "no free KV page: 8 wanted, 6 of 8 free, 0 held by this instance; in use: 2 by contexts "
      "with opaque pages (no tier takes them: --kv-host or --kv-disk adds one)");
}

TEST(PageShortage, CountsHandlesExportsAndWhatIsAtWorkAndGivesNoAdviceThatWouldNotHelp) {
  Harness harness(pool_of(8));
  PageGuest author(harness, TenantId{1});
  const auto pages = author.alloc(3);
  author.write({pages[0]}, count_tokens(16), 0);
  author.export_pages({pages[0]}, "prefix");
  author.dealloc({pages[0]});
  harness.run();
  const Program program = start(harness);
  flush(harness, program, 32, 5);
  harness.run();
  EXPECT_EQ(refusal(harness, program, 64),
            "no free KV page: 4 wanted, 3 of 8 free, 2 held by this instance; in use: 3 by page "
            "handles and exports, 2 by contexts at work");
}

TEST(PageShortage, CountsAPageThatSeveralHaveOnce) {
  Harness harness(pool_of(9));
  const Program program = start(harness);
  flush(harness, program, 100);
  const ObjectId child = harness.new_object();
  harness.send(program.id, ContextFork{program.context, child}, false);
  for (const ObjectId context : {program.context, child}) {
    harness.send(program.id, ContextDropRange{context, 20, 70}, false);
  }
  harness.send(program.id, ContextPages{child, 0, harness.new_objects(4)}, false);
  harness.run();
  EXPECT_EQ(
      refusal(harness, start(harness), 130),
      "no free KV page: 9 wanted, 4 of 9 free, 0 held by this instance; in use: 5 by contexts "
      "that dropped slots (no tier takes them: --kv-host or --kv-disk adds one)");
}

// The device goes on, the disk does not.
void go_on_without_disk(Harness& harness) {
  for (int turn = 0; turn < 5; ++turn) {
    harness.begin_step();
    while (harness.device.inflight_count() > 0) harness.device.complete_next();
  }
}

// Begins a save of three pages, which only the save holds: its program has dropped the context.
void begin_save(Harness& harness) {
  const Program program = start(harness);
  flush(harness, program, 40);
  harness.run();
  harness.send(program.id, ContextSave{.context = program.context, .name = "saved"});
  harness.send(program.id, ContextDrop{program.context}, false);
}

TEST(PageShortage, WaitsForASaveUnderWayAndTakesItsPages) {
  store::SimulatedFileSystem files;
  Harness::Options options = pool_of(8);
  options.files = &files;
  Harness harness(options);
  begin_save(harness);
  const Program other = start(harness);
  const FutureId wanted = flush(harness, other, 120, 3);
  go_on_without_disk(harness);
  EXPECT_FALSE(harness.has(other.id, wanted));
  harness.run();
  ASSERT_TRUE(harness.has(other.id, wanted));
  EXPECT_FALSE(harness.error(other.id, wanted)) << harness.message(other.id, wanted);
}

TEST(PageShortage, CountsPagesOfASaveUnderWay) {
  store::SimulatedFileSystem files;
  Harness::Options options = pool_of(8);
  options.files = &files;
  Harness harness(options);
  begin_save(harness);
  const Program other = start(harness);
  const FutureId refused = flush(harness, other, 120, 3);
  go_on_without_disk(harness);
  harness.clock.advance_ns(kWaitNs);
  go_on_without_disk(harness);
  ASSERT_EQ(harness.error(other.id, refused), ErrorCode::NoFreePage);
  EXPECT_EQ(
      harness.message(other.id, refused),
      "no free KV page: 8 wanted, 5 of 8 free, 0 held by this instance; in use: 3 by contexts "
      "being saved");
  harness.run();
}

TEST(PageShortage, CountsPagesOfAnOpenUnderWay) {
  store::SimulatedFileSystem files;
  Harness::Options options = pool_of(24);
  options.files = &files;
  {
    Harness author(options);
    const Program program = start(author);
    flush(author, program, 320);
    author.send(program.id, ContextSave{.context = program.context, .name = "saved"});
    author.run();
  }
  Harness harness(options);
  const Program other = start(harness);  // Older than the one that opens.
  const InstanceId reader = harness.start();
  harness.send(reader, ContextOpen{.context = harness.new_object(),
                                   .queue = harness.queue(reader),
                                   .name = "saved"});
  for (int turn = 0; turn < 20 && harness.free_page_count() == 24; ++turn) harness.step();
  const std::uint32_t loaded = 24 - harness.free_page_count();
  ASSERT_GT(loaded, 0u);
  ASSERT_LT(loaded, 20u);
  const FutureId refused = flush(harness, other, 24 * kPageSize, 3);
  go_on_without_disk(harness);
  harness.clock.advance_ns(kWaitNs);
  go_on_without_disk(harness);
  ASSERT_EQ(harness.error(other.id, refused), ErrorCode::NoFreePage);
  const std::string message = harness.message(other.id, refused);
  EXPECT_NE(message.find("in use: " + std::to_string(loaded) + " by contexts being opened"),
            std::string::npos)
      << message;
  harness.run();
}

}  // namespace
}  // namespace quire::control::page_shortage_test
