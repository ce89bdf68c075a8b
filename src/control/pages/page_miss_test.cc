#include "control/pages/page_miss.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/clock.h"

namespace quire::control::page_miss_test {
namespace {

constexpr std::uint32_t kSlots = 4;

PageCacheOptions options_of(std::uint32_t page_count) {
  PageCacheOptions options;
  options.page_count = page_count;
  options.space.page_size = kSlots;
  options.explains_misses = true;
  return options;
}

struct Content {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> positions;
  std::vector<std::uint8_t> mask;
  PageContent view() const { return {.tokens = tokens, .positions = positions, .mask = mask}; }
};

Content content_of(std::vector<std::uint32_t> tokens, std::uint32_t first = 0) {
  Content content;
  for (const std::uint32_t token : tokens) content.tokens.push_back(TokenId{token});
  content.positions.resize(tokens.size());
  std::iota(content.positions.begin(), content.positions.end(), first);
  return content;
}

// A page, held as a chain.
NodeId put(PageCache& cache, NodeId parent, const Content& content, bool is_opaque = false) {
  std::vector<PageId> pages;
  EXPECT_TRUE(cache.take(1, pages));
  return cache.commit(pages[0], parent, content.view(), HoldKind::Chain, is_opaque);
}

TEST(PageMiss, SaysNeverSeenWhereNothingIsKnown) {
  PageCache cache(options_of(4));
  const PageMiss miss = explain_miss(cache, cache.root({}), content_of({1, 2, 3, 4}).view());
  EXPECT_EQ(miss.reason, MissReason::NeverSeen);
}

TEST(PageMiss, NamesTheFirstTokenThatDiffersFromThePageMostLikeIt) {
  PageCache cache(options_of(8));
  const NodeId root = cache.root({});
  put(cache, root, content_of({9, 9, 9, 9}));
  put(cache, root, content_of({1, 2, 3, 7}));
  put(cache, root, content_of({1, 2, 8, 8}));
  const PageMiss miss = explain_miss(cache, root, content_of({1, 2, 3, 4}).view());
  EXPECT_EQ(miss.reason, MissReason::Differs);
  EXPECT_EQ(miss.field, PageField::Tokens);
  EXPECT_EQ(miss.slot, 3u);
  EXPECT_EQ(miss.here, 4u);
  EXPECT_EQ(miss.there, 7u);
  cache.verify();
}

TEST(PageMiss, NamesPositionsAndViewWhereTheTokensAreTheSame) {
  PageCache cache(options_of(8));
  const NodeId root = cache.root({});
  put(cache, root, content_of({1, 2, 3, 4}));
  const PageMiss moved = explain_miss(cache, root, content_of({1, 2, 3, 4}, 10).view());
  EXPECT_EQ(moved.reason, MissReason::Differs);
  EXPECT_EQ(moved.field, PageField::Positions);
  EXPECT_EQ(moved.slot, 0u);
  EXPECT_EQ(moved.here, 10u);
  EXPECT_EQ(moved.there, 0u);
  Content blind = content_of({1, 2, 3, 4});
  blind.mask = {0, 0, 0, 0, 0, 0, 0, 0};
  const PageMiss seen = explain_miss(cache, root, blind.view());
  EXPECT_EQ(seen.reason, MissReason::Differs);
  EXPECT_EQ(seen.field, PageField::View);
}

TEST(PageMiss, SaysHowLongAPageHasBeenGoneAndWhatWasSaidOfIt) {
  PageCache cache(options_of(1));
  const NodeId root = cache.root({});
  const Content content = content_of({1, 2, 3, 4});
  cache.set_time(5 * kSecond);
  cache.drop(put(cache, root, content), {.hint = EvictionHint::WillResume});
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  cache.set_time(7 * kSecond);
  const PageMiss miss = explain_miss(cache, root, content.view());
  EXPECT_EQ(miss.reason, MissReason::Evicted);
  EXPECT_EQ(miss.gone_ns, 2 * kSecond);
  EXPECT_EQ(miss.hint, EvictionHint::WillResume);
  // Other content in its place was never seen.
  EXPECT_EQ(explain_miss(cache, root, content_of({1, 2, 3, 5}).view()).reason,
            MissReason::NeverSeen);
}

TEST(PageMiss, TellsThatOnlyAnotherDomainHasThePage) {
  PageCache cache(options_of(8));
  const NodeId mine = cache.root({1});
  const NodeId yours = cache.root({2});
  const NodeId first = put(cache, yours, content_of({1, 2, 3, 4}));
  put(cache, first, content_of({5, 6, 7, 8}, 4));
  EXPECT_EQ(explain_miss(cache, mine, content_of({1, 2, 3, 4}).view()).reason,
            MissReason::OtherDomain);
  EXPECT_EQ(explain_miss(cache, mine, content_of({1, 2, 3, 9}).view()).reason,
            MissReason::NeverSeen);
  EXPECT_EQ(explain_miss(cache, mine, content_of({1, 2, 3, 4}).view(), MissScope::OwnDomain).reason,
            MissReason::NeverSeen);
  // After another prefix it is another page, in any domain.
  EXPECT_EQ(explain_miss(cache, mine, content_of({5, 6, 7, 8}, 4).view()).reason,
            MissReason::NeverSeen);
  const NodeId own = put(cache, mine, content_of({1, 2, 3, 4}));
  EXPECT_EQ(explain_miss(cache, own, content_of({5, 6, 7, 8}, 4).view()).reason,
            MissReason::OtherDomain);
  cache.verify();
}

TEST(PageMiss, TellsAnOpaquePageAClaimAndANameFromNothing) {
  PageCache cache(options_of(8));
  const NodeId root = cache.root({});
  put(cache, root, content_of({1, 2, 3, 4}), true);
  EXPECT_EQ(explain_miss(cache, root, content_of({1, 2, 3, 4}).view()).reason, MissReason::Opaque);
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(1, pages));
  const Content claimed = content_of({2, 2, 2, 2});
  ASSERT_TRUE(cache.claim(pages[0], root, claimed.view()));
  EXPECT_EQ(explain_miss(cache, root, claimed.view()).reason, MissReason::InFlight);
  const Content named = content_of({3, 3, 3, 3});
  const NodeId node = cache.insert_name(root, named.view(), false,
                                        cache.name_below(root, cache.name(root), named.view()));
  cache.hold_name(node);
  EXPECT_EQ(explain_miss(cache, root, named.view()).reason, MissReason::NotInPool);
  cache.verify();
}

TEST(PageMiss, SaysWhenNothingIsEverShared) {
  PageCacheOptions options = options_of(2);
  options.is_shared = false;
  PageCache cache(options);
  EXPECT_EQ(explain_miss(cache, cache.root({}), content_of({1, 2, 3, 4}).view()).reason,
            MissReason::Off);
}

TEST(PageKin, LooksAtNoMoreChildrenThanItIsTold) {
  PageKin kin;
  kin.add_root(NodeId{0}, 1);
  for (std::uint32_t child = 1; child <= 1'000; ++child)
    kin.add(NodeId{child}, NodeId{0}, 7, false);
  std::vector<NodeId> seen;
  const auto visit = [&seen](NodeId node) { return seen.push_back(node), true; };
  kin.for_each_child(NodeId{0}, 3, visit);
  EXPECT_EQ(seen, (std::vector{NodeId{1'000}, NodeId{999}, NodeId{998}}));
  seen.clear();
  kin.for_each_like(7, 64, visit);
  EXPECT_EQ(seen.size(), 64u);
}

TEST(PageKin, AgreesWithItsModelUnderRandomUse) {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 20; ++round) {
    const auto seed = static_cast<std::uint32_t>(random());
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 draw(seed);
    PageKin kin;
    std::map<std::uint32_t, std::uint32_t> parents;  // The model.
    std::map<std::uint32_t, std::uint64_t> hashes;
    kin.add_root(NodeId{0}, 99);
    for (int step = 0; step < 300; ++step) {
      const std::uint32_t node = 1 + draw() % 60;
      if (!parents.contains(node)) {
        std::uint32_t parent = draw() % 61;
        if (parent != 0 && !parents.contains(parent)) parent = 0;
        hashes[node] = draw() % 5;
        kin.add(NodeId{node}, NodeId{parent}, hashes[node], node % 7 == 0);
        parents[node] = parent;
      } else if (std::none_of(parents.begin(), parents.end(),
                              [node](const auto& each) { return each.second == node; })) {
        kin.remove(NodeId{node}, NodeId{parents[node]});
        parents.erase(node);
      }
      kin.verify();
    }
    for (const auto& [node, parent] : parents) {
      std::set<NodeId> expected;
      for (const auto& [child, above] : parents) {
        if (above == node) expected.insert(NodeId{child});
      }
      std::set<NodeId> children;
      kin.for_each_child(NodeId{node}, 100,
                         [&](NodeId each) { return children.insert(each).second; });
      EXPECT_EQ(children, expected);
    }
    for (std::uint64_t hash = 0; hash < 5; ++hash) {
      std::set<NodeId> expected;
      for (const auto& [node, parent] : parents) {
        if (node % 7 != 0 && hashes[node] == hash) expected.insert(NodeId{node});
      }
      std::set<NodeId> like;
      kin.for_each_like(hash, 100, [&](NodeId each) {
        if (kin.hash(each) == hash) like.insert(each);
        return true;
      });
      EXPECT_EQ(like, expected);
    }
  }
}

}  // namespace
}  // namespace quire::control::page_miss_test
