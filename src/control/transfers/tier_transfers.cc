#include "control/transfers/tier_transfers.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "control/batches/batch_draft.h"

namespace quire::control {
namespace {

constexpr ColdHint kWanted{.hint = EvictionHint::WillResume};

}  // namespace

// Adds a page that can go at any time to what the batch saves.
bool TierTransfers::keeps(NodeId node) {
  PageTiers& tiers = resources_.tiers;
  if (tiers.has(node)) tiers.touch(node);  // It was wanted for as long as it was in the pool.
  if (!is_building_ || tiers.has(node)) return false;
  if (!costs_.is_worth_keeping(!tiers.has_host(), resources_.cache.page_size())) return false;
  std::optional<TransferId> transfer;
  if (saving_.size() < kSavesPerBatch) transfer = tiers.leave(node);
  if (!transfer) {
    ++lost_count_;
    return false;
  }
  saving_.push_back({.page = {.page = resources_.cache.page_of(node),
                              .slots = resources_.cache.visible_slots(node),
                              .node = node,
                              .transfer = *transfer},
                     .context = {}});
  return true;
}

// Writes again, because pages that did not fit into the disk's queue may fit now.
bool TierTransfers::begin_build(BatchDraft& draft, std::vector<Ref<Operation>>& woken) {
  is_building_ = true;
  if (is_on()) write_out();
  return continue_swaps(draft, woken);
}

bool TierTransfers::takes(NodeId node, bool is_done) {
  return !is_done && is_on() && keeps(node);
}

void TierTransfers::keep_cold(const Context& context) {
  if (!is_on()) return;
  const PageCache& cache = resources_.cache;
  for (NodeId node = context.chain().head(); !cache.is_root(node); node = cache.parent(node)) {
    const bool is_cold =
        cache.is_resident(node) && cache.pool().state(cache.page_of(node)) == PageState::Cold;
    if (is_cold && saving_.size() < kSavesPerBatch) keeps(node);
  }
}

void TierTransfers::swap_out(Context& context) {
  QUIRE_CHECK(is_building_, "swapped without a batch that reads its pages");
  std::vector<SwapSave> saves;
  context.swap_out(saves);
  for (const SwapSave& save : saves) saving_.push_back({save, Ref<Context>(&context)});
}

std::uint32_t TierTransfers::ready_count(const std::vector<NodeId>& run) const {
  const auto end = std::find_if(run.begin(), run.end(),
                                [this](NodeId node) { return !resources_.tiers.is_ready(node); });
  return static_cast<std::uint32_t>(end - run.begin());
}

TierTransfers::Fetch TierTransfers::look(const std::vector<NodeId>& run) {
  PageTiers& tiers = resources_.tiers;
  CostModel::Run cost{.page_count = static_cast<std::uint32_t>(run.size())};
  cost.token_count = cost.page_count * resources_.cache.page_size();
  for (const NodeId node : run) {
    tiers.touch(node);
    cost.read_count += tiers.is_to_be_read(node);
  }
  if (run.empty() || !costs_.should_restore(cost)) return {};
  const bool is_read = !tiers.is_ready(run.front()) && !tiers.is_to_be_read(run.front());
  const bool waits = is_read || (cost.read_count > 0 && !may_read());
  const bool reads = cost.read_count > 0 && read(run);
  if (const std::uint32_t ready = ready_count(run); ready > 0) {
    return {.end = FetchEnd::WantsPages, .page_count = ready};
  }
  return {.end = waits || reads ? FetchEnd::Waits : FetchEnd::Compute};
}

std::uint32_t TierTransfers::load(const std::vector<NodeId>& run, std::uint32_t page_count,
                                  BatchDraft& draft) {
  std::vector<PageId> pages;
  QUIRE_CHECK(resources_.cache.take(page_count, pages), "make_room() made too little");
  std::uint32_t loaded = 0;
  // The pages after a damaged one wait until it is computed.
  while (loaded < page_count && begin_load(run[loaded], pages[loaded], nullptr, draft)) ++loaded;
  for (std::uint32_t left = loaded; left < page_count; ++left) {
    resources_.cache.release(pages[left]);
  }
  return loaded;
}

bool TierTransfers::end_build(BatchDraft& draft) {
  const bool has_let_go = drop_landed();
  keep_some_free();
  for (const Save& save : saving_) {
    draft.add_save(*this, {.page = save.page.page,
                           .slots = save.page.slots,
                           .memory = resources_.tiers.take_memory()});
  }
  is_building_ = false;
  return has_let_go;
}

// Saves pages ahead of need, so that a step which takes one page seldom waits for another page to
// be saved.
void TierTransfers::keep_some_free() {
  constexpr std::uint32_t kFreeCountMax = 64;
  if (!is_on()) return;
  PageCache& cache = resources_.cache;
  const std::uint32_t count = std::min(cache.page_count() / 16, kFreeCountMax);
  if (cache.available_soon() >= count) cache.make_room(count);
}

bool TierTransfers::drop_landed() {
  if (landed_.empty()) return false;
  for (const NodeId node : landed_) resources_.cache.drop_page(node, kWanted);
  landed_.clear();
  return true;
}

void TierTransfers::transferred(const Flight& flight, TransferOutcomes outcomes,
                                std::vector<Ref<Operation>>& woken) {
  QUIRE_CHECK(outcomes.loads.size() == loading_.size(), "an outcome for each page that was loaded");
  measure(flight);
  end_saves(std::move(outcomes.saves));
  for (std::size_t index = 0; index < loading_.size(); ++index) {
    const Load& load = loading_[index];
    auto& [outcome, bytes] = outcomes.loads[index];
    if (load.swap != nullptr) {
      end_load(load, std::move(bytes), std::move(outcome));
    } else {
      resources_.tiers.give_bytes(load.node, load.transfer, std::move(bytes), outcome.ok());
      land(load, outcome.ok());
    }
  }
  loading_.clear();
  finish_swaps(woken);
  write_out();
}

void TierTransfers::end_saves(std::vector<Result<PageBytes>> outcomes) {
  QUIRE_CHECK(outcomes.size() == saving_.size(), "an outcome for each page that was saved");
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    const Save& save = saving_[index];
    Result<PageBytes>& outcome = outcomes[index];
    if (save.page.node != kNoNode) {
      resources_.tiers.arrive(save.page.node, save.page.transfer, std::move(outcome));
      continue;
    }
    if (save.page.is_held) resources_.cache.release(save.page.page);
    Context* context = save.context.get();
    if (context == nullptr || !context->swapped()) continue;
    if (outcome.ok()) {
      context->give_tail_page(save.page.tail_index, std::move(outcome).take());
    } else {
      context->lose_tail_page(std::move(outcome).take_error());
    }
  }
  saving_.clear();
}

// Publishes the page of a node that was brought back, if its bytes are good.
void TierTransfers::land(const Load& load, bool is_loaded) {
  PageCache& cache = resources_.cache;
  if (is_loaded && cache.trie().node_of(load.page) != kNoNode) {
    cache.land(load.page);
    landed_.push_back(load.node);
    return;
  }
  cache.unclaim(load.page);
  cache.release(load.page);
}

// A batch that did nothing else shows what computing costs, or loading.
void TierTransfers::measure(const Flight& flight) {
  if (!flight.saves.empty()) return;
  const std::uint64_t device_ns = flight.step.device_ns;
  const auto load_count = static_cast<std::uint32_t>(flight.loads.size());
  if (load_count == 0) costs_.note_compute(flight.row_count(), device_ns);
  if (flight.row_count() == 0) costs_.note_load(load_count, device_ns);
}

std::vector<PageId> TierTransfers::held_pages() const {
  std::vector<PageId> pages;
  for (const Save& save : saving_) {
    if (save.page.is_held) pages.push_back(save.page.page);
  }
  for (const Load& load : loading_) {
    if (load.node != kNoNode) pages.push_back(load.page);
  }
  for (const SwapIn& swap : swaps_) {
    pages.insert(pages.end(), swap.spare.begin(), swap.spare.end());
    pages.insert(pages.end(), swap.tail.begin(), swap.tail.end());
    for (const NodeId node : swap.held) pages.push_back(resources_.cache.page_of(node));
  }
  for (const NodeId node : landed_) pages.push_back(resources_.cache.page_of(node));
  return pages;
}

}  // namespace quire::control
