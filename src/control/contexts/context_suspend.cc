#include "control/contexts/context_suspend.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_parts.h"

namespace quire::control {

using inference::TokenId;

bool can_suspend(const Context& context, const ModelResources& resources) {
  if (!is_idle(context) || !is_plain(context)) return false;
  return !context.tail.empty() || !resources.cache.is_root(context.anchor);
}

void suspend_context(Context& context, ModelResources& resources, PageLedger& ledger) {
  QUIRE_CHECK(can_suspend(context, resources), "suspended what cannot be");
  note_away(context, resources, ledger);
  context.lost_count += std::exchange(context.written_count, 0);
  const std::uint32_t reserved = context.reserved_count;
  release_tail(context, resources, ledger, 0);
  context.reserved_count = reserved;
  ledger.release_chain(resources.cache, context.anchor);
  // It will be back, whatever the program says of it.
  resources.cache.drop(context.anchor, {.hint = EvictionHint::WillResume});
  context.anchor = kNoNode;
  context.anchor_count = 0;
  context.is_suspended = true;
  if (!is_planted(Fault::RestoredFromStaleSlot)) resources.sequences.release(context);
}

void resume_context(Context& context, ModelResources& resources, PageLedger& ledger,
                    std::uint32_t quota) {
  QUIRE_CHECK(context.is_suspended, "resumed what was not suspended");
  PageCache& cache = resources.cache;
  std::vector<NodeId> path(context.committed_count);
  NodeId root = context.head;
  for (std::uint32_t index = context.committed_count; index > 0; --index) {
    path[index - 1] = root;
    root = cache.parent(root);
  }
  std::uint32_t kept = 0;
  std::uint32_t held = ledger.page_count();
  for (; kept < path.size() && cache.is_resident(path[kept]); ++kept) {
    if (!ledger.holds(cache.page_of(path[kept])) && held++ >= quota) break;
  }
  std::vector<TokenId> tokens;
  for (std::size_t index = kept; index < path.size(); ++index) {
    const std::span<const TokenId> page = cache.trie().tokens(path[index]);
    tokens.insert(tokens.end(), page.begin(), page.end());
  }
  context.lost_count += static_cast<std::uint32_t>(tokens.size());
  // The pages that are lost stand before those of the tail, until they are committed again.
  if (context.reserved_count > 0) context.reserved_count += context.committed_count - kept;
  tokens.insert(tokens.end(),
                context.tokens.begin() + static_cast<std::ptrdiff_t>(context.token_first),
                context.tokens.end());
  context.tokens = std::move(tokens);
  context.token_first = 0;
  context.anchor = kept == 0 ? root : path[kept - 1];
  context.anchor_count = kept;
  context.committed_count = kept;
  cache.hold(context.anchor);
  ledger.acquire_chain(cache, context.anchor);
  cache.hold_name(context.anchor);
  keep_away_head(context, resources, std::exchange(context.head, context.anchor),
                 static_cast<std::uint32_t>(path.size()));
  context.is_suspended = false;
}

}  // namespace quire::control
