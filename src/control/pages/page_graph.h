#pragma once
// The page graph is for people to look at: it shows which pages there are, which contexts share
// them, and where their bytes lie.
//
// PageWatch looks at a PageCache from time to time and remembers what it saw of each page: the
// cache itself keeps neither ages nor counts of hits. It misses events between two looks, so its
// counts are lower limits. make_page_graph() puts cache and memory together, with adjacent pages
// that look the same as one run; page_graph_text.h draws it.
//
// Owns     what was seen of each page, by name, as long as the watch lives. For a run of a program,
//          not for a server that runs for months.
// Thread   that of the cache.
// Errors   none.
// Cost     a look is O(nodes of the trie).
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "control/pages/page_cache.h"
#include "control/pages/tier_place.h"

namespace quire::control {

// For each node, by its number: contexts (and saves under way) that need its bytes now.
std::vector<std::uint32_t> count_holders(const PageCache& cache);

class PageWatch {
 public:
  struct Seen {
    std::uint32_t holder_count = 0;      // At the last look.
    std::uint32_t holder_count_max = 0;  // At one look.
    std::uint64_t hit_count = 0;         // Holders beyond the one that brought it: at least.
    std::uint64_t first_ns = 0;
    std::uint64_t held_ns = 0;  // When it was last seen held.
  };
  // Now is from any start, and never falls.
  void look(const PageCache& cache, std::uint64_t now_ns);
  const Seen* find(const PageName& name) const;

 private:
  std::map<PageName, Seen> seen_;
};

// Gone: the trie knows what the page is, but its bytes are not in the pool (dropped, evicted below
// a page that is needed, suspended). They may be on a tier all the same, as those in the pool may.
enum class PageTier : std::uint8_t { Pool, InFlight, Gone };
using PlaceOf = std::function<TierPlace(NodeId)>;

// Pages in a row, each the only child of the one before, of which all but times is the same.
struct PageRun {
  std::uint32_t level = 0;         // Runs above it.
  std::uint32_t first_page = 0;    // Index in the context.
  std::uint32_t page_count = 0;    // 0: a root, the empty prefix of a sharing domain.
  PageName name{};                 // Of its first page; of a root. Zero: in flight, no name yet.
  std::vector<TokenId> tokens;     // Of its first page.
  std::uint32_t differs_from = 0;  // Index of the token where it leaves the sibling most like it.
  PageTier tier = PageTier::Pool;
  TierPlace place = TierPlace::None;  // In addition to the pool.
  bool is_cold = false;
  bool is_opaque = false;
  std::uint32_t holder_count = 0;
  std::uint32_t holder_count_max = 0;
  std::uint64_t hit_count = 0;  // Of each page.
  std::uint64_t age_ns = 0;     // Since the first of its pages was first seen.
  std::uint64_t idle_ns = 0;    // Since one of its pages was last seen held.
};

struct PageGraph {
  std::uint32_t page_size = 0;
  std::uint32_t pool_page_count = 0;
  std::uint32_t pool_free_count = 0;
  std::uint32_t pool_cold_count = 0;
  std::uint64_t evicted_count = 0;
  std::vector<PageRun> runs;  // Each before its children; siblings in the order of their tokens.
};

// Without `place_of` there are no tiers.
PageGraph make_page_graph(const PageCache& cache, const PageWatch& watch, std::uint64_t now_ns,
                          const PlaceOf& place_of = {});

}  // namespace quire::control
