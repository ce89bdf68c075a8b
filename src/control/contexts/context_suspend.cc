// Suspension: a context gives its pages up and goes on existing.
//
// What it knows stays: its tokens, in nodes held by name and in the context itself. Its pages go
// cold, so the eviction order decides which of them really go; the others are there when it
// resumes. Tokens whose pages went are lost: written once, to be written again before anything that
// depends on them. They stand first among the queued ones, and seq_len() goes on counting them.
// Pages that the program reserved go too; their count stays, and what computes next takes them
// again.
//
// The bits of a context that dropped slots or has an opaque page could not be computed from its
// tokens: it is swapped instead (context_swap.cc).
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"

namespace quire::control {

using inference::TokenId;

bool Context::can_suspend() const {
  if (!is_idle() || !is_plain()) return false;
  return !working().is_empty() || !parts_.cache().is_root(chain().anchor());
}

void Context::suspend() {
  QUIRE_CHECK(can_suspend(), "suspended what cannot be");
  note_away();
  const std::uint32_t reserved = working().reserved_count();
  parts_.let_go();
  parts_.reserve(reserved);
  is_suspended_ = true;
  if (!is_planted(Fault::RestoredFromStaleSlot)) parts_.resources().sequences.release(*this);
}

void Context::resume(std::uint32_t quota) {
  QUIRE_CHECK(is_suspended_, "resumed what was not suspended");
  const PageCache& cache = parts_.cache();
  const PageLedger& ledger = parts_.ledger();
  const std::vector<NodeId> path = chain().nodes(cache);
  const NodeId root = cache.root_of(chain().head());
  std::uint32_t kept = 0;
  std::uint32_t held = ledger.page_count();
  for (; kept < path.size() && cache.is_resident(path[kept]); ++kept) {
    if (!ledger.holds(cache.page_of(path[kept])) && held++ >= quota) break;
  }
  std::vector<TokenId> lost;
  for (std::size_t index = kept; index < path.size(); ++index) {
    const std::span<const TokenId> page = cache.trie().tokens(path[index]);
    lost.insert(lost.end(), page.begin(), page.end());
  }
  const std::uint32_t before = chain().page_count();
  const NodeId anchor = kept == 0 ? root : path[kept - 1];
  keep_away_head(parts_.return_to(anchor, kept, lost), before);
  is_suspended_ = false;
}

}  // namespace quire::control
