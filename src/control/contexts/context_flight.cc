// A context's queued tokens are computed: pages for them, the device's table, and what becomes of
// them when the batch is done.
#include <algorithm>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/tail_page.h"

namespace quire::control {

using inference::PageCopy;
using inference::TableChange;
using inference::TokenId;

namespace {

// The tail's page that the next token goes to, by its place there.
std::uint32_t next_tail_page(const Context& context, std::uint32_t page_size) {
  const std::uint32_t written = context.tokens().written_count();
  return written < page_size ? 0 : written / page_size;
}

// Whether that page is not ours to write.
bool is_copied_first(const Context& context, const PageCache& cache) {
  const std::uint32_t partial = next_tail_page(context, cache.page_size());
  const WorkingPages& working = context.working();
  if (partial >= working.count()) return false;
  if (partial == 0 && working.boundary() != kNoNode) return true;
  if (is_planted(Fault::SealedPageWritten)) return false;
  return cache.is_shared_tail(working.pages()[partial]);
}

// Pages that the tail lacks for the first `count` queued tokens.
std::uint32_t pages_lacking(const Context& context, std::uint32_t page_size, std::uint32_t count) {
  const std::uint32_t held = context.working().count();
  const std::uint32_t reserved = context.working().reserved_count();
  const std::uint64_t end = std::uint64_t{context.tokens().written_count()} + count;
  if (end <= std::uint64_t{held} * page_size && reserved <= held) return 0;
  return std::max(page_count_for(end, page_size), reserved) - held;
}

// Entries [first, end) of the context's table.
std::vector<inference::TableEntry> entries_of(const ContextParts& parts, const PageCache& cache,
                                              std::uint32_t first, std::uint32_t end) {
  const CommittedChain& chain = parts.chain();
  const std::span<const PageId> tail = parts.working().pages();
  const std::uint32_t page_size = cache.page_size();
  const SlotSet& dropped = parts.view().dropped();
  std::vector<inference::TableEntry> entries(end - first);
  // Every slot that was not dropped is visible as far as the table goes: a pass sees none from its
  // visible_slot_end on.
  const auto put = [&](std::uint32_t index, PageId page) {
    const std::uint32_t visible = dropped.visible_bits(index * page_size, page_size);
    if (visible != 0) entries[index - first] = {.page = page, .visible = visible};
  };
  NodeId node = chain.anchor();
  for (std::uint32_t index = chain.anchor_count(); index > first; --index) {
    if (index <= end) put(index - 1, cache.page_of(node));
    node = cache.parent(node);
  }
  for (const WindowPage& page : chain.window_from(first)) {
    if (page.index >= end) break;
    put(page.index, cache.page_of(page.node));
  }
  const std::uint32_t tail_first = chain.page_count();
  const std::uint32_t tail_end = tail_first + parts.working().count();
  for (std::uint32_t index = std::max(tail_first, first); index < std::min(end, tail_end);
       ++index) {
    // A page of the tail is written, visible or not.
    entries[index - first] = {.page = tail[index - tail_first],
                              .visible = dropped.visible_bits(index * page_size, page_size)};
  }
  return entries;
}

}  // namespace

bool Context::has_slots(std::uint32_t count) const {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t next = next_tail_page(*this, page_size);
  return pages_lacking(*this, page_size, count) == 0 && next < working().count() &&
         working().boundary() == kNoNode && !parts_.cache().is_sealed(working().pages()[next]);
}

std::uint32_t Context::pages_wanted(std::uint32_t count) const {
  if (count == 0) return 0;
  return pages_lacking(*this, page_size(), count) +
         (is_copied_first(*this, parts_.cache()) ? 1 : 0);
}

bool Context::take_pages(std::uint32_t count, std::vector<PageCopy>& copies) {
  if (count == 0) return true;
  const std::uint32_t page_size = this->page_size();
  const bool copies_first = is_copied_first(*this, parts_.cache());
  const std::uint32_t wanted = pages_lacking(*this, page_size, count) + (copies_first ? 1 : 0);
  const std::uint32_t first_new = working().count();
  if (wanted > 0 && !parts_.extend_tail(wanted)) return false;
  const std::uint32_t partial = next_tail_page(*this, page_size);
  if (!copies_first) {
    if (partial < first_new && parts_.cache().is_sealed(working().pages()[partial])) {
      parts_.cache().reopen(working().pages()[partial]);
    }
    return true;
  }
  const std::uint32_t slot_count = tokens().written_count() % page_size;
  if (slot_count > 0 && !is_planted(Fault::BoundaryPageNotCopied)) {
    copies.push_back({.from = working().pages()[partial],
                      .to = working().pages()[first_new],
                      .from_slot = 0,
                      .to_slot = 0,
                      .slot_count = slot_count});
  }
  parts_.replace_tail_page(partial, first_new);
  return true;
}

// Claims the pages that the tail's first `end` tokens fill, and the page that they end in.
void ContextParts::claim_pages(std::uint32_t end) {
  const std::uint32_t page_size = this->page_size();
  if (tokens_.count() < page_size) return;  // A search never asks for a part of a page.
  std::uint32_t claimed = working_.has_unnamed_start() ? 0 : end / page_size;
  // The page that the tokens end in is claimed too, if all its tokens are known. Another context
  // that wants the same page waits for it, instead of computing it a second time.
  const bool ends_within = !working_.has_unnamed_start() && end % page_size > 0;
  if (ends_within && tokens_.count() >= (claimed + 1) * page_size) ++claimed;
  NodeId parent = chain_.head();
  while (working_.claim_count() < claimed) {
    const TailPage page(*this, page_size, working_.claim_count());
    const PageId id = working_.pages()[working_.claim_count()];
    if (!cache().claim(id, parent, page.content())) break;
    parent = cache().trie().node_of(id);
    working_.note_claim();
  }
}

void ContextParts::begin_flight(std::uint32_t count, std::span<const TokenId> drafts) {
  claim_pages(tokens_.written_count() + count);
  if (!drafts.empty()) note_appended();
  tokens_.begin_flight(count, drafts);
}

void ContextParts::sync_table(std::vector<TableChange>& changes) {
  const std::uint32_t entry_count = table_entry_count();
  const std::uint32_t clean_count = table_.clean_count();
  const auto change = [&](std::uint32_t first, std::uint32_t end, std::uint32_t all) {
    changes.push_back({.sequence = table_.sequence(),
                       .entry_first = first,
                       .entries = entries_of(*this, cache(), first, end),
                       .entry_count = all});
  };
  QUIRE_CHECK(clean_count <= entry_count, "X8");
  for (const SlotRange& dirty : table_.dirty()) {
    const std::uint32_t end = std::min(dirty.end, clean_count);
    if (dirty.begin < end) change(dirty.begin, end, clean_count);
  }
  table_.clear_dirty();
  if (clean_count == entry_count) return;
  change(clean_count, entry_count, entry_count);
  table_.note_clean(entry_count);
}

void ContextParts::end_flight(bool is_written, std::uint32_t rejected_count) {
  tokens_.end_flight(is_written, rejected_count);
  if (rejected_count > 0) forget_adapters();
  if (!is_written) {
    if (states_ != nullptr) states_->end_flight(stated_chain(), false, seq_len());
    if (!is_planted(Fault::ClaimKeptAfterFailure)) working_.lapse_claims(cache());
    return;
  }
  commit_full();
  working_.lapse_claims(cache());
  if (states_ != nullptr) states_->end_flight(stated_chain(), true, seq_len());
}

void Context::begin_flight(std::uint32_t count, std::span<const TokenId> drafts) {
  QUIRE_CHECK(!is_in_flight_ && count <= tokens().queued_count(), "X4");
  is_in_flight_ = true;
  parts_.begin_flight(count, drafts);
}

void Context::end_flight(bool is_written, std::uint32_t rejected_count) {
  QUIRE_CHECK(is_in_flight_, "X5");
  is_in_flight_ = false;
  parts_.end_flight(is_written, rejected_count);
}

}  // namespace quire::control
