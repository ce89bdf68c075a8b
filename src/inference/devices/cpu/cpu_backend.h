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

#include "inference/api/backend.h"
#include "inference/architectures/model_files.h"
#include "inference/devices/shared/device_options.h"

namespace quire::inference {

// The files may be closed after that. `sink` outlives the backend.
Result<std::unique_ptr<Backend>> make_cpu_backend(const ModelFiles& files,
                                                  const DeviceOptions& options,
                                                  CompletionSink& sink);

}  // namespace quire::inference
