#include "control/pages/page_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <numeric>

#include "base/seeds.h"
#include "support/page_cache_program.h"

namespace quire::control {
namespace {

PageCacheOptions options_of(std::uint32_t page_count, std::uint32_t page_size,
                            std::uint32_t hash_bits = 64) {
  PageCacheOptions options;
  options.page_count = page_count;
  options.space.page_size = page_size;
  options.hash_bits = hash_bits;
  return options;
}

struct Content {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> positions;
  PageContent view() const { return {.tokens = tokens, .positions = positions}; }
};

Content content_of(std::uint32_t page_size, std::uint32_t depth, std::uint32_t token) {
  Content content;
  for (std::uint32_t slot = 0; slot < page_size; ++slot) {
    content.tokens.push_back(TokenId{token});
    content.positions.push_back(depth * page_size + slot);
  }
  return content;
}

NodeId add(PageCache& cache, NodeId head, std::uint32_t depth, std::uint32_t token) {
  std::vector<PageId> pages;
  EXPECT_TRUE(cache.take(1, pages));
  const Content content = content_of(cache.page_size(), depth, token);
  const NodeId node = cache.commit(pages[0], head, content.view(), HoldKind::Chain);
  cache.drop(head);
  return node;
}

// Takes what it is offered and keeps the name, as a tier does.
class Keeper final : public EvictionSink {
 public:
  explicit Keeper(PageCache& cache) : cache_(cache) { cache.set_eviction_sink(this); }
  bool takes(NodeId node, bool is_done) override {
    if (is_done) return false;
    cache_.hold_name(node);
    nodes.push_back(node);
    return true;
  }
  std::vector<NodeId> nodes;

 private:
  PageCache& cache_;
};

TEST(PageCache, WhatASinkTakesIsFreeAfterTheBatchThatSavesItAndComesBackToItsNode) {
  PageCache cache(options_of(2, 16));
  Keeper keeper(cache);
  const NodeId root = cache.root({});
  const NodeId node = add(cache, add(cache, root, 0, 1), 1, 2);
  cache.drop(node);
  cache.open_batch(BatchId{1});
  EXPECT_FALSE(cache.make_room(2));
  ASSERT_EQ(keeper.nodes.size(), 2u);
  EXPECT_EQ(keeper.nodes.front(), node) << "leaves first";
  cache.verify();
  cache.complete_batch(BatchId{1});
  EXPECT_EQ(cache.pool().free_count(), 2u);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  const NodeId parent = keeper.nodes.back();
  const Content content = content_of(16, 0, 1);
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::Named);
  cache.claim_back(pages[0], parent);
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::InFlight);
  cache.land(pages[0]);
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::Resident);
  EXPECT_EQ(cache.page_of(parent), pages[0]);
  cache.verify();
  cache.drop_page(parent);
  EXPECT_EQ(cache.pool().cold_count(), 1u);
  cache.verify();
}

TEST(PageCache, WhatItsProgramIsDoneWithIsOfferedAsSuch) {
  PageCache cache(options_of(1, 16));
  Keeper keeper(cache);
  const NodeId node = add(cache, cache.root({}), 0, 1);
  cache.drop(node, {.hint = EvictionHint::Done});
  cache.open_batch(BatchId{1});
  EXPECT_TRUE(cache.make_room(1));
  EXPECT_TRUE(keeper.nodes.empty());
}

TEST(PageCache, AClaimIsSeenButNotSharedUntilItIsWritten) {
  PageCache cache(options_of(4, 16));
  const NodeId root = cache.root({});
  const Content content = content_of(16, 0, 1);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(2, pages));
  EXPECT_TRUE(cache.claim(pages[0], root, content.view()));
  EXPECT_FALSE(cache.claim(pages[1], root, content.view()));
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::InFlight);
  cache.verify();
  cache.unclaim(pages[0]);
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::Absent);
  cache.release(pages[0]);
  cache.release(pages[1]);
  cache.verify();
}

TEST(PageCache, TheSecondOfTwoEqualPagesIsGivenBack) {
  PageCache cache(options_of(4, 16));
  const NodeId root = cache.root({});
  const NodeId first = add(cache, root, 0, 7);
  const NodeId second = add(cache, root, 0, 7);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cache.pool().hold_count(cache.page_of(first)), 2u);
  EXPECT_EQ(cache.pool().free_count(), 3u);
  cache.verify();
}

TEST(PageCache, DomainsDoNotMeet) {
  PageCache cache(options_of(4, 16));
  const NodeId mine = cache.root({1});
  const NodeId yours = cache.root({2});
  EXPECT_EQ(cache.root({1}), mine);
  const NodeId page = add(cache, mine, 0, 7);
  EXPECT_EQ(cache.find(yours, content_of(16, 0, 7).view()).state, MatchState::Absent);
  EXPECT_NE(cache.name(page), cache.name(add(cache, yours, 0, 7)));
}

TEST(PageCache, ColdPagesAreGivenUpLeavesFirst) {
  PageCache cache(options_of(3, 16));
  NodeId head = cache.root({});
  for (std::uint32_t depth = 0; depth < 3; ++depth) head = add(cache, head, depth, 1);
  const PageId leaf = cache.page_of(head);
  cache.drop(head);
  cache.verify();
  EXPECT_EQ(cache.available(), 3u);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  EXPECT_EQ(pages[0], leaf);
  const NodeId first = cache.find(cache.root({}), content_of(16, 0, 1).view()).node;
  EXPECT_EQ(cache.find(first, content_of(16, 1, 1).view()).state, MatchState::Resident);
  cache.verify();
}

TEST(PageCache, AColdPageThatABatchMayReadIsNotEvicted) {
  PageCache cache(options_of(1, 16));
  const NodeId head = add(cache, cache.root({}), 0, 1);
  cache.open_batch(BatchId{1});
  cache.drop(head);
  std::vector<PageId> pages;
  EXPECT_EQ(cache.available(), 0u);
  EXPECT_FALSE(cache.take(1, pages));
  cache.complete_batch(BatchId{1});
  EXPECT_TRUE(cache.take(1, pages));
}

TEST(PageCache, TheHintOfTheLastHolderDecidesWhichPageGoesFirst) {
  for (const auto kind :
       {EvictionPolicyKind::Default, EvictionPolicyKind::Lru, EvictionPolicyKind::S3Fifo}) {
    PageCacheOptions options = options_of(4, 16);
    options.eviction = kind;
    PageCache cache(options);
    const NodeId root = cache.root({});
    std::vector<NodeId> nodes;
    for (const std::uint32_t token : {1u, 2u, 3u, 4u}) nodes.push_back(add(cache, root, 0, token));
    cache.drop(nodes[0], {.hint = EvictionHint::Keep, .keep_seconds = 60});
    cache.drop(nodes[1], {.hint = EvictionHint::WillResume});
    cache.drop(nodes[2]);
    cache.drop(nodes[3], {.hint = EvictionHint::Done});
    std::vector<PageId> order;
    for (const NodeId node : nodes) order.push_back(cache.page_of(node));
    for (std::uint32_t index = 4; index-- > 0;) {
      std::vector<PageId> pages;
      ASSERT_TRUE(cache.take(1, pages));
      EXPECT_EQ(pages.front(), order[index]) << name_of(kind);
      cache.verify();
    }
  }
}

TEST(PageCache, AFloodOfOneTenantLeavesAnotherItsShare) {
  PageCache cache(options_of(8, 16));
  const NodeId mine = cache.root({1}, TenantId{1});
  const NodeId yours = cache.root({2}, TenantId{2});
  for (std::uint32_t token = 0; token < 4; ++token) cache.drop(add(cache, mine, 0, token));
  for (std::uint32_t token = 0; token < 40; ++token) cache.drop(add(cache, yours, 0, token));
  // Half of the pool each; at a tie either may give one.
  EXPECT_GE(cache.cold_pages().page_count_of(TenantId{1}), 3u);
}

TEST(PageCache, AChainOfAMillionTokensIsLetGoWithoutRecursion) {
  PageCache cache(options_of(125'000, 8));
  NodeId head = cache.root({});
  for (std::uint32_t depth = 0; depth < 125'000; ++depth) head = add(cache, head, depth, 1);
  cache.drop(head);
  EXPECT_EQ(cache.pool().cold_count(), 125'000u);
  cache.evict_all();
  EXPECT_EQ(cache.pool().free_count(), 125'000u);
}

TEST(PageCache, APageHeldAloneOutlivesItsChainAndFindsItsParentAgain) {
  PageCache cache(options_of(3, 16));
  const NodeId root = cache.root({});
  NodeId head = root;
  for (std::uint32_t depth = 0; depth < 3; ++depth) head = add(cache, head, depth, 1);
  const NodeId first = cache.parent(cache.parent(head));
  cache.hold_page(head);
  cache.drop(head);
  EXPECT_EQ(cache.available(), 2u);
  cache.evict_all();
  EXPECT_TRUE(cache.is_resident(head));
  EXPECT_FALSE(cache.is_resident(first));
  // The node is there; its bytes are computed again, and the chain is whole.
  EXPECT_EQ(cache.find(root, content_of(16, 0, 1).view()).state, MatchState::Named);
  EXPECT_EQ(add(cache, root, 0, 1), first);
  cache.verify();
  cache.drop(first);
  cache.drop_page(head);
  cache.verify();
}

TEST(PageCache, AClaimPassesOverToWhoeverWroteTheSameFirst) {
  PageCache cache(options_of(4, 16));
  const NodeId root = cache.root({});
  const Content content = content_of(16, 0, 1);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(2, pages));
  ASSERT_TRUE(cache.claim(pages[0], root, content.view()));
  const NodeId node = cache.commit(pages[1], root, content.view(), HoldKind::Chain);
  EXPECT_EQ(cache.page_of(node), pages[1]);
  EXPECT_EQ(cache.commit(pages[0], root, content.view(), HoldKind::Chain), node);
  EXPECT_EQ(cache.pool().hold_count(pages[1]), 2u);
  EXPECT_EQ(cache.pool().free_count(), 3u);
  cache.verify();
}

TEST(PageCache, AnOpaquePageIsNeverFoundAndGoesWithItsLastHolder) {
  PageCache cache(options_of(2, 16));
  const NodeId root = cache.root({});
  const Content content = content_of(16, 0, 1);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  const NodeId node = cache.commit(pages[0], root, content.view(), HoldKind::Chain, true);
  EXPECT_EQ(cache.find(root, content.view()).state, MatchState::Absent);
  EXPECT_NE(cache.name(node), cache.name(add(cache, root, 0, 1)));
  cache.drop(node);
  EXPECT_EQ(cache.pool().free_count(), 1u);
  cache.verify();
}

TEST(PageCache, AgreesWithItsModelWhateverTheWidthOfTheHash) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const std::uint32_t hash_bits : {4u, 8u, 64u}) {
      test::PageCacheProgram(seed, hash_bits).run();
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quire::control
