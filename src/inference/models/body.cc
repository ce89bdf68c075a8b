#include "inference/models/body.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace quire::inference {
namespace {

using enum TensorRole;

// The index of a layer's window in sliding_windows().
std::uint32_t window_index(const ModelSpec& model, const AttentionSpec& spec) {
  const std::vector<std::uint32_t> windows = sliding_windows(model);
  const auto found = std::ranges::find(windows, spec.sliding_window);
  return static_cast<std::uint32_t>(found - windows.begin());
}

}  // namespace

Body::Body(const PackedWeights& weights, const KernelTable& kernels, const BodyOptions& options)
    : weights_(weights),
      kernels_(kernels),
      options_(options),
      state_layout_(weights.spec),
      head_(kernels.matmul, {&weights.shared.matrices[Output]}) {
  for (std::uint32_t layer = 0; layer < weights.spec.layer_count(); ++layer) {
    layers_.push_back(make_layer(layer));
  }
}

Result<std::unique_ptr<Body>> Body::create(const PackedWeights& weights, const KernelTable& kernels,
                                           const BodyOptions& options) {
  std::unique_ptr<Body> body(new Body(weights, kernels, options));
  body->scratch_ = TRY(ForwardScratch::create(body->sizes()));
  if (!has_experts(weights.spec)) return body;
  body->expert_scratch_ = TRY(ExpertScratch::create(body->expert_sizes()));
  for (Layer& layer : body->layers_) {
    auto* experts = std::get_if<ExpertsFeedForward>(&layer.feed_forward);
    if (experts != nullptr) experts->set_scratch(body->expert_scratch_.get());
  }
  return body;
}

Body::Layer Body::make_layer(std::uint32_t layer) {
  const RoleWeights& weights = weights_.layers[layer];
  if (const ExpertsSpec* experts = weights_.spec.layers[layer].experts()) {
    return {make_mixer(layer), ExpertsFeedForward(layer, *experts, weights, kernels_)};
  }
  return {make_mixer(layer), DenseFeedForward(layer, weights, kernels_)};
}

std::variant<AttentionMixer, DeltaNetMixer> Body::make_mixer(std::uint32_t layer) {
  const LayerSpec& spec = weights_.spec.layers[layer];
  const RoleWeights& weights = weights_.layers[layer];
  if (const DeltaNetSpec* delta = spec.delta_net()) {
    return DeltaNetMixer(layer, *delta, weights, state_layout_.layer(layer), kernels_);
  }
  const AttentionSpec& attention = *spec.attention();
  return AttentionMixer(layer, attention, weights, options_.kv, kernels_, angle_first(attention),
                        window_index(weights_.spec, attention));
}

// Layers whose heads turn alike share the angles of a row.
std::uint32_t Body::angle_first(const AttentionSpec& spec) {
  if (!spec.rope) return 0;
  const std::uint32_t half = spec.turned_dim() / 2;
  for (const Angles& each : angles_) {
    if (each.rope == *spec.rope && each.of.half() == half) return each.first;
  }
  const std::uint32_t first = angles_.empty() ? 0 : angles_.back().first + angles_.back().of.half();
  angles_.push_back(
      {*spec.rope, first, RopeAngles(weights_.spec.ropes[*spec.rope], spec.turned_dim())});
  return first;
}

ForwardSizes Body::sizes() const {
  ForwardSizes sizes{.row_count_max = options_.row_count_max,
                     .worker_count = options_.worker_count,
                     .embedding_width = weights_.spec.embedding_width,
                     .angle_count = 0,
                     .prepared_bytes = kLogitsRowsMax * head_.stride,
                     .operand_bytes = head_.stride};
  for (const Angles& each : angles_) sizes.angle_count += each.of.half();
  const auto widen = [](std::size_t& size, std::size_t wanted) { size = std::max(size, wanted); };
  for (const LayerSpec& layer : weights_.spec.layers) {
    if (const AttentionSpec* attention = layer.attention()) {
      const std::size_t partial_floats = attention->head_dim + kPartialTail;
      widen(sizes.query_width, attention->query_width());
      widen(sizes.qkv_width,
            attention->projected_query_width() + std::size_t{2} * attention->kv_width());
      if (attention->has_gate) widen(sizes.head_gate_width, attention->query_width());
      widen(sizes.partial_width, attention->head_count * partial_floats);
    }
    if (const DeltaNetSpec* delta = layer.delta_net()) {
      widen(sizes.query_width, delta->value_width());
      widen(sizes.qkv_width, delta->channel_count());
      widen(sizes.head_gate_width, delta->value_width());
      widen(sizes.convolved_width, delta->channel_count());
      widen(sizes.decay_width, std::size_t{2} * delta->value_head_count);
    }
    if (const DenseSpec* dense = layer.dense()) widen(sizes.feed_forward_width, dense->width);
  }
  sizes.feed_row_count_max = feed_row_count_max(sizes.row_count_max, sizes.feed_forward_width);
  const auto prepare = [&](const Operand& operand, std::size_t row_count) {
    widen(sizes.prepared_bytes, row_count * operand.stride);
    widen(sizes.operand_bytes, operand.stride);
  };
  for (const Layer& layer : layers_) {
    std::visit(
        [&](const auto& mixer) {
          prepare(mixer.input(), sizes.row_count_max);
          prepare(mixer.heads(), sizes.row_count_max);
        },
        layer.mixer);
    std::visit(
        [&](const auto& part) {
          prepare(part.input(), sizes.row_count_max);
          if constexpr (requires { part.hidden(); })
            prepare(part.hidden(), sizes.feed_row_count_max);
        },
        layer.feed_forward);
  }
  return sizes;
}

ExpertSizes Body::expert_sizes() const {
  ExpertSizes sizes{.row_count_max = options_.row_count_max,
                    .worker_count = options_.worker_count,
                    .embedding_width = weights_.spec.embedding_width};
  const auto widen = [](auto& size, auto wanted) { size = std::max(size, wanted); };
  for (const Layer& layer : layers_) {
    const auto* experts = std::get_if<ExpertsFeedForward>(&layer.feed_forward);
    if (experts == nullptr) continue;
    widen(sizes.choice_count_max, experts->choice_count());
    widen(sizes.router_width, experts->router_width());
    widen(sizes.expert_width, experts->expert_width());
    widen(sizes.operand_bytes, experts->operand_bytes());
  }
  return sizes;
}

void Body::embed(const Forward& forward, std::uint32_t row) const {
  const ForwardRow& from = forward.plan.rows[row];
  float* x = scratch_.x[row];
  if (from.embed != nullptr) {
    std::memcpy(x, from.embed, forward.spec.embedding_width * sizeof(float));
  } else {
    kernels_.matmul.unpack_row(weights_.shared.matrices[TokenEmbedding],
                               static_cast<std::uint32_t>(from.token), x);
    if (!forward.plan.adapters.empty()) embed_low_rank(kernels_.matmul, forward.plan, row, x);
  }
  for (const Angles& each : angles_) {
    each.of.at(from.position, scratch_.cosine[row] + each.first, scratch_.sine[row] + each.first);
  }
}

void Body::forward(Worker& worker, const ForwardPlan& plan) const {
  if (plan.rows.empty()) return;
  const Forward forward{worker, kernels_, weights_.spec, plan, scratch_};
  worker.phase(forward.row_count(), [&](std::uint32_t row) { embed(forward, row); });
  for (const Layer& layer : layers_) {
    std::visit([&](const auto& mixer) { mixer.forward(forward); }, layer.mixer);
    std::visit([&](const auto& part) { part.forward(forward); }, layer.feed_forward);
  }
}

void Body::hidden(std::uint32_t row, float* out) const {
  kernels_.elementwise.rms_norm(scratch_.x[row], weights_.shared.vectors[OutputNorm].data(),
                                weights_.spec.rms_epsilon, weights_.spec.embedding_width, out);
}

void Body::logits(Worker& worker, std::span<const float* const> vectors, float* out) const {
  static const ForwardPlan kNoRows;
  const Forward forward{worker, kernels_, weights_.spec, kNoRows, scratch_};
  const Activations activations = vectors_of(forward, head_, vectors);
  multiply(forward, activations,
           {&weights_.shared.matrices[Output], nullptr, {out, weights_.spec.vocabulary_size}},
           [](std::uint32_t, std::uint32_t, std::uint32_t) {});
}

}  // namespace quire::inference
