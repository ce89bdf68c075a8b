#include "inference/devices/cpu/pack.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"
#include "inference/devices/cpu/slab_packer.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/kernels/scalar/exponential.h"

namespace quire::inference {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{2} << 20;
// The loader hashes 2 GB/s, which three packing threads keep up with.
constexpr std::uint32_t kPackingThreadsMax = 3;

bool is_matrix(const TensorInfo& tensor) {
  const TensorKind kind = row_of(tensor.role).kind;
  return kind == TensorKind::Matrix || kind == TensorKind::ExactMatrix;
}

// Gives equal bits on all machines.
void transform_values(ValueTransform transform, std::span<float> values) {
  switch (transform) {
    case ValueTransform::None:
      return;
    case ValueTransform::PlusOne:
      for (float& value : values) value += 1.0f;
      return;
    case ValueTransform::NegatedExponential:
      for (float& value : values) value = -scalar::exponential(value);
      return;
  }
}

// The format to multiply in.
NumberFormat packed_format(const TensorInfo& tensor) {
  const bool is_exact = row_of(tensor.role).kind == TensorKind::ExactMatrix;
  return is_exact ? NumberFormat::F32 : tensor.format;
}

class Packing {
 public:
  Packing(const ModelFiles& files, const MatmulKernels& kernels, std::uint32_t thread_count,
          const LoadProgress& progress)
      : stored_(files, progress),
        kernels_(kernels),
        packer_(kernels, std::min(thread_count - 1, kPackingThreadsMax)) {
    packed_.spec = files.spec();
    packed_.layers.resize(files.spec().layer_count());
  }

  Result<PackedWeights> run() {
    TRY(reserve());
    for (std::size_t i = 0; i < stored_.tensor_count(); ++i) TRY(pack(stored_.tensor(i)));
    packer_.finish();
    if (packed_.spec.tied_embeddings) {
      auto& matrices = packed_.shared.matrices;
      matrices[TensorRole::Output] = matrices[TensorRole::TokenEmbedding];
    }
    packed_.digest = stored_.finish();
    return std::move(packed_);
  }

 private:
  std::size_t arena_bytes(const TensorInfo& tensor) const {
    const std::size_t bytes =
        kernels_.packed_bytes(packed_format(tensor), tensor.row_count, tensor.column_count);
    return (bytes + 63) / 64 * 64;
  }

  // One arena for all matrices.
  Result<void> reserve() {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < stored_.tensor_count(); ++i) {
      if (is_matrix(stored_.tensor(i))) bytes += arena_bytes(stored_.tensor(i));
    }
    packed_.arena = TRY(MappedMemory::create(bytes + kPackedSlackBytes));
    return {};
  }

  Result<void> pack(const TensorInfo& tensor) {
    const TensorPlace where = row_of(tensor.role).place;
    RoleWeights& place =
        where == TensorPlace::Model ? packed_.shared : packed_.layers[tensor.layer];
    if (where == TensorPlace::Expert) {
      return pack_matrix(tensor, place.experts[tensor.role].emplace_back());
    }
    if (is_matrix(tensor)) return pack_matrix(tensor, place.matrices[tensor.role]);
    return pack_vector(tensor, place.vectors[tensor.role]);
  }

  // A table is its rows, one after the other.
  Result<void> pack_vector(const TensorInfo& tensor, std::vector<float>& vector) {
    std::vector<std::byte> bytes;
    TRY(stored_.read(tensor, tensor.row_count, bytes));
    vector.resize(std::size_t{tensor.row_count} * tensor.column_count);
    for (std::uint32_t row = 0; row < tensor.row_count; ++row) {
      decode_row(tensor.format, bytes.data() + row * tensor.row_bytes(), tensor.column_count,
                 vector.data() + std::size_t{row} * tensor.column_count);
    }
    transform_values(tensor.transform, vector);
    return {};
  }

  Result<void> pack_matrix(const TensorInfo& tensor, PackedMatrix& matrix) {
    std::byte* packed = packed_.arena.data() + arena_used_;
    arena_used_ += arena_bytes(tensor);
    matrix = {packed_format(tensor), tensor.row_count, tensor.column_count, packed};
    // Whole heads, so that rows that are reordered within a head are read once.
    const std::uint64_t unit = std::lcm(std::uint64_t{64}, tensor.rows_together());
    const std::uint64_t wanted = kSlabBytes / std::max<std::uint64_t>(1, tensor.row_bytes());
    const std::uint64_t slab_rows = std::max(unit, wanted / unit * unit);
    for (std::uint64_t row = 0; row < tensor.row_count; row += slab_rows) {
      std::unique_ptr<Slab> slab = packer_.take();
      slab->format = matrix.format;
      slab->column_count = tensor.column_count;
      slab->row_first = static_cast<std::uint32_t>(row);
      slab->row_count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(slab_rows, tensor.row_count - row));
      slab->packed = packed;
      TRY(stored_.read(tensor, slab->row_count, slab->rows));
      if (matrix.format != tensor.format) decode(tensor, *slab);
      packer_.hand_in(std::move(slab));
    }
    return {};
  }

  // The slab's rows as F32.
  static void decode(const TensorInfo& tensor, Slab& slab) {
    std::vector<std::byte> decoded(std::size_t{slab.row_count} * tensor.column_count *
                                   sizeof(float));
    for (std::uint32_t row = 0; row < slab.row_count; ++row) {
      decode_row(tensor.format, slab.rows.data() + row * tensor.row_bytes(), tensor.column_count,
                 reinterpret_cast<float*>(decoded.data()) + std::size_t{row} * tensor.column_count);
    }
    slab.rows = std::move(decoded);
  }

  ModelWeights stored_;
  const MatmulKernels& kernels_;
  PackedWeights packed_;
  std::size_t arena_used_ = 0;
  SlabPacker packer_;
};

}  // namespace

Result<PackedWeights> pack_weights(const ModelFiles& files, const MatmulKernels& kernels,
                                   std::uint32_t thread_count, const LoadProgress& progress) {
  QUIRE_CHECK(thread_count >= 1, "the caller's thread loads");
  return Packing(files, kernels, thread_count, progress).run();
}

}  // namespace quire::inference
