#include "control/contexts/context_parts.h"

#include <algorithm>

#include "base/check.h"
#include "control/contexts/page_ledger.h"
#include "control/contexts/tail_page.h"

namespace quire::control {

using inference::TokenId;

void ContextParts::bind(const ContextOwner& owner) {
  owner_ = owner;
  if (owner.resources->states) states_ = std::make_unique<ContextStates>();
}

StatedChain ContextParts::stated_chain() const {
  return {.states = *owner_.resources->states,
          .cache = cache(),
          .chain = chain_,
          .tenant = owner_.tenant};
}

std::uint32_t ContextParts::written_count() const {
  return chain_.page_count() * page_size() + tokens_.written_count();
}

std::uint32_t ContextParts::replay_count() const {
  if (states_ == nullptr) return 0;
  const std::uint32_t written = written_count();
  return written - states_->nearest(stated_chain(), written).length;
}

// Tokens may have gone from the end.
void ContextParts::cut_states() {
  if (states_ == nullptr) return;
  states_->cut(*owner_.resources->states, seq_len());
  states_->cut_marks(held_token_count());
}

void ContextParts::cut_marks() {
  if (states_ != nullptr) states_->cut_marks(seq_len());
}

void ContextParts::mark() {
  if (states_ != nullptr) states_->mark(stated_chain(), held_token_count());
}

std::uint32_t ContextParts::seq_len() const {
  return written_count() + tokens_.lost_count();
}

std::uint64_t ContextParts::held_token_count() const {
  return std::uint64_t{chain_.page_count()} * page_size() + tokens_.count();
}

// Slots that were never written have a hole where there is no page for them yet.
std::uint32_t ContextParts::table_entry_count() const {
  const std::uint32_t needed = page_count_for(tokens_.written_count(), page_size());
  return chain_.page_count() + std::max(needed, working_.count());
}

void ContextParts::note_appended() {
  adapters_.of_slots.extend(static_cast<std::uint32_t>(held_token_count()), adapters_.in_force);
}

void ContextParts::forget_adapters() {
  adapters_.of_slots.cut(static_cast<std::uint32_t>(held_token_count()));
}

void ContextParts::append(std::span<const std::uint32_t> tokens, std::uint64_t room) {
  if (room > 0 && tokens_.overflow_count() == 0 && !tokens.empty()) note_appended();
  tokens_.append(tokens, room);
}

bool ContextParts::extend_tail(std::uint32_t count) {
  const std::uint32_t first = chain_.page_count() + working_.count();
  if (!working_.take(cache(), ledger(), count)) return false;
  table_.mark_dirty(first, first + count);
  return true;
}

void ContextParts::release_tail(std::uint32_t keep_count) {
  if (!working_.release_to(cache(), ledger(), keep_count, wishes_.cold())) return;
  table_.cut(chain_.page_count() + keep_count);
}

void ContextParts::trim_tail() {
  const std::uint32_t needed = page_count_for(tokens_.written_count(), page_size());
  release_tail(std::max(needed, working_.reserved_count()));
}

void ContextParts::replace_tail_page(std::uint32_t index, std::uint32_t by) {
  working_.replace(cache(), ledger(), index, by, wishes_.cold());
  const std::uint32_t entry = chain_.page_count() + index;
  table_.mark_dirty(entry, entry + 1);
}

void ContextParts::commit_first() {
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

void ContextParts::commit_full() {
  while (tokens_.written_count() >= page_size() && !working_.is_empty()) commit_first();
}

std::uint32_t ContextParts::take_back(std::uint32_t count) {
  const std::uint32_t rest = tokens_.truncate(count);
  forget_adapters();
  cut_states();
  return rest;
}

void ContextParts::cut_queue(std::uint64_t count, std::uint64_t overflow_count,
                             std::uint32_t lost_count_max) {
  tokens_.cut_queue(count, overflow_count, lost_count_max);
  forget_adapters();
  cut_states();
}

void ContextParts::clear_queue() {
  tokens_.clear_queue();
  forget_adapters();
  cut_states();
}

void ContextParts::cut_written(std::uint32_t count) {
  const std::uint32_t base = chain_.page_count() * page_size();
  adapters_.of_slots.erase(base + count, base + tokens_.written_count());
  tokens_.cut_written(count);
  forget_adapters();
  const std::uint32_t length = seq_len();
  view_.truncate(length);
  // Slots that were dropped and will be written anew can be seen again.
  table_.cut(length / page_size());
  if (count == 0) working_.set_unnamed_start(false);
  cut_marks();
  cut_states();
}

void ContextParts::cut_committed(std::uint32_t length) {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t kept = length / page_size;
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
  cut_states();
}

void ContextParts::drop_slots(const SlotSet& slots) {
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

std::uint32_t ContextParts::attach_found(std::span<const NodeId> nodes) {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t committed = chain_.page_count();
  const auto count = static_cast<std::uint32_t>(nodes.size());
  chain_.push_found(cache(), ledger(), nodes);
  // The found pages replace the context's partly written page and the pages that were lost. Empty
  // pages that were reserved stay.
  if (!working_.is_empty() && tokens_.written_count() > 0) {
    working_.release_first(cache(), ledger(), wishes_.cold());
  }
  const std::uint32_t begun =
      page_count_for(std::uint64_t{tokens_.written_count()} + tokens_.lost_count(), page_size);
  working_.unreserve(std::min(begun, count));
  const std::uint32_t found = tokens_.find(count * page_size);
  view_.forget_before(chain_.page_count() * page_size);
  table_.cut(committed);
  // Pages that an earlier chunk took for what is found now.
  release_tail(std::max(page_count_for(tokens_.count(), page_size), working_.reserved_count()));
  if (states_ != nullptr) states_->settle_marks(stated_chain());
  return found;
}

void ContextParts::let_go() {
  tokens_.lose_written();
  release_tail(0);
  // The context will be back, whatever hint the program gave.
  chain_.let_go(cache(), ledger(), {.hint = EvictionHint::WillResume});
}

NodeId ContextParts::return_to(NodeId anchor, std::uint32_t count, std::span<const TokenId> lost) {
  tokens_.put_back(lost);
  // The pages that are lost stand before those of the tail, until they are committed again.
  if (working_.reserved_count() > 0) {
    working_.reserve(working_.reserved_count() + chain_.page_count() - count);
  }
  return chain_.end_at(cache(), ledger(), anchor, count);
}

void ContextParts::return_all(const SwappedContext& swapped, std::span<const PageId> tail) {
  chain_.hold_again(cache(), ledger(), swapped.pages, swapped.anchor_count);
  working_.begin(ledger(), tail);
  working_.reserve(swapped.reserved_count);
  tokens_.regain(swapped.written_count);
}

void ContextParts::fork_name_from(ContextParts& parent) {
  if (states_ != nullptr) states_->fork_from(*owner_.resources->states, *parent.states_);
  view_ = parent.view_;
  adapters_ = parent.adapters_;
  working_.set_unnamed_start(parent.working_.has_unnamed_start());
  tokens_.fork_from(parent.tokens_);
  wishes_ = parent.wishes_;
  chain_.fork_name(cache(), parent.chain_);
}

void ContextParts::fork_pages_from(const ContextParts& parent) {
  chain_.fork_holds(cache(), ledger(), parent.chain_);
  if (tokens_.written_count() == 0 || parent.working_.is_empty()) return;
  working_.fork_first_from(cache(), ledger(), parent.working_);
}

void ContextParts::give_back_pages(bool is_suspended) {
  working_.lapse_claims(cache());
  release_tail(0);
  if (is_suspended) return;
  chain_.let_go(cache(), ledger(), wishes_.cold());
  if (states_ != nullptr) states_->note_hint(stated_chain(), wishes_.cold());
}

void ContextParts::close() {
  if (states_ != nullptr) states_->leave(*owner_.resources->states);
  chain_.close(cache());
  tokens_.clear();
  view_ = {};
  adapters_ = {};
  working_.set_unnamed_start(false);
}

}  // namespace quire::control
