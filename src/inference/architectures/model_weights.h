#pragma once
// ModelWeights: the tensors of a model by role, as its files store them. A device reads them once,
// in their order, and makes the form that it computes with. The bytes are hashed as they are read,
// so that no file is read twice.
//
// Owns     nothing; the files and the progress outlive it.
// Thread   one.
// Errors   Io and Corrupted from the files.
#include <vector>

#include "inference/architectures/model_files.h"

namespace quire::inference {

class ModelWeights {
 public:
  ModelWeights(const ModelFiles& files, const LoadProgress& progress);

  const ModelSpec& spec() const { return files_.spec(); }
  std::size_t tensor_count() const { return source_.tensor_count(); }
  const TensorInfo& tensor(std::size_t index) const { return source_.tensor(index); }

  // The next rows of a tensor in the file's block layout: each tensor after the one before, its
  // rows from the first to the last, best in multiples of rows_together().
  Result<void> read(const TensorInfo& tensor, std::uint32_t row_count,
                    std::vector<std::byte>& into);
  // After the last row of the last tensor.
  Digest finish();

 private:
  const ModelFiles& files_;
  const WeightSource& source_;
  const LoadProgress& progress_;
  ModelDigester digester_;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t bytes_total_ = 0;
  std::size_t tensor_at_ = 0;  // The tensor that is read, and its next row.
  std::uint32_t row_at_ = 0;
};

}  // namespace quire::inference
