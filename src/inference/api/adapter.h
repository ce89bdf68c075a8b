#pragma once
// Adapter: low-rank matrices that change what a model computes (LoRA), checked and in memory.
//
// Under an adapter with the scale u, a projection gives y + (u * scale) * B (A x) instead of
// y = W x, in F32. A is [rank][input], B is [output][rank]. An adapter need not have matrices for
// every layer and projection; where it has none, nothing changes.
//
// Of the embeddings, A has a row for each token in place of A x: the input of a row is the base's
// embedding of its token + (u * scale) * B A[token]. A row whose input is a vector has none.
//
// An Adapter is made once and never changes: its bytes are a copy, so a file that changes after
// the read changes nothing. Sets of adapters are values in a Batch, and hold their adapters. A
// device that needs its own form of the matrices keys it by the digest.
//
// Thread   any; nothing changes after create().
// Errors   Corrupted for numbers that are not finite, two parts for one projection, or a part with
//          another number of bytes than its shape takes; TooLarge beyond kAdapterRankMax; NotFound
//          for a layer that the base lacks, or a projection that its layer lacks; InvalidArgument
//          for an adapter without matrices.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "inference/api/number_format.h"
#include "inference/api/types.h"

namespace quire::inference {

// The matrices that an adapter may change: of a layer, and the embeddings, which have layer 0.
enum class Projection : std::uint8_t {
  Query,
  Key,
  Value,
  AttentionOutput,
  Gate,
  Up,
  Down,
  Embedding,
};
inline constexpr std::uint32_t kProjectionCount = 8;
const char* projection_name(Projection projection);  // "query"

inline constexpr std::uint32_t kAdapterRankMax = 1024;

// The widths of a layer's matrices. 0: the layer has no projection of that width.
struct AdapterLayer {
  std::uint32_t query_width = 0;  // head_count * head_dim
  std::uint32_t kv_width = 0;     // kv_head_count * head_dim
  std::uint32_t feed_forward_width = 0;
  bool has_gate = false;      // The query projection gives a gate of each head, too.
  bool is_recurrent = false;  // It has a state in place of attention, and takes no adapters there.

  friend bool operator==(const AdapterLayer&, const AdapterLayer&) = default;
};

// The shape of the model that an adapter is for.
struct AdapterBase {
  std::string architecture;  // As ModelInfo::architecture.
  std::uint32_t embedding_width = 0;
  std::uint32_t vocabulary_size = 0;
  std::vector<AdapterLayer> layers;

  std::uint32_t layer_count() const { return static_cast<std::uint32_t>(layers.size()); }
  // False: it is the shape of another model, by what ModelInfo says of it.
  bool may_be_of(const ModelInfo& model) const;
  bool has(std::uint32_t layer, Projection projection) const;
  // Require: has().
  std::uint32_t input_count(std::uint32_t layer, Projection projection) const;
  std::uint32_t output_count(std::uint32_t layer, Projection projection) const;
  friend bool operator==(const AdapterBase&, const AdapterBase&) = default;
};

// One projection of one layer, as create() takes it. The bytes lie row by row, as in a file.
struct AdapterPart {
  std::uint32_t layer = 0;
  Projection projection{};
  std::uint32_t rank = 0;
  float scale = 1.0f;       // alpha / rank, or alpha / sqrt(rank).
  NumberFormat a_format{};  // F32, F16 or BF16, as b_format.
  NumberFormat b_format{};
  // [rank][input_count]; of Embedding [input_count][rank].
  std::vector<std::byte> a;
  // [output_count][rank]; rows of rotated heads in half-split order.
  std::vector<std::byte> b;
};

// One projection of one layer, as kernels read it. Numbers have the format of the file. Padding is
// zeros.
struct AdapterMatrix {
  std::uint32_t layer = 0;
  Projection projection{};
  std::uint32_t rank = 0;
  float scale = 1.0f;
  NumberFormat a_format{};
  NumberFormat b_format{};
  std::uint32_t input_count = 0;
  std::uint32_t output_count = 0;
  std::uint32_t a_stride = 0;    // input_count, rounded up to 16; of Embedding the rank.
  const std::byte* a = nullptr;  // [rank][a_stride], 64-byte aligned; of Embedding [token][rank].
  const std::byte* b = nullptr;  // [output_count / 16, rounded up][rank][16], 64-byte aligned.
};

class Adapter final {
 public:
  static Result<std::shared_ptr<const Adapter>> create(AdapterBase base,
                                                       std::vector<AdapterPart> parts);
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // Names the layers, projections, ranks, scales and numbers. Number formats do not count: equal
  // numbers give equal bits, so an F16 file and its F32 copy have one digest.
  const Digest& digest() const { return digest_; }
  const AdapterBase& base() const { return base_; }
  std::uint32_t rank_max() const { return rank_max_; }
  std::uint64_t bytes() const { return bytes_; }  // Of memory that the matrices take.
  std::uint64_t parameter_count() const { return parameter_count_; }
  std::span<const AdapterMatrix> matrices() const { return matrices_; }  // By layer, projection.
  const AdapterMatrix* find(std::uint32_t layer, Projection projection) const;  // Null: none.

 private:
  struct Release {
    void operator()(std::byte* memory) const;
  };
  explicit Adapter(AdapterBase base);
  Result<void> check(const AdapterPart& part) const;
  void place(const std::vector<AdapterPart>& parts);  // Those of matrices_, in its order.

  AdapterBase base_;
  Digest digest_{};
  std::uint32_t rank_max_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t parameter_count_ = 0;
  std::vector<AdapterMatrix> matrices_;
  std::vector<std::int32_t> index_;  // [layer][projection] into matrices_; -1: none.
  std::unique_ptr<std::byte, Release> memory_;
};

struct AdapterUse {
  std::shared_ptr<const Adapter> adapter;  // Never null.
  float scale = 1.0f;                      // Finite, and not 0.
};

// The adapters of a row: ascending by digest, each digest once, at least one. The code that makes a
// set keeps this order, and every backend checks it. A row without adapters has no set
// (kNoAdapters).
using AdapterSet = std::shared_ptr<const std::vector<AdapterUse>>;

}  // namespace quire::inference
