#pragma once
// Facts of a model from its files, without loading the weights, and the size of a pool of it.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "inference/api/types.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/weight_source.h"

namespace quire {

struct ModelFacts {
  std::string path;
  inference::ModelSpec spec;
  std::uint64_t parameter_count = 0;
  std::uint64_t weight_bytes = 0;  // As stored in the files.
  // Bytes and parameters that one token multiplies with. A table of embeddings of its own does not
  // count, and of the experts only those count that a token chooses.
  std::uint64_t weight_bytes_per_token = 0;
  std::uint64_t parameters_per_token = 0;
  std::uint64_t expert_bytes = 0;  // All experts that routers choose from.
  std::uint64_t state_bytes = 0;   // Of one state; 0: the model has none.
  std::uint64_t state_count = 0;   // States that fit their part of the pool's memory.
  std::vector<inference::WeightSource::LeftOut> left_out;
  std::map<std::string, std::uint64_t> bytes_by_format;
  std::string kv_format;
  std::uint64_t kv_bytes_per_token = 0;
  std::uint32_t page_size = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t pool_page_count = 0;
  std::uint64_t pool_token_count = 0;
};

inference::KvFormat kv_format_of(cli::KvFormatChoice choice);

Result<ModelFacts> read_model_facts(const std::string& model, const cli::EngineOptions& engine);

// Checks that the pool of the options holds a page of the model and fits the machine. `kv_memory`
// is this model's share. InvalidArgument names the flag.
Result<void> check_pool(const std::string& model, const inference::ModelSpec& spec,
                        const cli::EngineOptions& engine, std::uint64_t kv_memory);

// As configured; else a quarter of the machine's memory, at most 8 GiB.
std::uint64_t kv_memory_bytes(const cli::PoolOptions& pool);

}  // namespace quire
