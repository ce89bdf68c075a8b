#include "inference/devices/cpu/batch_plan.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "inference/devices/shared/batch_check.h"

namespace quire::inference {

void BatchPlan::fill(const Batch& batch, DeviceStores& stores, Completion& completion) {
  forward_.rows.clear();
  forward_.states.clear();
  forward_.state_targets.clear();
  for (AttentionTasks& each : forward_.windows) each.query_rows.clear();
  attention_passes_.clear();
  hidden_.clear();
  distributions_.clear();
  vectors_.clear();
  hidden_used_ = 0;
  plan_row_of_.assign(batch.rows.size(), kNoSlot);
  hidden_of_.assign(batch.rows.size(), nullptr);
  for (const ForwardPass& pass : batch.passes) {
    completion.passes.push_back(add_pass(batch, pass, stores));
  }
  adapters_.fill(batch, plan_row_of_, forward_);
  for (const ForwardPass& pass : batch.passes) {
    if (plan_row_of_[pass.row_first] == kNoSlot) continue;
    attention_passes_.push_back(attention_of(pass, stores.kv));
  }
  for (AttentionTasks& each : forward_.windows) attention_.fill(attention_passes_, each);
  keep_outputs(batch, stores.embeds);
  for (std::uint32_t i = 0; i < batch.distributions.size(); ++i) {
    Result<void> added = add_distribution(batch, i, stores.embeds, completion.passes);
    completion.distributions.push_back(added.ok() ? Result<Distribution>(Distribution{})
                                                  : std::move(added).take_error());
  }
}

Result<void> BatchPlan::add_pass(const Batch& batch, const ForwardPass& pass,
                                 DeviceStores& stores) {
  if (const Error* failure = stores.kv.failure(pass.sequence)) return failure->copy();
  if (batch.rows[pass.row_first].is_of_state) {
    hidden_of_[pass.row_first] = stores.states.output(pass.state_from);
    return {};
  }
  const std::uint32_t end = pass.row_first + pass.row_count;
  for (std::uint32_t i = pass.row_first; i < end; ++i) {
    const EmbedSlot embed = batch.rows[i].embed;
    if (embed != kNoEmbedSlot && stores.embeds.find(embed) == nullptr) return unread(embed);
  }
  for (std::uint32_t i = pass.row_first; i < end; ++i) {
    plan_row_of_[i] = static_cast<std::uint32_t>(forward_.rows.size());
    add_row(batch.rows[i], pass, i - pass.row_first, stores);
  }
  if (stores.states.slot_count() > 0) add_states(batch, pass, stores.states);
  return {};
}

// `index` counts within the pass.
void BatchPlan::add_row(const Row& row, const ForwardPass& pass, std::uint32_t index,
                        DeviceStores& stores) {
  ForwardRow planned{.token = row.token, .position = row.position};
  if (row.embed != kNoEmbedSlot) planned.embed = stores.embeds.find(row.embed);
  if (row.slot != kNoSlot) {
    const SlotAddress address = stores.kv.slot(pass.sequence, row.slot);
    *address.position = row.position;
    planned.page = address.page;
    planned.page_slot = address.page_slot;
  }
  forward_.rows.push_back(planned);
  QueryRow query{.position = row.position, .own_slot_end = pass.visible_slot_end};
  if (row.slot != kNoSlot) query.own_slot_end = row.slot + 1;
  if (pass.mask) {
    query.mask = pass.mask->words.data() + std::size_t{index} * pass.mask->words_per_row();
  }
  add_query(query);
}

void BatchPlan::add_states(const Batch& batch, const ForwardPass& pass, const StateStore& states) {
  const std::uint32_t row_first = plan_row_of_[pass.row_first];
  forward_.states.push_back(
      {.row_first = row_first,
       .row_count = pass.row_count,
       .from = pass.state_from == kNoState ? nullptr : states.at(pass.state_from),
       .target_first = static_cast<std::uint32_t>(forward_.state_targets.size()),
       .target_count = pass.state_write_count});
  for (std::uint32_t i = 0; i < pass.state_write_count; ++i) {
    const StateWrite& write = batch.state_writes[pass.state_write_first + i];
    forward_.state_targets.push_back({write.row_count, states.at(write.slot)});
    hidden_.push_back({row_first + write.row_count - 1, states.output(write.slot)});
  }
}

// For layers of each window.
void BatchPlan::add_query(const QueryRow& query) {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    QueryRow& added = forward_.windows[i].query_rows.emplace_back(query);
    if (windows_[i] > 0 && query.position >= windows_[i]) {
      added.position_first = query.position - windows_[i] + 1;
    }
  }
}

AttentionPass BatchPlan::attention_of(const ForwardPass& pass, const KvStore& kv) const {
  return {.pages = kv.views(pass.sequence),
          .spans = kv.spans(pass.sequence),
          .visible_slot_end = pass.visible_slot_end,
          .mask_slot_count = pass.mask ? pass.mask->slot_count : 0,
          .has_mask = pass.mask.has_value(),
          .row_first = plan_row_of_[pass.row_first],
          .row_count = pass.row_count};
}

void BatchPlan::keep_outputs(const Batch& batch, EmbedStore& embeds) {
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const EmbedSlot output = batch.rows[i].output;
    if (output == kNoEmbedSlot) continue;
    if (plan_row_of_[i] == kNoSlot) {
      if (hidden_of_[i] == nullptr) {
        embeds.forget(output);
      } else {
        hidden_.push_back({.out = embeds.write(output), .kept = hidden_of_[i]});
      }
      continue;
    }
    hidden_of_[i] = embeds.write(output);
    hidden_.push_back({plan_row_of_[i], hidden_of_[i]});
  }
}

Result<void> BatchPlan::add_distribution(const Batch& batch, std::uint32_t index,
                                         const EmbedStore& embeds,
                                         const std::vector<Result<void>>& passes) {
  const DistributionRequest& request = batch.distributions[index];
  auto& wanted = request.kind == DistributionKind::Vector ? vectors_ : distributions_;
  if (request.row == kNoSlot) {
    const float* kept = embeds.find(request.embed);
    if (kept == nullptr) return unread(request.embed);
    wanted.push_back({index, kept});
    return {};
  }
  float*& hidden = hidden_of_[request.row];
  if (plan_row_of_[request.row] == kNoSlot && hidden == nullptr) {
    const auto pass = std::find_if(
        batch.passes.begin(), batch.passes.end(),
        [&](const ForwardPass& each) { return request.row - each.row_first < each.row_count; });
    QUIRE_CHECK(pass != batch.passes.end(), "a row belongs to a pass");
    return passes[static_cast<std::size_t>(pass - batch.passes.begin())].error().copy();
  }
  if (hidden == nullptr) {
    if (hidden_used_ == hidden_memory_.size()) hidden_memory_.emplace_back(width_);
    hidden = hidden_memory_[hidden_used_++].data();
    hidden_.push_back({plan_row_of_[request.row], hidden});
  }
  wanted.push_back({index, hidden});
  return {};
}

}  // namespace quire::inference
