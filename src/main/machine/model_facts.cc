#include "main/machine/model_facts.h"

#include <algorithm>

#include "base/readable.h"
#include "inference/api/kv_layout.h"
#include "inference/architectures/model_files.h"
#include "main/machine/machine.h"
#include "main/machine/machine_facts.h"

namespace quire {
namespace {

constexpr std::uint64_t kPoolBytesMaxDefault = std::uint64_t{8} << 30;
constexpr std::uint64_t kPoolShareDefault = 4;  // A quarter of the memory.

const char* kv_format_name(cli::KvFormatChoice format) {
  switch (format) {
    case cli::KvFormatChoice::F32:
      return "f32";
    case cli::KvFormatChoice::F16:
      return "f16";
    case cli::KvFormatChoice::BF16:
      return "bf16";
    case cli::KvFormatChoice::Q8:
      return "q8";
  }
  return "";
}

std::uint64_t bytes_per_token(const inference::ModelSpec& spec, cli::KvFormatChoice format) {
  constexpr std::uint32_t kPageSize = 16;
  return inference::KvLayout(inference::kv_heads(spec), kPageSize, kv_format_of(format))
      .token_bytes();
}

}  // namespace

inference::KvFormat kv_format_of(cli::KvFormatChoice choice) {
  switch (choice) {
    case cli::KvFormatChoice::F32:
      return inference::KvFormat::F32;
    case cli::KvFormatChoice::F16:
      return inference::KvFormat::F16;
    case cli::KvFormatChoice::BF16:
      return inference::KvFormat::BF16;
    case cli::KvFormatChoice::Q8:
      return inference::KvFormat::Q8;
  }
  return inference::KvFormat::F16;
}

namespace {

// Two, because a pass of several rows goes from one state to another.
constexpr std::uint64_t kStateCountMin = 2;

Result<void> check_states(const std::string& model, const inference::ModelSpec& spec,
                          const cli::PoolOptions& pool, std::uint64_t kv_memory) {
  const std::uint64_t bytes = inference::state_float_count(spec) * sizeof(float);
  const std::uint64_t memory = pool.state_memory_bytes.value_or(kv_memory / 2);
  if (memory >= kStateCountMin * bytes) return {};
  const std::string given = pool.state_memory_bytes
                                ? "--state-memory " + readable_bytes(memory)
                                : "half of the pool's " + readable_bytes(kv_memory);
  return Error(ErrorCode::InvalidArgument, given + " holds fewer than two states of " + model +
                                               ", of " + readable_bytes(bytes) +
                                               " each; give --state-memory " +
                                               readable_bytes(kStateCountMin * bytes) + " or more");
}

}  // namespace

Result<void> check_pool(const std::string& model, const inference::ModelSpec& spec,
                        const cli::EngineOptions& engine, std::uint64_t kv_memory) {
  const std::uint64_t page_bytes = bytes_per_token(spec, engine.kv_format) * engine.page_size;
  const std::uint64_t machine_bytes = memory_bytes_total();
  if (engine.pool.memory_bytes && kv_memory < page_bytes) {
    return Error(ErrorCode::InvalidArgument,
                 "--kv-memory " + readable_bytes(*engine.pool.memory_bytes) +
                     " holds no page: a page of " + model + " takes " + readable_bytes(page_bytes));
  }
  if (engine.pool.memory_bytes && *engine.pool.memory_bytes > machine_bytes) {
    return Error(ErrorCode::InvalidArgument,
                 "--kv-memory " + readable_bytes(*engine.pool.memory_bytes) + " is more than the " +
                     readable_bytes(machine_bytes) + " of this machine");
  }
  if (engine.pool.page_count && *engine.pool.page_count > machine_bytes / page_bytes) {
    return Error(ErrorCode::InvalidArgument,
                 "--kv-pages " + std::to_string(*engine.pool.page_count) + " of " + model +
                     " take " + readable_bytes(*engine.pool.page_count * page_bytes) +
                     "; this machine has " + readable_bytes(machine_bytes) +
                     ", which is room for " + std::to_string(machine_bytes / page_bytes));
  }
  return check_states(model, spec, engine.pool, kv_memory);
}

std::uint64_t kv_memory_bytes(const cli::PoolOptions& pool) {
  if (pool.memory_bytes) return *pool.memory_bytes;
  return std::min(memory_bytes_allowed() / kPoolShareDefault, kPoolBytesMaxDefault);
}

namespace {

// Adds the bytes and parameters of a tensor that one token reads. It reads the tensors of as many
// experts as it chooses: the first stand for them.
void add_active(const inference::TensorInfo& tensor, std::uint64_t parameters, ModelFacts& facts) {
  const bool is_table = tensor.role == inference::TensorRole::TokenEmbedding;
  if (is_table && !facts.spec.tied_embeddings) return;
  const bool is_expert = row_of(tensor.role).place == inference::TensorPlace::Expert;
  if (is_expert) facts.expert_bytes += tensor.bytes();
  const inference::ExpertsSpec* experts = facts.spec.layers[tensor.layer].experts();
  if (is_expert && tensor.expert >= experts->used_count) return;
  facts.weight_bytes_per_token += tensor.bytes();
  facts.parameters_per_token += parameters;
}

}  // namespace

Result<ModelFacts> read_model_facts(const std::string& model, const cli::EngineOptions& engine) {
  ModelFacts facts;
  facts.path = TRY(find_model(model));
  const std::unique_ptr<inference::ModelFiles> files = TRY(inference::open_model(facts.path));
  facts.spec = files->spec();
  const inference::WeightSource& weights = files->weights();
  for (std::size_t i = 0; i < weights.tensor_count(); ++i) {
    const inference::TensorInfo& tensor = weights.tensor(i);
    const std::uint64_t parameters = std::uint64_t{tensor.row_count} * tensor.column_count;
    facts.parameter_count += parameters;
    facts.weight_bytes += tensor.bytes();
    add_active(tensor, parameters, facts);
    facts.bytes_by_format[inference::format_shape(tensor.format).name] += tensor.bytes();
  }
  facts.state_bytes = inference::state_float_count(facts.spec) * sizeof(float);
  facts.left_out = weights.left_out();
  facts.kv_format = kv_format_name(engine.kv_format);
  facts.kv_bytes_per_token = bytes_per_token(facts.spec, engine.kv_format);
  facts.page_size = engine.page_size;
  const std::uint64_t page_bytes = facts.kv_bytes_per_token * engine.page_size;
  std::uint64_t pool_bytes = kv_memory_bytes(engine.pool);
  if (facts.state_bytes > 0) {
    facts.state_count = engine.pool.state_memory_bytes.value_or(pool_bytes / 2) / facts.state_bytes;
    pool_bytes -= std::min(pool_bytes, facts.state_count * facts.state_bytes);
  }
  facts.pool_page_count =
      engine.pool.page_count ? *engine.pool.page_count : pool_bytes / page_bytes;
  facts.pool_bytes = facts.pool_page_count * page_bytes;
  facts.pool_token_count = facts.pool_page_count * engine.page_size;
  return facts;
}

}  // namespace quire
