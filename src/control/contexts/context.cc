#include "control/contexts/context.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_parts.h"

namespace quire::control {

using inference::PageCopy;
using inference::TableChange;
using inference::TokenId;

std::uint32_t written_tail_count(const Context& context, std::uint32_t page_size) {
  return std::min(divide_up(context.written_count, page_size),
                  static_cast<std::uint32_t>(context.tail.size()));
}

std::uint32_t visible_tail_slots(const Context& context, std::uint32_t page_size,
                                 std::uint32_t index) {
  const std::uint32_t count = std::min(context.written_count - index * page_size, page_size);
  const std::uint32_t first = (context.committed_count + index) * page_size;
  return slot_bits(0, count) & context.view.dropped().visible_bits(first, page_size);
}

std::vector<WindowPage> held_pages(const Context& context, const PageCache& cache,
                                   std::uint32_t first) {
  const std::uint32_t from = std::min(first, context.anchor_count);
  std::vector<WindowPage> pages(context.anchor_count - from);
  NodeId node = context.anchor;
  for (std::uint32_t index = context.anchor_count; index > from; --index) {
    pages[index - 1 - from] = {.index = index - 1, .node = node};
    node = cache.parent(node);
  }
  const auto skipped = std::min<std::size_t>(first - from, context.window.size());
  pages.insert(pages.end(), context.window.begin() + static_cast<std::ptrdiff_t>(skipped),
               context.window.end());
  return pages;
}

ColdHint hint_of(const Context& context) {
  switch (context.hint) {
    case ContextHintKind::WillResume:
      return {.hint = EvictionHint::WillResume};
    case ContextHintKind::Done:
      return {.hint = EvictionHint::Done};
    case ContextHintKind::Keep:
      return {.hint = EvictionHint::Keep, .keep_seconds = context.hint_seconds};
    case ContextHintKind::SharedPrefix:
      return {.hint = EvictionHint::SharedPrefix};
    case ContextHintKind::None:
      break;
  }
  return {};
}

void mark_dirty(Context& context, std::uint32_t first, std::uint32_t end) {
  end = std::min(end, context.table_clean_count);
  if (first >= end) return;
  if (end == context.table_clean_count) {
    context.table_clean_count = first;
    return;
  }
  context.table_dirty.push_back({first, end});
}

namespace {

// The boundary's page is held by its node.
void release_page(Context& context, ModelResources& resources, PageLedger& ledger, PageId page) {
  ledger.release(page);
  if (page == context.tail.front() && context.boundary != kNoNode) {
    resources.cache.drop_page(std::exchange(context.boundary, kNoNode), hint_of(context));
  } else {
    resources.cache.release(page);
  }
}

}  // namespace

void release_tail(Context& context, ModelResources& resources, PageLedger& ledger,
                  std::uint32_t keep_count) {
  context.reserved_count = std::min(context.reserved_count, keep_count);
  if (context.tail.size() <= keep_count) return;
  while (context.tail.size() > keep_count) {
    release_page(context, resources, ledger, context.tail.back());
    context.tail.pop_back();
  }
  context.table_clean_count =
      std::min<std::uint32_t>(context.table_clean_count, context.committed_count + keep_count);
}

void release_first(Context& context, ModelResources& resources, PageLedger& ledger) {
  release_page(context, resources, ledger, context.tail.front());
  context.tail.erase(context.tail.begin());
  context.table_clean_count = std::min(context.table_clean_count, context.committed_count);
}

void lapse_claims(Context& context, ModelResources& resources) {
  while (context.claim_count > 0) resources.cache.unclaim(context.tail[--context.claim_count]);
}

bool extend_tail(Context& context, ModelResources& resources, PageLedger& ledger,
                 std::uint32_t count) {
  const auto first = static_cast<std::uint32_t>(context.tail.size());
  if (count == 0) return true;
  if (!resources.cache.take(count, context.tail)) return false;
  for (std::size_t index = first; index < context.tail.size(); ++index) {
    ledger.acquire(context.tail[index]);
  }
  mark_dirty(context, context.committed_count + first, context.committed_count + first + count);
  return true;
}

HoldKind hold_kind(const Context& context) {
  return is_windowed(context) ? HoldKind::Page : HoldKind::Chain;
}

void hold_committed(const Context& context, ModelResources& resources, NodeId node) {
  resources.cache.note_found(node);
  resources.cache.hold(node, hold_kind(context));
}

void push_committed(Context& context, ModelResources& resources, PageLedger& ledger, NodeId node) {
  PageCache& cache = resources.cache;
  const NodeId before = context.head;
  cache.hold_name(node);
  context.has_opaque_page |= cache.trie().is_opaque(node);
  if (is_windowed(context)) {
    ledger.acquire(cache.page_of(node));
    context.window.push_back({.index = context.committed_count, .node = node});
  } else {
    ledger.acquire_chain(cache, node);
    ledger.release_chain(cache, before);
    cache.drop(before);
    context.anchor = node;
    ++context.anchor_count;
  }
  context.head = node;
  cache.drop_name(before);
  ++context.committed_count;
}

void push_dropped(Context& context, ModelResources& resources, NodeId node) {
  resources.cache.hold_name(node);
  resources.cache.drop_name(std::exchange(context.head, node));
  ++context.committed_count;
}

void forget_adapters(Context& context, std::uint32_t page_size) {
  context.adapters.cut(context.committed_count * page_size + tail_token_count(context));
}

// The first `page_count` pages of the tail's tokens are the trie's now.
void forget_tokens(Context& context, std::uint32_t page_size, std::uint32_t page_count) {
  constexpr std::size_t kCompactBeyond = 4096;
  context.token_first += page_count * page_size;
  context.view.forget_before(context.committed_count * page_size);
  if (context.token_first == context.tokens.size() ||
      (context.token_first > kCompactBeyond && context.token_first * 2 > context.tokens.size())) {
    context.tokens.erase(context.tokens.begin(),
                         context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first));
    context.token_first = 0;
  }
}

void advance_head(Context& context, ModelResources& resources, PageLedger& ledger, NodeId node) {
  push_committed(context, resources, ledger, node);
  context.reserved_count -= std::min<std::uint32_t>(context.reserved_count, 1);
  forget_tokens(context, page_size_of(resources), 1);
}

void commit_first(Context& context, ModelResources& resources, PageLedger& ledger) {
  const std::uint32_t page_size = page_size_of(resources);
  const PageId page = context.tail.front();
  const TailPage full(context, page_size, 0);
  const NodeId node = resources.cache.commit(page, context.head, full.content(), hold_kind(context),
                                             context.has_unnamed_start);
  if (resources.cache.page_of(node) != page) {
    mark_dirty(context, context.committed_count, context.committed_count + 1);
  }
  context.has_unnamed_start = false;
  context.written_count -= page_size;
  advance_head(context, resources, ledger, node);
  ledger.release(page);
  context.tail.erase(context.tail.begin());
  context.claim_count -= std::min<std::uint32_t>(context.claim_count, 1);
}

std::uint32_t seq_len(const Context& context, std::uint32_t page_size) {
  return context.committed_count * page_size + context.written_count + context.lost_count;
}

ContextCounters counters_of(const Context& context, std::uint32_t page_size) {
  ContextCounters counters{.seq_len = seq_len(context, page_size),
                           .committed_page_count = held_committed_count(context),
                           .working_page_token_count = context.written_count,
                           .found_token_count = context.found_token_count,
                           .queued_token_count = queued_count(context) - context.lost_count};
  if (context.is_suspended || context.lost_count > 0) {
    // What the program sees does not depend on where its pages are.
    counters.committed_page_count = context.swapped
                                        ? static_cast<std::uint32_t>(context.swapped->pages.size())
                                        : counters.seq_len / page_size;
    counters.working_page_token_count = counters.seq_len % page_size;
  }
  // Those that will be lost no more count as committed.
  const std::uint32_t lost_pages = context.lost_count > 0 && !context.swapped
                                       ? counters.seq_len / page_size - context.committed_count
                                       : 0;
  const std::uint32_t reserved =
      context.swapped ? context.swapped->reserved_count : context.reserved_count;
  counters.working_page_count = std::max(divide_up(counters.working_page_token_count, page_size),
                                         reserved - std::min(reserved, lost_pages));
  return counters;
}

std::uint32_t held_committed_count(const Context& context) {
  return context.anchor_count + static_cast<std::uint32_t>(context.window.size());
}

void open_context(Context& context, ModelResources& resources, NodeId root) {
  context.head = context.anchor = root;
  resources.cache.hold_name(root);
}

namespace {

// Tokens that may stand between the first slot that is still seen and the end.
std::uint64_t length_max(const Context& context, const ModelResources& resources) {
  constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << 31;
  if (context.is_beyond_context) return kPositionEnd;
  return std::min(kPositionEnd, std::uint64_t{context.view.dropped().first_outside()} +
                                    resources.model.context_length);
}

Error too_long(std::uint64_t total, std::uint64_t limit, const ModelResources& resources) {
  return Error(
      ErrorCode::OutOfRange,
      "the context would hold " + std::to_string(total) + " tokens; the model's limit is " +
          std::to_string(resources.model.context_length) +
          (limit == resources.model.context_length
               ? std::string()
               : ", which counts from the first that was not dropped: " + std::to_string(limit)));
}

Error not_kept(const Context& context) {
  const std::string count = std::to_string(context.overflow_count);
  return Error(ErrorCode::OutOfRange,
               "the tokens appended last (" + count +
                   ") did not fit the context at that time and were not kept; truncate by " +
                   count + " and append them again");
}

Error too_many_pages(std::uint64_t total, std::uint32_t pages, const ModelResources& resources) {
  return Error(ErrorCode::NoFreePage, "a context of " + std::to_string(total) + " tokens needs " +
                                          std::to_string(pages) + " KV pages; the pool has " +
                                          std::to_string(resources.cache.page_count()));
}

std::uint64_t length_of(const Context& context, const ModelResources& resources) {
  return std::uint64_t{context.committed_count} * page_size_of(resources) +
         tail_token_count(context) + context.overflow_count;
}

}  // namespace

// The next token is of the adapters in force.
static void note_appended(Context& context, const ModelResources& resources) {
  context.adapters.extend(static_cast<std::uint32_t>(held_token_count(context, resources)),
                          context.adapters_in_force);
}

void use_adapters(Context& context, AdapterSetRef set) {
  context.adapters_in_force = std::move(set);
}

void append_tokens(Context& context, const ModelResources& resources,
                   std::span<const std::uint32_t> tokens) {
  const std::uint64_t held = length_of(context, resources);
  // One token more than can be computed is kept: the one that was drawn last from a full context.
  // It is computed when the program has dropped others.
  const std::uint64_t kept_max = length_max(context, resources) + 1;
  const std::uint64_t room = context.overflow_count > 0 || held > kept_max ? 0 : kept_max - held;
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(room, tokens.size()));
  if (kept > 0) note_appended(context, resources);
  for (std::size_t index = 0; index < kept; ++index)
    context.tokens.push_back(TokenId{tokens[index]});
  context.overflow_count += tokens.size() - kept;
}

bool is_overfull(const Context& context, const ModelResources& resources) {
  return length_of(context, resources) > length_max(context, resources);
}

std::uint64_t room_of(const Context& context, const ModelResources& resources) {
  const std::uint32_t gone = context.committed_count - held_committed_count(context);
  const std::uint64_t pool =
      (std::uint64_t{resources.cache.page_count()} + gone) * page_size_of(resources);
  const std::uint64_t limit = std::min(length_max(context, resources), pool);
  const std::uint64_t held = length_of(context, resources);
  return limit > held ? limit - held : 0;
}

Result<void> check_fits(const Context& context, const ModelResources& resources) {
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint64_t total = length_of(context, resources);
  const std::uint64_t pool = std::uint64_t{resources.cache.page_count()} * page_size;
  const std::uint64_t certain = std::min<std::uint64_t>(resources.model.context_length, pool);
  if (total <= certain && context.overflow_count == 0) return {};
  const std::uint64_t limit = length_max(context, resources);
  if (total > limit) return too_long(total, limit, resources);
  if (context.overflow_count > 0) return not_kept(context);
  const std::uint32_t gone = context.committed_count - held_committed_count(context);
  const std::uint64_t page_count_max = std::uint64_t{resources.cache.page_count()} + gone;
  if (total > page_count_max * page_size) {
    return too_many_pages(total, divide_up(total, page_size) - gone, resources);
  }
  return {};
}

namespace {

// Pages are looked up and held in groups of so many: what the next ones touch is fetched ahead, and
// a group is held once instead of page by page.
constexpr std::uint32_t kFoundGroup = 64;

// Nodes of a chain below the head, whose bytes are not held yet.
struct FoundGroup {
  std::array<NodeId, kFoundGroup> nodes;
  std::uint32_t count = 0;
};

// The next `count` pages behind the head, as far as they are there.
FindEnd find_group(const Context& context, const PageCache& cache, const PageLedger& ledger,
                   std::uint32_t count, FoundGroup& group) {
  const PageTrie& trie = cache.trie();
  std::array<std::uint64_t, kFoundGroup> hashes;
  std::uint64_t above = trie.hash(context.head);
  for (std::uint32_t index = 0; index < count; ++index) {
    above = trie.hash_below(above, TailPage(context, cache.page_size(), index).content());
    hashes[index] = above;
    trie.fetch_bucket(above);
  }
  if (count > 1) {
    for (std::uint32_t index = 0; index < count; ++index) trie.fetch_node(hashes[index]);
  }
  NodeId parent = context.head;
  group.count = 0;
  while (group.count < count) {
    const TailPage page(context, cache.page_size(), group.count);
    const PageMatch match = cache.find(parent, page.content(), hashes[group.count]);
    if (match.state != MatchState::Resident) {
      const bool is_claimed =
          match.state == MatchState::InFlight && (group.count > 0 || context.written_count == 0);
      return is_claimed ? FindEnd::Claimed : FindEnd::NoMore;
    }
    group.nodes[group.count++] = parent = match.node;
    ledger.fetch(cache.page_of(match.node));
  }
  return FindEnd::Slice;
}

// Whether the context gives a page of its own back when it finds the next one: the one that it had
// begun to write, or one that it took to compute what is found now.
bool is_replaced_by_found(const Context& context, const PageLedger& ledger,
                          std::uint32_t page_size) {
  if (context.tail.empty()) return false;
  if (context.written_count > 0) return ledger.is_held_once(context.tail.front());
  const std::uint32_t needed = divide_up(tail_token_count(context) - page_size, page_size);
  return context.tail.size() > std::max(needed, context.reserved_count);
}

// Leaves as many as `quota` allows; false if not all.
bool cut_to_quota(const Context& context, ModelResources& resources, PageLedger& ledger,
                  std::uint32_t quota, FoundGroup& group) {
  const PageCache& cache = resources.cache;
  const PageCharge charge = charge_of(ledger, resources, quota - std::min(quota, group.count));
  if (std::uint64_t{charge.page_count} + group.count <= quota) return true;
  const std::uint32_t own = charged_full_count(context, cache.page_size());
  const std::uint32_t replaced = is_replaced_by_found(context, ledger, cache.page_size()) ? 1 : 0;
  std::uint32_t page_count = charge.page_count - replaced;
  std::uint32_t held_count = ledger.page_count() - replaced;
  for (std::uint32_t index = 0; index < group.count; ++index) {
    const NodeId node = group.nodes[index];
    if (ledger.holds(cache.page_of(node))) continue;
    const bool is_counted = charge.counts(node) || context.committed_count + index < own;
    if (held_count++ < quota && (is_counted || page_count++ < quota)) continue;
    group.count = index;
    return false;
  }
  return true;
}

void attach_found(Context& context, ModelResources& resources, PageLedger& ledger,
                  const FoundGroup& group, FindResult& result) {
  if (group.count == 0) return;
  PageCache& cache = resources.cache;
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t committed = context.committed_count;
  const std::span<const NodeId> nodes = std::span(group.nodes).first(group.count);
  const bool has_partial = !context.tail.empty() && context.written_count > 0;
  for (const NodeId node : nodes) cache.note_found(node);
  if (is_windowed(context)) {
    for (const NodeId node : nodes) {
      cache.hold_page(node);
      push_committed(context, resources, ledger, node);
    }
  } else {
    const NodeId before = context.head;
    const NodeId last = nodes.back();
    cache.hold(last);
    cache.hold_name(last);
    ledger.acquire_chain(cache, last);
    ledger.release_chain(cache, before);
    cache.drop(before);
    cache.drop_name(before);
    context.head = context.anchor = last;
    context.committed_count += group.count;
    context.anchor_count = context.committed_count;
  }
  // Its own partly written page goes, and pages that were lost are back; empty ones that were
  // reserved stay.
  if (has_partial) release_first(context, resources, ledger);
  const std::uint32_t begun =
      divide_up(std::uint64_t{context.written_count} + context.lost_count, page_size);
  context.reserved_count -= std::min({context.reserved_count, begun, group.count});
  const std::uint32_t found = group.count * page_size - context.written_count;
  result.token_count += found;
  context.lost_count -= std::min(context.lost_count, found);
  context.found_token_count += found;
  context.written_count = 0;
  forget_tokens(context, page_size, group.count);
  context.table_clean_count = std::min(context.table_clean_count, committed);
  // Pages that an earlier chunk took for what is found now.
  release_tail(context, resources, ledger,
               std::max(divide_up(tail_token_count(context), page_size), context.reserved_count));
}

}  // namespace

FindResult find_queued(Context& context, ModelResources& resources, PageLedger& ledger,
                       std::uint32_t quota, std::uint32_t page_count_max) {
  QUIRE_CHECK(!context.is_in_flight, "looked up under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  FindResult result;
  if (!has_page_to_find(context, page_size)) return result;
  FoundGroup group;
  std::uint32_t looked = 0;
  // Groups grow, so that little is hashed in vain where nothing is found.
  for (std::uint32_t wanted = 1;; wanted = std::min(2 * wanted, kFoundGroup)) {
    std::uint32_t count = std::min(wanted, tail_token_count(context) / page_size);
    if (count == 0) break;
    // One at a time, while they replace pages that it has.
    if (!context.tail.empty()) count = 1;
    count = std::min(count, page_count_max - looked);
    if (count == 0) {
      result.end = FindEnd::Slice;
      break;
    }
    result.end = find_group(context, resources.cache, ledger, count, group);
    if (!cut_to_quota(context, resources, ledger, quota, group)) result.end = FindEnd::Quota;
    looked += group.count;
    attach_found(context, resources, ledger, group, result);
    if (result.end != FindEnd::Slice) break;
    result.end = FindEnd::NoMore;
  }
  return result;
}

namespace {

// The tail's page that the next token goes to, by its place there.
std::uint32_t next_tail_page(const Context& context, std::uint32_t page_size) {
  return context.written_count < page_size ? 0 : context.written_count / page_size;
}

// Whether that page is not ours to write.
bool is_copied_first(const Context& context, const ModelResources& resources) {
  const std::uint32_t partial = next_tail_page(context, page_size_of(resources));
  if (partial >= context.tail.size()) return false;
  if (partial == 0 && context.boundary != kNoNode) return true;
  if (is_planted(Fault::SealedPageWritten)) return false;
  return resources.cache.is_shared_tail(context.tail[partial]);
}

// Pages that the tail lacks for the first `count` queued tokens.
std::uint32_t pages_lacking(const Context& context, std::uint32_t page_size, std::uint32_t count) {
  const auto held = static_cast<std::uint32_t>(context.tail.size());
  const std::uint64_t end = std::uint64_t{context.written_count} + count;
  if (end <= std::uint64_t{held} * page_size && context.reserved_count <= held) return 0;
  return std::max(divide_up(end, page_size), context.reserved_count) - held;
}

}  // namespace

bool has_slots(const Context& context, const ModelResources& resources, std::uint32_t count) {
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t next = next_tail_page(context, page_size);
  return pages_lacking(context, page_size, count) == 0 && next < context.tail.size() &&
         context.boundary == kNoNode && !resources.cache.is_sealed(context.tail[next]);
}

std::uint32_t pages_wanted(const Context& context, const ModelResources& resources,
                           std::uint32_t count) {
  if (count == 0) return 0;
  return pages_lacking(context, page_size_of(resources), count) +
         (is_copied_first(context, resources) ? 1 : 0);
}

bool take_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                std::uint32_t count, std::vector<PageCopy>& copies) {
  if (count == 0) return true;
  PageCache& cache = resources.cache;
  const std::uint32_t page_size = page_size_of(resources);
  const bool copies_first = is_copied_first(context, resources);
  const std::uint32_t wanted = pages_lacking(context, page_size, count) + (copies_first ? 1 : 0);
  const std::size_t first_new = context.tail.size();
  if (wanted > 0 && !extend_tail(context, resources, ledger, wanted)) return false;
  const std::uint32_t partial = next_tail_page(context, page_size);
  if (!copies_first) {
    if (partial < first_new && cache.is_sealed(context.tail[partial])) {
      cache.reopen(context.tail[partial]);
    }
    return true;
  }
  const PageId shared = context.tail[partial];
  const PageId own = context.tail[first_new];
  const std::uint32_t slot_count = context.written_count % page_size;
  if (slot_count > 0 && !is_planted(Fault::BoundaryPageNotCopied)) {
    copies.push_back(
        {.from = shared, .to = own, .from_slot = 0, .to_slot = 0, .slot_count = slot_count});
  }
  context.tail.erase(context.tail.begin() + static_cast<std::ptrdiff_t>(first_new));
  context.tail[partial] = own;
  ledger.release(shared);
  if (context.boundary != kNoNode) {
    cache.drop_page(context.boundary, hint_of(context));
    context.boundary = kNoNode;
  } else {
    cache.release(shared);
  }
  const auto entry = context.committed_count + static_cast<std::uint32_t>(partial);
  mark_dirty(context, entry, entry + 1);
  return true;
}

namespace {

// Those that the tail's first `end` tokens fill, and the one that they end in.
void claim_pages(Context& context, ModelResources& resources, std::uint32_t end) {
  const std::uint32_t page_size = page_size_of(resources);
  if (tail_token_count(context) < page_size) return;  // Nobody could look for a part of a page.
  std::uint32_t claimed = context.has_unnamed_start ? 0 : end / page_size;
  // Also the page that it ends in, where it is known what will be in it: whoever wants the same
  // waits, and does not compute it beside.
  const bool ends_within = !context.has_unnamed_start && end % page_size > 0;
  if (ends_within && tail_token_count(context) >= (claimed + 1) * page_size) ++claimed;
  NodeId parent = context.head;
  while (context.claim_count < claimed) {
    const TailPage page(context, page_size, context.claim_count);
    const PageId id = context.tail[context.claim_count];
    if (!resources.cache.claim(id, parent, page.content())) break;
    parent = resources.cache.trie().node_of(id);
    ++context.claim_count;
  }
}

}  // namespace

void begin_flight(Context& context, ModelResources& resources, std::uint32_t count,
                  std::span<const TokenId> drafts) {
  QUIRE_CHECK(!context.is_in_flight && count <= queued_count(context), "X4");
  QUIRE_CHECK(drafts.empty() || count == queued_count(context), "drafts come last");
  context.is_in_flight = true;
  context.flight_count = count;
  claim_pages(context, resources, context.written_count + count);
  if (!drafts.empty()) note_appended(context, resources);
  context.tokens.insert(context.tokens.end(), drafts.begin(), drafts.end());
  context.flight_count += static_cast<std::uint32_t>(drafts.size());
}

namespace {

// Entries [first, end) of the context's table.
std::vector<inference::TableEntry> entries_of(const Context& context,
                                              const ModelResources& resources, std::uint32_t first,
                                              std::uint32_t end) {
  const PageCache& cache = resources.cache;
  const std::uint32_t page_size = page_size_of(resources);
  const SlotSet& dropped = context.view.dropped();
  std::vector<inference::TableEntry> entries(end - first);
  // Every slot that was not dropped is visible as far as the table goes: a pass sees none from its
  // visible_slot_end on.
  const auto put = [&](std::uint32_t index, PageId page) {
    const std::uint32_t visible = dropped.visible_bits(index * page_size, page_size);
    if (visible != 0) entries[index - first] = {.page = page, .visible = visible};
  };
  NodeId node = context.anchor;
  for (std::uint32_t index = context.anchor_count; index > first; --index) {
    if (index <= end) put(index - 1, cache.page_of(node));
    node = cache.parent(node);
  }
  auto each = std::lower_bound(
      context.window.begin(), context.window.end(), first,
      [](const WindowPage& page, std::uint32_t index) { return page.index < index; });
  for (; each != context.window.end() && each->index < end; ++each) {
    put(each->index, cache.page_of(each->node));
  }
  const std::uint32_t tail_end =
      context.committed_count + static_cast<std::uint32_t>(context.tail.size());
  for (std::uint32_t index = std::max(context.committed_count, first);
       index < std::min(end, tail_end); ++index) {
    // A page of the tail is written, visible or not.
    entries[index - first] = {.page = context.tail[index - context.committed_count],
                              .visible = dropped.visible_bits(index * page_size, page_size)};
  }
  return entries;
}

}  // namespace

void sync_table(Context& context, const ModelResources& resources,
                std::vector<TableChange>& changes) {
  const std::uint32_t entry_count = table_entry_count(context, page_size_of(resources));
  QUIRE_CHECK(context.table_clean_count <= entry_count, "X8");
  for (const SlotRange& dirty : context.table_dirty) {
    const std::uint32_t end = std::min(dirty.end, context.table_clean_count);
    if (dirty.begin >= end) continue;
    changes.push_back({.sequence = context.sequence,
                       .entry_first = dirty.begin,
                       .entries = entries_of(context, resources, dirty.begin, end),
                       .entry_count = context.table_clean_count});
  }
  context.table_dirty.clear();
  if (context.table_clean_count == entry_count) return;
  changes.push_back(
      {.sequence = context.sequence,
       .entry_first = context.table_clean_count,
       .entries = entries_of(context, resources, context.table_clean_count, entry_count),
       .entry_count = entry_count});
  context.table_clean_count = entry_count;
}

void end_flight(Context& context, ModelResources& resources, PageLedger& ledger, bool is_written,
                std::uint32_t rejected_count) {
  QUIRE_CHECK(context.is_in_flight, "X5");
  const std::uint32_t page_size = page_size_of(resources);
  context.is_in_flight = false;
  QUIRE_CHECK(rejected_count <= context.flight_count, "X4");
  context.tokens.resize(context.tokens.size() - rejected_count);
  context.flight_count -= rejected_count;
  if (rejected_count > 0) forget_adapters(context, page_size);
  if (!is_written) {
    if (!is_planted(Fault::ClaimKeptAfterFailure)) lapse_claims(context, resources);
    context.flight_count = 0;
    return;
  }
  context.written_count += context.flight_count;
  context.lost_count -= std::min(context.lost_count, context.flight_count);
  context.flight_count = 0;
  while (context.written_count >= page_size) commit_first(context, resources, ledger);
  lapse_claims(context, resources);
}

void trim_tail(Context& context, ModelResources& resources, PageLedger& ledger) {
  const std::uint32_t needed = divide_up(context.written_count, page_size_of(resources));
  release_tail(context, resources, ledger, std::max(needed, context.reserved_count));
}

TokenId token_at(const Context& context, const ModelResources& resources, std::uint32_t position) {
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t index = position / page_size;
  if (index >= context.committed_count) {
    return context.tokens[context.token_first + position - context.committed_count * page_size];
  }
  NodeId node = context.head;
  for (std::uint32_t each = context.committed_count - 1; each > index; --each) {
    node = resources.cache.parent(node);
  }
  return resources.cache.trie().tokens(node)[position % page_size];
}

std::uint64_t held_token_count(const Context& context, const ModelResources& resources) {
  return std::uint64_t{context.committed_count} * page_size_of(resources) +
         tail_token_count(context);
}

void copy_last_tokens(const Context& context, const ModelResources& resources, std::uint32_t count,
                      std::vector<TokenId>& out) {
  std::uint64_t left = std::min<std::uint64_t>(count, held_token_count(context, resources));
  const std::size_t first = out.size();
  out.resize(first + left);
  // From the end: the tail, then the pages above it.
  const std::uint64_t of_tail = std::min<std::uint64_t>(left, tail_token_count(context));
  std::copy(context.tokens.end() - static_cast<std::ptrdiff_t>(of_tail), context.tokens.end(),
            out.end() - static_cast<std::ptrdiff_t>(of_tail));
  left -= of_tail;
  for (NodeId node = context.head; left > 0; node = resources.cache.parent(node)) {
    const std::span<const TokenId> page = resources.cache.trie().tokens(node);
    const std::uint64_t taken = std::min<std::uint64_t>(left, page.size());
    QUIRE_CHECK(taken > 0, "a page without tokens above one that has them");
    left -= taken;
    std::copy(page.end() - static_cast<std::ptrdiff_t>(taken), page.end(),
              out.begin() + static_cast<std::ptrdiff_t>(first + left));
  }
}

}  // namespace quire::control
