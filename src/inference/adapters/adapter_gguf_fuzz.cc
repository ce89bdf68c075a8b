// Any bytes as a GGUF adapter of a small llama model: an error, or an adapter whose matrices are
// within the model's shape and finite.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "inference/adapters/make_adapter_reader.h"
#include "inference/architectures/architecture.h"

using quire::Result;
using namespace quire::inference;

namespace {

constexpr AdapterLimits kLimits{.rank_max = 64, .bytes_max = std::uint64_t{1} << 20};

ModelSpec small_model() {
  ModelSpec spec;
  spec.architecture = kLlama.name;
  spec.embedding_width = 32;
  spec.layers.assign(2, {AttentionSpec{.head_count = 4, .kv_head_count = 2, .head_dim = 8},
                         DenseSpec{.width = 48}});
  return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<AdapterFile> files;
  files.push_back({"fuzz.gguf", std::vector<std::byte>(first, first + bytes)});
  const auto read = make_adapter_reader(small_model())->read(std::move(files), kLimits);
  if (!read.ok()) {
    QUIRE_CHECK(!read.error().message().empty(), "an error says what is wrong");
    return 0;
  }
  const Adapter& adapter = *read.value();
  QUIRE_CHECK(!adapter.matrices().empty(), "an adapter has matrices");
  QUIRE_CHECK(adapter.rank_max() <= kLimits.rank_max, "ranks are within the limit");
  for (const AdapterMatrix& matrix : adapter.matrices()) {
    QUIRE_CHECK(matrix.layer < 2, "layers are within the model");
    QUIRE_CHECK(adapter.find(matrix.layer, matrix.projection) == &matrix, "each is found");
  }
  return 0;
}
