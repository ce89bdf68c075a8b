#include "inference/models/model_weights.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/models/slab_packer.h"

namespace quire::inference {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{2} << 20;
// The loader hashes 2 GB/s, which three packing threads keep up with.
constexpr std::uint32_t kPackingThreadsMax = 3;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

RoleWeights& place_of(ModelWeights& weights, const TensorInfo& tensor) {
  const bool is_in_layer = row_of(tensor.role).place == TensorPlace::Layer;
  return is_in_layer ? weights.layers[tensor.layer] : weights.shared;
}

bool is_matrix(const TensorInfo& tensor) {
  return row_of(tensor.role).kind == TensorKind::Matrix;
}

class Loader {
 public:
  Loader(const ModelFiles& files, const KernelTable& kernels, std::uint32_t thread_count,
         const LoadProgress& progress)
      : source_(files.weights()),
        kernels_(kernels),
        progress_(progress),
        digester_(files.spec()),
        packer_(kernels, std::min(thread_count - 1, kPackingThreadsMax)) {
    for (std::size_t i = 0; i < source_.tensor_count(); ++i) {
      bytes_total_ += source_.tensor(i).bytes();
    }
    weights_.spec = files.spec();
    weights_.layers.resize(files.spec().layer_count());
  }

  Result<ModelWeights> load() {
    TRY(place());
    for (std::size_t i = 0; i < source_.tensor_count(); ++i) TRY(read(source_.tensor(i)));
    packer_.finish();
    if (weights_.spec.tied_embeddings) {
      auto& matrices = weights_.shared.matrices;
      matrices[TensorRole::Output] = matrices[TensorRole::TokenEmbedding];
    }
    weights_.digest = digester_.finish();
    return std::move(weights_);
  }

 private:
  // Gives every matrix its place in one arena.
  Result<void> place() {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < source_.tensor_count(); ++i) {
      const TensorInfo& tensor = source_.tensor(i);
      if (!is_matrix(tensor)) continue;
      bytes += aligned(kernels_.packed_bytes(tensor.format, tensor.row_count, tensor.column_count));
    }
    weights_.arena = TRY(MappedMemory::create(bytes + kPackedSlackBytes));
    return {};
  }

  Result<void> read(const TensorInfo& tensor) {
    digester_.begin_tensor(tensor);
    RoleWeights& place = place_of(weights_, tensor);
    if (is_matrix(tensor)) return read_matrix(tensor, place.matrices[tensor.role]);
    std::vector<float>& vector = place.vectors[tensor.role];
    std::vector<std::byte> bytes;
    TRY(read_rows(tensor, 0, tensor.row_count, bytes));
    vector.resize(tensor.column_count);
    decode_row(tensor.format, bytes.data(), tensor.column_count, vector.data());
    return {};
  }

  Result<void> read_rows(const TensorInfo& tensor, std::uint32_t first, std::uint32_t count,
                         std::vector<std::byte>& into) {
    into.resize(count * tensor.row_bytes());
    TRY(source_.read(tensor.role, tensor.layer, first, count, into));
    digester_.add(into);
    bytes_done_ += into.size();
    if (progress_) progress_(bytes_done_, bytes_total_);
    return {};
  }

  Result<void> read_matrix(const TensorInfo& tensor, PackedMatrix& matrix) {
    std::byte* packed = weights_.arena.data() + arena_used_;
    arena_used_ +=
        aligned(kernels_.packed_bytes(tensor.format, tensor.row_count, tensor.column_count));
    matrix = {tensor.format, tensor.row_count, tensor.column_count, packed};
    // Whole heads, so that rows that are reordered within a head are read once.
    const std::uint64_t unit = std::lcm(std::uint64_t{64}, tensor.rows_together());
    const std::uint64_t wanted = kSlabBytes / std::max<std::uint64_t>(1, tensor.row_bytes());
    const std::uint64_t slab_rows = std::max(unit, wanted / unit * unit);
    for (std::uint64_t row = 0; row < tensor.row_count; row += slab_rows) {
      const auto first = static_cast<std::uint32_t>(row);
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(slab_rows, tensor.row_count - row));
      std::unique_ptr<Slab> slab = packer_.take();
      TRY(read_rows(tensor, first, count, slab->rows));
      slab->format = tensor.format;
      slab->column_count = tensor.column_count;
      slab->row_first = first;
      slab->row_count = count;
      slab->packed = packed;
      packer_.hand_in(std::move(slab));
    }
    return {};
  }

  const WeightSource& source_;
  const KernelTable& kernels_;
  const LoadProgress& progress_;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t bytes_total_ = 0;
  ModelDigester digester_;
  ModelWeights weights_;
  std::size_t arena_used_ = 0;
  SlabPacker packer_;
};

}  // namespace

Result<ModelWeights> ModelWeights::load(const ModelFiles& files, const KernelTable& kernels,
                                        std::uint32_t thread_count, const LoadProgress& progress) {
  QUIRE_CHECK(thread_count >= 1, "the caller's thread loads");
  return Loader(files, kernels, thread_count, progress).load();
}

ModelInfo model_info(const ModelWeights& weights) {
  const ModelSpec& spec = weights.spec;
  ModelInfo info;
  info.name = spec.name;
  info.architecture = spec.architecture;
  info.vocabulary_size = spec.vocabulary_size;
  info.context_length = spec.context_length;
  info.embedding_width = spec.embedding_width;
  info.layer_count = spec.layer_count();
  if (const AttentionSpec* attention = first_attention(spec)) {
    info.head_count = attention->head_count;
    info.kv_head_count = attention->kv_head_count;
    info.head_dim = attention->head_dim;
  }
  info.kv_heads = kv_heads(spec);
  info.bos_id = spec.bos_id;
  info.eos_id = spec.eos_id;
  info.stop_ids = spec.stop_ids;
  info.add_bos = spec.add_bos.value_or(false);
  info.digest = weights.digest;
  return info;
}

}  // namespace quire::inference
