#include "control/resources/context.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "base/check.h"

namespace quire::control {

using inference::PageCopy;
using inference::TableChange;
using inference::TokenId;

namespace {

std::uint32_t page_size_of(const ModelResources& resources) {
  return resources.cache.page_size();
}

std::uint32_t tail_token_count(const Context& context) {
  return static_cast<std::uint32_t>(context.tokens.size() - context.token_first);
}

std::uint32_t divide_up(std::uint64_t count, std::uint32_t by) {
  return static_cast<std::uint32_t>((count + by - 1) / by);
}

// The content of the page `index` pages behind the head.
class TailPage {
 public:
  TailPage(const Context& context, std::uint32_t page_size, std::uint32_t index) {
    const std::size_t first = context.token_first + std::size_t{index} * page_size;
    content_.tokens = std::span(context.tokens).subspan(first, page_size);
    std::iota(positions_.begin(), positions_.begin() + page_size,
              (context.committed_count + index) * page_size);
    content_.positions = std::span(positions_).first(page_size);
  }
  TailPage(const TailPage&) = delete;
  TailPage& operator=(const TailPage&) = delete;
  const PageContent& content() const { return content_; }

 private:
  std::array<std::uint32_t, inference::kPageSizeMax> positions_;
  PageContent content_;
};

// Drops the first page of tokens, which now belong to the head.
void advance_tokens(Context& context, std::uint32_t page_size) {
  constexpr std::size_t kCompactBeyond = 4096;
  context.token_first += page_size;
  ++context.committed_count;
  if (context.token_first == context.tokens.size() ||
      (context.token_first > kCompactBeyond && context.token_first * 2 > context.tokens.size())) {
    context.tokens.erase(context.tokens.begin(),
                         context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first));
    context.token_first = 0;
  }
}

void release_tail(Context& context, ModelResources& resources, PageLedger& ledger,
                  std::uint32_t keep_count) {
  while (context.tail.size() > keep_count) {
    ledger.release(context.tail.back());
    resources.cache.release(context.tail.back());
    context.tail.pop_back();
  }
  context.table_clean_count =
      std::min<std::uint32_t>(context.table_clean_count, context.committed_count + keep_count);
}

void lapse_claims(Context& context, ModelResources& resources) {
  while (context.claim_count > 0) resources.cache.unclaim(context.tail[--context.claim_count]);
}

}  // namespace

std::uint32_t seq_len(const Context& context, std::uint32_t page_size) {
  return context.committed_count * page_size + context.written_count;
}

std::uint32_t queued_count(const Context& context) {
  return tail_token_count(context) - context.written_count - context.flight_count;
}

ContextCounters counters_of(const Context& context, std::uint32_t page_size) {
  return {.seq_len = seq_len(context, page_size),
          .committed_page_count = context.committed_count,
          .working_page_count = divide_up(context.written_count, page_size),
          .working_page_token_count = context.written_count,
          .found_token_count = context.found_token_count};
}

void append_tokens(Context& context, const ModelResources& resources,
                   std::span<const std::uint32_t> tokens) {
  const std::uint64_t held =
      std::uint64_t{context.committed_count} * page_size_of(resources) + tail_token_count(context);
  const std::uint64_t limit = resources.model.context_length;
  const std::uint64_t room = context.overflow_count > 0 ? 0 : (limit > held ? limit - held : 0);
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(room, tokens.size()));
  for (std::size_t index = 0; index < kept; ++index)
    context.tokens.push_back(TokenId{tokens[index]});
  context.overflow_count += tokens.size() - kept;
}

Result<void> check_fits(const Context& context, const ModelResources& resources) {
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint64_t total = std::uint64_t{context.committed_count} * page_size +
                              tail_token_count(context) + context.overflow_count;
  if (total > resources.model.context_length) {
    return Error(ErrorCode::OutOfRange, "the context would hold " + std::to_string(total) +
                                            " tokens; the model's limit is " +
                                            std::to_string(resources.model.context_length));
  }
  const std::uint32_t pages = divide_up(total, page_size);
  if (pages > resources.cache.page_count()) {
    return Error(ErrorCode::NoFreePage, "a context of " + std::to_string(total) + " tokens needs " +
                                            std::to_string(pages) + " KV pages; the pool has " +
                                            std::to_string(resources.cache.page_count()));
  }
  return {};
}

FindResult find_queued(Context& context, ModelResources& resources, PageLedger& ledger,
                       std::uint32_t quota, std::uint32_t page_count_max) {
  QUIRE_CHECK(!context.is_in_flight, "looked up under a batch");
  const std::uint32_t page_size = page_size_of(resources);
  FindResult result;
  for (std::uint32_t looked = 0; tail_token_count(context) >= page_size; ++looked) {
    if (looked == page_count_max) {
      result.end = FindEnd::Slice;
      return result;
    }
    const TailPage page(context, page_size, 0);
    const PageMatch match = resources.cache.find(context.head, page.content());
    if (match.state == NodeState::InFlight && context.written_count == 0) {
      result.end = FindEnd::Claimed;
    }
    if (match.state != NodeState::Published) return result;
    if (!ledger.holds(PageCache::page_of(match.node)) && ledger.page_count() >= quota) {
      result.end = FindEnd::Quota;
      return result;
    }
    release_tail(context, resources, ledger, 0);
    resources.cache.hold(match.node);
    ledger.advance_head(resources.cache, context.head, match.node);
    resources.cache.drop(context.head);
    context.head = match.node;
    result.token_count += page_size - context.written_count;
    context.found_token_count += page_size - context.written_count;
    context.written_count = 0;
    advance_tokens(context, page_size);
  }
  return result;
}

std::uint32_t pages_wanted(const Context& context, const ModelResources& resources) {
  if (queued_count(context) == 0) return 0;
  const std::uint32_t page_size = page_size_of(resources);
  const std::uint32_t needed = divide_up(tail_token_count(context), page_size);
  const auto held = static_cast<std::uint32_t>(context.tail.size());
  const bool copies = held > 0 && context.written_count < page_size &&
                      resources.cache.is_shared_tail(context.tail.front());
  return (needed > held ? needed - held : 0) + (copies ? 1 : 0);
}

bool take_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                std::vector<PageCopy>& copies) {
  if (queued_count(context) == 0) return true;
  const std::uint32_t wanted = pages_wanted(context, resources);
  const std::size_t first_new = context.tail.size();
  if (wanted > 0 && !resources.cache.take(wanted, context.tail)) return false;
  for (std::size_t index = first_new; index < context.tail.size(); ++index) {
    ledger.acquire(context.tail[index]);
  }
  if (first_new == 0 || !resources.cache.is_sealed(context.tail.front())) return true;
  if (!resources.cache.is_shared_tail(context.tail.front())) {
    resources.cache.reopen(context.tail.front());
    return true;
  }
  const PageId sealed = context.tail.front();
  const PageId own = context.tail[first_new];
  copies.push_back({.from = sealed,
                    .to = own,
                    .from_slot = 0,
                    .to_slot = 0,
                    .slot_count = context.written_count});
  context.tail.erase(context.tail.begin() + static_cast<std::ptrdiff_t>(first_new));
  context.tail.front() = own;
  ledger.release(sealed);
  resources.cache.release(sealed);
  context.table_clean_count = std::min(context.table_clean_count, context.committed_count);
  return true;
}

void begin_flight(Context& context, ModelResources& resources, std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight && count <= queued_count(context), "X4");
  const std::uint32_t page_size = page_size_of(resources);
  context.is_in_flight = true;
  context.flight_count = count;
  const std::uint32_t full_count = (context.written_count + count) / page_size;
  NodeId parent = context.head;
  while (context.claim_count < full_count) {
    const TailPage page(context, page_size, context.claim_count);
    const PageId id = context.tail[context.claim_count];
    if (!resources.cache.claim(id, parent, page.content())) break;
    parent = NodeId{static_cast<std::uint32_t>(id)};
    ++context.claim_count;
  }
}

void sync_table(Context& context, ModelResources& resources, std::vector<TableChange>& changes) {
  const std::uint32_t page_size = page_size_of(resources);
  const auto entry_count =
      context.committed_count + static_cast<std::uint32_t>(context.tail.size());
  if (context.table_clean_count == entry_count) return;
  // Every slot is visible as far as the table goes: a pass sees none from its visible_slot_end on.
  const std::uint32_t all = page_size == 32 ? 0xffffffffu : (1u << page_size) - 1;
  TableChange change{.sequence = context.sequence,
                     .entry_first = context.table_clean_count,
                     .entry_count = entry_count};
  change.entries.resize(entry_count - context.table_clean_count);
  NodeId node = context.head;
  for (std::uint32_t index = context.committed_count; index > context.table_clean_count; --index) {
    change.entries[index - 1 - context.table_clean_count] = {PageCache::page_of(node), all};
    node = resources.cache.parent(node);
  }
  const std::uint32_t tail_first = std::max(context.committed_count, context.table_clean_count);
  for (std::uint32_t index = tail_first; index < entry_count; ++index) {
    change.entries[index - context.table_clean_count] = {
        context.tail[index - context.committed_count], all};
  }
  changes.push_back(std::move(change));
  context.table_clean_count = entry_count;
}

void end_flight(Context& context, ModelResources& resources, PageLedger& ledger, bool is_written) {
  QUIRE_CHECK(context.is_in_flight, "X5");
  const std::uint32_t page_size = page_size_of(resources);
  context.is_in_flight = false;
  if (!is_written) {
    lapse_claims(context, resources);
    context.flight_count = 0;
    return;
  }
  context.written_count += context.flight_count;
  context.flight_count = 0;
  std::uint32_t committed = 0;
  for (; context.written_count >= page_size; ++committed) {
    const PageId page = context.tail[committed];
    const TailPage full(context, page_size, 0);
    const NodeId node = resources.cache.commit(page, context.head, full.content());
    if (PageCache::page_of(node) != page) {
      ledger.release(page);
      ledger.advance_head(resources.cache, context.head, node);
      context.table_clean_count = std::min(context.table_clean_count, context.committed_count);
    }
    resources.cache.drop(context.head);
    context.head = node;
    context.written_count -= page_size;
    advance_tokens(context, page_size);
  }
  context.tail.erase(context.tail.begin(), context.tail.begin() + committed);
  context.claim_count = 0;
}

void trim_tail(Context& context, ModelResources& resources, PageLedger& ledger) {
  release_tail(context, resources, ledger,
               divide_up(context.written_count, page_size_of(resources)));
}

void fork_context(Context& context, Context& child, ModelResources& resources, PageLedger& ledger) {
  QUIRE_CHECK(!context.is_in_flight, "forked under a batch");
  child.head = context.head;
  child.committed_count = context.committed_count;
  child.written_count = context.written_count;
  child.overflow_count = context.overflow_count;
  child.found_token_count = context.found_token_count;
  child.tokens.assign(context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first),
                      context.tokens.end());
  child.tail = context.tail;
  if (!resources.cache.is_root(context.head)) resources.cache.hold(context.head);
  ledger.acquire_head(resources.cache, context.head);
  for (const PageId page : child.tail) {
    resources.cache.seal(page);
    resources.cache.retain(page);
    ledger.acquire(page);
  }
}

Result<void> truncate_context(Context& context, ModelResources& resources, PageLedger& ledger,
                              std::uint32_t token_count) {
  QUIRE_CHECK(!context.is_in_flight, "truncated under a batch");
  const std::uint64_t reach = tail_token_count(context) + context.overflow_count;
  if (token_count > reach) {
    return Error(ErrorCode::OutOfRange,
                 "truncate " + std::to_string(token_count) + " tokens: " + std::to_string(reach) +
                     " are queued or in the working tail, the rest is committed");
  }
  const auto overflow = std::min<std::uint64_t>(context.overflow_count, token_count);
  context.overflow_count -= overflow;
  const auto rest = static_cast<std::size_t>(token_count - overflow);
  context.tokens.resize(context.tokens.size() - rest);
  context.written_count = std::min(context.written_count, tail_token_count(context));
  trim_tail(context, resources, ledger);
  return {};
}

void drop_context(Context& context, ModelResources& resources, PageLedger& ledger) {
  lapse_claims(context, resources);
  release_tail(context, resources, ledger, 0);
  ledger.release_head(resources.cache, context.head);
  resources.cache.drop(context.head);
  resources.sequences.release(context);
  context.is_in_flight = false;
}

TokenId last_token(const Context& context, const ModelResources& resources) {
  if (context.written_count > 0)
    return context.tokens[context.token_first + context.written_count - 1];
  return resources.cache.last_token(context.head);
}

void verify_context(const Context& context, const ModelResources& resources) {
  const std::uint32_t page_size = page_size_of(resources);
  std::uint32_t depth = 0;
  for (NodeId node = context.head; !resources.cache.is_root(node);
       node = resources.cache.parent(node)) {
    QUIRE_CHECK(resources.cache.pool().state(PageCache::page_of(node)) == PageState::Committed,
                "X1");
    ++depth;
  }
  QUIRE_CHECK(depth == context.committed_count, "X1");
  QUIRE_CHECK(context.written_count + context.flight_count <= tail_token_count(context), "X4");
  QUIRE_CHECK(context.tail.size() >= divide_up(context.written_count, page_size), "X2");
  QUIRE_CHECK(context.tail.size() <= divide_up(tail_token_count(context), page_size), "X2");
  QUIRE_CHECK(context.claim_count == 0 || context.is_in_flight, "X5");
  for (std::size_t index = 0; index < context.tail.size(); ++index) {
    const PageState state = resources.cache.pool().state(context.tail[index]);
    QUIRE_CHECK(state == PageState::Working || (state == PageState::Sealed && index == 0), "X3");
    QUIRE_CHECK(state != PageState::Sealed || context.flight_count == 0, "X3");
  }
}

}  // namespace quire::control
