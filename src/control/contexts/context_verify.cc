// The invariants of context.h, for tests.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/contexts/context_parts.h"

namespace quire::control {
namespace {

// The nodes from the first page to the head.
std::vector<NodeId> path_of(const Context& context, const PageCache& cache) {
  std::vector<NodeId> path(context.committed_count);
  NodeId node = context.head;
  for (std::uint32_t index = context.committed_count; index > 0; --index) {
    QUIRE_CHECK(!cache.is_root(node), "X1");
    path[index - 1] = node;
    node = cache.parent(node);
  }
  QUIRE_CHECK(cache.is_root(node), "X1");
  return path;
}

// What pages are named by is what the context says of their slots.
void verify_adapters(const Context& context, const PageCache& cache, std::span<const NodeId> path) {
  const std::uint32_t page_size = cache.page_size();
  for (std::uint32_t index = 0; index < path.size(); ++index) {
    const auto wanted = context.adapters.of(index * page_size, (index + 1) * page_size);
    QUIRE_CHECK(std::ranges::equal(wanted, cache.trie().adapters(path[index])), "X9");
  }
}

void verify_suspended(const Context& context, std::span<const NodeId> path) {
  QUIRE_CHECK(context.anchor == kNoNode && context.tail.empty() && context.window.empty() &&
                  context.written_count == 0 && (!context.is_in_flight || context.swapped),
              "X7");
  QUIRE_CHECK(context.sequence == kNoSequence, "X8");
  if (!context.swapped) return;
  const SwappedContext& swapped = *context.swapped;
  QUIRE_CHECK(swapped.written_count == context.lost_count, "X7");
  QUIRE_CHECK(swapped.anchor_count <= swapped.pages.size(), "X7");
  for (const WindowPage& page : swapped.pages) {
    QUIRE_CHECK(page.index < path.size() && path[page.index] == page.node, "X7");
  }
}

void verify_chain(const Context& context, const PageCache& cache, std::span<const NodeId> path) {
  QUIRE_CHECK(context.anchor_count <= context.committed_count, "X1");
  const NodeId root = path.empty() ? context.head : cache.parent(path.front());
  QUIRE_CHECK(context.anchor == (context.anchor_count == 0 ? root : path[context.anchor_count - 1]),
              "X1");
  QUIRE_CHECK(cache.is_root(context.anchor) || cache.trie().chain_hold_count(context.anchor) > 0,
              "X1");
  QUIRE_CHECK(cache.trie().name_hold_count(context.head) > 0, "X1");
  std::size_t next = 0;
  for (std::uint32_t index = context.anchor_count; index < context.committed_count; ++index) {
    if (next < context.window.size() && context.window[next].index == index) {
      QUIRE_CHECK(context.window[next].node == path[index], "X1");
      QUIRE_CHECK(cache.is_resident(path[index]), "X1");
      QUIRE_CHECK(cache.pool().state(cache.page_of(path[index])) == PageState::Committed, "X1");
      ++next;
    } else {
      QUIRE_CHECK(is_gone(context.view.dropped(), cache.page_size(), index), "X1");
    }
  }
  QUIRE_CHECK(next == context.window.size(), "X1");
}

void verify_tail(const Context& context, const PageCache& cache) {
  const std::uint32_t page_size = cache.page_size();
  QUIRE_CHECK(context.written_count + context.flight_count <= tail_token_count(context), "X4");
  const std::uint32_t needed = divide_up(context.written_count, page_size);
  QUIRE_CHECK(context.has_unnamed_start || context.tail.size() >= needed, "X2");
  QUIRE_CHECK(context.tail.size() <=
                  std::max(divide_up(tail_token_count(context), page_size), context.reserved_count),
              "X2");
  QUIRE_CHECK(context.claim_count == 0 || context.is_in_flight, "X5");
  QUIRE_CHECK(context.table_clean_count <= table_entry_count(context, page_size), "X8");
  const auto ranges = context.view.dropped().ranges();
  QUIRE_CHECK(
      context.is_opening || ranges.empty() || ranges.back().end <= seq_len(context, page_size),
      "X6");
  for (std::size_t index = 0; index < context.tail.size(); ++index) {
    const bool is_boundary = index == 0 && context.boundary != kNoNode;
    const PageState state = cache.pool().state(context.tail[index]);
    const bool is_next = index == context.written_count / page_size;
    QUIRE_CHECK(state == (is_boundary ? PageState::Committed : PageState::Working) ||
                    (state == PageState::Sealed && is_next),
                "X3");
    QUIRE_CHECK((!is_boundary && state != PageState::Sealed) || context.flight_count == 0, "X3");
  }
}

}  // namespace

void verify_context(const Context& context, const ModelResources& resources) {
  const std::vector<NodeId> path = path_of(context, resources.cache);
  QUIRE_CHECK(context.written_count + context.flight_count + context.lost_count <=
                  tail_token_count(context) + context.flight_count,
              "X7");
  if (!context.is_opening) verify_adapters(context, resources.cache, path);
  if (context.is_suspended) return verify_suspended(context, path);
  verify_chain(context, resources.cache, path);
  verify_tail(context, resources.cache);
}

}  // namespace quire::control
