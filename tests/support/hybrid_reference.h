#pragma once
// The final hidden states of a TinyHybrid in plain double arithmetic, layer by layer over a whole
// text, as DeltaNetSpec and AttentionSpec say it.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "support/tiny_hybrid.h"

namespace quire::test {

class HybridReference {
 public:
  using Role = inference::TensorRole;
  using Vector = std::vector<double>;
  using Rows = std::vector<Vector>;
  using Numbers = HybridNumbers;

  explicit HybridReference(const TinyHybrid& model)
      : spec_(model.spec()), shared_(model.shared()), layers_(model.layers()) {}

  // The final norm of each row of a text at positions 0, 1, ...
  Rows hidden(std::span<const std::uint32_t> tokens) const {
    Rows x;
    for (const std::uint32_t token : tokens) {
      const float* from = shared_.of[Role::TokenEmbedding].data() + token * spec_.embedding_width;
      x.emplace_back(from, from + spec_.embedding_width);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Numbers& layer = layers_[i];
      const Rows normed = norm_all(x, layer.of[Role::AttentionNorm]);
      const inference::DeltaNetSpec* delta = spec_.layers[i].delta_net();
      add(x, delta != nullptr ? delta_net(layer, *delta, normed)
                              : attention(layer, *spec_.layers[i].attention(), normed));
      add(x, dense(layer, norm_all(x, layer.of[Role::FeedForwardNorm])));
    }
    return norm_all(x, shared_.of[Role::OutputNorm]);
  }

 private:
  static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  static double dot(const double* a, const double* b, std::size_t count) {
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }
  void norm(double* x, const std::vector<float>& weight) const {
    const double mean = dot(x, x, weight.size()) / double(weight.size());
    const double factor = 1.0 / std::sqrt(mean + spec_.rms_epsilon);
    for (std::size_t i = 0; i < weight.size(); ++i) x[i] *= factor * weight[i];
  }
  Rows norm_all(Rows x, const std::vector<float>& weight) const {
    for (Vector& row : x) norm(row.data(), weight);
    return x;
  }
  static void add(Rows& x, const Rows& more) {
    for (std::size_t r = 0; r < x.size(); ++r) {
      for (std::size_t i = 0; i < x[r].size(); ++i) x[r][i] += more[r][i];
    }
  }
  static Rows multiply(const std::vector<float>& matrix, const Rows& x) {
    Rows out;
    for (const Vector& row : x) {
      Vector& to = out.emplace_back(matrix.size() / row.size());
      for (std::size_t o = 0; o < to.size(); ++o) {
        for (std::size_t i = 0; i < row.size(); ++i) to[o] += matrix[o * row.size() + i] * row[i];
      }
    }
    return out;
  }

  Rows dense(const Numbers& layer, const Rows& x) const {
    Rows gate = multiply(layer.of[Role::FeedForwardGate], x);
    const Rows up = multiply(layer.of[Role::FeedForwardUp], x);
    for (std::size_t r = 0; r < gate.size(); ++r) {
      for (std::size_t i = 0; i < gate[r].size(); ++i) {
        gate[r][i] *= sigmoid(gate[r][i]) * up[r][i];
      }
    }
    return multiply(layer.of[Role::FeedForwardDown], gate);
  }

  // q, k and v of all rows after the convolution, with SiLU.
  static Rows convolved(const std::vector<float>& weights, std::uint32_t width, const Rows& x) {
    Rows out(x.size(), Vector(x[0].size()));
    for (std::size_t r = 0; r < x.size(); ++r) {
      for (std::size_t c = 0; c < x[r].size(); ++c) {
        double sum = 0.0;
        for (std::uint32_t j = 0; j < width; ++j) {
          if (r + j + 1 < width) continue;
          sum += weights[c * width + j] * x[r + j + 1 - width][c];
        }
        out[r][c] = sum * sigmoid(sum);
      }
    }
    return out;
  }

  static void unit(double* x, std::size_t count, double epsilon) {
    const double factor = 1.0 / std::sqrt(dot(x, x, count) + epsilon);
    for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
  }

  Rows delta_net(const Numbers& layer, const inference::DeltaNetSpec& delta, const Rows& x) const {
    Rows qkv = convolved(layer.of[Role::DeltaConvolution], delta.convolution_width,
                         multiply(layer.of[Role::DeltaQkv], x));
    const Rows gate = multiply(layer.of[Role::DeltaGate], x);
    const Rows alpha = multiply(layer.of[Role::DeltaAlpha], x);
    const Rows beta = multiply(layer.of[Role::DeltaBeta], x);
    for (Vector& row : qkv) {
      for (std::uint32_t h = 0; h < 2 * delta.key_head_count; ++h) {
        unit(row.data() + h * delta.key_dim, delta.key_dim, spec_.rms_epsilon);
      }
    }
    Rows out(x.size(), Vector(delta.value_width()));
    for (std::uint32_t h = 0; h < delta.value_head_count; ++h) {
      const std::size_t key_head = delta.has_tiled_heads ? h % delta.key_head_count : h / 2;
      Rows state(delta.key_dim, Vector(delta.value_dim));
      for (std::size_t r = 0; r < x.size(); ++r) {
        const double* q = &qkv[r][key_head * delta.key_dim];
        const double* k = &qkv[r][delta.key_width() + key_head * delta.key_dim];
        const double* v = &qkv[r][2 * delta.key_width() + h * delta.value_dim];
        const double rate = std::log1p(std::exp(alpha[r][h] + layer.of[Role::DeltaDecayBias][h]));
        const double decay = std::exp(layer.of[Role::DeltaDecay][h] * rate);
        double* to = &out[r][h * delta.value_dim];
        for (std::uint32_t c = 0; c < delta.value_dim; ++c) {
          double of_key = 0.0;
          for (std::uint32_t i = 0; i < delta.key_dim; ++i) of_key += decay * state[i][c] * k[i];
          const double change = sigmoid(beta[r][h]) * (v[c] - of_key);
          for (std::uint32_t i = 0; i < delta.key_dim; ++i) {
            state[i][c] = decay * state[i][c] + k[i] * change;
            to[c] += state[i][c] * q[i] / std::sqrt(double(delta.key_dim));
          }
        }
        norm(to, layer.of[Role::DeltaNorm]);
        for (std::uint32_t c = 0; c < delta.value_dim; ++c) {
          const double z = gate[r][h * delta.value_dim + c];
          to[c] *= z * sigmoid(z);
        }
      }
    }
    return multiply(layer.of[Role::DeltaOutput], out);
  }

  void turn(double* head, std::uint32_t rotary_dim, std::size_t position) const {
    const std::uint32_t half = rotary_dim / 2;
    for (std::uint32_t i = 0; i < half; ++i) {
      const double angle =
          double(position) * std::pow(spec_.ropes[0].theta, -2.0 * i / double(rotary_dim));
      const double a = head[i], b = head[i + half];
      head[i] = a * std::cos(angle) - b * std::sin(angle);
      head[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
  }

  Rows attention(const Numbers& layer, const inference::AttentionSpec& spec, const Rows& x) const {
    Rows query = multiply(layer.of[Role::AttentionQ], x);  // Query and gate of each head.
    Rows key = multiply(layer.of[Role::AttentionK], x);
    const Rows value = multiply(layer.of[Role::AttentionV], x);
    const std::uint32_t dim = spec.head_dim;
    for (std::size_t r = 0; r < x.size(); ++r) {
      for (std::uint32_t h = 0; h < spec.head_count; ++h) {
        norm(&query[r][2 * h * dim], layer.of[Role::AttentionQNorm]);
        turn(&query[r][2 * h * dim], spec.rotary_dim, r);
      }
      for (std::uint32_t h = 0; h < spec.kv_head_count; ++h) {
        norm(&key[r][h * dim], layer.of[Role::AttentionKNorm]);
        turn(&key[r][h * dim], spec.rotary_dim, r);
      }
    }
    Rows out(x.size(), Vector(spec.query_width()));
    for (std::size_t r = 0; r < x.size(); ++r) {
      for (std::uint32_t h = 0; h < spec.head_count; ++h) {
        const std::size_t kv = std::size_t{h / (spec.head_count / spec.kv_head_count)} * dim;
        double sum = 0.0;
        double* to = &out[r][h * dim];
        for (std::size_t s = 0; s <= r; ++s) {
          const double score = dot(&query[r][2 * h * dim], &key[s][kv], dim);
          const double weight = std::exp(score / std::sqrt(double(dim)));
          sum += weight;
          for (std::uint32_t d = 0; d < dim; ++d) to[d] += weight * value[s][kv + d];
        }
        for (std::uint32_t d = 0; d < dim; ++d) {
          to[d] *= sigmoid(query[r][(2 * h + 1) * dim + d]) / sum;
        }
      }
    }
    return multiply(layer.of[Role::AttentionOutput], out);
  }

  const inference::ModelSpec& spec_;
  const Numbers& shared_;
  const std::vector<Numbers>& layers_;
};

}  // namespace quire::test
