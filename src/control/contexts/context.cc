#include "control/contexts/context.h"

#include <algorithm>

#include "base/check.h"
#include "control/contexts/context_limits.h"
#include "control/contexts/model_resources.h"

namespace quire::control {

void Context::recycle() {
  const std::uint32_t kept = generation;
  *this = Context();
  generation = kept;
}

bool Context::is_idle() const {
  return chain().head() != kNoNode && !is_in_flight_ && !is_opening_ && !is_suspended_;
}

bool Context::is_plain() const {
  return view().is_plain() && !working().has_unnamed_start() && !chain().has_opaque_page();
}

ContextCounters Context::counters() const {
  const std::uint32_t page_size = this->page_size();
  ContextCounters counters{.seq_len = seq_len(),
                           .committed_page_count = chain().held_count(),
                           .working_page_token_count = tokens().written_count(),
                           .found_token_count = use_.found_token_count,
                           .queued_token_count = tokens().own_count()};
  if (is_suspended_ || tokens().lost_count() > 0) {
    // The counters that a program reads do not depend on where its pages are.
    counters.committed_page_count = swapped_ ? static_cast<std::uint32_t>(swapped_->pages.size())
                                             : counters.seq_len / page_size;
    counters.working_page_token_count = counters.seq_len % page_size;
  }
  // Pages that are no longer lost will count as committed.
  const std::uint32_t lost_pages = tokens().lost_count() > 0 && !swapped_
                                       ? counters.seq_len / page_size - chain().page_count()
                                       : 0;
  const std::uint32_t reserved = swapped_ ? swapped_->reserved_count : working().reserved_count();
  counters.working_page_count =
      std::max(page_count_for(counters.working_page_token_count, page_size),
               reserved - std::min(reserved, lost_pages));
  return counters;
}

void Context::append(std::span<const std::uint32_t> tokens) {
  parts_.append(tokens, queue_room(*this));
}

void Context::append_drawn(std::uint32_t token) {
  append(std::span(&token, 1));
  drawn_.note_queued();
}

void Context::set_hint(ContextHintKind kind, std::uint32_t seconds) {
  ContextWishes wishes = this->wishes();
  wishes.hint = kind;
  wishes.hint_seconds = seconds;
  parts_.set_wishes(wishes);
}

void Context::set_beyond(bool is_allowed) {
  ContextWishes wishes = this->wishes();
  wishes.is_beyond_context = is_allowed;
  parts_.set_wishes(wishes);
}

void Context::note_replayed(std::uint32_t count, bool has_last) {
  if (!use_.is_opened) return;
  use_.found_token_count -= std::min(use_.found_token_count, count);
  use_.is_opened = !has_last;
}

void Context::fork_to(Context& child) {
  QUIRE_CHECK(!is_in_flight_, "forked under a batch");
  parts_.commit_full();
  child.parts_.fork_name_from(parts_);
  child.is_suspended_ = is_suspended_;
  child.use_.found_token_count = use_.found_token_count;
  child.use_.is_opened = use_.is_opened;
  child.drawn_ = drawn_.forked();
  fork_away(child);
  if (swapped_) fork_swapped(child);
  if (!is_suspended_) child.parts_.fork_pages_from(parts_);
}

void Context::drop() {
  parts_.give_back_pages(is_suspended_);
  unpin_swapped();
  forget_away();
  parts_.close();
  parts_.resources().sequences.release(*this);
  is_in_flight_ = is_opening_ = is_suspended_ = false;
}

}  // namespace quire::control
