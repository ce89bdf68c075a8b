#include "inference/architectures/model_weights.h"

#include "base/check.h"

namespace quire::inference {

ModelWeights::ModelWeights(const ModelFiles& files, const LoadProgress& progress)
    : files_(files),
      source_(files.weights()),
      progress_(progress),
      digester_(files.spec()),
      bytes_total_(files.weights().bytes()) {}

Result<void> ModelWeights::read(const TensorInfo& tensor, std::uint32_t row_count,
                                std::vector<std::byte>& into) {
  QUIRE_CHECK(tensor_at_ < tensor_count() && &tensor == &source_.tensor(tensor_at_),
              "tensors are read in their order");
  QUIRE_CHECK(row_count <= tensor.row_count - row_at_, "each row is read once");
  if (row_at_ == 0) digester_.begin_tensor(tensor);
  into.resize(row_count * tensor.row_bytes());
  TRY(source_.read(tensor_at_, row_at_, row_count, into));
  digester_.add(into);
  row_at_ += row_count;
  if (row_at_ == tensor.row_count) {
    ++tensor_at_;
    row_at_ = 0;
  }
  bytes_done_ += into.size();
  if (progress_) progress_(bytes_done_, bytes_total_);
  return {};
}

Digest ModelWeights::finish() {
  QUIRE_CHECK(tensor_at_ == tensor_count(), "all tensors are read before they have a digest");
  return digester_.finish();
}

}  // namespace quire::inference
