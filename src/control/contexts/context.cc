#include "control/contexts/context.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/tail_page.h"

namespace quire::control {

using inference::TokenId;

namespace {

// Tokens that may stand between the first slot that is still seen and the end.
std::uint64_t length_max(const Context& context) {
  constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << 31;
  if (context.wishes().is_beyond_context) return kPositionEnd;
  return std::min(kPositionEnd, std::uint64_t{context.view().dropped().first_outside()} +
                                    context.owner().resources->model.context_length);
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

Error not_kept(std::uint64_t overflow_count) {
  const std::string count = std::to_string(overflow_count);
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

// The length with the tokens that are only counted.
std::uint64_t length_of(const Context& context) {
  return context.held_token_count() + context.tokens().overflow_count();
}

// Committed pages of which nothing is held.
std::uint32_t gone_count(const CommittedChain& chain) {
  return chain.page_count() - chain.held_count();
}

}  // namespace

void Context::recycle() {
  const std::uint32_t kept = generation;
  *this = Context();
  generation = kept;
}

bool Context::is_idle() const {
  return chain_.head() != kNoNode && !is_in_flight_ && !is_opening_ && !is_suspended_;
}

bool Context::is_plain() const {
  return view_.is_plain() && !working_.has_unnamed_start() && !chain_.has_opaque_page();
}

std::uint32_t Context::seq_len() const {
  return chain_.page_count() * page_size() + tokens_.written_count() + tokens_.lost_count();
}

ContextCounters Context::counters() const {
  const std::uint32_t page_size = this->page_size();
  ContextCounters counters{.seq_len = seq_len(),
                           .committed_page_count = chain_.held_count(),
                           .working_page_token_count = tokens_.written_count(),
                           .found_token_count = use_.found_token_count,
                           .queued_token_count = tokens_.own_count()};
  if (is_suspended_ || tokens_.lost_count() > 0) {
    // The counters that a program reads do not depend on where its pages are.
    counters.committed_page_count = swapped_ ? static_cast<std::uint32_t>(swapped_->pages.size())
                                             : counters.seq_len / page_size;
    counters.working_page_token_count = counters.seq_len % page_size;
  }
  // Pages that are no longer lost will count as committed.
  const std::uint32_t lost_pages = tokens_.lost_count() > 0 && !swapped_
                                       ? counters.seq_len / page_size - chain_.page_count()
                                       : 0;
  const std::uint32_t reserved = swapped_ ? swapped_->reserved_count : working_.reserved_count();
  counters.working_page_count =
      std::max(page_count_for(counters.working_page_token_count, page_size),
               reserved - std::min(reserved, lost_pages));
  return counters;
}

std::uint64_t Context::held_token_count() const {
  return std::uint64_t{chain_.page_count()} * page_size() + tokens_.count();
}

TokenId Context::token_at(std::uint32_t position) const {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t index = position / page_size;
  if (index >= chain_.page_count()) {
    return tokens_.all()[position - chain_.page_count() * page_size];
  }
  NodeId node = chain_.head();
  for (std::uint32_t each = chain_.page_count() - 1; each > index; --each) {
    node = cache().parent(node);
  }
  return cache().trie().tokens(node)[position % page_size];
}

void Context::copy_last_tokens(std::uint32_t count, std::vector<TokenId>& out) const {
  std::uint64_t left = std::min<std::uint64_t>(count, held_token_count());
  const std::size_t first = out.size();
  out.resize(first + left);
  // From the end: the tail, then the pages above it.
  const std::span<const TokenId> of_tail =
      tokens_.all().last(std::min<std::uint64_t>(left, tokens_.count()));
  std::copy(of_tail.begin(), of_tail.end(),
            out.end() - static_cast<std::ptrdiff_t>(of_tail.size()));
  left -= of_tail.size();
  for (NodeId node = chain_.head(); left > 0; node = cache().parent(node)) {
    const std::span<const TokenId> page = cache().trie().tokens(node);
    const std::uint64_t taken = std::min<std::uint64_t>(left, page.size());
    QUIRE_CHECK(taken > 0, "a page without tokens above one that has them");
    left -= taken;
    std::copy(page.end() - static_cast<std::ptrdiff_t>(taken), page.end(),
              out.begin() + static_cast<std::ptrdiff_t>(first + left));
  }
}

std::uint32_t Context::written_tail_count() const {
  return std::min(page_count_for(tokens_.written_count(), page_size()), working_.count());
}

std::uint32_t Context::visible_tail_slots(std::uint32_t index) const {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t count = std::min(tokens_.written_count() - index * page_size, page_size);
  const std::uint32_t first = (chain_.page_count() + index) * page_size;
  return slot_bits(0, count) & view_.dropped().visible_bits(first, page_size);
}

void Context::open(NodeId root) {
  chain_.open(cache(), root);
}

void Context::append(std::span<const std::uint32_t> tokens) {
  const std::uint64_t held = length_of(*this);
  // One token more than can be computed is kept: the one that was drawn last from a full context.
  // It is computed once the program has dropped some tokens.
  const std::uint64_t kept_max = length_max(*this) + 1;
  const std::uint64_t room = held > kept_max ? 0 : kept_max - held;
  if (room > 0 && tokens_.overflow_count() == 0 && !tokens.empty()) note_appended();
  tokens_.append(tokens, room);
}

void Context::note_appended() {
  adapters_.of_slots.extend(static_cast<std::uint32_t>(held_token_count()), adapters_.in_force);
}

void Context::forget_adapters() {
  adapters_.of_slots.cut(static_cast<std::uint32_t>(held_token_count()));
}

void Context::append_drawn(std::uint32_t token) {
  append(std::span(&token, 1));
  drawn_.note_queued();
}

Result<void> Context::splice(const Context& source, SlotRange range) {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t tail_first = source.chain_.page_count() * page_size;
  const std::uint64_t length = source.held_token_count();
  if (range.begin > range.end || range.end > length) {
    return Error(ErrorCode::OutOfRange, "splice [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the source has " +
                                            std::to_string(length) +
                                            (length == 1 ? " token" : " tokens"));
  }
  std::vector<std::uint32_t> tokens(range.end - range.begin);
  NodeId node = source.chain_.head();
  for (std::uint32_t index = source.chain_.page_count(); index > range.begin / page_size; --index) {
    const std::uint32_t first = (index - 1) * page_size;
    const std::span<const TokenId> page = cache().trie().tokens(node);
    for (std::uint32_t slot = std::max(first, range.begin);
         slot < std::min(first + page_size, range.end); ++slot) {
      tokens[slot - range.begin] = static_cast<std::uint32_t>(page[slot - first]);
    }
    node = cache().parent(node);
  }
  const std::span<const TokenId> of_tail = source.tokens_.all();
  for (std::uint32_t slot = std::max(tail_first, range.begin); slot < range.end; ++slot) {
    tokens[slot - range.begin] = static_cast<std::uint32_t>(of_tail[slot - tail_first]);
  }
  append(tokens);
  return {};
}

bool Context::is_overfull() const {
  return length_of(*this) > length_max(*this);
}

std::uint64_t Context::room() const {
  const std::uint64_t pool =
      (std::uint64_t{cache().page_count()} + gone_count(chain_)) * page_size();
  const std::uint64_t limit = std::min(length_max(*this), pool);
  const std::uint64_t held = length_of(*this);
  return limit > held ? limit - held : 0;
}

Result<void> Context::check_fits() const {
  const std::uint32_t page_size = this->page_size();
  const std::uint64_t total = length_of(*this);
  const std::uint64_t pool = std::uint64_t{cache().page_count()} * page_size;
  const std::uint64_t certain = std::min<std::uint64_t>(resources().model.context_length, pool);
  const std::uint64_t overflow = tokens_.overflow_count();
  if (total <= certain && overflow == 0) return {};
  const std::uint64_t limit = length_max(*this);
  if (total > limit) return too_long(total, limit, resources());
  if (overflow > 0) return not_kept(overflow);
  const std::uint32_t gone = gone_count(chain_);
  const std::uint64_t page_count_max = std::uint64_t{cache().page_count()} + gone;
  if (total > page_count_max * page_size) {
    return too_many_pages(total, page_count_for(total, page_size) - gone, resources());
  }
  return {};
}

void Context::set_hint(ContextHintKind kind, std::uint32_t seconds) {
  wishes_.hint = kind;
  wishes_.hint_seconds = seconds;
}

// Adds `count` pages to the tail; false if there are not as many.
bool Context::extend_tail(std::uint32_t count) {
  const std::uint32_t first = chain_.page_count() + working_.count();
  if (!working_.take(cache(), ledger(), count)) return false;
  table_.mark_dirty(first, first + count);
  return true;
}

// Gives pages of the tail back until `keep_count` are left.
void Context::release_tail(std::uint32_t keep_count) {
  if (!working_.release_to(cache(), ledger(), keep_count, wishes_.cold())) return;
  table_.cut(chain_.page_count() + keep_count);
}

// Pages that no written token needs.
void Context::trim_tail() {
  const std::uint32_t needed = page_count_for(tokens_.written_count(), page_size());
  release_tail(std::max(needed, working_.reserved_count()));
}

// Commits the first page of the tail, which is full.
void Context::commit_first() {
  const std::uint32_t page_size = this->page_size();
  const PageId page = working_.pages().front();
  const TailPage full(*this, page_size, 0);
  const NodeId node = cache().commit(page, chain_.head(), full.content(), chain_.hold_kind(),
                                     working_.has_unnamed_start());
  if (cache().page_of(node) != page) {
    table_.mark_dirty(chain_.page_count(), chain_.page_count() + 1);
  }
  working_.set_unnamed_start(false);
  chain_.push(cache(), ledger(), node);
  working_.unreserve(1);
  tokens_.commit(page_size);
  view_.forget_before(chain_.page_count() * page_size);
  working_.commit_first(ledger());
}

void Context::commit_full() {
  while (tokens_.written_count() >= page_size() && !working_.is_empty()) commit_first();
}

}  // namespace quire::control
