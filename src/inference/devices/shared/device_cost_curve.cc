#include "inference/devices/shared/device_cost_curve.h"

#include <algorithm>

namespace quire::inference {

std::uint64_t DeviceCostCurve::duration_ns(const Batch& batch) const {
  double read_ns = 0;
  if (!batch.passes.empty()) {
    read_ns = weights_read_ns;
  } else if (!batch.distributions.empty()) {
    read_ns = output_read_ns;
  }
  for (const ForwardPass& pass : batch.passes) read_ns += slot_read_ns * pass.visible_slot_end;
  const double compute_ns = row_ns * static_cast<double>(batch.rows.size());
  return static_cast<std::uint64_t>(launch_ns + std::max(read_ns, compute_ns));
}

}  // namespace quire::inference
