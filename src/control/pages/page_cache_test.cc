#include "control/pages/page_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <random>

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
  const NodeId node = cache.commit(pages[0], head, content.view());
  cache.drop(head);
  return node;
}

TEST(PageCache, AClaimIsSeenButNotSharedUntilItIsWritten) {
  PageCache cache(options_of(4, 16));
  const NodeId root = cache.root({});
  const Content content = content_of(16, 0, 1);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(2, pages));
  EXPECT_TRUE(cache.claim(pages[0], root, content.view()));
  EXPECT_FALSE(cache.claim(pages[1], root, content.view()));
  EXPECT_EQ(cache.find(root, content.view()).state, NodeState::InFlight);
  cache.verify();
  cache.unclaim(pages[0]);
  EXPECT_EQ(cache.find(root, content.view()).state, NodeState::Absent);
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
  EXPECT_EQ(cache.pool().hold_count(PageCache::page_of(first)), 2u);
  EXPECT_EQ(cache.pool().free_count(), 3u);
  cache.verify();
}

TEST(PageCache, DomainsDoNotMeet) {
  PageCache cache(options_of(4, 16));
  const NodeId mine = cache.root({1});
  const NodeId yours = cache.root({2});
  EXPECT_EQ(cache.root({1}), mine);
  const NodeId page = add(cache, mine, 0, 7);
  EXPECT_EQ(cache.find(yours, content_of(16, 0, 7).view()).state, NodeState::Absent);
  EXPECT_NE(cache.name(page), cache.name(add(cache, yours, 0, 7)));
}

TEST(PageCache, ColdPagesAreGivenUpLeavesFirst) {
  PageCache cache(options_of(3, 16));
  NodeId head = cache.root({});
  for (std::uint32_t depth = 0; depth < 3; ++depth) head = add(cache, head, depth, 1);
  cache.drop(head);
  cache.verify();
  EXPECT_EQ(cache.available(), 3u);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  EXPECT_EQ(pages[0], PageCache::page_of(head));  // The leaf.
  const NodeId first = cache.find(cache.root({}), content_of(16, 0, 1).view()).node;
  EXPECT_EQ(cache.find(first, content_of(16, 1, 1).view()).state, NodeState::Published);
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

TEST(PageCache, AChainOfAMillionTokensIsLetGoWithoutRecursion) {
  PageCache cache(options_of(125'000, 8));
  NodeId head = cache.root({});
  for (std::uint32_t depth = 0; depth < 125'000; ++depth) head = add(cache, head, depth, 1);
  cache.drop(head);
  EXPECT_EQ(cache.pool().cold_count(), 125'000u);
  cache.evict_all();
  EXPECT_EQ(cache.pool().free_count(), 125'000u);
}

// Random chains beside a map from (parent's path, token) to what was committed there. With hashes
// of 4 and 8 bits everything collides, and nothing may be found that was not put there (I10).
void run_random(std::uint64_t seed, std::uint32_t hash_bits) {
  SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::uint32_t page_count = 4 + static_cast<std::uint32_t>(random() % 20);
  const std::uint32_t page_size = 1 + static_cast<std::uint32_t>(random() % 4);
  PageCache cache(options_of(page_count, page_size, hash_bits));
  const NodeId root = cache.root({});
  struct Head {
    NodeId node;
    std::vector<std::uint32_t> path;
  };
  std::vector<Head> heads;
  for (int step = 0; step < 600; ++step) {
    const std::size_t pick = heads.empty() ? 0 : random() % heads.size();
    switch (random() % 5) {
      case 0:
        heads.push_back({.node = root, .path = {}});
        break;
      case 1:
        if (heads.empty()) break;
        cache.hold(heads[pick].node);
        heads.push_back(heads[pick]);
        break;
      case 2:
        if (heads.empty()) break;
        cache.drop(heads[pick].node);
        heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(pick));
        break;
      default: {
        if (heads.empty()) break;
        Head& head = heads[pick];
        const auto token = static_cast<std::uint32_t>(random() % 3);
        const auto depth = static_cast<std::uint32_t>(head.path.size());
        const Content content = content_of(page_size, depth, token);
        const PageMatch match = cache.find(head.node, content.view());
        if (match.state == NodeState::Published) {
          ASSERT_EQ(cache.parent(match.node), head.node);
          ASSERT_EQ(cache.last_token(match.node), TokenId{token});
          cache.hold(match.node);
          cache.drop(head.node);
          head.node = match.node;
        } else {
          std::vector<PageId> pages;
          if (!cache.take(1, pages)) break;
          head.node = [&] {
            const NodeId node = cache.commit(pages[0], head.node, content.view());
            cache.drop(head.node);
            return node;
          }();
        }
        head.path.push_back(token);
      }
    }
    cache.verify();
    for (const Head& head : heads) {
      NodeId node = head.node;
      for (std::size_t index = head.path.size(); index > 0; --index) {
        ASSERT_EQ(cache.last_token(node), TokenId{head.path[index - 1]});
        node = cache.parent(node);
      }
      ASSERT_EQ(node, root);
    }
  }
  for (const Head& head : heads) cache.drop(head.node);
  cache.evict_all();
  cache.verify();
  ASSERT_EQ(cache.pool().free_count(), page_count);
}

TEST(PageCache, AgreesWithItsModelWhateverTheWidthOfTheHash) {
  const char* given = std::getenv("QUIRE_TEST_SEED");
  const char* wanted = std::getenv("QUIRE_TEST_SEED_COUNT");
  const std::uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const std::uint64_t count =
      given != nullptr ? 1 : (wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 8);
  std::cout << "seeds " << first << " .. " << first + count - 1 << "\n";
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    for (const std::uint32_t hash_bits : {4u, 8u, 64u}) run_random(seed, hash_bits);
  }
}

}  // namespace
}  // namespace quire::control
