#include "control/contexts/away_pages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"
#include "control/contexts/tail_page.h"

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
  const std::uint64_t tail =
      std::uint64_t{context.tokens().written_count()} + context.tokens().lost_count();
  return context.chain().page_count() +
         std::max(page_count_for(tail, page_size), context.working().reserved_count());
}

// Pages of one that was not swapped, from the root on, that it has.
std::uint32_t present_count(const Context& context) {
  if (context.is_suspended()) return 0;
  return context.chain().page_count() + context.working().count();
}

AwayChain named_part(const Context& context) {
  AwayChain chain;
  if (context.away().head != kNoNode) {
    chain.head = context.away().head;
    chain.count = context.away().head_count;
  } else if (context.is_suspended()) {
    chain.head = context.chain().head();
    chain.count = context.chain().page_count();
  }
  chain.end = std::min(chain.count, charged_full_count(context));
  chain.begin = std::min(present_count(context), chain.end);
  return chain;
}

// Counts nodes that were not counted yet.
class AwayCount {
 public:
  AwayCount(const PageLedger& ledger, const PageCache& cache, PageCharge& charge)
      : ledger_(ledger), cache_(cache), charge_(charge) {}

  // Counts the pages that a context computes anew as counted. They are among its working pages;
  // until they are committed, only that context is charged with them.
  void pass_over_tail(const Context& context) {
    const AwayChain chain = named_part(context);
    if (context.is_suspended() || chain.head == kNoNode) return;
    NodeId node = chain.head;
    for (std::uint32_t index = chain.count; index > context.chain().page_count(); --index) {
      if (index <= chain.begin) charge_.away[PageCharge::key(node)] = 1;
      node = cache_.parent(node);
    }
  }

  void count_chain(const Context& context) {
    const AwayChain chain = named_part(context);
    NodeId node = chain.head;
    for (std::uint32_t index = chain.count; index > chain.begin; --index) {
      if (index <= chain.end && !count(node)) break;  // Nor those above it.
      node = cache_.parent(node);
    }
    charge_.page_count += away_page_count(context) - (chain.end - chain.begin);
  }

  void count_swapped(const SwappedContext& swapped) {
    for (const WindowPage& page : swapped.pages) count(page.node);
    charge_.page_count += swapped.tail_count();
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

void settle(PageLedger& ledger) {
  for (std::size_t index = ledger.away().size(); index > 0; --index) {
    Context& context = *ledger.away()[index - 1];
    const bool is_back = !context.is_suspended() && context.tokens().lost_count() == 0;
    if (is_back && away_page_count(context) == 0) context.forget_away();
  }
}

}  // namespace

std::uint32_t charged_full_count(const Context& context) {
  const TailTokens& tokens = context.tokens();
  return context.chain().page_count() +
         (tokens.written_count() + tokens.lost_count()) / context.page_size();
}

std::uint32_t away_page_count(const Context& context) {
  if (const SwappedContext* swapped = context.swapped()) {
    return static_cast<std::uint32_t>(swapped->pages.size()) + swapped->tail_count();
  }
  // Slots that were never written need no page.
  if (context.working().has_unnamed_start() && context.working().is_empty()) return 0;
  const std::uint32_t charged = charged_count(context, context.page_size());
  return charged - std::min(charged, present_count(context));
}

PageCharge charge_of(PageLedger& ledger, ModelResources& resources, std::uint32_t enough) {
  PageCharge charge{.page_count = ledger.page_count(), .away = {}};
  if (ledger.away().empty()) return charge;
  settle(ledger);
  std::uint64_t bound = charge.page_count;
  for (const Context* context : ledger.away()) {
    bound += away_page_count(*context);
  }
  if (bound <= enough) {
    charge.page_count = static_cast<std::uint32_t>(bound);
    return charge;
  }
  AwayCount count(ledger, resources.cache, charge);
  for (const Context* context : ledger.away()) {
    if (!context->swapped()) count.pass_over_tail(*context);
  }
  for (const Context* context : ledger.away()) {
    if (!context->swapped()) count.count_chain(*context);
  }
  // Last, because they may have holes: above a page of theirs, not all are counted.
  for (const Context* context : ledger.away()) {
    if (context->swapped()) count.count_swapped(*context->swapped());
  }
  return charge;
}

std::uint32_t coming_page_count(const PageLedger& ledger, const ModelResources& resources,
                                const Context* asking) {
  if (ledger.away().empty()) return 0;
  const PageCache& cache = resources.cache;
  FlatMap<std::uint8_t> seen;
  if (asking != nullptr && asking->swapped()) {
    for (const WindowPage& page : asking->swapped()->pages) seen[PageCharge::key(page.node)] = 1;
  }
  std::uint32_t count = 0;
  for (const Context* context : ledger.away()) {
    if (!context->is_in_flight() || !context->swapped()) continue;
    count += context->swapped()->tail_count();
    for (const WindowPage& page : context->swapped()->pages) {
      if (std::exchange(seen[PageCharge::key(page.node)], 1) != 0) continue;
      const bool is_here = cache.is_resident(page.node);
      count += !is_here || !ledger.holds(cache.page_of(page.node));
    }
  }
  return count;
}

std::uint32_t counted_ahead(const Context& context, const PageCharge& charge) {
  const PageTrie& trie = context.owner().resources->cache.trie();
  const std::uint32_t page_size = context.page_size();
  if (charge.away.count() == 0) return 0;
  if (context.working().has_unnamed_start() || context.is_suspended()) return 0;
  const std::uint32_t own = charged_full_count(context) - context.chain().page_count();
  const std::uint32_t end = context.tokens().count() / page_size;
  std::uint32_t count = 0;
  NodeId node = context.chain().head();
  for (std::uint32_t index = 0; index < end; ++index) {
    node = trie.find(node, TailPage(context.parts(), page_size, index).content());
    if (node == kNoNode) break;
    if (index >= own && charge.counts(node)) ++count;
  }
  return count;
}

// Notes that the context is being suspended: it may lack pages from now on.
void Context::note_away() {
  // Either it has again the pages that it lacked before, or it still names them.
  if (tokens().lost_count() == 0) drop_away_head();
  if (away_.index == kNotAway) parts_.ledger().add_away(*this);
}

// Notes that the context is back without some of its pages, which `head` names. Takes over the hold
// on the name.
void Context::keep_away_head(NodeId head, std::uint32_t count) {
  // The head that it already keeps names a longer chain than this one, so keep that.
  if (away_.head != kNoNode || count == chain().page_count()) return parts_.cache().drop_name(head);
  away_.head = head;
  away_.head_count = count;
}

// `child` lacks what it lacks.
void Context::fork_away(Context& child) const {
  if (away_.index == kNotAway) return;
  parts_.ledger().add_away(child);
  if (away_.head == kNoNode) return;
  child.away_.head = away_.head;
  child.away_.head_count = away_.head_count;
  parts_.cache().hold_name(child.away_.head);
}

void Context::drop_away_head() {
  if (away_.head == kNoNode) return;
  parts_.cache().drop_name(std::exchange(away_.head, kNoNode));
}

void Context::forget_away() {
  drop_away_head();
  if (away_.index != kNotAway) parts_.ledger().remove_away(*this);
}

void verify_away(const Context& context) {
  const AwayMark& away = context.away();
  const CommittedChain& committed = context.chain();
  const TailTokens& tail = context.tokens();
  const PageCache& cache = context.parts().cache();
  const std::span<Context* const> all = context.parts().ledger().away();
  if (away.index == kNotAway) {
    QUIRE_CHECK(away_page_count(context) == 0 && away.head == kNoNode, "A1");
    return;
  }
  QUIRE_CHECK(away.index < all.size() && all[away.index] == &context, "A1");
  const AwayChain chain = named_part(context);
  if (context.swapped() || chain.head == kNoNode || tail.lost_count() == 0) return;
  // The tokens that it will compute are those that the chain names.
  NodeId node = chain.head;
  for (std::uint32_t index = chain.count; index > committed.page_count(); --index) {
    if (index <= chain.end) {
      const std::size_t first =
          std::size_t{index - 1 - committed.page_count()} * context.page_size();
      const auto tokens = cache.trie().tokens(node);
      QUIRE_CHECK(std::ranges::equal(tokens, tail.all().subspan(first, tokens.size())), "A2");
    }
    node = cache.parent(node);
  }
  QUIRE_CHECK(chain.count < committed.page_count() || node == committed.head(), "A2");
}

}  // namespace quire::control
