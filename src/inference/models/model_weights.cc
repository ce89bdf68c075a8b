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
constexpr std::uint32_t kHeadDimMax = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

PackedMatrix* matrix_of(ModelWeights& weights, const TensorInfo& tensor) {
  LayerWeights& layer = weights.layers[tensor.layer];
  switch (tensor.role) {
    case TensorRole::TokenEmbedding:
      return &weights.token_embedding;
    case TensorRole::Output:
      return &weights.output;
    case TensorRole::AttentionQ:
      return &layer.q;
    case TensorRole::AttentionK:
      return &layer.k;
    case TensorRole::AttentionV:
      return &layer.v;
    case TensorRole::AttentionOutput:
      return &layer.attention_output;
    case TensorRole::FeedForwardGate:
      return &layer.gate;
    case TensorRole::FeedForwardUp:
      return &layer.up;
    case TensorRole::FeedForwardDown:
      return &layer.down;
    default:
      return nullptr;
  }
}

std::vector<float>* vector_of(ModelWeights& weights, const TensorInfo& tensor) {
  LayerWeights& layer = weights.layers[tensor.layer];
  switch (tensor.role) {
    case TensorRole::OutputNorm:
      return &weights.output_norm;
    case TensorRole::AttentionNorm:
      return &layer.attention_norm;
    case TensorRole::AttentionQBias:
      return &layer.q_bias;
    case TensorRole::AttentionKBias:
      return &layer.k_bias;
    case TensorRole::AttentionVBias:
      return &layer.v_bias;
    case TensorRole::AttentionOutputBias:
      return &layer.attention_output_bias;
    case TensorRole::AttentionQNorm:
      return &layer.q_norm;
    case TensorRole::AttentionKNorm:
      return &layer.k_norm;
    case TensorRole::FeedForwardNorm:
      return &layer.feed_forward_norm;
    default:
      return nullptr;
  }
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
    weights_.layers.resize(files.spec().layer_count);
  }

  Result<ModelWeights> load() {
    TRY(place());
    for (std::size_t i = 0; i < source_.tensor_count(); ++i) TRY(read(source_.tensor(i)));
    packer_.finish();
    if (weights_.spec.tied_embeddings) weights_.output = weights_.token_embedding;
    weights_.digest = digester_.finish();
    return std::move(weights_);
  }

 private:
  // Gives every matrix its place in one arena.
  Result<void> place() {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < source_.tensor_count(); ++i) {
      const TensorInfo& tensor = source_.tensor(i);
      if (matrix_of(weights_, tensor) == nullptr) continue;
      bytes += aligned(kernels_.packed_bytes(tensor.format, tensor.row_count, tensor.column_count));
    }
    weights_.arena = TRY(MappedMemory::create(bytes + kPackedSlackBytes));
    return {};
  }

  Result<void> read(const TensorInfo& tensor) {
    digester_.begin_tensor(tensor);
    if (PackedMatrix* matrix = matrix_of(weights_, tensor)) return read_matrix(tensor, *matrix);
    std::vector<float>* vector = vector_of(weights_, tensor);
    QUIRE_CHECK(vector != nullptr, "a tensor is a matrix or a vector of the model");
    std::vector<std::byte> bytes;
    TRY(read_rows(tensor, 0, tensor.row_count, bytes));
    vector->resize(tensor.column_count);
    decode_row(tensor.format, bytes.data(), tensor.column_count, vector->data());
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
    const std::uint64_t unit = std::lcm(std::uint64_t{64}, std::uint64_t{weights_.spec.head_dim});
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
  const ModelSpec& spec = files.spec();
  if (spec.head_dim % 16 != 0 || spec.head_dim > kHeadDimMax) {
    return Error(ErrorCode::NotSupported, "head_dim " + std::to_string(spec.head_dim) +
                                              " is not supported (a multiple of 16, at most 256)");
  }
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
  info.layer_count = spec.layer_count;
  info.head_count = spec.head_count;
  info.kv_head_count = spec.kv_head_count;
  info.head_dim = spec.head_dim;
  info.bos_id = spec.bos_id;
  info.eos_id = spec.eos_id;
  info.stop_ids = spec.stop_ids;
  info.add_bos = spec.add_bos.value_or(false);
  info.digest = weights.digest;
  return info;
}

}  // namespace quire::inference
