#include "inference/devices/open_device.h"

#include "inference/devices/cpu/cpu_backend.h"

namespace quire::inference {

// Each name of a device is a set of kernels of the CPU. Another kind of device gets its case here.
Result<std::unique_ptr<Backend>> open_device(const ModelFiles& files, const DeviceOptions& options,
                                             CompletionSink& sink) {
  return make_cpu_backend(files, options, sink);
}

}  // namespace quire::inference
