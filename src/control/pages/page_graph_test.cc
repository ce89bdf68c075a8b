#include "control/pages/page_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/pages/page_graph_text.h"

namespace quire::control {
namespace {

// A cache of pages of two tokens, and a watch that looks when the test calls it.
class PageGraphTest : public testing::Test {
 protected:
  PageGraphTest() : cache_(options()), root_(cache_.root(Digest{})) {}

  static PageCacheOptions options() {
    PageCacheOptions options;
    options.page_count = 32;
    options.space.page_size = 2;
    return options;
  }
  // The next page of a chain that `parent` ends, held in its stead; as contexts do it.
  NodeId push(NodeId parent, std::uint32_t token, std::uint32_t position) {
    const std::array<TokenId, 2> tokens{TokenId{token}, TokenId{token + 1}};
    const std::array<std::uint32_t, 2> positions{position, position + 1};
    const PageContent content{.tokens = tokens, .positions = positions};
    const PageMatch match = cache_.find(parent, content);
    NodeId node = match.node;
    if (match.state == MatchState::Resident) {
      cache_.hold(node);
    } else {
      std::vector<PageId> pages;
      EXPECT_TRUE(cache_.take(1, pages));
      node = cache_.commit(pages.front(), parent, content, HoldKind::Chain);
    }
    if (!cache_.is_root(parent)) cache_.drop(parent);
    cache_.verify();
    return node;
  }
  // A context with these first tokens of its pages.
  NodeId chain(const std::vector<std::uint32_t>& pages) {
    NodeId head = root_;
    std::uint32_t position = 0;
    for (const std::uint32_t token : pages) {
      head = push(head, token, position);
      position += 2;
    }
    return head;
  }
  PageGraph graph() { return make_page_graph(cache_, watch_, now_ns_); }
  void look() { watch_.look(cache_, now_ns_); }

  PageCache cache_;
  NodeId root_;
  PageWatch watch_;
  std::uint64_t now_ns_ = 5 * kSecond;
};

TEST_F(PageGraphTest, AnEmptyCacheIsItsRootAlone) {
  look();
  ASSERT_EQ(graph().runs.size(), 1u);
  EXPECT_EQ(graph().runs[0].page_count, 0u);
  const std::string text = page_graph_text(graph());
  EXPECT_NE(text.find("0 pages of 2 tokens known"), std::string::npos) << text;
}

TEST_F(PageGraphTest, HoldersAreThoseOfAllChainsThatPassThrough) {
  const NodeId one = chain({10, 20, 30});
  const NodeId two = chain({10, 20, 40});
  const NodeId three = chain({10, 20, 40});
  look();
  const std::vector<std::uint32_t> holders = count_holders(cache_);
  EXPECT_EQ(holders[static_cast<std::size_t>(one)], 1u);
  EXPECT_EQ(holders[static_cast<std::size_t>(two)], 2u);
  EXPECT_EQ(holders[static_cast<std::size_t>(cache_.parent(one))], 3u);
  EXPECT_EQ(holders[static_cast<std::size_t>(cache_.parent(cache_.parent(one)))], 3u);
  // One that holds a page alone, as a context that dropped the pages before it.
  cache_.hold_page(one);
  EXPECT_EQ(count_holders(cache_)[static_cast<std::size_t>(one)], 2u);
  EXPECT_EQ(count_holders(cache_)[static_cast<std::size_t>(cache_.parent(one))], 3u);
  cache_.drop_page(one);
  for (const NodeId head : {one, two, three}) cache_.drop(head);
}

TEST_F(PageGraphTest, NeighboursThatLookTheSameAreOneRun) {
  const NodeId one = chain({10, 20, 30, 50});
  const NodeId two = chain({10, 20, 40});
  look();
  const PageGraph drawn = graph();
  ASSERT_EQ(drawn.runs.size(), 4u);
  EXPECT_EQ(drawn.runs[1].page_count, 2u);
  EXPECT_EQ(drawn.runs[1].holder_count, 2u);
  EXPECT_EQ(drawn.runs[1].hit_count, 1u);
  EXPECT_EQ(drawn.runs[1].tokens, (std::vector<TokenId>{TokenId{10}, TokenId{11}}));
  EXPECT_EQ(drawn.runs[2].page_count, 2u);
  EXPECT_EQ(drawn.runs[2].first_page, 2u);
  EXPECT_EQ(drawn.runs[2].level, 2u);
  EXPECT_EQ(drawn.runs[3].page_count, 1u);
  EXPECT_EQ(drawn.runs[3].level, 2u);
  cache_.drop(one);
  cache_.drop(two);
}

TEST_F(PageGraphTest, WhatWasSharedIsRememberedWhenAllHaveEnded) {
  const NodeId one = chain({10});
  look();
  now_ns_ += kSecond;
  const NodeId two = chain({10});
  look();
  cache_.drop(one);
  cache_.drop(two);
  now_ns_ += 2 * kSecond;
  look();
  const NodeId three = chain({10});
  now_ns_ += kSecond;
  look();
  cache_.drop(three);
  now_ns_ += kSecond;
  look();
  const PageRun run = graph().runs.at(1);
  EXPECT_EQ(run.holder_count, 0u);
  EXPECT_EQ(run.holder_count_max, 2u);
  EXPECT_EQ(run.hit_count, 2u);
  EXPECT_TRUE(run.is_cold);
  EXPECT_EQ(run.age_ns, 5 * kSecond);
  EXPECT_EQ(run.idle_ns, kSecond);
}

TEST_F(PageGraphTest, PagesWithoutBytesAndInFlightAreCalledThat) {
  const NodeId head = chain({10, 20});
  const NodeId first = cache_.parent(head);
  cache_.hold_name(head);
  cache_.drop(head);
  cache_.evict_all();
  const std::array<TokenId, 2> tokens{TokenId{70}, TokenId{71}};
  const std::array<std::uint32_t, 2> positions{0, 1};
  std::vector<PageId> pages;
  ASSERT_TRUE(cache_.take(1, pages));
  ASSERT_TRUE(cache_.claim(pages[0], root_, {.tokens = tokens, .positions = positions}));
  look();
  const PageGraph drawn = graph();
  ASSERT_EQ(drawn.runs.size(), 3u);
  EXPECT_EQ(drawn.runs[1].tier, PageTier::Gone);
  EXPECT_EQ(drawn.runs[1].page_count, 2u);
  EXPECT_EQ(drawn.runs[1].name, cache_.name(first));
  EXPECT_EQ(drawn.runs[2].tier, PageTier::InFlight);
  EXPECT_EQ(drawn.evicted_count, 2u);
  const std::string text = page_graph_text(drawn);
  EXPECT_NE(text.find("\nnone       ├─ 2 pages"), std::string::npos) << text;
  EXPECT_NE(text.find("\nin flight  └─ 1 page, slots 0 to 1  ["), std::string::npos) << text;
  EXPECT_NE(text.find("2 without bytes"), std::string::npos) << text;
  cache_.unclaim(pages[0]);
  cache_.release(pages[0]);
  cache_.drop_name(head);
}

TEST_F(PageGraphTest, TheTreeIsDrawnWithItsBranches) {
  const NodeId one = chain({10, 20});
  const NodeId two = chain({10, 30, 50});
  const NodeId three = chain({60});
  look();
  const std::string text = page_graph_text(graph());
  const std::string root = hex(cache_.name(root_)).substr(0, 8);
  EXPECT_EQ(
      text,
      "5 pages of 2 tokens known, 1 shared or found again; pool of 32: 27 free, 0 cold, 0 "
      "evicted so far; 0 in host memory, 0 on disk, 0 without bytes\n"
      "           sharing domain of root " +
          root +
          "\n"
          "pool       ├─ 1 page, slots 0 to 1: held by 2, 1 hit, age 0.0 s  [10 11 ...]\n"
          "pool       │  ├─ 1 page, slots 2 to 3: held by 1, 0 hits, age 0.0 s  [20 21 ...]\n"
          "pool       │  └─ 2 pages, slots 2 to 5: held by 1, 0 hits, age 0.0 s  [30 31 ...]\n"
          "pool       └─ 1 page, slots 0 to 1: held by 1, 0 hits, age 0.0 s  [60 61 ...]\n");
  for (const NodeId head : {one, two, three}) cache_.drop(head);
}

// The bytes that an evicted page has elsewhere, and those that one in the pool has there too.
TEST_F(PageGraphTest, EachRunSaysWhereItsBytesAre) {
  const NodeId kept = chain({10});
  const NodeId head = chain({20, 30, 40, 50});
  cache_.hold_name(head);
  cache_.drop(head);
  cache_.evict_all();
  look();
  std::map<NodeId, TierPlace> places{{kept, TierPlace::Disk}};
  NodeId node = head;
  for (const TierPlace place : {TierPlace::Disk, TierPlace::Leaving, TierPlace::Host}) {
    places[node] = place;
    node = cache_.parent(node);
  }
  const PageGraph drawn = make_page_graph(cache_, watch_, now_ns_, [&](NodeId of) {
    const auto found = places.find(of);
    return found == places.end() ? TierPlace::None : found->second;
  });
  ASSERT_EQ(drawn.runs.size(), 6u);
  const std::string text = page_graph_text(drawn);
  EXPECT_NE(text.find("1 in host memory, 2 on disk, 1 without bytes"), std::string::npos) << text;
  const std::string dot = page_graph_dot(drawn);
  const std::vector<std::pair<const char*, const char*>> wanted = {{"pool+disk", "black"},
                                                                   {"none", "grey"},
                                                                   {"host", "orange"},
                                                                   {"leaving", "orange"},
                                                                   {"disk", "brown"}};
  // After the lines of the summary and the root.
  std::size_t line = text.find('\n', text.find('\n') + 1) + 1;
  for (std::size_t run = 0; run < wanted.size(); ++run) {
    const auto& [place, colour] = wanted[run];
    EXPECT_EQ(text.substr(line, text.find(' ', line) - line), place) << text;
    line = text.find('\n', line) + 1;
    const std::size_t box = dot.find("n" + std::to_string(run + 1) + " [label=");
    const std::string drawn_box = dot.substr(box, dot.find('\n', box) - box);
    EXPECT_NE(drawn_box.find("\\n" + std::string(place) + "\\n"), std::string::npos) << drawn_box;
    EXPECT_NE(drawn_box.find("color=" + std::string(colour)), std::string::npos) << drawn_box;
  }
  cache_.drop_name(head);
  cache_.drop(kept);
}

TEST_F(PageGraphTest, SiblingsAreShownFromWhereTheyDiffer) {
  const std::array<std::uint32_t, 2> positions{0, 1};
  for (const std::uint32_t second : {7u, 8u, 9u}) {
    const std::array<TokenId, 2> tokens{TokenId{5}, TokenId{second}};
    std::vector<PageId> pages;
    ASSERT_TRUE(cache_.take(1, pages));
    cache_.drop(cache_.commit(pages[0], root_, {.tokens = tokens, .positions = positions},
                              HoldKind::Chain));
  }
  look();
  const std::string text = page_graph_text(graph());
  for (const char* shown : {"[... 7 ...]", "[... 8 ...]", "[... 9 ...]"}) {
    EXPECT_NE(text.find(shown), std::string::npos) << shown << "\n" << text;
  }
}

TEST_F(PageGraphTest, WhatAPageHoldsCannotBreakOutOfALineOrALabel) {
  const NodeId one = chain({10});
  look();
  const auto label = [](std::span<const TokenId>) {
    return std::string("a\"b\\c\n\x1b[31m\xff") + "\u00e9";
  };
  const std::string text = page_graph_text(graph(), label);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const std::string dot = page_graph_dot(graph(), label);
  EXPECT_NE(dot.find("\\\"a\\\"b\\\\c\\\\x0a"), std::string::npos) << dot;
  cache_.drop(one);
}

TEST_F(PageGraphTest, GraphvizHasANodeForEachRunAndAnEdgeToItsParent) {
  const NodeId one = chain({10, 20});
  const NodeId two = chain({10, 30});
  look();
  const std::string dot = page_graph_dot(graph());
  EXPECT_EQ(dot.rfind("digraph pages {", 0), 0u);
  for (const char* edge : {"n0 -> n1;", "n1 -> n2;", "n1 -> n3;"}) {
    EXPECT_NE(dot.find(edge), std::string::npos) << edge << "\n" << dot;
  }
  EXPECT_NE(dot.find("lightblue"), std::string::npos);
  EXPECT_EQ(dot.substr(dot.size() - 2), "}\n");
  cache_.drop(one);
  cache_.drop(two);
}

}  // namespace
}  // namespace quire::control
