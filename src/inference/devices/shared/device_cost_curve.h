#pragma once
// DeviceCostCurve says how long a batch would take on a device with memory and arithmetic of its
// own: what a simulated device reports where a benchmark compares ways of batching.
//
// A step reads all weights and the keys and values that its rows attend to, and multiplies:
// whichever takes longer, since the two overlap. So few rows cost as much as many, until arithmetic
// takes over. A batch of distributions alone reads the output layer.
#include <cstdint>
#include <string_view>

#include "inference/api/batch.h"

namespace quire::inference {

struct DeviceCostCurve {
  std::string_view name;
  double launch_ns = 0;        // Of any batch.
  double weights_read_ns = 0;  // Of one that computes rows,
  double output_read_ns = 0;   // or only distributions.
  double slot_read_ns = 0;     // Keys and values of one slot, once for each pass that sees it.
  double row_ns = 0;           // Arithmetic of one row.

  std::uint64_t duration_ns(const Batch& batch) const;
};

// Llama 3 8B on an H100 SXM. It has 8.03e9 weights in BF16, of which the output layer has 0.53e9,
// and 128 KiB of keys and values a token. A step reaches 80 % of 3.35 TB/s and 60 % of 989 TFLOP/s
// in BF16 (NVIDIA's data sheet; the shares are what well-tuned kernels reach), and takes 200 us to
// launch.
inline constexpr DeviceCostCurve kH100With8B{.name = "Llama 3 8B on an H100",
                                             .launch_ns = 200e3,
                                             .weights_read_ns = 16.06e9 / 2.68e3,
                                             .output_read_ns = 1.05e9 / 2.68e3,
                                             .slot_read_ns = 131072 / 2.68e3,
                                             .row_ns = 16.06e9 / 593e3};

// The same model on an L4: 300 GB/s and 121 TFLOP/s. A step of one row takes 67 ms; the published
// measurement on this device is 64 ms a token with vLLM.
inline constexpr DeviceCostCurve kL4With8B{.name = "Llama 3 8B on an L4",
                                           .launch_ns = 200e3,
                                           .weights_read_ns = 16.06e9 / 240,
                                           .output_read_ns = 1.05e9 / 240,
                                           .slot_read_ns = 131072 / 240.0,
                                           .row_ns = 16.06e9 / 72.6e3};

}  // namespace quire::inference
