#pragma once
// MemoryPlan: how many pages and states a device has, and how the numbers of each lie.
#include <cstdint>

#include "base/result.h"
#include "inference/api/kv_layout.h"
#include "inference/devices/shared/device_options.h"
#include "inference/models/state_layout.h"

namespace quire::inference {

struct MemoryPlan {
  KvLayout kv;
  StateLayout states;
  std::uint32_t page_count = 0;
  std::uint32_t state_count = 0;  // 0: the model has no states.
};

// Divides kv_memory_bytes: pages have what states leave. InvalidArgument for a page size that does
// not exist, and for memory that holds no page, or fewer than 2 states of a model that has some.
// NotSupported for such a model in Basic mode.
Result<MemoryPlan> plan_memory(const ModelSpec& spec, const DeviceOptions& options);

}  // namespace quire::inference
