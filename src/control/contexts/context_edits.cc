// Changes of a context other than computing its tokens: forks, cuts, drops, and the published
// operations on its working pages.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"

namespace quire::control {

using inference::TokenId;

namespace {

std::string count_of(std::uint64_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace

void Context::fork_to(Context& child) {
  QUIRE_CHECK(!is_in_flight_, "forked under a batch");
  const std::uint32_t page_size = this->page_size();
  while (tokens_.written_count() >= page_size) commit_first();
  child.view_ = view_;
  child.adapters_ = adapters_;
  child.working_.set_unnamed_start(working_.has_unnamed_start());
  child.is_suspended_ = is_suspended_;
  child.tokens_.fork_from(tokens_);
  child.use_.found_token_count = use_.found_token_count;
  child.drawn_ = drawn_.forked();
  child.wishes_ = wishes_;
  child.chain_.fork_name(cache(), chain_);
  fork_away(child);
  if (swapped_) fork_swapped(child);
  if (is_suspended_) return;
  child.chain_.fork_holds(cache(), ledger(), chain_);
  if (tokens_.written_count() == 0 || working_.is_empty()) return;
  child.working_.fork_first_from(cache(), ledger(), working_);
}

// Takes written tokens of the tail back, from `written_count` on; what is queued moves up.
void Context::cut_written(std::uint32_t written_count) {
  const std::uint32_t base = chain_.page_count() * page_size();
  adapters_.of_slots.erase(base + written_count, base + tokens_.written_count());
  tokens_.cut_written(written_count);
  forget_adapters();
  const std::uint32_t length = seq_len();
  view_.truncate(length);
  // Slots that were dropped and will be written anew can be seen again.
  table_.cut(length / page_size());
  if (written_count == 0) working_.set_unnamed_start(false);
}

Result<void> Context::truncate(std::uint32_t token_count) {
  QUIRE_CHECK(!is_in_flight_, "truncated under a batch");
  const std::uint32_t tail_count =
      tokens_.lost_count() > 0 ? seq_len() % page_size() : tokens_.written_count();
  const std::uint64_t reach =
      std::uint64_t{tokens_.own_count()} + tail_count + tokens_.overflow_count();
  if (token_count > reach) {
    return Error(ErrorCode::OutOfRange,
                 "truncate " + count_of(token_count, "token") + ": " + std::to_string(reach) +
                     " are queued or in the working tail, the rest is committed (rewind reaches "
                     "further)");
  }
  const std::uint32_t rest = tokens_.truncate(token_count);
  forget_adapters();
  if (rest > 0) cut_written(tokens_.written_count() - rest);
  if (!is_suspended_) trim_tail();
  return {};
}

// `length` lies in what is queued, or in what was lost.
Result<void> Context::rewind_queue(std::uint32_t written, std::uint32_t length) {
  const std::uint64_t kept = std::uint64_t{written} + tokens_.queued_count();
  const std::uint64_t all = kept + tokens_.overflow_count();
  if (length > all) {
    return Error(ErrorCode::OutOfRange, "rewind to " + std::to_string(length) +
                                            ": the context has " + count_of(all, "token"));
  }
  tokens_.cut_queue(length - std::uint64_t{chain_.page_count()} * page_size(),
                    length > kept ? length - kept : 0, length - written);
  forget_adapters();
  return {};
}

// `length` lies in page `kept`, a committed one, or at its start.
void Context::rewind_committed(std::uint32_t length, std::uint32_t kept) {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t rest = length % page_size;
  NodeId cut = kNoNode;  // The page that `length` lies in, if not at its start.
  NodeId head = chain_.head();
  for (std::uint32_t index = chain_.page_count(); index > kept; --index) {
    cut = head;
    head = cache().parent(head);
  }
  std::vector<TokenId> tokens;
  std::vector<std::uint8_t> mask;
  if (rest > 0) {
    const PageTrie& trie = cache().trie();
    tokens.assign(trie.tokens(cut).begin(), trie.tokens(cut).begin() + rest);
    mask.assign(trie.mask(cut).begin(), trie.mask(cut).end());
  }
  const bool is_cut_held = chain_.holds(kept);
  release_tail(0);
  if (rest > 0 && is_cut_held) {
    const PageId page = cache().page_of(cut);
    cache().hold_page(cut);
    working_.begin(ledger(), std::span(&page, 1), cut);
  }
  // A part of an opaque page has no name either.
  working_.set_unnamed_start(rest > 0 && (!is_cut_held || cache().trie().is_opaque(cut)));
  chain_.cut(cache(), ledger(), head, kept, wishes_.cold());
  tokens_.restart(tokens);
  forget_adapters();
  view_.rewind(length, kept * page_size, mask);
  table_.cut(kept);
}

Result<void> Context::rewind(std::uint32_t length) {
  QUIRE_CHECK(!is_in_flight_ && !is_suspended_, "rewound under a batch");
  if (is_planted(Fault::RewindOffByOne) && length > 0) --length;
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t all_written = seq_len();
  const std::uint32_t written = all_written - tokens_.lost_count();
  // After a cut into committed tokens, no reserved page is left.
  if (tokens_.lost_count() > 0 && length / page_size < all_written / page_size) {
    working_.reserve(0);
  }
  if (length > written) return rewind_queue(written, length);
  const std::uint32_t kept = length / page_size;
  if (kept >= chain_.page_count()) {
    tokens_.clear_queue();
    forget_adapters();
    cut_written(length - chain_.page_count() * page_size);
    trim_tail();
    return {};
  }
  rewind_committed(length, kept);
  return {};
}

Result<void> Context::drop_range(SlotRange range) {
  QUIRE_CHECK(!is_in_flight_, "dropped from under a batch");
  const std::uint32_t length = seq_len();
  if (range.begin > range.end || range.end > length) {
    std::string held = count_of(length, "written token");
    const std::uint32_t queued = tokens_.queued_count();
    if (queued > 0) held += " and " + std::to_string(queued) + " queued; flush writes those";
    return Error(ErrorCode::OutOfRange, "drop_range [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the context has " +
                                            held);
  }
  SlotSet slots;
  slots.add(range);
  drop_slots(slots);
  return {};
}

void Context::drop_slots(const SlotSet& slots) {
  const std::uint32_t page_size = this->page_size();
  const SlotSet& dropped = view_.dropped();
  std::vector<SlotRange> fresh;
  for (const SlotRange& range : slots.ranges()) {
    for (const SlotRange& part : dropped.missing(range)) fresh.push_back(part);
  }
  if (fresh.empty()) return;
  view_.drop(slots, seq_len());
  chain_.part(cache(), ledger(), dropped, wishes_.cold());
  for (const SlotRange& part : fresh) {
    table_.mark_dirty(part.begin / page_size, page_count_for(part.end, page_size));
  }
  chain_.drop_gone(cache(), ledger(), dropped, {fresh.front().begin, fresh.back().end},
                   wishes_.cold());
}

std::uint32_t Context::pages_to_reserve(std::uint32_t count) const {
  if (count == 0) return 0;
  // The page of slots that were never written comes with them, and so do those that were reserved
  // before a suspension.
  return count + working_.missing_count() +
         (working_.has_unnamed_start() && working_.is_empty() ? 1 : 0);
}

void Context::reserve_pages(std::uint32_t count) {
  const bool is_taken = extend_tail(pages_to_reserve(count));
  QUIRE_CHECK(is_taken, "reserved without room");
  if (count > 0) working_.reserve(working_.count());
}

Result<void> Context::commit_pages(std::uint32_t count) {
  QUIRE_CHECK(!is_in_flight_, "committed under a batch");
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t full = tokens_.written_count() / page_size;
  if (count > full) {
    const std::uint32_t in_next = tokens_.written_count() % page_size;
    return Error(ErrorCode::PageNotFull, "commit " + count_of(count, "working page") + ": " +
                                             std::to_string(full) + " full, the next holds " +
                                             std::to_string(in_next) + " of " +
                                             count_of(page_size, "token"));
  }
  for (std::uint32_t index = 0; index < count; ++index) commit_first();
  return {};
}

Result<void> Context::release_pages(std::uint32_t count) {
  QUIRE_CHECK(!is_in_flight_, "released under a batch");
  // Reserved ones that a suspension took are released by not being taken again.
  const std::uint32_t held = std::max(working_.count(), working_.reserved_count());
  if (count > held) {
    return Error(ErrorCode::OutOfRange, "release " + count_of(count, "working page") +
                                            ": the context has " + std::to_string(held));
  }
  const std::uint32_t room = (held - count) * page_size();
  if (tokens_.written_count() > room) cut_written(room);
  release_tail(held - count);
  return {};
}

Result<void> Context::truncate_page_tokens(std::uint32_t count) {
  QUIRE_CHECK(!is_in_flight_, "truncated under a batch");
  const std::uint32_t written = tokens_.written_count();
  if (count > written) {
    return Error(ErrorCode::OutOfRange, "truncate " + count_of(count, "token") +
                                            " of the working pages: they hold " +
                                            std::to_string(written));
  }
  cut_written(written - count);
  working_.reserve(std::max(working_.count(), working_.reserved_count()));
  return {};
}

void Context::drop() {
  working_.lapse_claims(cache());
  release_tail(0);
  if (!is_suspended_) chain_.let_go(cache(), ledger(), wishes_.cold());
  unpin_swapped();
  forget_away();
  chain_.close(cache());
  resources().sequences.release(*this);
  tokens_.clear();
  view_ = {};
  adapters_ = {};
  working_.set_unnamed_start(false);
  is_in_flight_ = is_opening_ = is_suspended_ = false;
}

}  // namespace quire::control
