#include "inference/devices/cpu/memory_plan.h"

#include <algorithm>
#include <string>

namespace quire::inference {
namespace {

constexpr std::uint64_t kStateCountMin = 2;  // A pass of several rows goes from one to another.
constexpr std::uint64_t kCountMax = 0xfffffff0u;

Result<std::uint32_t> state_count_for(const ModelSpec& spec, std::uint64_t state_bytes,
                                      const DeviceOptions& options) {
  if (state_bytes == 0) return 0u;
  if (options.kv_mode == KvMode::Basic) {
    return Error(ErrorCode::NotSupported, "--kv basic does not support " + spec.name +
                                              ", whose layers have states: use --kv paged");
  }
  const std::uint64_t memory = options.state_memory_bytes.value_or(options.kv_memory_bytes / 2);
  const std::uint64_t count = options.state_count > 0 ? options.state_count : memory / state_bytes;
  if (count < kStateCountMin) {
    return Error(ErrorCode::InvalidArgument,
                 "state memory of " + std::to_string(memory) + " bytes holds " +
                     std::to_string(count) + " states of " + std::to_string(state_bytes) +
                     " bytes; at least " + std::to_string(kStateCountMin) + " are needed, of " +
                     std::to_string(kStateCountMin * state_bytes) + " bytes together");
  }
  if (options.state_count == 0 && memory > options.kv_memory_bytes) {
    return Error(ErrorCode::InvalidArgument, "state memory of " + std::to_string(memory) +
                                                 " bytes is more than the KV memory of " +
                                                 std::to_string(options.kv_memory_bytes) +
                                                 " bytes, of which it is a part");
  }
  return static_cast<std::uint32_t>(std::min(count, kCountMax));
}

Result<std::uint32_t> page_count_for(std::uint64_t page_bytes, std::uint64_t states_bytes,
                                     const DeviceOptions& options) {
  if (options.page_count > 0) return options.page_count;
  const std::uint64_t memory =
      options.kv_memory_bytes - std::min(states_bytes, options.kv_memory_bytes);
  const std::uint64_t count = memory / page_bytes;
  if (count > 0) return static_cast<std::uint32_t>(std::min(count, kCountMax));
  const std::string states =
      states_bytes == 0 ? "" : " less " + std::to_string(states_bytes) + " for states";
  return Error(ErrorCode::InvalidArgument,
               "KV memory of " + std::to_string(options.kv_memory_bytes) + " bytes" + states +
                   " holds no page of " + std::to_string(page_bytes) + " bytes");
}

}  // namespace

Result<MemoryPlan> plan_memory(const ModelSpec& spec, const DeviceOptions& options) {
  if (options.page_size != 8 && options.page_size != 16 && options.page_size != 32) {
    return Error(ErrorCode::InvalidArgument, "page size " + std::to_string(options.page_size) +
                                                 " is not supported (8, 16 or 32)");
  }
  MemoryPlan plan{.kv = KvLayout(kv_heads(spec), options.page_size, options.kv_format),
                  .states = StateLayout(spec)};
  if (plan.kv.page_bytes() == 0) {
    return Error(ErrorCode::NotSupported, "no layer of " + spec.name + " has attention");
  }
  plan.state_count = TRY(state_count_for(spec, plan.states.bytes(), options));
  plan.page_count =
      TRY(page_count_for(plan.kv.page_bytes(), plan.state_count * plan.states.bytes(), options));
  return plan;
}

}  // namespace quire::inference
