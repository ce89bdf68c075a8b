#include "control/pages/page_graph.h"

#include <algorithm>

namespace quire::control {
namespace {

std::size_t index_of(NodeId node) {
  return static_cast<std::size_t>(node);
}

std::vector<NodeId> nodes_of(const PageTrie& trie) {
  std::vector<NodeId> nodes;
  trie.for_each([&nodes](NodeId node) { nodes.push_back(node); });
  return nodes;
}

std::size_t table_size(const std::vector<NodeId>& nodes) {
  std::size_t size = 0;
  for (const NodeId node : nodes) size = std::max(size, index_of(node) + 1);
  return size;
}

PageTier tier_of(Residency residency) {
  switch (residency) {
    case Residency::InFlight:
      return PageTier::InFlight;
    case Residency::Resident:
      return PageTier::Pool;
    case Residency::None:
      break;
  }
  return PageTier::Gone;
}

// The sources of a graph.
struct Sources {
  const PageCache& cache;
  const PageWatch& watch;
  std::uint64_t now_ns = 0;
  const PlaceOf& place_of;
};

PageRun describe(const Sources& sources, NodeId node, std::uint32_t holder_count) {
  const PageCache& cache = sources.cache;
  const PageTrie& trie = cache.trie();
  PageRun run;
  run.holder_count = holder_count;
  if (trie.is_root(node)) {
    run.name = trie.name(node);
    return run;
  }
  run.page_count = 1;
  const std::span<const TokenId> tokens = trie.tokens(node);
  run.tokens.assign(tokens.begin(), tokens.end());
  run.tier = tier_of(trie.residency(node));
  if (sources.place_of) run.place = sources.place_of(node);
  run.is_opaque = trie.is_opaque(node);
  run.is_cold =
      run.tier == PageTier::Pool && cache.pool().state(trie.page(node)) == PageState::Cold;
  if (!trie.has_name(node)) return run;
  run.name = trie.name(node);
  if (const PageWatch::Seen* seen = sources.watch.find(run.name)) {
    run.holder_count_max = std::max(seen->holder_count_max, holder_count);
    run.hit_count = seen->hit_count;
    run.age_ns = sources.now_ns - seen->first_ns;
    run.idle_ns = sources.now_ns - seen->held_ns;
  }
  return run;
}

bool looks_like(const PageRun& one, const PageRun& other) {
  return one.page_count > 0 && one.tier == other.tier && one.place == other.place &&
         one.is_cold == other.is_cold && one.is_opaque == other.is_opaque &&
         one.holder_count == other.holder_count && one.holder_count_max == other.holder_count_max &&
         one.hit_count == other.hit_count;
}

// With how many equal tokens two pages begin.
std::uint32_t common_count(const PageTrie& trie, NodeId one, NodeId other) {
  const std::span<const TokenId> a = trie.tokens(one);
  const std::span<const TokenId> b = trie.tokens(other);
  const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::uint32_t>(differs.first - a.begin());
}

// Walks the trie from its roots, children in the order of their tokens, and joins pages that look
// alike to runs.
class Runs {
 public:
  explicit Runs(const Sources& sources)
      : sources_(sources), trie_(sources.cache.trie()), holders_(count_holders(sources.cache)) {
    const std::vector<NodeId> nodes = nodes_of(trie_);
    children_.resize(table_size(nodes));
    for (const NodeId node : nodes) {
      if (trie_.is_root(node)) {
        next_.push_back({.node = node});
      } else {
        children_[index_of(trie_.parent(node))].push_back(node);
      }
    }
  }

  void take_all(std::vector<PageRun>& runs) {
    while (!next_.empty()) {
      const Next at = next_.back();
      next_.pop_back();
      PageRun run = describe_node(at.node);
      run.level = at.level;
      run.first_page = at.first_page;
      run.differs_from = at.differs_from;
      const NodeId last = extend(run, at.node);
      add_below(last, at.level + 1, at.first_page + run.page_count);
      runs.push_back(std::move(run));
    }
  }

 private:
  struct Next {
    NodeId node = kNoNode;
    std::uint32_t level = 0;
    std::uint32_t first_page = 0;
    std::uint32_t differs_from = 0;
  };

  PageRun describe_node(NodeId node) const {
    return describe(sources_, node, holders_[index_of(node)]);
  }

  // Adds to `run`, which ends with `last`, the only children that look like it. Its new last page.
  NodeId extend(PageRun& run, NodeId last) const {
    while (children_[index_of(last)].size() == 1) {
      const NodeId child = children_[index_of(last)].front();
      const PageRun below = describe_node(child);
      if (!looks_like(run, below)) break;
      ++run.page_count;
      run.age_ns = std::max(run.age_ns, below.age_ns);
      run.idle_ns = std::min(run.idle_ns, below.idle_ns);
      last = child;
    }
    return last;
  }

  // The children of `node` come next. The stack gives the one that was added last first.
  void add_below(NodeId node, std::uint32_t level, std::uint32_t first_page) {
    std::vector<NodeId>& below = children_[index_of(node)];
    std::sort(below.begin(), below.end(),
              [this](NodeId one, NodeId other) { return is_later(one, other); });
    for (std::size_t index = 0; index < below.size(); ++index) {
      // In order, the sibling most like it is next to it.
      const std::uint32_t before =
          index == 0 ? 0 : common_count(trie_, below[index - 1], below[index]);
      const std::uint32_t behind =
          index + 1 == below.size() ? 0 : common_count(trie_, below[index], below[index + 1]);
      next_.push_back({.node = below[index],
                       .level = level,
                       .first_page = first_page,
                       .differs_from = std::max(before, behind)});
    }
  }

  bool is_later(NodeId one, NodeId other) const {
    const auto a = trie_.tokens(one);
    const auto b = trie_.tokens(other);
    if (std::ranges::equal(a, b)) return one > other;
    return std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end());
  }

  const Sources sources_;
  const PageTrie& trie_;
  const std::vector<std::uint32_t> holders_;
  std::vector<std::vector<NodeId>> children_;  // By node.
  std::vector<Next> next_;                     // A stack.
};

}  // namespace

std::vector<std::uint32_t> count_holders(const PageCache& cache) {
  const PageTrie& trie = cache.trie();
  const std::vector<NodeId> nodes = nodes_of(trie);
  std::vector<std::uint32_t> chains(table_size(nodes), 0);    // Through it.
  std::vector<std::uint32_t> children(table_size(nodes), 0);  // Yet to be added.
  std::vector<NodeId> ready;
  for (const NodeId node : nodes) {
    // A chain is held by its last node; each child that is held holds its parent once.
    chains[index_of(node)] += trie.chain_hold_count(node);
    const bool is_first = trie.is_root(node) || trie.is_root(trie.parent(node));
    if (!is_first && trie.chain_hold_count(node) > 0) chains[index_of(trie.parent(node))] -= 1;
    children[index_of(node)] = trie.child_count(node);
    if (trie.child_count(node) == 0) ready.push_back(node);
  }
  std::vector<std::uint32_t> holders(chains.size(), 0);
  while (!ready.empty()) {
    const NodeId node = ready.back();
    ready.pop_back();
    std::uint32_t& count = holders[index_of(node)];
    count = chains[index_of(node)];
    if (trie.is_root(node)) continue;
    const NodeId parent = trie.parent(node);
    chains[index_of(parent)] += count;
    if (--children[index_of(parent)] == 0) ready.push_back(parent);
    // Contexts that dropped a range hold what is left page by page.
    if (trie.residency(node) == Residency::Resident) {
      count += cache.pool().hold_count(trie.page(node)) - trie.chain_hold_count(node);
    }
  }
  return holders;
}

void PageWatch::look(const PageCache& cache, std::uint64_t now_ns) {
  const PageTrie& trie = cache.trie();
  const std::vector<std::uint32_t> holders = count_holders(cache);
  trie.for_each([&](NodeId node) {
    if (trie.is_root(node) || !trie.has_name(node)) return;
    const std::uint32_t count = holders[index_of(node)];
    const auto [found, is_new] = seen_.try_emplace(trie.name(node));
    Seen& seen = found->second;
    if (is_new) {
      seen.first_ns = seen.held_ns = now_ns;
      seen.hit_count = count > 1 ? count - 1 : 0;
    } else if (count > seen.holder_count) {
      seen.hit_count += count - seen.holder_count;
    }
    seen.holder_count = count;
    seen.holder_count_max = std::max(seen.holder_count_max, count);
    if (count > 0) seen.held_ns = now_ns;
  });
}

const PageWatch::Seen* PageWatch::find(const PageName& name) const {
  const auto found = seen_.find(name);
  return found == seen_.end() ? nullptr : &found->second;
}

PageGraph make_page_graph(const PageCache& cache, const PageWatch& watch, std::uint64_t now_ns,
                          const PlaceOf& place_of) {
  PageGraph graph{.page_size = cache.page_size(),
                  .pool_page_count = cache.page_count(),
                  .pool_free_count = cache.pool().free_count(),
                  .pool_cold_count = cache.pool().cold_count(),
                  .evicted_count = cache.evicted_count(),
                  .runs = {}};
  Runs({.cache = cache, .watch = watch, .now_ns = now_ns, .place_of = place_of})
      .take_all(graph.runs);
  return graph;
}

}  // namespace quire::control
