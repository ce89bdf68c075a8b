#pragma once
// CpuBackend: runs batches on the cores of this machine.
//
// Owns     weights, keys and values, kept embeddings, scratch, its device thread and the workers.
// Thread   submit() from the engine thread, never blocks. The device thread runs batches in order,
//          is worker 0 of the pool, and delivers completions. The destructor finishes what was
//          submitted first.
// Errors   opening: from the files, NotSupported, InvalidArgument for options, Unavailable for
//          memory. Running: a pass or distribution fails alone.
#include <memory>
#include <string>

#include "base/walk.h"
#include "inference/api/backend.h"
#include "inference/weights/model_files.h"

namespace quire::inference {

struct CpuBackendOptions {
  std::string kernels = "auto";  // Or "scalar", "avx2", "avx512".
  std::uint32_t threads = 1;     // Workers, the device thread among them. 1 to 256.
  std::uint32_t page_size = 16;  // 8, 16 or 32.
  std::uint32_t page_count = 0;  // 0: as many as fit kv_memory_bytes.
  std::uint64_t kv_memory_bytes = std::uint64_t{1} << 30;
  KvFormat kv_format = KvFormat::F16;
  KvMode kv_mode = KvMode::Paged;
  std::uint32_t row_count_max = 512;  // Rows of one batch; bounds scratch memory.
  std::uint32_t sequence_count = 4096;
  std::uint32_t embed_slot_count = 4096;
  std::uint32_t inflight_max = 2;
  int worker_niceness = 1;  // Added to that of device thread and workers.
  WalkSink* walk = nullptr;
  LoadProgress on_load = {};  // While make_cpu_backend() reads the weights.
};

// The files may be closed afterwards. `sink` outlives the backend.
Result<std::unique_ptr<Backend>> make_cpu_backend(const ModelFiles& files,
                                                  const CpuBackendOptions& options,
                                                  CompletionSink& sink);

}  // namespace quire::inference
