#include "control/contexts/away_pages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/contexts/context_parts.h"
#include "control/contexts/context_swap.h"

namespace quire::control {
namespace {

// Named pages that a context lacks: [begin, end) of the chain of `head`, which has `count`.
struct AwayChain {
  NodeId head = kNoNode;
  std::uint32_t count = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Pages of a context that was not swapped, from the root on, that it has or had.
std::uint32_t charged_count(const Context& context, std::uint32_t page_size) {
  const std::uint64_t tail = std::uint64_t{context.written_count} + context.lost_count;
  return context.committed_count + std::max(divide_up(tail, page_size), context.reserved_count);
}

// Pages of one that was not swapped, from the root on, that it has.
std::uint32_t present_count(const Context& context) {
  if (context.is_suspended) return 0;
  return context.committed_count + static_cast<std::uint32_t>(context.tail.size());
}

AwayChain named_part(const Context& context, std::uint32_t page_size) {
  AwayChain chain;
  if (context.away_head != kNoNode) {
    chain.head = context.away_head;
    chain.count = context.away_head_count;
  } else if (context.is_suspended) {
    chain.head = context.head;
    chain.count = context.committed_count;
  }
  chain.end = std::min(chain.count, charged_full_count(context, page_size));
  chain.begin = std::min(present_count(context), chain.end);
  return chain;
}

// Counts nodes that nobody counted yet.
class AwayCount {
 public:
  AwayCount(const PageLedger& ledger, const PageCache& cache, PageCharge& charge)
      : ledger_(ledger), cache_(cache), charge_(charge) {}

  // What a context computes anew is among its working pages; until they are committed, nobody else
  // is charged with it.
  void pass_over_tail(const Context& context) {
    const AwayChain chain = named_part(context, cache_.page_size());
    if (context.is_suspended || chain.head == kNoNode) return;
    NodeId node = chain.head;
    for (std::uint32_t index = chain.count; index > context.committed_count; --index) {
      if (index <= chain.begin) charge_.away[PageCharge::key(node)] = 1;
      node = cache_.parent(node);
    }
  }

  void count_chain(const Context& context) {
    const std::uint32_t page_size = cache_.page_size();
    const AwayChain chain = named_part(context, page_size);
    NodeId node = chain.head;
    for (std::uint32_t index = chain.count; index > chain.begin; --index) {
      if (index <= chain.end && !count(node)) break;  // Nor those above it.
      node = cache_.parent(node);
    }
    charge_.page_count += away_page_count(context, page_size) - (chain.end - chain.begin);
  }

  void count_swapped(const SwappedContext& swapped) {
    for (const WindowPage& page : swapped.pages) count(page.node);
    charge_.page_count +=
        std::max(static_cast<std::uint32_t>(swapped.tail.size()), swapped.reserved_count);
  }

 private:
  // False: it was counted before.
  bool count(NodeId node) {
    std::uint8_t& is_counted = charge_.away[PageCharge::key(node)];
    if (std::exchange(is_counted, 1) != 0) return false;
    if (!cache_.is_resident(node) || !ledger_.holds(cache_.page_of(node))) ++charge_.page_count;
    return true;
  }

  const PageLedger& ledger_;
  const PageCache& cache_;
  PageCharge& charge_;
};

void drop_away_head(Context& context, ModelResources& resources) {
  if (context.away_head == kNoNode) return;
  resources.cache.drop_name(std::exchange(context.away_head, kNoNode));
}

void settle(ModelResources& resources, PageLedger& ledger) {
  const std::uint32_t page_size = page_size_of(resources);
  for (std::size_t index = ledger.away().size(); index > 0; --index) {
    Context& context = *ledger.away()[index - 1];
    const bool is_back = !context.is_suspended && context.lost_count == 0;
    if (is_back && away_page_count(context, page_size) == 0) {
      forget_away(context, resources, ledger);
    }
  }
}

}  // namespace

std::uint32_t charged_full_count(const Context& context, std::uint32_t page_size) {
  return context.committed_count + (context.written_count + context.lost_count) / page_size;
}

std::uint32_t away_page_count(const Context& context, std::uint32_t page_size) {
  if (context.swapped) {
    const SwappedContext& swapped = *context.swapped;
    return static_cast<std::uint32_t>(swapped.pages.size()) +
           std::max(static_cast<std::uint32_t>(swapped.tail.size()), swapped.reserved_count);
  }
  // Slots that were never written need no page.
  if (context.has_unnamed_start && context.tail.empty()) return 0;
  const std::uint32_t charged = charged_count(context, page_size);
  return charged - std::min(charged, present_count(context));
}

PageCharge charge_of(PageLedger& ledger, ModelResources& resources, std::uint32_t enough) {
  PageCharge charge{.page_count = ledger.page_count(), .away = {}};
  if (ledger.away().empty()) return charge;
  settle(resources, ledger);
  std::uint64_t bound = charge.page_count;
  for (const Context* context : ledger.away()) {
    bound += away_page_count(*context, page_size_of(resources));
  }
  if (bound <= enough) {
    charge.page_count = static_cast<std::uint32_t>(bound);
    return charge;
  }
  AwayCount count(ledger, resources.cache, charge);
  for (const Context* context : ledger.away()) {
    if (!context->swapped) count.pass_over_tail(*context);
  }
  for (const Context* context : ledger.away()) {
    if (!context->swapped) count.count_chain(*context);
  }
  // Last, because they may have holes: above a page of theirs, not all are counted.
  for (const Context* context : ledger.away()) {
    if (context->swapped) count.count_swapped(*context->swapped);
  }
  return charge;
}

std::uint32_t coming_page_count(const PageLedger& ledger, const ModelResources& resources,
                                const Context* asking) {
  if (ledger.away().empty()) return 0;
  const PageCache& cache = resources.cache;
  FlatMap<std::uint8_t> seen;
  if (asking != nullptr && asking->swapped) {
    for (const WindowPage& page : asking->swapped->pages) seen[PageCharge::key(page.node)] = 1;
  }
  std::uint32_t count = 0;
  for (const Context* context : ledger.away()) {
    if (!context->is_in_flight || !context->swapped) continue;
    count += swapped_tail_count(*context);
    for (const WindowPage& page : context->swapped->pages) {
      if (std::exchange(seen[PageCharge::key(page.node)], 1) != 0) continue;
      const bool is_here = cache.is_resident(page.node);
      count += !is_here || !ledger.holds(cache.page_of(page.node));
    }
  }
  return count;
}

std::uint32_t counted_ahead(const Context& context, const ModelResources& resources,
                            const PageCharge& charge) {
  const PageTrie& trie = resources.cache.trie();
  const std::uint32_t page_size = page_size_of(resources);
  if (charge.away.count() == 0) return 0;
  if (context.has_unnamed_start || context.is_suspended) return 0;
  const std::uint32_t own = charged_full_count(context, page_size) - context.committed_count;
  const std::uint32_t end = tail_token_count(context) / page_size;
  std::uint32_t count = 0;
  NodeId node = context.head;
  for (std::uint32_t index = 0; index < end; ++index) {
    node = trie.find(node, TailPage(context, page_size, index).content());
    if (node == kNoNode) break;
    if (index >= own && charge.counts(node)) ++count;
  }
  return count;
}

void note_away(Context& context, ModelResources& resources, PageLedger& ledger) {
  // What it lacked before it has again, or else it still names it.
  if (context.lost_count == 0) drop_away_head(context, resources);
  if (context.away_index == kNotAway) ledger.add_away(context);
}

void keep_away_head(Context& context, ModelResources& resources, NodeId head, std::uint32_t count) {
  // The head that the context already keeps names a longer chain than this one, so keep that.
  if (context.away_head != kNoNode || count == context.committed_count) {
    return resources.cache.drop_name(head);
  }
  context.away_head = head;
  context.away_head_count = count;
}

void fork_away(const Context& context, Context& child, ModelResources& resources,
               PageLedger& ledger) {
  if (context.away_index == kNotAway) return;
  ledger.add_away(child);
  if (context.away_head == kNoNode) return;
  child.away_head = context.away_head;
  child.away_head_count = context.away_head_count;
  resources.cache.hold_name(child.away_head);
}

void forget_away(Context& context, ModelResources& resources, PageLedger& ledger) {
  drop_away_head(context, resources);
  if (context.away_index != kNotAway) ledger.remove_away(context);
}

void verify_away(const Context& context, const PageLedger& ledger,
                 const ModelResources& resources) {
  const std::uint32_t page_size = page_size_of(resources);
  if (context.away_index == kNotAway) {
    QUIRE_CHECK(away_page_count(context, page_size) == 0 && context.away_head == kNoNode, "A1");
    return;
  }
  QUIRE_CHECK(
      context.away_index < ledger.away().size() && ledger.away()[context.away_index] == &context,
      "A1");
  const PageCache& cache = resources.cache;
  const AwayChain chain = named_part(context, page_size);
  if (context.swapped || chain.head == kNoNode || context.lost_count == 0) return;
  // The tokens that it will compute are those that the chain names.
  NodeId node = chain.head;
  for (std::uint32_t index = chain.count; index > context.committed_count; --index) {
    if (index <= chain.end) {
      const std::size_t first =
          context.token_first + std::size_t{index - 1 - context.committed_count} * page_size;
      const auto tokens = cache.trie().tokens(node);
      QUIRE_CHECK(std::equal(tokens.begin(), tokens.end(),
                             context.tokens.begin() + static_cast<std::ptrdiff_t>(first)),
                  "A2");
    }
    node = cache.parent(node);
  }
  QUIRE_CHECK(chain.count < context.committed_count || node == context.head, "A2");
}

}  // namespace quire::control
