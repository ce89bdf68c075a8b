// pages() of a context and the way back.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kPageSize = 8;
constexpr std::uint32_t kPageCount = 32;
constexpr TenantId kTenant{1};

class PagesOfContexts : public testing::Test {
 protected:
  static Harness::Options options_of() {
    Harness::Options options;
    options.device.page_size = kPageSize;
    options.device.page_count = kPageCount;
    return options;
  }
  ObjectId context_of(std::uint32_t token_count, std::uint32_t first = 1) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    guest.send(ContextAppend{context, count_tokens(token_count, first)});
    guest.send(ContextFlush{context});
    harness.run();
    return context;
  }
  SharedPages share(ObjectId context, std::uint32_t first, const std::vector<ObjectId>& pages) {
    const FutureId future = guest.send(ContextPages{context, first, pages});
    harness.run();
    return harness.get<SharedPages>(guest.id, future);
  }
  std::vector<ObjectId> pages_of(ObjectId context, std::size_t count) {
    const auto pages = harness.new_objects(count);
    share(context, 0, pages);
    return pages;
  }
  FutureId back(ObjectId context, const std::vector<ObjectId>& pages,
                const std::vector<std::uint32_t>& tokens) {
    return guest.send(ContextFromPages{context, guest.queue, pages, tokens});
  }
  ObjectId adopt(const std::vector<ObjectId>& pages, const std::vector<std::uint32_t>& tokens) {
    const ObjectId context = harness.new_object();
    const FutureId future = back(context, pages, tokens);
    harness.run();
    const Forked made = harness.get<Forked>(guest.id, future);
    EXPECT_EQ(made.child, context);
    EXPECT_EQ(made.counters.seq_len, tokens.size());
    return context;
  }
  std::optional<ErrorCode> outcome(FutureId future) {
    harness.run();
    return harness.error(guest.id, future);
  }
  // The distribution after the context once `tokens` are appended.
  std::string next(ObjectId context, const std::vector<std::uint32_t>& tokens) {
    const auto output = harness.embeds(guest.id, guest.queue, 1);
    guest.send(ContextAppend{context, tokens});
    guest.send(ContextForward{context, output});
    const FutureId future = guest.send(GetNextDist{guest.queue, output[0], 4});
    harness.run();
    return guest.text_of(future);
  }
  // The same without any cache: every token computed by a context of its own.
  static std::string plain_next(const std::vector<std::uint32_t>& tokens) {
    Harness alone(options_of());
    PageGuest author(alone, kTenant);
    const ObjectId context = alone.context(author.id, author.queue);
    const auto output = alone.embeds(author.id, author.queue, 1);
    author.send(ContextAppend{context, tokens});
    author.send(ContextForward{context, output});
    const FutureId future = author.send(GetNextDist{author.queue, output[0], 4});
    alone.run();
    return author.text_of(future);
  }
  static std::vector<std::uint32_t> joined(std::vector<std::uint32_t> tokens,
                                           const std::vector<std::uint32_t>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
    return tokens;
  }
  std::uint32_t pages_held() const { return kPageCount - harness.free_page_count(); }
  std::uint64_t rows() const { return harness.controller->statistics().row_count; }

  Harness harness{options_of()};
  PageGuest guest{harness, kTenant};
  const std::vector<std::uint32_t> more_ = {101, 102, 103};
};

TEST_F(PagesOfContexts, HoldWhatTheContextHoldsAndCostNothing) {
  const ObjectId context = context_of(19);
  const std::uint32_t held = pages_held();
  const auto pages = harness.new_objects(3);
  const SharedPages shared = share(context, 0, pages);
  ASSERT_EQ(shared.all.size(), 3u);
  EXPECT_EQ(shared.all[1].index, 1u);
  EXPECT_EQ(shared.all[1].written, 0xffu);
  EXPECT_EQ(shared.all[2].written, 0x07u);
  EXPECT_EQ(pages_held(), held);
  // The same by hand.
  const auto own = guest.alloc(3);
  guest.write(own, count_tokens(19), 0);
  harness.run();
  EXPECT_EQ(guest.probe(pages, kPageSize), guest.probe(own, kPageSize));
  const auto last = harness.new_objects(1);
  EXPECT_EQ(share(context, 2, last).all[0].index, 2u);
  EXPECT_EQ(guest.probe(last, kPageSize), guest.probe({pages[2]}, kPageSize));
}

TEST_F(PagesOfContexts, StayAsTheyWereWhenTheContextGoesOn) {
  const ObjectId context = context_of(11);
  const auto pages = pages_of(context, 2);
  const std::string before = guest.probe(pages, kPageSize);
  EXPECT_EQ(next(context, more_), plain_next(joined(count_tokens(11), more_)));
  EXPECT_EQ(guest.probe(pages, kPageSize), before);
  guest.send(ContextDrop{context});
  harness.run();
  EXPECT_EQ(guest.probe(pages, kPageSize), before) << "counts outlive the context";
  EXPECT_FALSE(outcome(guest.dealloc(pages)));
  harness.controller->end_instance(guest.id);
  EXPECT_EQ(pages_held(), 0u);
}

TEST_F(PagesOfContexts, AreReadOnly) {
  const auto pages = pages_of(context_of(11), 2);
  const auto own = guest.alloc(1);
  guest.write(own, {1}, 0);
  EXPECT_EQ(outcome(guest.write({pages[1]}, {5}, 11)), ErrorCode::PageCommitted);
  EXPECT_EQ(outcome(guest.copy(own[0], pages[0], 0, 0, 1)), ErrorCode::PageCommitted);
  EXPECT_EQ(outcome(guest.copy(own[0], pages[1], 0, 4, 1)), ErrorCode::PageCommitted);
  EXPECT_FALSE(outcome(guest.copy(pages[1], own[0], 0, 1, 3)));
}

TEST_F(PagesOfContexts, LackWhatTheContextDropped) {
  const ObjectId context = context_of(27);
  guest.send(ContextDropRange{context, 4, 18});
  const auto pages = harness.new_objects(3);
  const SharedPages shared = share(context, 0, pages);
  EXPECT_EQ(shared.all[0].index, 0u);
  EXPECT_EQ(shared.all[1].index, 2u) << "page 1 is gone";
  EXPECT_EQ(shared.all[2].index, 3u);
  EXPECT_EQ(shared.all[0].written, 0x0fu);
  EXPECT_EQ(shared.all[1].written, 0xfcu);
  const auto own = guest.alloc(4);
  guest.write(own, count_tokens(27), 0);
  guest.mask(own[0], {1, 1, 1, 1, 0, 0, 0, 0});
  guest.mask(own[2], {0, 0, 1, 1, 1, 1, 1, 1});
  harness.run();
  EXPECT_EQ(guest.probe({pages[0], kNoObject, pages[1], pages[2]}, kPageSize),
            guest.probe({own[0], kNoObject, own[2], own[3]}, kPageSize));
}

// Slots that were dropped, rewound into and never written hold what the page's last user left.
TEST_F(PagesOfContexts, NoMaskShowsASlotThatWasNeverWritten) {
  const ObjectId context = context_of(24);
  guest.send(ContextDropRange{context, 8, 16});
  guest.send(ContextEdit{context, ContextEditKind::Rewind, 12});
  guest.send(ContextAppend{context, count_tokens(4, 200)});
  guest.send(ContextFlush{context});
  const auto pages = harness.new_objects(2);
  EXPECT_EQ(share(context, 0, pages).all[1].written, 0xf0u);
  const std::string before = guest.probe(pages, kPageSize);
  guest.mask(pages[1], std::vector<std::uint8_t>(kPageSize, 1));
  EXPECT_EQ(guest.probe(pages, kPageSize), before);
  const auto own = guest.alloc(1);
  EXPECT_EQ(outcome(guest.copy(pages[1], own[0], 3, 0, 1)), ErrorCode::PageNotFull);
  EXPECT_EQ(outcome(back(harness.new_object(), pages, count_tokens(12))), ErrorCode::PageNotFull);
  guest.export_pages(pages, "name");
  const auto imported = guest.import_pages("name", 2);
  EXPECT_EQ(guest.probe(imported, kPageSize), before);
}

TEST_F(PagesOfContexts, BeyondThoseThatHoldTokensAreOutOfRange) {
  const ObjectId context = context_of(11);
  guest.send(ContextEdit{context, ContextEditKind::ReservePages, 2});
  EXPECT_EQ(outcome(guest.send(ContextPages{context, 0, harness.new_objects(3)})),
            ErrorCode::OutOfRange);
  EXPECT_EQ(outcome(guest.send(ContextPages{context, 0xffffffffu, harness.new_objects(2)})),
            ErrorCode::OutOfRange);
  EXPECT_EQ(outcome(guest.send(ContextPages{ObjectId{9999}, 0, harness.new_objects(1)})),
            ErrorCode::NotFound);
  EXPECT_FALSE(outcome(guest.send(ContextPages{context, 2, {}})));
}

TEST_F(PagesOfContexts, OfASuspendedContextComeBackFirst) {
  const ObjectId context = context_of(11);
  PageGuest greedy(harness, kTenant);
  const auto all = greedy.alloc(kPageCount);
  for (int build = 0; build < 3; ++build) harness.run();  // Until the context counts as idle.
  EXPECT_EQ(harness.controller->statistics().suspension_count, 1u);
  greedy.dealloc({all.begin(), all.begin() + 8});
  const auto pages = pages_of(context, 2);
  const auto own = guest.alloc(2);
  guest.write(own, count_tokens(11), 0);
  harness.run();
  EXPECT_EQ(guest.probe(pages, kPageSize), guest.probe(own, kPageSize));
}

TEST_F(PagesOfContexts, BackIsAForkWithoutACopy) {
  const ObjectId context = context_of(19);
  const auto pages = pages_of(context, 3);
  const std::uint32_t held = pages_held();
  const ObjectId again = adopt(pages, count_tokens(19));
  EXPECT_EQ(pages_held(), held);
  const std::uint64_t before = rows();
  const std::string wanted = plain_next(joined(count_tokens(19), more_));
  EXPECT_EQ(next(again, more_), wanted);
  EXPECT_EQ(rows(), before + 3);
  EXPECT_EQ(next(context, more_), wanted);
  // Tokens that it computed are found by their content.
  guest.send(ContextAppend{again, count_tokens(2, 200)});
  guest.send(ContextFlush{again});
  harness.run();
  const ObjectId third = context_of(0);
  guest.send(ContextAppend{third, joined(joined(count_tokens(19), more_), count_tokens(2, 200))});
  const FutureId found = guest.send(ContextFlush{third});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, found).counters.found_token_count, 24u);
}

TEST_F(PagesOfContexts, BackFromARewoundPageCopiesItAtTheNextWrite) {
  const ObjectId context = context_of(16);
  guest.send(ContextEdit{context, ContextEditKind::Rewind, 11});
  const auto pages = pages_of(context, 2);
  const ObjectId again = adopt(pages, count_tokens(11));
  const std::string wanted = plain_next(joined(count_tokens(11), more_));
  EXPECT_EQ(next(again, more_), wanted);
  EXPECT_EQ(next(context, more_), wanted);
}

TEST_F(PagesOfContexts, BackThroughAnExportIsSharedToo) {
  const auto pages = pages_of(context_of(16), 2);
  guest.export_pages(pages, "prompt");
  harness.run();
  harness.controller->end_instance(guest.id);
  PageGuest heir(harness, kTenant);
  const auto imported = heir.import_pages("prompt", 2);
  const ObjectId context = harness.new_object();
  const FutureId made =
      heir.send(ContextFromPages{context, heir.queue, imported, count_tokens(16)});
  harness.run();
  EXPECT_FALSE(harness.error(heir.id, made));
  EXPECT_EQ(pages_held(), 2u);
}

TEST_F(PagesOfContexts, MadeByHandAreCopiedAndNeverFound) {
  const auto own = guest.alloc(3);
  guest.write(own, count_tokens(19), 0);
  harness.run();
  const ObjectId made = adopt(own, count_tokens(19));
  EXPECT_EQ(pages_held(), 6u);
  // Nothing of what follows is found under the tokens that were claimed.
  EXPECT_EQ(next(made, count_tokens(8, 300)),
            plain_next(joined(count_tokens(19), count_tokens(8, 300))));
  const ObjectId honest = context_of(0);
  guest.send(ContextAppend{honest, joined(count_tokens(19), count_tokens(8, 300))});
  const FutureId flushed = guest.send(ContextFlush{honest});
  harness.run();
  EXPECT_EQ(harness.get<ContextState>(guest.id, flushed).counters.found_token_count, 0u);
  // Pages by hand stay what they were: writable.
  EXPECT_FALSE(outcome(guest.write({own[2]}, {7}, 19)));
}

// A program that lies about tokens deceives no other program, however the page is cut again.
TEST_F(PagesOfContexts, TokensThatAreNotThePagesNeverReachAnotherContext) {
  const auto own = guest.alloc(2);
  guest.write(own, count_tokens(16, 400), 0);
  harness.run();
  const ObjectId liar = adopt(own, count_tokens(16));
  guest.send(ContextEdit{liar, ContextEditKind::Rewind, 11});
  guest.send(ContextAppend{liar, count_tokens(30, 77)});
  guest.send(ContextFlush{liar});
  const FutureId forked = guest.send(ContextFork{liar, harness.new_object()});
  EXPECT_FALSE(outcome(forked));
  guest.send(ContextEdit{liar, ContextEditKind::Rewind, 4});
  guest.send(ContextAppend{liar, count_tokens(12, 60)});
  guest.send(ContextFlush{liar});
  harness.run();
  for (const auto& tokens : {count_tokens(16), joined(count_tokens(11), count_tokens(30, 77)),
                             joined(count_tokens(4), count_tokens(12, 60))}) {
    const ObjectId honest = context_of(0);
    EXPECT_EQ(next(honest, joined(tokens, more_)), plain_next(joined(tokens, more_)));
  }
}

TEST_F(PagesOfContexts, FromTheFirstForeignPageOnAllAreCopied) {
  const auto first = pages_of(context_of(16), 2);
  const auto other = pages_of(context_of(16, 300), 2);
  const std::uint32_t held = pages_held();
  const ObjectId mixed = adopt({first[0], other[1]}, joined(count_tokens(8), [] {
                                 auto all = count_tokens(16, 300);
                                 return std::vector<std::uint32_t>(all.begin() + 8, all.end());
                               }()));
  EXPECT_EQ(pages_held(), held + 1);
  // The context attends to both pages as they are.
  const auto shared = pages_of(mixed, 2);
  EXPECT_EQ(guest.probe(shared, kPageSize), guest.probe({first[0], other[1]}, kPageSize));
}

TEST_F(PagesOfContexts, OfAnotherTenantAreCopied) {
  const auto pages = pages_of(context_of(16), 2);
  harness.controller->end_instance(guest.id);
  PageGuest author(harness, kTenant, {.may_export_publicly = true});
  const ObjectId context = harness.context(author.id, author.queue);
  author.send(ContextAppend{context, count_tokens(16)});
  author.send(ContextFlush{context});
  const auto own = harness.new_objects(2);
  author.send(ContextPages{context, 0, own});
  author.export_pages(own, "system", true);
  harness.run();
  PageGuest other(harness, TenantId{2});
  const auto imported = other.import_pages("system", 2);
  const std::uint32_t held = pages_held();
  const ObjectId copy = harness.new_object();
  const FutureId made = other.send(ContextFromPages{copy, other.queue, imported, count_tokens(16)});
  harness.run();
  EXPECT_FALSE(harness.error(other.id, made));
  EXPECT_EQ(pages_held(), held + 2);
}

TEST_F(PagesOfContexts, WhatAHandleMasksIsDroppedInTheContext) {
  const ObjectId context = context_of(24);
  const auto pages = pages_of(context, 3);
  guest.mask(pages[0], {1, 1, 1, 1, 0, 0, 0, 0});
  guest.mask(pages[1], std::vector<std::uint8_t>(kPageSize, 0));
  const ObjectId again = adopt(pages, count_tokens(24));
  guest.send(ContextDropRange{context, 4, 16});
  harness.run();
  EXPECT_EQ(next(again, more_), next(context, more_));
}

// The tokens of a page that was written under a mask do not show what it depends on. If the
// context's own view does not say it, only the page's bytes do.
TEST_F(PagesOfContexts, WrittenUnderAMaskAreCopiedSoThatNoSuspensionComputesThemWithoutIt) {
  for (const std::uint32_t length : {32u, 27u}) {  // The last page is the context's own, or cut.
    const ObjectId plain = context_of(24);
    const ObjectId masked = harness.new_object();
    guest.send(ContextFork{plain, masked});
    guest.send(ContextDropRange{masked, 8, 16});
    const std::vector<std::uint32_t> last = count_tokens(8, 200);
    guest.send(ContextAppend{masked, last});
    guest.send(ContextFlush{masked});
    guest.send(ContextEdit{masked, ContextEditKind::Rewind, length});
    std::vector<ObjectId> pages = pages_of(plain, 3);
    pages.push_back(harness.new_object());
    share(masked, 2, {pages.back()});
    std::vector<std::uint32_t> tokens = joined(count_tokens(24), last);
    tokens.resize(length);
    const ObjectId made = adopt(pages, tokens);
    const ObjectId twin = harness.new_object();
    guest.send(ContextFork{made, twin});
    const std::string wanted = next(twin, more_);
    for (const ObjectId each : {plain, masked, twin}) guest.send(ContextDrop{each});
    guest.dealloc(pages);
    PageGuest greedy(harness, kTenant);
    greedy.alloc(kPageCount);
    for (int build = 0; build < 4; ++build) harness.run();  // Until the context counts as idle.
    harness.controller->end_instance(greedy.id);
    EXPECT_EQ(next(made, more_), wanted) << length << " tokens";
    guest.send(ContextDrop{made});
    harness.run();
  }
}

TEST_F(PagesOfContexts, BackIsRefusedWithTheReason) {
  const auto pages = pages_of(context_of(19), 3);
  const auto own = guest.alloc(2);
  guest.write({own[0]}, count_tokens(8), 4);
  const auto refused = [&](const std::vector<ObjectId>& list,
                           const std::vector<std::uint32_t>& tokens) {
    return outcome(back(harness.new_object(), list, tokens));
  };
  EXPECT_EQ(refused(pages, count_tokens(18)), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused(pages, count_tokens(19, 2)), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused({pages[1]}, count_tokens(8)), ErrorCode::InvalidArgument) << "positions";
  EXPECT_EQ(refused({own[0]}, count_tokens(8)), ErrorCode::InvalidArgument) << "positions";
  EXPECT_EQ(refused({own[1]}, {}), ErrorCode::PageNotFull);
  EXPECT_EQ(refused({pages[0], pages[2], pages[1]}, count_tokens(19)), ErrorCode::PageNotFull);
  EXPECT_EQ(refused({pages[0], pages[0]}, count_tokens(16)), ErrorCode::InvalidArgument);
  EXPECT_EQ(refused({ObjectId{9999}}, count_tokens(8)), ErrorCode::NotFound);
  EXPECT_EQ(refused({pages[0]}, std::vector<std::uint32_t>(8, 512)), ErrorCode::OutOfRange);
  guest.copy(pages[0], own[1], 3, 3, 2);
  EXPECT_EQ(refused({own[1]}, count_tokens(2)), ErrorCode::PageNotFull) << "a gap";
  const auto gone = harness.new_objects(1);
  guest.import_pages("absent", gone);
  EXPECT_EQ(refused(gone, count_tokens(8)), ErrorCode::NoFreePage);
  // A context of nothing is a context.
  EXPECT_FALSE(refused({}, {}));
}

TEST_F(PagesOfContexts, BackWaitsForPagesAndFailsWithTheNumbers) {
  const auto own = guest.alloc(kPageCount / 2 + 1);
  guest.write(own, std::vector<std::uint32_t>(32, 3), 0);
  for (std::uint32_t written = 32; written < own.size() * kPageSize; written += 8) {
    guest.write(own, count_tokens(8), written);
  }
  std::vector<std::uint32_t> tokens(own.size() * kPageSize, 3);
  EXPECT_EQ(outcome(back(harness.new_object(), own, tokens)), ErrorCode::NoFreePage);
  PageGuest bounded(harness, kTenant, {.page_count_max = 3});
  const auto two = bounded.alloc(2);
  bounded.write(two, count_tokens(16), 0);
  const FutureId beyond =
      bounded.send(ContextFromPages{harness.new_object(), bounded.queue, two, count_tokens(16)});
  harness.run();
  EXPECT_EQ(harness.error(bounded.id, beyond), ErrorCode::QuotaExceeded);
}

}  // namespace
}  // namespace quire::control
