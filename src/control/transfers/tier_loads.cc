// Pages on their way from a tier to the pool.
#include <utility>

#include "control/batches/batch_draft.h"
#include "control/transfers/tier_transfers.h"

namespace quire::control {

bool TierTransfers::begin_load(NodeId node, PageId page, SwapIn* swap, BatchDraft& draft) {
  Result<PageTiers::Taken> taken = resources_.tiers.take_bytes(node);
  if (!taken.ok()) return false;
  PageTiers::Taken bytes = std::move(taken).take();
  resources_.cache.claim_back(page, node);
  draft.add_load(*this, {.page = page, .bytes = std::move(bytes.bytes)});
  loading_.push_back({.page = page, .node = node, .transfer = bytes.transfer, .swap = swap});
  return true;
}

}  // namespace quire::control
