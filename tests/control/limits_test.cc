// Tests of calls beyond a limit: the error, and that nothing is left.
#include <gtest/gtest.h>

#include "control/harness.h"
#include "quire/draw_rule.h"

namespace quire::control::limits_test {
namespace {

struct Guest {
  InstanceId id{};
  ObjectId queue{};
  ObjectId context{};
};

Guest guest_of(Harness& harness, const InstanceLimits& limits = {}) {
  Guest guest;
  guest.id = harness.start(TenantId{1}, limits);
  guest.queue = harness.queue(guest.id);
  guest.context = harness.context(guest.id, guest.queue);
  return guest;
}

Harness::Options small_pool(std::uint32_t page_count) {
  Harness::Options options;
  options.device.page_count = page_count;
  return options;
}

TEST(Limits, APromptLongerThanTheContextIsRefusedBeforeAnyWork) {
  Harness harness;
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(5000)}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  EXPECT_EQ(harness.run(), 0);
  EXPECT_EQ(harness.error(guest.id, flush), ErrorCode::OutOfRange);
  EXPECT_EQ(harness.message(guest.id, flush),
            "the context would hold 5000 tokens; the model's limit is 4096");
  const FutureId cut =
      harness.send(guest.id, ContextEdit{guest.context, ContextEditKind::Truncate, 904});
  EXPECT_FALSE(harness.error(guest.id, cut));
  const FutureId again = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, again).counters.seq_len, 4096u);
}

TEST(Limits, ATokenDrawnFromAFullContextIsKeptAndComputedWhenOthersWereDropped) {
  Harness harness;
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(4095)}, false);
  std::vector<std::uint32_t> drawn;
  for (const bool is_full : {false, true}) {
    const FutureId step =
        harness.send(guest.id, ContextDraw{.context = guest.context,
                                           .queues_token = true,
                                           .draw = {.rule = std::make_shared<const DrawRule>()}});
    harness.run();
    const Draws draws = harness.get<Draws>(guest.id, step);
    EXPECT_EQ(draws.is_full, is_full);
    drawn.push_back(draws.all.front().token);
  }
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.message(guest.id, flush),
            "the context would hold 4097 tokens; the model's limit is 4096");
  harness.send(guest.id, ContextDropRange{guest.context, 0, 64}, false);
  const FutureId again = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, again).counters.seq_len, 4097u);
  // The token is the one that was drawn: another context that is given it goes on alike.
  const Guest other = guest_of(harness);
  harness.send(other.id, ContextAppend{other.context, count_tokens(4095)}, false);
  harness.send(other.id, ContextAppend{other.context, {drawn[0]}}, false);
  harness.send(other.id, ContextFlush{other.context}, false);
  harness.send(other.id, ContextDropRange{other.context, 0, 64}, false);
  harness.send(other.id, ContextAppend{other.context, {drawn[1]}}, false);
  std::vector<std::uint32_t> next;
  for (const Guest& each : {guest, other}) {
    const FutureId step = harness.send(
        each.id,
        ContextDraw{.context = each.context, .draw = {.rule = std::make_shared<const DrawRule>()}});
    harness.run();
    next.push_back(harness.get<Draws>(each.id, step).all.front().token);
  }
  EXPECT_EQ(next[0], next[1]);
}

TEST(Limits, TokensThatDidNotFitAreNeverLeftOutSilently) {
  Harness harness;
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(4096)}, false);
  harness.send(guest.id, ContextFlush{guest.context}, false);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(10)}, false);
  harness.send(guest.id, ContextDropRange{guest.context, 0, 512}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.error(guest.id, flush), ErrorCode::OutOfRange);
  EXPECT_EQ(harness.message(guest.id, flush),
            "the tokens appended last (9) did not fit the context at that time and were not kept; "
            "truncate by 9 and append them again");
  const auto edit = [&](ContextEditKind kind, std::uint32_t count) {
    const FutureId done = harness.send(guest.id, ContextEdit{guest.context, kind, count});
    EXPECT_FALSE(harness.error(guest.id, done));
  };
  edit(ContextEditKind::Rewind, 4100);  // Three of those that were not kept remain.
  edit(ContextEditKind::Truncate, 3);
  const FutureId again = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, again).counters.seq_len, 4097u);
}

TEST(Limits, APromptLongerThanThePoolIsRefusedBeforeAnyWork) {
  Harness harness(small_pool(4));
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(65)}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  EXPECT_EQ(harness.run(), 0);
  EXPECT_EQ(harness.error(guest.id, flush), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.message(guest.id, flush),
            "a context of 65 tokens needs 5 KV pages; the pool has 4");
}

TEST(Limits, QuotasNameTheLimit) {
  Harness harness;
  const Guest guest = guest_of(harness, {.page_count_max = 3,
                                         .embed_count_max = 2,
                                         .queue_count_max = 1,
                                         .context_count_max = 1,
                                         .pending_command_count_max = 8});
  const auto refused = [&](CommandBody body, const char* limit) {
    const FutureId future = harness.send(guest.id, std::move(body));
    harness.run();
    EXPECT_EQ(harness.error(guest.id, future), ErrorCode::QuotaExceeded);
    EXPECT_EQ(harness.message(guest.id, future).find(limit), 0u)
        << harness.message(guest.id, future);
  };
  refused(AllocPages{guest.queue, harness.new_objects(4)}, "page_count_max");
  refused(AllocEmbeds{guest.queue, harness.new_objects(3)}, "embed_count_max");
  refused(CreateQueue{harness.new_object(), ModelIndex{0}}, "queue_count_max");
  refused(ContextCreate{harness.new_object(), guest.queue}, "context_count_max");
  refused(ContextFork{guest.context, harness.new_object()}, "context_count_max");
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(49)}, false);
  refused(ContextFlush{guest.context}, "page_count_max");
}

TEST(Limits, PendingCommandsAreBoundedButNotThoseThatGiveBack) {
  Harness harness(small_pool(2));
  const Guest guest = guest_of(harness, {.pending_command_count_max = 2});
  const auto pages = harness.pages(guest.id, guest.queue, 2);
  harness.run();
  const Guest other = guest_of(harness, {.pending_command_count_max = 2});
  const auto first = harness.send(other.id, AllocPages{other.queue, harness.new_objects(1)});
  const auto second = harness.send(other.id, AllocPages{other.queue, harness.new_objects(1)});
  const auto third = harness.send(other.id, AllocPages{other.queue, harness.new_objects(1)});
  EXPECT_EQ(harness.error(other.id, third), ErrorCode::QuotaExceeded);
  harness.send(guest.id, DeallocPages{guest.queue, pages}, false);
  harness.run();
  EXPECT_FALSE(harness.error(other.id, first));
  EXPECT_FALSE(harness.error(other.id, second));
}

TEST(Limits, ATenantsBoundCountsThePagesOfAllItsProgramsAndNoOtherTenants) {
  Harness harness;
  harness.controller->set_tenant(TenantId{1}, {.weight = 1, .page_count_max = 5});
  const Guest first = guest_of(harness);
  const Guest second = guest_of(harness);
  const auto pages = harness.pages(first.id, first.queue, 3);
  harness.run();
  const FutureId refused =
      harness.send(second.id, AllocPages{second.queue, harness.new_objects(3)});
  harness.run();
  EXPECT_EQ(harness.error(second.id, refused), ErrorCode::QuotaExceeded);
  EXPECT_EQ(harness.message(second.id, refused),
            "tenant 1: page_count_max: 3 more wanted, its 2 programs hold 3 of 5; release some, or "
            "wait until another one ends");
  EXPECT_EQ(harness.controller->statistics(second.id).page_count, 0u);
  EXPECT_EQ(harness.controller->statistics(second.id).tenant_page_count, 3u);
  harness.send(second.id, ContextAppend{second.context, count_tokens(33)}, false);
  const FutureId flush = harness.send(second.id, ContextFlush{second.context});
  harness.run();
  EXPECT_EQ(harness.error(second.id, flush), ErrorCode::QuotaExceeded);
  const InstanceId stranger = harness.start(TenantId{2}, {});
  const ObjectId queue = harness.queue(stranger);
  const FutureId others = harness.send(stranger, AllocPages{queue, harness.new_objects(9)});
  harness.run();
  EXPECT_FALSE(harness.error(stranger, others));
  harness.send(first.id, DeallocPages{first.queue, pages}, false);
  const FutureId again = harness.send(second.id, ContextFlush{second.context});
  harness.run();
  EXPECT_FALSE(harness.error(second.id, again)) << "what the first gave back is the tenant's";
  harness.controller->verify();
  harness.controller->end_instance(second.id);
  harness.controller->end_instance(stranger);
  harness.run();
  harness.controller->verify();
  const Guest third = guest_of(harness);
  const FutureId all = harness.send(third.id, AllocPages{third.queue, harness.new_objects(5)});
  harness.run();
  EXPECT_FALSE(harness.error(third.id, all)) << "those of one that has ended count no more";
}

TEST(Limits, HandlesThatDoNotExistAreNotFound) {
  Harness harness;
  const Guest guest = guest_of(harness);
  const ObjectId none{12345};
  const auto not_found = [&](CommandBody body) {
    const FutureId future = harness.send(guest.id, std::move(body));
    harness.run();
    EXPECT_EQ(harness.error(guest.id, future), ErrorCode::NotFound);
  };
  not_found(Synchronize{none});
  not_found(AllocPages{none, {ObjectId{777}}});
  not_found(DeallocPages{guest.queue, {none}});
  not_found(DeallocEmbeds{guest.queue, {none}});
  not_found(EmbedText{guest.queue, {none}, {1}, {0}});
  not_found(Forward{guest.queue, {none}, {}, {}, {}, {}, false});
  not_found(GetNextDist{guest.queue, none});
  not_found(GetLogits{guest.queue, guest.context});  // Of another kind.
  not_found(ContextFlush{none});
  not_found(ContextFork{none, ObjectId{778}});
  not_found(ContextEdit{guest.queue, ContextEditKind::Truncate, 1});
  not_found(ContextDrop{none});
  not_found(MaskPage{guest.queue, none, std::vector<std::uint8_t>(16, 1)});
  not_found(DestroyQueue{none});
  not_found(CreateQueue{ObjectId{779}, ModelIndex{7}});
}

TEST(Limits, AFailedForwardGivesItsErrorToWhoeverReadsItsOutput) {
  Harness harness;
  const Guest guest = guest_of(harness);
  const auto embeds = harness.embeds(guest.id, guest.queue, 2);
  const auto pages = harness.pages(guest.id, guest.queue, 1);
  std::vector<ObjectId> many(17, embeds[0]);
  harness.send(guest.id, EmbedText{guest.queue, {embeds[0]}, {1}, {0}}, false);
  const FutureId forward =
      harness.send(guest.id, Forward{guest.queue, {}, many, pages, {embeds[1]}, {}, false});
  const FutureId next = harness.send(guest.id, GetNextDist{guest.queue, embeds[1]});
  harness.run();
  EXPECT_EQ(harness.error(guest.id, forward), ErrorCode::OutOfRange);
  EXPECT_EQ(harness.message(guest.id, next), "okv has 16 free slots for 17 tokens");
}

TEST(Limits, TheContextLengthBoundsTheDistanceAndNotThePosition) {
  Harness harness;
  const Guest guest = guest_of(harness);
  const auto pages = harness.pages(guest.id, guest.queue, 1);
  const auto embeds = harness.embeds(guest.id, guest.queue, 1);
  const auto forward_at = [&](std::uint32_t position, bool beyond) {
    harness.send(guest.id, EmbedText{guest.queue, embeds, {1}, {position}}, false);
    const FutureId future =
        harness.send(guest.id, Forward{guest.queue, pages, embeds, pages, {}, {}, beyond});
    harness.run();
    return harness.error(guest.id, future);
  };
  EXPECT_FALSE(forward_at(1'000'000, false));
  EXPECT_FALSE(forward_at(1'000'000 + 4095, false));
  EXPECT_EQ(forward_at(1'000'000 + 4096, false), ErrorCode::OutOfRange);
  EXPECT_FALSE(forward_at(1'000'000 + 4096, true));
  std::vector<std::uint8_t> view(16, 1);
  view[0] = 0;  // Without the oldest key the distance is short enough.
  harness.send(guest.id, MaskPage{guest.queue, pages[0], view}, false);
  EXPECT_FALSE(forward_at(1'000'000 + 4097, false));
}

TEST(Limits, WhoCanNeverGetAPageIsToldAndNobodyHangs) {
  Harness harness(small_pool(3));
  const Guest guest = guest_of(harness);
  const auto pages = harness.pages(guest.id, guest.queue, 3);
  const FutureId more = harness.send(guest.id, AllocPages{guest.queue, harness.new_objects(1)});
  harness.run();
  EXPECT_EQ(harness.error(guest.id, more), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.message(guest.id, more),
            "no free KV page: 1 wanted, 0 of 3 free, 3 held by this instance; in use: 3 by page "
            "handles and exports");
}

TEST(Limits, AnAllocationWaitsForAnInstanceThatMayFreeItsPagesThenGivesUp) {
  Harness harness(small_pool(3));
  const Guest holder = guest_of(harness);
  const auto pages = harness.pages(holder.id, holder.queue, 3);
  const Guest guest = guest_of(harness);
  const FutureId first = harness.send(guest.id, AllocPages{guest.queue, harness.new_objects(1)});
  harness.run();
  EXPECT_FALSE(harness.has(guest.id, first));
  harness.send(holder.id, DeallocPages{holder.queue, {pages[0]}}, false);
  harness.run();
  EXPECT_FALSE(harness.error(guest.id, first));
  const FutureId second = harness.send(guest.id, AllocPages{guest.queue, harness.new_objects(1)});
  harness.run();
  harness.clock.advance_ns(10'000'000'000);
  harness.run();
  EXPECT_EQ(harness.error(guest.id, second), ErrorCode::NoFreePage);
}

TEST(Limits, WhoWaitsForPagesOfOneThatGoesOnIsNotRefusedWhereThatThinksBetweenItsPasses) {
  Harness harness(small_pool(4));
  const Guest holder = guest_of(harness);
  const auto pages = harness.pages(holder.id, holder.queue, 3);
  const auto inputs = harness.embeds(holder.id, holder.queue, 4);
  const Guest guest = guest_of(harness);
  const FutureId waits = harness.send(guest.id, AllocPages{guest.queue, harness.new_objects(2)});
  harness.run();
  for (int pass = 0; pass < 24; ++pass) {
    harness.send(holder.id, EmbedText{holder.queue, inputs, count_tokens(4), {0, 1, 2, 3}}, false);
    const FutureId done =
        harness.send(holder.id, Forward{holder.queue, {}, inputs, {}, {}, {}, false});
    harness.run();
    ASSERT_FALSE(harness.error(holder.id, done));
    harness.clock.advance_ns(500'000'000);
    harness.run();  // The holder has nothing to build yet.
    ASSERT_FALSE(harness.has(guest.id, waits)) << "after " << pass + 1 << " half seconds";
  }
  harness.clock.advance_ns(1'000'000'000);
  harness.run();
  EXPECT_EQ(harness.error(guest.id, waits), ErrorCode::NoFreePage);
}

// The program's pages are there after six seconds and its rows are not; then an older program takes
// the pages.
TEST(Limits, WhoWaitedForPagesAndThenForRowsWaitsForPagesAnew) {
  Harness::Options options = small_pool(2);
  options.device.row_count_max = 16;
  Harness harness(options);
  const Guest holder = guest_of(harness);
  const auto pages = harness.pages(holder.id, holder.queue, 2);
  const auto begin = [&](const Guest& guest) {
    const auto inputs = harness.embeds(guest.id, guest.queue, 10);
    harness.send(guest.id,
                 EmbedText{guest.queue, inputs, count_tokens(10), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
                 false);
    return harness.send(guest.id, Forward{guest.queue, {}, inputs, {}, {}, {}, false});
  };
  const Guest older = guest_of(harness);
  const FutureId first = begin(older);
  const Guest guest = guest_of(harness);
  const FutureId waits = begin(guest);
  harness.step();
  harness.clock.advance_ns(6'000'000'000);
  harness.send(holder.id, DeallocPages{holder.queue, pages}, false);
  harness.begin_step();
  harness.send(holder.id, AllocPages{holder.queue, harness.new_objects(2)});
  harness.step();
  ASSERT_TRUE(harness.has(older.id, first));
  harness.step();
  ASSERT_FALSE(harness.has(guest.id, waits));
  harness.clock.advance_ns(6'000'000'000);
  harness.step();
  EXPECT_FALSE(harness.has(guest.id, waits)) << "six seconds for pages, and six before";
  harness.clock.advance_ns(4'000'000'000);
  harness.step();
  ASSERT_TRUE(harness.has(guest.id, waits));
  EXPECT_EQ(harness.error(guest.id, waits), ErrorCode::NoFreePage);
}

TEST(Limits, OfTwoThatHoldHalfEachTheOlderGoesOn) {
  Harness harness(small_pool(4));
  const Guest older = guest_of(harness);
  const Guest younger = guest_of(harness);
  harness.pages(older.id, older.queue, 2);
  harness.pages(younger.id, younger.queue, 2);
  const FutureId first = harness.send(older.id, AllocPages{older.queue, harness.new_objects(2)});
  const FutureId second =
      harness.send(younger.id, AllocPages{younger.queue, harness.new_objects(2)});
  harness.run();
  EXPECT_EQ(harness.error(younger.id, second), ErrorCode::NoFreePage);
  EXPECT_FALSE(harness.has(older.id, first));
  harness.controller->end_instance(younger.id);
  harness.run();
  EXPECT_FALSE(harness.error(older.id, first));
}

TEST(Limits, SynchronizeWaitsForWhatWasIssuedBeforeAndNothingElse) {
  Harness harness;
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(10)}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  const FutureId done = harness.send(guest.id, Synchronize{guest.queue});
  const ObjectId other = harness.queue(guest.id);
  const FutureId at_once = harness.send(guest.id, Synchronize{other});
  EXPECT_TRUE(harness.has(guest.id, at_once));
  harness.controller->dispatch();
  EXPECT_FALSE(harness.has(guest.id, done));
  harness.run();
  EXPECT_TRUE(harness.has(guest.id, flush));
  EXPECT_TRUE(harness.has(guest.id, done));
}

TEST(Limits, ADestroyedQueueTakesNothingMoreAndLetsItsContextsGoOn) {
  Harness harness;
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(10)}, false);
  harness.send(guest.id, DestroyQueue{guest.queue}, false);
  const FutureId late = harness.send(guest.id, Synchronize{guest.queue});
  EXPECT_EQ(harness.error(guest.id, late), ErrorCode::NotFound);
  const FutureId flush = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_FALSE(harness.error(guest.id, flush));
  harness.send(guest.id, ContextDrop{guest.context}, false);
  harness.run();
  EXPECT_TRUE(harness.controller->idle());
}

// I22: the same scenario, cut off at each of its events.
TEST(Limits, EndingAnInstanceAtAnyPointLeavesNothingAndDisturbsNobody) {
  const auto scenario = [](int cut) {
    Harness::Options options;
    options.device.page_count = 32;
    options.device.row_count_max = 24;
    Harness harness(options);
    const Guest neighbour = guest_of(harness);
    const Guest guest = guest_of(harness);
    const auto outputs = harness.embeds(guest.id, guest.queue, 2);
    const auto near = harness.embeds(neighbour.id, neighbour.queue, 1);
    const auto pages = harness.pages(guest.id, guest.queue, 2);
    const ObjectId child = harness.new_object();
    int event = 0;
    bool has_ended = false;
    const auto tick = [&](auto&& act) {
      if (event++ == cut) {
        harness.controller->end_instance(guest.id);
        has_ended = true;
      }
      if (!has_ended) act();
      harness.controller->verify();
    };
    const auto from_guest = [&](CommandBody body) {
      tick([&] { harness.send(guest.id, std::move(body), false); });
    };
    const auto half_step = [&] {
      tick([&] {});
      harness.controller->poll();
      harness.controller->dispatch();
      tick([&] {});
      while (harness.device.inflight_count() > 0) harness.device.complete_next();
    };
    harness.send(neighbour.id, ContextAppend{neighbour.context, count_tokens(60)}, false);
    from_guest(ContextAppend{guest.context, count_tokens(60)});
    from_guest(ContextForward{guest.context, {outputs[0]}});
    from_guest(GetNextDist{guest.queue, outputs[0]});
    harness.send(neighbour.id, ContextForward{neighbour.context, near}, false);
    const FutureId next = harness.send(neighbour.id, GetNextDist{neighbour.queue, near[0], 8});
    half_step();
    from_guest(ContextFork{guest.context, child});
    half_step();
    from_guest(ContextAppend{child, {1, 2, 3}});
    from_guest(ContextForward{child, {outputs[1]}});
    from_guest(EmbedText{guest.queue, {outputs[0]}, {5}, {0}});
    from_guest(Forward{guest.queue, {}, {outputs[0]}, pages, {outputs[0]}, {}, false});
    from_guest(GetNextDist{guest.queue, outputs[0]});
    from_guest(DeallocPages{guest.queue, pages});
    from_guest(ContextDrop{guest.context});
    half_step();
    half_step();
    half_step();
    from_guest(DeallocEmbeds{guest.queue, outputs});
    from_guest(DestroyQueue{guest.queue});
    half_step();
    harness.controller->end_instance(guest.id);
    harness.run();
    const auto given = harness.get<NextDistribution>(neighbour.id, next);
    harness.controller->end_instance(neighbour.id);
    harness.run();
    EXPECT_TRUE(harness.controller->idle());
    EXPECT_EQ(harness.free_page_count(), 32u);
    return std::pair(event, given.probabilities);
  };
  const auto [event_count, uncut] = scenario(1'000'000);
  for (int cut = 0; cut < event_count; ++cut) {
    SCOPED_TRACE("cut at event " + std::to_string(cut));
    EXPECT_EQ(scenario(cut).second, uncut);
  }
}

TEST(Limits, ADroppedFutureIsNeverAnswered) {
  Harness harness;
  const Guest guest = guest_of(harness);
  const auto output = harness.embeds(guest.id, guest.queue, 1);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(10)}, false);
  const FutureId forward = harness.send(guest.id, ContextForward{guest.context, output});
  const FutureId next = harness.send(guest.id, GetNextDist{guest.queue, output[0]});
  const FutureId sync = harness.send(guest.id, Synchronize{guest.queue});
  harness.send(guest.id, DropFuture{next}, false);
  harness.send(guest.id, DropFuture{forward}, false);
  harness.send(guest.id, DropFuture{sync}, false);
  harness.send(guest.id, DropFuture{FutureId{999}}, false);
  harness.run();
  EXPECT_FALSE(harness.has(guest.id, forward));
  EXPECT_FALSE(harness.has(guest.id, next));
  EXPECT_FALSE(harness.has(guest.id, sync));
  EXPECT_TRUE(harness.controller->idle());
}

TEST(Limits, ADroppedFutureOfTheDiskIsNeverAnswered) {
  store::SimulatedFileSystem files;
  Harness harness({.files = &files});
  const Guest guest = guest_of(harness);
  const FutureId list = harness.send(guest.id, SnapshotList{});
  const FutureId removal = harness.send(guest.id, SnapshotDelete{"nothing"});
  const FutureId kept = harness.send(guest.id, SnapshotList{});
  harness.send(guest.id, DropFuture{list}, false);
  harness.send(guest.id, DropFuture{removal}, false);
  harness.run();
  EXPECT_FALSE(harness.has(guest.id, list));
  EXPECT_FALSE(harness.has(guest.id, removal));
  EXPECT_TRUE(harness.has(guest.id, kept));
  EXPECT_TRUE(harness.controller->idle());
}

TEST(Limits, WhatIsGivenUpUnderABatchCountsNoMore) {
  Harness harness;
  const Guest guest = guest_of(harness, {.queue_count_max = 1, .context_count_max = 1});
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(20)}, false);
  harness.send(guest.id, ContextFlush{guest.context});
  harness.begin_step();
  ASSERT_GT(harness.device.inflight_count(), 0u);
  harness.send(guest.id, ContextDrop{guest.context}, false);
  harness.send(guest.id, DestroyQueue{guest.queue}, false);
  const ObjectId queue = harness.queue(guest.id);
  const ObjectId context = harness.context(guest.id, queue);
  harness.send(guest.id, ContextAppend{context, count_tokens(3)}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{context});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, flush).counters.seq_len, 3u);
}

TEST(Limits, ASaveWhoseProgramEndsBeforeItsPagesAreReadLeavesNothing) {
  store::SimulatedFileSystem files;
  Harness harness({.files = &files});
  const Guest guest = guest_of(harness);
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(40)}, false);
  harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  harness.send(guest.id, ContextSave{guest.context, "kept"});
  ASSERT_TRUE(harness.disk->run_one());  // The store knows what it lacks,
  harness.controller->poll();
  harness.controller->end_instance(guest.id);  // and no batch has been asked for it.
  EXPECT_EQ(harness.run(), 0);
  EXPECT_TRUE(harness.controller->idle());
}

TEST(Limits, PagesOfAllModelsAreOfOneQuota) {
  Harness harness({.has_second_model = true});
  const Guest guest = guest_of(harness, {.page_count_max = 3});
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(30)}, false);
  harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  const ObjectId other = harness.new_object();
  harness.send(guest.id, CreateQueue{other, ModelIndex{1}}, false);
  const FutureId two = harness.send(guest.id, AllocPages{other, harness.new_objects(2)});
  const FutureId one = harness.send(guest.id, AllocPages{other, harness.new_objects(1)});
  harness.run();
  EXPECT_EQ(harness.error(guest.id, two), ErrorCode::QuotaExceeded);
  EXPECT_EQ(harness.message(guest.id, two),
            "page_count_max: 2 more wanted, 0 of 3 held, 2 of other models");
  EXPECT_FALSE(harness.error(guest.id, one));
}

TEST(Limits, WhoLentPagesAndTokensIsToldThatItsChildrenHaveThem) {
  Harness harness;
  const Guest guest = guest_of(harness, {.page_count_max = 3,
                                         .token_count_max = 40,
                                         .childrens_page_count = 5,
                                         .childrens_token_count = 60});
  const FutureId pages =
      harness.send(guest.id, AllocPages{harness.queue(guest.id), harness.new_objects(4)});
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(41)}, false);
  const FutureId tokens = harness.send(guest.id, ContextFlush{guest.context});
  harness.run();
  EXPECT_EQ(harness.message(guest.id, pages),
            "page_count_max: 4 more wanted, 0 of 8 held, 5 are its children's");
  EXPECT_EQ(harness.message(guest.id, tokens),
            "token_count_max: 41 more wanted, 0 of 100 used, 60 are its children's");
  harness.send(guest.id, AllocPages{harness.queue(guest.id), harness.new_objects(3)}, false);
  const ObjectId context = harness.context(guest.id, harness.queue(guest.id));
  harness.send(guest.id, ContextAppend{context, count_tokens(20)}, false);
  const FutureId held = harness.send(guest.id, ContextFlush{context});
  harness.run();
  EXPECT_EQ(harness.message(guest.id, held),
            "page_count_max: 2 more wanted, 3 of 8 held, 5 are its children's");
}

TEST(Limits, ACommandThatNobodyWaitsForIsNotLostForWhatPends) {
  Harness harness;
  const Guest guest = guest_of(harness, {.pending_command_count_max = 1});
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(20)}, false);
  harness.send(guest.id, ContextFlush{guest.context});
  const ObjectId queue = harness.queue(guest.id);
  const ObjectId context = harness.context(guest.id, queue);
  EXPECT_EQ(harness.error(guest.id, harness.send(guest.id, Synchronize{queue})),
            ErrorCode::QuotaExceeded);
  harness.run();
  harness.send(guest.id, ContextAppend{context, count_tokens(3)}, false);
  const FutureId flush = harness.send(guest.id, ContextFlush{context});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, flush).counters.seq_len, 3u);
}

TEST(Limits, ASnapshotWhosePagesAreStillThereIsOfTheQuotaToo) {
  store::SimulatedFileSystem files;
  Harness harness({.files = &files});
  const Guest guest = guest_of(harness, {.page_count_max = 4});
  harness.send(guest.id, ContextAppend{guest.context, count_tokens(48)}, false);
  harness.send(guest.id, ContextFlush{guest.context});
  harness.send(guest.id, ContextSave{guest.context, "kept"});
  harness.run();
  harness.send(guest.id, ContextDrop{guest.context}, false);
  const ObjectId other = harness.context(guest.id, guest.queue);
  harness.send(guest.id, ContextAppend{other, count_tokens(48, 100)}, false);
  harness.send(guest.id, ContextFlush{other});
  harness.run();
  const FutureId open =
      harness.send(guest.id, ContextOpen{harness.new_object(), guest.queue, "kept"});
  harness.run();
  EXPECT_EQ(harness.error(guest.id, open), ErrorCode::QuotaExceeded);
  harness.send(guest.id, ContextDrop{other}, false);
  const FutureId again =
      harness.send(guest.id, ContextOpen{harness.new_object(), guest.queue, "kept"});
  harness.run();
  EXPECT_EQ(harness.get<Opened>(guest.id, again).counters.seq_len, 48u);
}

}  // namespace
}  // namespace quire::control::limits_test
