#pragma once
// ModelResources is what one served model's device has to give: pages, embed slots, sequences.
//
// Thread   engine thread only.
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/server_limits.h"
#include "base/slab.h"
#include "control/api/tenant_shares.h"
#include "control/contexts/slot_pool.h"
#include "control/pages/page_cache.h"
#include "control/states/state_cache.h"
#include "control/tiers/page_tiers.h"
#include "inference/api/backend.h"

namespace quire::control {

class Context;

inline constexpr std::uint32_t kSwappedTailPageCountMax =
    default_of<ServerLimit::SwappedTailPageCountMax>();  // Of all contexts of a model.

// Page tables on the device's side. A context keeps one while it is in use. When all are taken, the
// one used longest ago is taken from its context, which builds its table anew when it next runs.
//
// A list of all tables shows which one that is. The list is made when a table is wanted and the
// last list is used up. A table in it that was not used since is older than all that are not in it.
// So a step that uses a table only notes the batch.
//
// Invariants, all checked by verify():
//   Q1  The list holds every sequence that a context has and that was last used before the batch of
//       the list, with the batch that used it; a sequence that was used since counts no more there.
//   Q2  A sequence is free, or has a context, or is one of a single pass.
class SequencePool {
 public:
  SequencePool(std::uint32_t sequence_count, bool may_steal);

  // Makes sure that `context` has a sequence; false if every one is in use by `batch` itself.
  bool acquire(Context& context, BatchId batch);
  // One for a single pass; release_after(batch) takes it back.
  bool acquire_ephemeral(inference::SequenceId& sequence, BatchId batch);
  void release(Context& context);
  void release_ephemeral(inference::SequenceId sequence);

  // Releases that the device has not heard of yet; go first in the next batch.
  std::vector<inference::TableChange> take_releases();
  std::uint32_t taken_count() const;
  void verify() const;

 private:
  struct Entry {
    Ref<Context> owner;      // Of one that a context has.
    std::uint64_t used = 0;  // Batch that used it last.
    bool is_taken = false;
  };
  struct Use {
    std::uint64_t batch = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Use&) const = default;
  };
  bool find(std::uint32_t& index, BatchId batch);
  Context* find_oldest(std::uint64_t batch);
  void list_all(std::uint64_t batch);
  bool is_current(const Use& use) const;
  void announce_release(std::uint32_t index);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<Use> oldest_;         // A heap, the oldest first.
  std::uint64_t listed_batch_ = 0;  // When it was made.
  std::vector<inference::TableChange> releases_;
  bool may_steal_;
};

struct ModelResources {
  // The backend sets page_bytes of `tier_options`.
  ModelResources(const inference::Backend& backend, const PageCacheOptions& options,
                 PageTierOptions tier_options = {});

  const inference::ModelInfo& model;
  const inference::BackendCapabilities& device;
  PageCache cache;
  PageTiers tiers;
  const std::unique_ptr<StateCache> states;              // Null: no layer of the model has a state.
  TenantShares swapped_tails{kSwappedTailPageCountMax};  // Pages of tails, with their contexts.
  SlotPool<inference::EmbedSlot> embed_slots;
  SequencePool sequences;

  bool is_basic() const { return device.kv_mode == inference::KvMode::Basic; }
  void open_batch(BatchId batch) {
    cache.open_batch(batch);
    if (states) states->open_batch(batch);
    embed_slots.open_batch(batch);
  }
  void complete_batch(BatchId batch) {
    cache.complete_batch(batch);
    if (states) states->complete_batch(batch);
    embed_slots.complete_batch(batch);
  }
};

}  // namespace quire::control
