#pragma once
// BatchPlan is a Batch turned into addresses. It has the rows that the body runs, the hidden
// states that are wanted after that, and the vectors that get a distribution.
//
// A plan is filled again for each batch and keeps its memory, so that a steady state does not
// allocate.
//
// Thread   device thread; workers read it inside a batch.
#include <deque>
#include <utility>
#include <vector>

#include "inference/devices/cpu/adapter_groups.h"
#include "inference/devices/cpu/attention_plan.h"
#include "inference/devices/cpu/embed_store.h"
#include "inference/devices/cpu/kv_store.h"
#include "inference/devices/cpu/state_store.h"
#include "inference/models/forward_plan.h"

namespace quire::inference {

// The memory that the device keeps between batches.
struct DeviceStores {
  KvStore kv;
  EmbedStore embeds;
  StateStore states;
};

// A final hidden state: of a row of the plan, or, where not null, a copy of a kept one.
struct HiddenWanted {
  std::uint32_t plan_row = 0;
  float* out = nullptr;
  const float* kept = nullptr;
};

struct DistributionWanted {
  std::uint32_t index = 0;  // Into Batch::distributions.
  const float* hidden = nullptr;
};

class BatchPlan {
 public:
  // `windows`: sliding_windows() of the model.
  BatchPlan(std::uint32_t embedding_width, std::vector<std::uint32_t> windows,
            const AttentionPlanOptions& attention)
      : width_(embedding_width), windows_(std::move(windows)), attention_(attention) {
    forward_.windows.resize(windows_.size());
  }

  // After the batch's table changes and copies. Writes the positions of all rows that take a slot,
  // and an error into completion.passes for each pass that cannot run, and so for distributions.
  void fill(const Batch& batch, DeviceStores& stores, Completion& completion);

  const ForwardPlan& forward() const { return forward_; }
  const std::vector<HiddenWanted>& hidden() const { return hidden_; }
  const std::vector<DistributionWanted>& distributions() const { return distributions_; }
  // Distributions of DistributionKind::Vector, which need no logits.
  const std::vector<DistributionWanted>& vectors() const { return vectors_; }

 private:
  Result<void> add_pass(const Batch& batch, const ForwardPass& pass, DeviceStores& stores);
  void add_row(const Row& row, const ForwardPass& pass, std::uint32_t index, DeviceStores& stores);
  // Adds the state that the pass begins from, and those that it is to store. Its rows are added.
  void add_states(const Batch& batch, const ForwardPass& pass, const StateStore& states);
  void add_query(const QueryRow& query);
  AttentionPass attention_of(const ForwardPass& pass, const KvStore& kv) const;
  void keep_outputs(const Batch& batch, EmbedStore& embeds);
  Result<void> add_distribution(const Batch& batch, std::uint32_t index, const EmbedStore& embeds,
                                const std::vector<Result<void>>& passes);

  const std::uint32_t width_;
  const std::vector<std::uint32_t> windows_;
  AttentionPlan attention_;
  std::vector<AttentionPass> attention_passes_;
  ForwardPlan forward_;
  AdapterGroups adapters_;
  // For each row of the batch. kNoSlot: its pass failed, or it is the row of a state.
  std::vector<std::uint32_t> plan_row_of_;
  // For each row of the batch; of the row of a state, in that state. Null: not wanted so far.
  std::vector<float*> hidden_of_;
  std::vector<HiddenWanted> hidden_;
  std::vector<DistributionWanted> distributions_;
  std::vector<DistributionWanted> vectors_;
  std::deque<std::vector<float>> hidden_memory_;  // Of rows whose hidden state is not kept.
  std::size_t hidden_used_ = 0;
};

}  // namespace quire::inference
