// The invariants of context.h, for tests.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"

namespace quire::control {
namespace {

void verify_suspended(const Context& context) {
  const SwappedContext* swapped = context.swapped();
  QUIRE_CHECK(context.chain().anchor() == kNoNode && context.chain().window().empty() &&
                  context.working().is_empty() && context.tokens().written_count() == 0 &&
                  (!context.is_in_flight() || swapped != nullptr),
              "X7");
  QUIRE_CHECK(context.table().sequence() == kNoSequence, "X8");
  if (swapped == nullptr) return;
  const std::vector<NodeId> path = context.chain().nodes(context.parts().cache());
  QUIRE_CHECK(swapped->written_count == context.tokens().lost_count(), "X7");
  QUIRE_CHECK(swapped->anchor_count <= swapped->pages.size(), "X7");
  for (const WindowPage& page : swapped->pages) {
    QUIRE_CHECK(page.index < path.size() && path[page.index] == page.node, "X7");
  }
}

void verify_tail(const Context& context) {
  const TailTokens& tokens = context.tokens();
  const WorkingPages& working = context.working();
  const std::uint32_t page_size = context.page_size();
  const std::uint32_t written = tokens.written_count();
  QUIRE_CHECK(working.has_unnamed_start() || working.count() >= page_count_for(written, page_size),
              "X2");
  QUIRE_CHECK(working.count() <=
                  std::max(page_count_for(tokens.count(), page_size), working.reserved_count()),
              "X2");
  QUIRE_CHECK(working.claim_count() == 0 || context.is_in_flight(), "X5");
  QUIRE_CHECK(context.table().clean_count() <= context.parts().table_entry_count(), "X8");
  const auto ranges = context.view().dropped().ranges();
  QUIRE_CHECK(context.is_opening() || ranges.empty() || ranges.back().end <= context.seq_len(),
              "X6");
  for (std::uint32_t index = 0; index < working.count(); ++index) {
    const bool is_boundary = index == 0 && working.boundary() != kNoNode;
    const PageState state = context.parts().cache().pool().state(working.pages()[index]);
    const bool is_next = index == written / page_size;
    QUIRE_CHECK(state == (is_boundary ? PageState::Committed : PageState::Working) ||
                    (state == PageState::Sealed && is_next),
                "X3");
    QUIRE_CHECK((!is_boundary && state != PageState::Sealed) || tokens.flight_count() == 0, "X3");
  }
}

void verify_adapters(const Context& context) {
  const SlotAdapters& sets = context.adapters().of_slots;
  sets.verify();
  const PageCache& cache = context.parts().cache();
  const std::vector<NodeId> path = context.chain().nodes(cache);
  const std::uint32_t page_size = context.page_size();
  for (std::uint32_t index = 0; index < path.size(); ++index) {
    const auto wanted = adapter_runs(sets, index * page_size, (index + 1) * page_size);
    QUIRE_CHECK(std::ranges::equal(wanted, cache.trie().adapters(path[index])), "X9");
  }
}

}  // namespace

void Context::verify() const {
  if (!is_opening_) verify_adapters(*this);
  chain().verify_path(parts_.cache());
  tokens().verify();
  verify_away(*this);
  if (const ContextStates* states = parts_.states()) {
    states->verify(*parts_.resources().states, seq_len(), is_in_flight_);
  }
  if (is_suspended_) return verify_suspended(*this);
  chain().verify_holds(parts_.cache(), view().dropped());
  verify_tail(*this);
}

}  // namespace quire::control
