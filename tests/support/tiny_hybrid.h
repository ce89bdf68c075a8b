#pragma once
// A tiny random model in memory. Its layers have states, but for one with gated attention. Needs
// quire_models.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/check.h"
#include "inference/kernels/kernels.h"
#include "inference/models/packed_weights.h"

namespace quire::test {

inline inference::ModelSpec tiny_hybrid_spec() {
  inference::ModelSpec spec;
  spec.name = "tiny hybrid";
  spec.architecture = "test";
  spec.vocabulary_size = 48;
  spec.context_length = 256;
  spec.embedding_width = 48;
  spec.rms_epsilon = 1e-6f;
  spec.tied_embeddings = true;
  spec.ropes = {{}};
  // Each value head has 20 columns: a block of 16 and a part of one.
  const inference::DeltaNetSpec tiled{.key_head_count = 2,
                                      .value_head_count = 4,
                                      .key_dim = 24,
                                      .value_dim = 20,
                                      .convolution_width = 4,
                                      .has_tiled_heads = true};
  inference::DeltaNetSpec grouped = tiled;
  grouped.has_tiled_heads = false;
  const inference::AttentionSpec attention{.head_count = 4,
                                           .kv_head_count = 2,
                                           .head_dim = 32,
                                           .rotary_dim = 8,
                                           .qk_norm = inference::QkNorm::EachHead,
                                           .has_gate = true};
  const inference::DenseSpec dense{.width = 64};
  spec.layers = {{tiled, dense}, {grouped, dense}, {attention, dense}, {grouped, dense}};
  return spec;
}

struct HybridNumbers {
  inference::ByRole<std::vector<float>> of;
};

class TinyHybrid {
 public:
  using Role = inference::TensorRole;
  explicit TinyHybrid(std::uint32_t seed = 1) : spec_(tiny_hybrid_spec()), random_(seed) {
    shared_ = fill(inference::TensorPlace::Model, spec_.layers[0]);
    for (const inference::LayerSpec& layer : spec_.layers) {
      layers_.push_back(fill(inference::TensorPlace::Layer, layer));
      // Decays from slow to fast.
      for (float& each : layers_.back().of[Role::DeltaDecay]) each = -std::exp(8.0f * each - 1.0f);
    }
  }

  const inference::ModelSpec& spec() const { return spec_; }

  // The matrices as the table wants them. The result lives at one place: a body keeps its address.
  std::unique_ptr<inference::PackedWeights> pack(const inference::MatmulKernels& kernels) const {
    auto packed = std::make_unique<inference::PackedWeights>();
    packed->spec = spec_;
    packed->layers.resize(spec_.layer_count());
    packed->arena = inference::MappedMemory::create(std::size_t{4} << 20).take();
    std::size_t used = 0;
    const auto place = [&](const HybridNumbers& numbers, inference::TensorPlace where,
                           const inference::LayerSpec& layer, inference::RoleWeights& to) {
      for (const inference::TensorRow& row : inference::tensor_rows()) {
        const auto shape = shape_of(row, where, layer);
        if (!shape) continue;
        if (!is_matrix(row)) {
          to.vectors[row.role] = numbers.of[row.role];
          continue;
        }
        const auto rows = static_cast<std::uint32_t>(shape->row_count);
        const auto columns = static_cast<std::uint32_t>(shape->column_count);
        std::byte* bytes = packed->arena.data() + used;
        constexpr auto kFormat = inference::NumberFormat::F32;
        used += (kernels.packed_bytes(kFormat, rows, columns) + 63) / 64 * 64;
        QUIRE_CHECK(used + inference::kPackedSlackBytes <= packed->arena.bytes(), "arena");
        kernels.pack_rows(kFormat, columns, 0, rows,
                          reinterpret_cast<const std::byte*>(numbers.of[row.role].data()), bytes);
        to.matrices[row.role] = {kFormat, rows, columns, bytes};
      }
    };
    place(shared_, inference::TensorPlace::Model, spec_.layers[0], packed->shared);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      place(layers_[i], inference::TensorPlace::Layer, spec_.layers[i], packed->layers[i]);
    }
    packed->shared.matrices[Role::Output] = packed->shared.matrices[Role::TokenEmbedding];
    return packed;
  }

  const std::vector<HybridNumbers>& layers() const { return layers_; }
  const HybridNumbers& shared() const { return shared_; }

 private:
  static bool is_matrix(const inference::TensorRow& row) {
    return row.kind == inference::TensorKind::Matrix ||
           row.kind == inference::TensorKind::ExactMatrix;
  }
  std::optional<inference::TensorShape> shape_of(const inference::TensorRow& row,
                                                 inference::TensorPlace place,
                                                 const inference::LayerSpec& layer) const {
    if (row.place != place) return std::nullopt;
    return row.shape(spec_, layer);
  }

  // Matrices keep the size of what they multiply; norms are near 1.
  HybridNumbers fill(inference::TensorPlace place, const inference::LayerSpec& layer) {
    HybridNumbers numbers;
    for (const inference::TensorRow& row : inference::tensor_rows()) {
      const auto shape = shape_of(row, place, layer);
      if (!shape) continue;
      const bool is_embedding = row.role == Role::TokenEmbedding;
      const double width = is_matrix(row) && !is_embedding ? double(shape->column_count) : 4.0;
      std::normal_distribution<float> normal(0.0f, static_cast<float>(1.0 / std::sqrt(width)));
      const bool is_norm = row.kind == inference::TensorKind::Vector && !is_decay(row);
      std::vector<float>& values = numbers.of[row.role];
      for (std::uint64_t i = 0; i < shape->row_count * shape->column_count; ++i) {
        values.push_back(normal(random_) + (is_norm ? 1.0f : 0.0f));
      }
    }
    return numbers;
  }
  static bool is_decay(const inference::TensorRow& row) {
    return row.role == Role::DeltaDecay || row.role == Role::DeltaDecayBias;
  }

  inference::ModelSpec spec_;
  std::mt19937 random_;
  HybridNumbers shared_;
  std::vector<HybridNumbers> layers_;
};

}  // namespace quire::test
