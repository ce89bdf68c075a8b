#pragma once
// open_device opens the device that its options name, with the weights of a model on it.
//
// Thread   any; the device has threads of its own, as its header says.
// Errors   those of the files; NotSupported for a device that this machine lacks, with those that
//          it has; InvalidArgument for options, Unavailable for memory.
#include <memory>

#include "base/result.h"
#include "inference/api/backend.h"
#include "inference/architectures/model_files.h"
#include "inference/devices/shared/device_options.h"

namespace quire::inference {

// The files may be closed after that. `sink` outlives the device.
Result<std::unique_ptr<Backend>> open_device(const ModelFiles& files, const DeviceOptions& options,
                                             CompletionSink& sink);

}  // namespace quire::inference
