// The invariants of context.h, for tests.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"

namespace quire::control {

void Context::verify_suspended() const {
  QUIRE_CHECK(chain_.anchor() == kNoNode && chain_.window().empty() && working_.is_empty() &&
                  tokens_.written_count() == 0 && (!is_in_flight_ || swapped_),
              "X7");
  QUIRE_CHECK(table_.sequence() == kNoSequence, "X8");
  if (!swapped_) return;
  const std::vector<NodeId> path = chain_.nodes(cache());
  QUIRE_CHECK(swapped_->written_count == tokens_.lost_count(), "X7");
  QUIRE_CHECK(swapped_->anchor_count <= swapped_->pages.size(), "X7");
  for (const WindowPage& page : swapped_->pages) {
    QUIRE_CHECK(page.index < path.size() && path[page.index] == page.node, "X7");
  }
}

void Context::verify_tail() const {
  const std::uint32_t page_size = this->page_size();
  const std::uint32_t written = tokens_.written_count();
  QUIRE_CHECK(
      working_.has_unnamed_start() || working_.count() >= page_count_for(written, page_size), "X2");
  QUIRE_CHECK(working_.count() <=
                  std::max(page_count_for(tokens_.count(), page_size), working_.reserved_count()),
              "X2");
  QUIRE_CHECK(working_.claim_count() == 0 || is_in_flight_, "X5");
  QUIRE_CHECK(table_.clean_count() <= table_entry_count(), "X8");
  const auto ranges = view_.dropped().ranges();
  QUIRE_CHECK(is_opening_ || ranges.empty() || ranges.back().end <= seq_len(), "X6");
  for (std::uint32_t index = 0; index < working_.count(); ++index) {
    const bool is_boundary = index == 0 && working_.boundary() != kNoNode;
    const PageState state = cache().pool().state(working_.pages()[index]);
    const bool is_next = index == written / page_size;
    QUIRE_CHECK(state == (is_boundary ? PageState::Committed : PageState::Working) ||
                    (state == PageState::Sealed && is_next),
                "X3");
    QUIRE_CHECK((!is_boundary && state != PageState::Sealed) || tokens_.flight_count() == 0, "X3");
  }
}

void Context::verify_adapters() const {
  const std::vector<NodeId> path = chain_.nodes(cache());
  const std::uint32_t page_size = this->page_size();
  for (std::uint32_t index = 0; index < path.size(); ++index) {
    const auto wanted = adapters().of_slots.of(index * page_size, (index + 1) * page_size);
    QUIRE_CHECK(std::ranges::equal(wanted, cache().trie().adapters(path[index])), "X9");
  }
}

void Context::verify() const {
  if (!is_opening_) verify_adapters();
  chain_.verify_path(cache());
  tokens_.verify();
  verify_away();
  if (is_suspended_) return verify_suspended();
  chain_.verify_holds(cache(), view_.dropped());
  verify_tail();
}

}  // namespace quire::control
