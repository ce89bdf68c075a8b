// Swapping: a context gives its pages up to a tier, and takes the very bytes back.
//
// A context is suspended in this way if its tokens alone do not give its bits: it dropped slots, or
// has an opaque page. The rules of context_suspend.cc hold here too, except that nothing is lost.
// Its committed pages are pinned on a tier until they are back. The pages of its tail have no
// names, so their written slots lie in memory here, once for all forks. A tenant has a share of
// that memory, and of the places on the tiers (tenant_shares.h). It comes back when the pool has
// room for all of it: no two contexts wait for one another with half of their pages each.
//
// While the pages are on their way back the context is in flight, and still suspended.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/contexts/context.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"
#include "control/contexts/tail_page.h"

namespace quire::control {
namespace {

// Each page of `swapped` is pinned on a tier; those that no tier has are saved.
void pin_pages(SwappedContext& swapped, ModelResources& resources, TenantId tenant,
               std::vector<SwapSave>& saves) {
  PageCache& cache = resources.cache;
  // Pages that are on a tier already must not make way for new ones.
  swapped.pins.resize(swapped.pages.size());
  std::vector<std::size_t> leaving;
  for (std::size_t index = 0; index < swapped.pages.size(); ++index) {
    const NodeId node = swapped.pages[index].node;
    if (resources.tiers.has(node)) {
      swapped.pins[index] = resources.tiers.pin(tenant, node);
    } else {
      leaving.push_back(index);
    }
  }
  // Host memory takes those that come first, and there are some that it alone can take.
  std::stable_partition(leaving.begin(), leaving.end(), [&](std::size_t index) {
    return !resources.tiers.fits_disk(swapped.pages[index].node);
  });
  for (const std::size_t index : leaving) {
    const WindowPage& page = swapped.pages[index];
    const std::optional<TransferId> transfer = resources.tiers.leave(page.node);
    QUIRE_CHECK(transfer.has_value(), "can_pin() promised too much");
    swapped.pins[index] = resources.tiers.pin(tenant, page.node);
    saves.push_back({.page = cache.page_of(page.node),
                     .slots = cache.visible_slots(page.node),
                     .node = page.node,
                     .transfer = *transfer});
  }
}

}  // namespace

bool Context::may_swap() const {
  if (!is_idle() || is_plain() || !parts_.resources().tiers.is_on()) return false;
  if (working().is_empty() && chain().held_count() == 0) return false;
  return parts_.resources().swapped_tails.may_take(owner().tenant, written_tail_count(parts_));
}

bool Context::can_swap() const {
  if (!may_swap()) return false;
  std::vector<NodeId> nodes;
  for (const WindowPage& page : chain().held_pages(parts_.cache())) nodes.push_back(page.node);
  return parts_.resources().tiers.can_pin(owner().tenant, nodes);
}

void Context::swap_out(std::vector<SwapSave>& saves) {
  QUIRE_CHECK(can_swap(), "swapped what cannot be");
  note_away();
  auto swapped = std::make_unique<SwappedContext>();
  swapped->pages = chain().held_pages(parts_.cache());
  swapped->anchor_count = chain().anchor_count();
  swapped->written_count = tokens().written_count();
  swapped->reserved_count = working().reserved_count();
  pin_pages(*swapped, parts_.resources(), owner().tenant, saves);
  const std::uint32_t tail = written_tail_count(parts_);
  for (std::uint32_t index = 0; index < tail; ++index) {
    const PageId page = working().pages()[index];
    const bool is_held = parts_.cache().is_shared_tail(page);
    if (is_held) parts_.cache().retain(page);
    saves.push_back({.page = page,
                     .slots = visible_tail_slots(parts_, index),
                     .tail_index = index,
                     .is_held = is_held});
  }
  swapped->tail.resize(tail);
  parts_.resources().swapped_tails.take(owner().tenant, tail);
  parts_.let_go();
  is_suspended_ = true;
  swapped_ = std::move(swapped);
  parts_.resources().sequences.release(*this);
}

void Context::swap_in(std::span<const PageId> tail) {
  parts_.return_all(*swapped_, tail);
  is_suspended_ = false;
  unpin_swapped();
}

inference::PageBytes Context::take_tail_page(std::size_t index) {
  TailBytes& bytes = swapped_->tail[index];
  if (bytes.use_count() > 1) return bytes->copy();  // A fork is to come back too.
  return std::move(*std::exchange(bytes, nullptr));
}

void Context::give_tail_page(std::size_t index, inference::PageBytes bytes) {
  TailBytes& kept = swapped_->tail[index];
  if (kept == nullptr) kept = std::make_shared<inference::PageBytes>(std::move(bytes));
}

// The context ends, or has its pages back.
void Context::unpin_swapped() {
  if (!swapped_) return;
  const auto last = std::count_if(swapped_->tail.begin(), swapped_->tail.end(),
                                  [](const TailBytes& bytes) { return bytes.use_count() <= 1; });
  parts_.resources().swapped_tails.give(owner().tenant, static_cast<std::uint64_t>(last));
  for (std::size_t index = 0; index < swapped_->pages.size(); ++index) {
    parts_.resources().tiers.unpin(owner().tenant, swapped_->pages[index].node,
                                   swapped_->pins[index]);
  }
  swapped_.reset();
}

// `child` needs what it needs. Requires: its tail has come, or an error.
void Context::fork_swapped(Context& child) const {
  const SwappedContext& from = *swapped_;
  auto swapped = std::make_unique<SwappedContext>();
  swapped->pages = from.pages;
  swapped->pins = from.pins;
  swapped->anchor_count = from.anchor_count;
  swapped->written_count = from.written_count;
  for (std::size_t index = 0; index < from.pages.size(); ++index) {
    // A fork is its parent's tenant's.
    swapped->pins[index] = parts_.resources().tiers.pin_again(
        owner().tenant, from.pages[index].node, from.pins[index]);
  }
  if (from.error) {
    swapped->error = from.error->copy();
  } else {
    swapped->tail = from.tail;
  }
  child.swapped_ = std::move(swapped);
}

}  // namespace quire::control
