// What changes a context other than computing its tokens: forks, cuts, drops, and the published
// operations on its working pages.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context.h"
#include "control/contexts/context_parts.h"
#include "control/contexts/context_suspend.h"
#include "control/contexts/context_swap.h"

namespace quire::control {

using inference::TokenId;

namespace {

void hold_alone(Context& context, ModelResources& resources, PageLedger& ledger,
                const WindowPage& page) {
  resources.cache.hold_page(page.node);
  ledger.acquire(resources.cache.page_of(page.node));
  context.window.push_back(page);
}

void drop_alone(const Context& context, ModelResources& resources, PageLedger& ledger,
                const WindowPage& page) {
  ledger.release(resources.cache.page_of(page.node));
  resources.cache.drop_page(page.node, hint_of(context));
}

// The chain is held at `node` from now on, which has `count` pages.
void move_anchor(Context& context, ModelResources& resources, PageLedger& ledger, NodeId node,
                 std::uint32_t count) {
  resources.cache.hold(node);
  ledger.acquire_chain(resources.cache, node);
  ledger.release_chain(resources.cache, context.anchor);
  resources.cache.drop(context.anchor, hint_of(context));
  context.anchor = node;
  context.anchor_count = count;
}

// The first page that is wholly dropped; `end` if there is none before it.
std::uint32_t first_gone(const SlotSet& dropped, std::uint32_t page_size, std::uint32_t end) {
  for (const SlotRange& range : dropped.ranges()) {
    const std::uint32_t first = divide_up(range.begin, page_size);
    if (first >= end) break;
    if (first < range.end / page_size) return first;
  }
  return end;
}

// From the first page that is gone on, pages are held alone.
void part_chain(Context& context, ModelResources& resources, PageLedger& ledger) {
  const std::uint32_t page_size = page_size_of(resources);
  const SlotSet& dropped = context.view.dropped();
  const std::uint32_t end = context.anchor_count;
  const std::uint32_t first = first_gone(dropped, page_size, end);
  if (first == end) return;
  std::vector<WindowPage> kept;
  NodeId node = context.anchor;
  for (std::uint32_t index = end; index > first; --index) {
    if (!is_gone(dropped, page_size, index - 1)) kept.push_back({index - 1, node});
    node = resources.cache.parent(node);
  }
  std::vector<WindowPage> behind = std::exchange(context.window, {});
  std::reverse(kept.begin(), kept.end());
  for (const WindowPage& page : kept) hold_alone(context, resources, ledger, page);
  context.window.insert(context.window.end(), behind.begin(), behind.end());
  move_anchor(context, resources, ledger, node, first);
}

void clear_queue(Context& context, std::uint32_t page_size, std::uint32_t written_count) {
  context.tokens.resize(context.token_first + written_count);
  forget_adapters(context, page_size);
  context.written_count = written_count;
  context.overflow_count = 0;
}

// Takes written tokens of the tail back, from `written_count` on; what is queued moves up.
void cut_written(Context& context, std::uint32_t page_size, std::uint32_t written_count) {
  const auto first = context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first);
  const std::uint32_t base = context.committed_count * page_size;
  context.adapters.erase(base + written_count, base + context.written_count);
  context.tokens.erase(first + written_count, first + context.written_count);
  forget_adapters(context, page_size);
  context.written_count = written_count;
  const std::uint32_t length = seq_len(context, page_size);
  context.view.truncate(length);
  // Slots that were dropped and will be written anew can be seen again.
  context.table_clean_count = std::min(context.table_clean_count, length / page_size);
  if (written_count == 0) context.has_unnamed_start = false;
}

std::string count_of(std::uint64_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace

void fork_context(Context& context, Context& child, ModelResources& resources, PageLedger& ledger) {
  QUIRE_CHECK(!context.is_in_flight, "forked under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  while (context.written_count >= page_size) commit_first(context, resources, ledger);
  PageCache& cache = resources.cache;
  child.head = context.head;
  child.committed_count = context.committed_count;
  child.anchor = context.anchor;
  child.anchor_count = context.anchor_count;
  child.view = context.view;
  child.adapters = context.adapters;
  child.adapters_in_force = context.adapters_in_force;
  child.has_unnamed_start = context.has_unnamed_start;
  child.has_opaque_page = context.has_opaque_page;
  child.is_suspended = context.is_suspended;
  child.lost_count = context.lost_count;
  child.written_count = context.written_count;
  child.overflow_count = context.overflow_count;
  child.found_token_count = context.found_token_count;
  child.is_beyond_context = context.is_beyond_context;
  child.drawn = context.drawn.forked();
  child.hint = context.hint;
  child.hint_seconds = context.hint_seconds;
  child.tokens.assign(context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first),
                      context.tokens.end());
  cache.hold_name(context.head);
  fork_away(context, child, resources, ledger);
  if (context.swapped) fork_swapped(context, child, resources);
  if (context.is_suspended) return;
  cache.hold(context.anchor);
  ledger.acquire_chain(cache, context.anchor);
  child.window.reserve(context.window.size());
  for (const WindowPage& page : context.window) hold_alone(child, resources, ledger, page);
  if (context.written_count == 0 || context.tail.empty()) return;
  child.tail.assign(1, context.tail.front());
  ledger.acquire(child.tail.front());
  if (context.boundary != kNoNode) {
    child.boundary = context.boundary;
    cache.hold_page(context.boundary);
  } else {
    cache.seal(child.tail.front());
    if (!is_planted(Fault::ForkWithoutCount)) cache.retain(child.tail.front());
  }
}

Result<void> truncate_context(Context& context, ModelResources& resources, PageLedger& ledger,
                              std::uint32_t token_count) {
  QUIRE_CHECK(!context.is_in_flight, "truncated under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t own = queued_count(context) - context.lost_count;
  const std::uint32_t tail_count =
      context.lost_count > 0 ? seq_len(context, page_size) % page_size : context.written_count;
  const std::uint64_t reach = std::uint64_t{own} + tail_count + context.overflow_count;
  if (token_count > reach) {
    return Error(ErrorCode::OutOfRange,
                 "truncate " + count_of(token_count, "token") + ": " + std::to_string(reach) +
                     " are queued or in the working tail, the rest is committed (rewind reaches "
                     "further)");
  }
  const auto overflow = std::min<std::uint64_t>(context.overflow_count, token_count);
  context.overflow_count -= overflow;
  const auto rest = static_cast<std::uint32_t>(token_count - overflow);
  const std::uint32_t queued = std::min(queued_count(context), rest);
  context.tokens.resize(context.tokens.size() - queued);
  forget_adapters(context, page_size);
  context.lost_count -= std::min(context.lost_count, queued - std::min(own, queued));
  if (rest > queued) {
    cut_written(context, page_size, context.written_count - (rest - queued));
  }
  if (!context.is_suspended) trim_tail(context, resources, ledger);
  return {};
}

namespace {

// `length` lies in what is queued, or in what was lost.
Result<void> rewind_queue(Context& context, std::uint32_t page_size, std::uint32_t written,
                          std::uint32_t length) {
  const std::uint64_t all = std::uint64_t{written} + queued_count(context) + context.overflow_count;
  if (length > all) {
    return Error(ErrorCode::OutOfRange, "rewind to " + std::to_string(length) +
                                            ": the context has " + count_of(all, "token"));
  }
  const std::uint64_t kept = all - context.overflow_count;
  context.overflow_count = length > kept ? length - kept : 0;
  context.tokens.resize(
      std::min(context.tokens.size(),
               context.token_first + length - std::size_t{context.committed_count} * page_size));
  forget_adapters(context, page_size);
  context.lost_count = std::min(context.lost_count, length - written);
  return {};
}

// `length` lies in page `kept`, a committed one, or at its start.
void rewind_committed(Context& context, ModelResources& resources, PageLedger& ledger,
                      std::uint32_t length, std::uint32_t kept) {
  PageCache& cache = resources.cache;
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t rest = length % page_size;
  NodeId cut = kNoNode;  // The page that `length` lies in, if not at its start.
  NodeId head = context.head;
  for (std::uint32_t index = context.committed_count; index > kept; --index) {
    cut = head;
    head = cache.parent(head);
  }
  std::vector<TokenId> tokens;
  std::vector<std::uint8_t> mask;
  if (rest > 0) {
    tokens.assign(cache.trie().tokens(cut).begin(), cache.trie().tokens(cut).begin() + rest);
    mask.assign(cache.trie().mask(cut).begin(), cache.trie().mask(cut).end());
  }
  const bool is_cut_held = kept < context.anchor_count ||
                           std::any_of(
                               context.window.begin(), context.window.end(),
                               [&](const WindowPage& page) { return page.index == kept; });
  release_tail(context, resources, ledger, 0);
  context.boundary = kNoNode;
  if (rest > 0 && is_cut_held) {
    cache.hold_page(cut);
    ledger.acquire(cache.page_of(cut));
    context.boundary = cut;
    context.tail.push_back(cache.page_of(cut));
  }
  while (!context.window.empty() && context.window.back().index >= kept) {
    drop_alone(context, resources, ledger, context.window.back());
    context.window.pop_back();
  }
  cache.hold_name(head);
  if (context.anchor_count > kept) move_anchor(context, resources, ledger, head, kept);
  cache.drop_name(context.head);
  context.head = head;
  context.committed_count = kept;
  context.tokens = std::move(tokens);
  context.token_first = 0;
  context.written_count = rest;
  context.overflow_count = 0;
  // What an opaque page holds has no name in part either.
  context.has_unnamed_start = rest > 0 && (!is_cut_held || cache.trie().is_opaque(cut));
  context.view.rewind(length, kept * page_size, mask);
  forget_adapters(context, page_size);
  context.table_clean_count = std::min(context.table_clean_count, kept);
}

}  // namespace

Result<void> rewind_context(Context& context, ModelResources& resources, PageLedger& ledger,
                            std::uint32_t length) {
  QUIRE_CHECK(!context.is_in_flight && !context.is_suspended, "rewound under a batch");
  if (is_planted(Fault::RewindOffByOne) && length > 0) --length;
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t all_written = seq_len(context, page_size);
  const std::uint32_t written = all_written - context.lost_count;
  // Behind a cut into what was committed, nothing that was reserved is left.
  if (context.lost_count > 0 && length / page_size < all_written / page_size) {
    context.reserved_count = 0;
  }
  if (length > written) return rewind_queue(context, page_size, written, length);
  context.lost_count = 0;
  const std::uint32_t kept = length / page_size;
  if (kept >= context.committed_count) {
    clear_queue(context, page_size, context.written_count);
    cut_written(context, page_size, length - context.committed_count * page_size);
    trim_tail(context, resources, ledger);
    return {};
  }
  rewind_committed(context, resources, ledger, length, kept);
  return {};
}

Result<void> drop_range(Context& context, ModelResources& resources, PageLedger& ledger,
                        SlotRange range) {
  QUIRE_CHECK(!context.is_in_flight, "dropped from under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t length = seq_len(context, page_size);
  if (range.begin > range.end || range.end > length) {
    std::string held = count_of(length, "written token");
    const std::uint32_t queued = queued_count(context);
    if (queued > 0) held += " and " + std::to_string(queued) + " queued; flush writes those";
    return Error(ErrorCode::OutOfRange, "drop_range [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the context has " +
                                            held);
  }
  SlotSet slots;
  slots.add(range);
  drop_slots(context, resources, ledger, slots);
  return {};
}

void drop_slots(Context& context, ModelResources& resources, PageLedger& ledger,
                const SlotSet& slots) {
  const std::uint32_t page_size = page_size_of(resources);
  const SlotSet& dropped = context.view.dropped();
  std::vector<SlotRange> fresh;
  for (const SlotRange& range : slots.ranges()) {
    for (const SlotRange& part : dropped.missing(range)) fresh.push_back(part);
  }
  if (fresh.empty()) return;
  context.view.drop(slots, seq_len(context, page_size));
  part_chain(context, resources, ledger);
  for (const SlotRange& part : fresh) {
    mark_dirty(context, part.begin / page_size, divide_up(part.end, page_size));
  }
  const auto from_page = [&](std::uint32_t first) {
    return std::lower_bound(
        context.window.begin(), context.window.end(), first,
        [](const WindowPage& page, std::uint32_t index) { return page.index < index; });
  };
  const auto end = from_page(divide_up(fresh.back().end, page_size));
  auto kept = from_page(fresh.front().begin / page_size);
  for (auto each = kept; each != end; ++each) {
    if (is_gone(dropped, page_size, each->index)) {
      drop_alone(context, resources, ledger, *each);
    } else {
      *kept++ = *each;
    }
  }
  context.window.erase(kept, end);
}

Result<void> splice_context(Context& context, const Context& source,
                            const ModelResources& resources, SlotRange range) {
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t tail_first = source.committed_count * page_size;
  const std::uint64_t length = std::uint64_t{tail_first} + tail_token_count(source);
  if (range.begin > range.end || range.end > length) {
    return Error(ErrorCode::OutOfRange, "splice [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the source has " +
                                            count_of(length, "token"));
  }
  std::vector<std::uint32_t> tokens(range.end - range.begin);
  NodeId node = source.head;
  for (std::uint32_t index = source.committed_count; index > range.begin / page_size; --index) {
    const std::uint32_t first = (index - 1) * page_size;
    const std::span<const TokenId> page = resources.cache.trie().tokens(node);
    for (std::uint32_t slot = std::max(first, range.begin);
         slot < std::min(first + page_size, range.end); ++slot) {
      tokens[slot - range.begin] = static_cast<std::uint32_t>(page[slot - first]);
    }
    node = resources.cache.parent(node);
  }
  for (std::uint32_t slot = std::max(tail_first, range.begin); slot < range.end; ++slot) {
    tokens[slot - range.begin] =
        static_cast<std::uint32_t>(source.tokens[source.token_first + slot - tail_first]);
  }
  append_tokens(context, resources, tokens);
  return {};
}

std::uint32_t pages_to_reserve(const Context& context, std::uint32_t count) {
  if (count == 0) return 0;
  // The page of slots that were never written comes with them, and so do those that were reserved
  // before a suspension.
  const auto held = static_cast<std::uint32_t>(context.tail.size());
  const std::uint32_t missing = context.reserved_count - std::min(context.reserved_count, held);
  return count + missing + (context.has_unnamed_start && context.tail.empty() ? 1 : 0);
}

void reserve_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                   std::uint32_t count) {
  const bool is_taken = extend_tail(context, resources, ledger, pages_to_reserve(context, count));
  QUIRE_CHECK(is_taken, "reserved without room");
  if (count > 0) context.reserved_count = static_cast<std::uint32_t>(context.tail.size());
}

Result<void> commit_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                          std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight, "committed under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t full = context.written_count / page_size;
  if (count > full) {
    const std::uint32_t in_next = context.written_count % page_size;
    return Error(ErrorCode::PageNotFull, "commit " + count_of(count, "working page") + ": " +
                                             std::to_string(full) + " full, the next holds " +
                                             std::to_string(in_next) + " of " +
                                             count_of(page_size, "token"));
  }
  for (std::uint32_t index = 0; index < count; ++index) commit_first(context, resources, ledger);
  return {};
}

Result<void> release_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                           std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight, "released under a batch");
  // Reserved ones that a suspension took are released by not being taken again.
  const std::uint32_t held =
      std::max(static_cast<std::uint32_t>(context.tail.size()), context.reserved_count);
  if (count > held) {
    return Error(ErrorCode::OutOfRange, "release " + count_of(count, "working page") +
                                            ": the context has " + std::to_string(held));
  }
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t room = (held - count) * page_size;
  if (context.written_count > room) cut_written(context, page_size, room);
  release_tail(context, resources, ledger, held - count);
  return {};
}

Result<void> truncate_page_tokens(Context& context, const ModelResources& resources,
                                  std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight, "truncated under a batch");
  if (count > context.written_count) {
    return Error(ErrorCode::OutOfRange, "truncate " + count_of(count, "token") +
                                            " of the working pages: they hold " +
                                            std::to_string(context.written_count));
  }
  cut_written(context, page_size_of(resources), context.written_count - count);
  context.reserved_count =
      std::max(static_cast<std::uint32_t>(context.tail.size()), context.reserved_count);
  return {};
}

void drop_context(Context& context, ModelResources& resources, PageLedger& ledger) {
  lapse_claims(context, resources);
  release_tail(context, resources, ledger, 0);
  for (const WindowPage& page : context.window) drop_alone(context, resources, ledger, page);
  context.window.clear();
  if (!context.is_suspended) {
    ledger.release_chain(resources.cache, context.anchor);
    resources.cache.drop(context.anchor, hint_of(context));
  }
  unpin_swapped(context, resources);
  forget_away(context, resources, ledger);
  resources.cache.drop_name(context.head);
  resources.sequences.release(context);
  context.head = context.anchor = kNoNode;
  context.committed_count = context.anchor_count = 0;
  context.tokens.clear();
  context.token_first = 0;
  context.written_count = context.flight_count = 0;
  context.overflow_count = 0;
  context.view = {};
  context.adapters = {};
  context.adapters_in_force = nullptr;
  context.lost_count = 0;
  context.has_unnamed_start = context.has_opaque_page = false;
  context.is_in_flight = context.is_opening = context.is_suspended = false;
}

void begin_opening(Context& context) {
  context.is_opening = true;
}

void set_adapters(Context& context, SlotAdapters<AdapterSetRef> adapters, AdapterSetRef in_force) {
  context.adapters = std::move(adapters);
  context.adapters_in_force = std::move(in_force);
}

void finish_opening(Context& context, const store::SnapshotRecord& record, store::TicketId ticket) {
  context.reserved_count = 0;
  context.is_opening = false;
  if (!record.tail.empty()) {
    context.tokens = record.tail.front().tokens;
    context.written_count = record.tail.front().written_count;
  }
  context.tokens.insert(context.tokens.end(), record.queued_tokens.begin(),
                        record.queued_tokens.end());
  context.taken_ticket = ticket;
}

void begin_swap_in(Context& context) {
  context.is_in_flight = true;
}

void note_use(Context& context, BatchId batch) {
  context.used_batch = static_cast<std::uint64_t>(batch);
}

void set_hint(Context& context, ContextHintKind kind, std::uint32_t seconds) {
  context.hint = kind;
  context.hint_seconds = seconds;
}

void set_beyond(Context& context, bool is_allowed) {
  context.is_beyond_context = is_allowed;
}

}  // namespace quire::control
