// Pages that exist for a context's queued tokens are found and attached.
#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"
#include "control/contexts/tail_page.h"

namespace quire::control {
namespace {

// Pages are looked up in groups of so many. The memory that the next ones touch is fetched ahead,
// and a group is held once instead of page by page.
constexpr std::uint32_t kFoundGroup = 64;

// Nodes of a chain below the head, whose bytes are not held yet.
struct FoundGroup {
  std::array<NodeId, kFoundGroup> nodes;
  std::uint32_t count = 0;
};

// Looks up the next `count` pages after the head, and stops at the first that is not there.
FindEnd find_group(const Context& context, const PageCache& cache, const PageLedger& ledger,
                   std::uint32_t count, FoundGroup& group) {
  const PageTrie& trie = cache.trie();
  std::array<std::uint64_t, kFoundGroup> hashes;
  std::uint64_t above = trie.hash(context.chain().head());
  for (std::uint32_t index = 0; index < count; ++index) {
    above = trie.hash_below(above, TailPage(context.parts(), cache.page_size(), index).content());
    hashes[index] = above;
    trie.fetch_bucket(above);
  }
  if (count > 1) {
    for (std::uint32_t index = 0; index < count; ++index) trie.fetch_node(hashes[index]);
  }
  NodeId parent = context.chain().head();
  group.count = 0;
  while (group.count < count) {
    const TailPage page(context.parts(), cache.page_size(), group.count);
    const PageMatch match = cache.find(parent, page.content(), hashes[group.count]);
    if (match.state != MatchState::Resident) {
      const bool is_claimed = match.state == MatchState::InFlight &&
                              (group.count > 0 || context.tokens().written_count() == 0);
      return is_claimed ? FindEnd::Claimed : FindEnd::NoMore;
    }
    group.nodes[group.count++] = parent = match.node;
    ledger.fetch(cache.page_of(match.node));
  }
  return FindEnd::Slice;
}

// Whether the context gives a page of its own back when it finds the next one. That is the page
// that it had begun to write, or one that it took to compute what is found now.
bool is_replaced_by_found(const Context& context, const PageLedger& ledger,
                          std::uint32_t page_size) {
  const WorkingPages& working = context.working();
  if (working.is_empty()) return false;
  if (context.tokens().written_count() > 0) return ledger.is_held_once(working.pages().front());
  const std::uint32_t needed = page_count_for(context.tokens().count() - page_size, page_size);
  return working.count() > std::max(needed, working.reserved_count());
}

// Leaves as many as `quota` allows; false if not all.
bool cut_to_quota(const Context& context, std::uint32_t quota, FoundGroup& group) {
  PageLedger& ledger = *context.owner().ledger;
  ModelResources& resources = *context.owner().resources;
  const PageCache& cache = resources.cache;
  const PageCharge charge = charge_of(ledger, resources, quota - std::min(quota, group.count));
  if (std::uint64_t{charge.page_count} + group.count <= quota) return true;
  const std::uint32_t own = charged_full_count(context);
  const std::uint32_t replaced = is_replaced_by_found(context, ledger, cache.page_size()) ? 1 : 0;
  std::uint32_t page_count = charge.page_count - replaced;
  std::uint32_t held_count = ledger.page_count() - replaced;
  for (std::uint32_t index = 0; index < group.count; ++index) {
    const NodeId node = group.nodes[index];
    if (ledger.holds(cache.page_of(node))) continue;
    const bool is_counted = charge.counts(node) || context.chain().page_count() + index < own;
    if (held_count++ < quota && (is_counted || page_count++ < quota)) continue;
    group.count = index;
    return false;
  }
  return true;
}

}  // namespace

bool Context::has_page_to_find() const {
  const std::uint32_t page_size = this->page_size();
  return tokens().count() >= page_size && tokens().written_count() < page_size &&
         !working().has_unnamed_start();
}

FindResult Context::find_queued(std::uint32_t quota, std::uint32_t page_count_max) {
  QUIRE_CHECK(!is_in_flight_, "looked up under a batch");
  const std::uint32_t page_size = this->page_size();
  const PageCache& cache = parts_.cache();
  FindResult result;
  if (!has_page_to_find()) return result;
  const std::uint32_t to_compute = tokens().queued_count() + parts_.replay_count();
  FoundGroup group;
  std::uint32_t looked = 0;
  // Groups grow, so that a search that finds nothing hashes little.
  for (std::uint32_t wanted = 1;; wanted = std::min(2 * wanted, kFoundGroup)) {
    std::uint32_t count = std::min(wanted, tokens().count() / page_size);
    if (count == 0) break;
    // One at a time, while they replace pages that it has.
    if (!working().is_empty()) count = 1;
    count = std::min(count, page_count_max - looked);
    if (count == 0) {
      result.end = FindEnd::Slice;
      break;
    }
    result.end = find_group(*this, cache, *owner().ledger, count, group);
    if (!cut_to_quota(*this, quota, group)) result.end = FindEnd::Quota;
    looked += group.count;
    if (group.count > 0) {
      const std::span<const NodeId> found = std::span(group.nodes).first(group.count);
      result.token_count += parts_.attach_found(found);
    }
    if (result.end != FindEnd::Slice) break;
    result.end = FindEnd::NoMore;
  }
  if (result.token_count > 0) {
    const std::uint32_t left = tokens().queued_count() + parts_.replay_count();
    result.reused_count = std::min(to_compute - std::min(to_compute, left), result.token_count);
  }
  use_.found_token_count += result.reused_count;
  return result;
}

}  // namespace quire::control
