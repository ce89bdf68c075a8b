#pragma once
// DeviceOptions says which device serves a model, and with how much memory.
#include <cstdint>
#include <optional>
#include <string>

#include "base/walk.h"
#include "inference/api/types.h"
#include "inference/architectures/model_files.h"

namespace quire::inference {

struct DeviceOptions {
  // "auto", the best device of this machine, or a device by its name: "scalar", "avx2",
  // "avxvnni" and "avx512" are the CPU with these kernels.
  std::string name = "auto";
  std::uint32_t threads = 1;     // Workers of a CPU, the device thread among them. 1 to 256.
  std::uint32_t page_size = 16;  // 8, 16 or 32.
  std::uint32_t page_count = 0;  // 0: as many as fit kv_memory_bytes.
  std::uint64_t kv_memory_bytes = std::uint64_t{1} << 30;  // Of pages and of states.
  // The part for states, if the model has some. Nothing: they get half of kv_memory_bytes.
  std::optional<std::uint64_t> state_memory_bytes{};
  std::uint32_t state_count = 0;  // 0: as many as fit.
  KvFormat kv_format = KvFormat::F16;
  KvMode kv_mode = KvMode::Paged;
  std::uint32_t row_count_max = 512;  // Rows of one batch; limits scratch memory.
  std::uint32_t sequence_count = 4096;
  std::uint32_t embed_slot_count = 4096;
  std::uint32_t inflight_max = 2;
  // Whether a CPU computes attention to shared and to long contexts in partials (attention_plan.h).
  // The bits are the same without; benches compare the time.
  bool uses_partials = true;
  int worker_niceness = 1;  // Added to that of a CPU's device thread and workers.
  WalkSink* walk = nullptr;
  LoadProgress on_load = {};  // While open_device() reads the weights.
};

}  // namespace quire::inference
