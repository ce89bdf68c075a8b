#pragma once
// Backend: a device that runs batches. CPU, CUDA, or a simulated one for tests.
//
// Thread   submit() from the engine thread; completions arrive on the device's thread (or inside
//          submit(), for a device that has none), in the order of submission.
// Owns     the bytes of all pages and of all kept embedding vectors. No other part touches them.
#include <cstdint>
#include <string>

#include "inference/api/batch.h"
#include "inference/api/types.h"

namespace quire::inference {

class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  // Never blocks: the slot was reserved when the batch was submitted.
  virtual void complete(Completion completion) = 0;
};

struct BackendCapabilities {
  std::string name;              // "scalar", "avx2", "avxvnni", "avx512", "simulated".
  std::string numerics_id;       // Backend and kernel revision; equal ids give equal bits.
  bool batch_invariant = false;  // Whether it promises bits.
  std::uint32_t page_size = 16;
  std::uint32_t page_count = 0;        // Of the pool.
  std::uint64_t page_bytes = 0;        // Of one PageLoad or PageSave; 0: neither is supported.
  std::uint32_t sequence_count = 0;    // Page tables it can hold.
  std::uint32_t embed_slot_count = 0;  // Vectors it can keep.
  std::uint32_t state_count = 0;       // Slots for states; 0: the model has no states.
  std::uint64_t state_bytes = 0;       // Of one.
  std::uint32_t row_count_max = 0;     // Rows of one batch.
  std::uint32_t inflight_max = 1;      // Batches submitted and not completed.
  KvFormat kv_format = KvFormat::F16;
  KvMode kv_mode = KvMode::Paged;
  bool adapters = false;  // Whether rows may have adapter sets.
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendCapabilities& capabilities() const = 0;
  virtual const ModelInfo& model() const = 0;
  // Requires: fewer than inflight_max batches under way, and a batch that keeps the limits above;
  // anything else is a bug of the engine.
  virtual void submit(Batch batch) = 0;
};

}  // namespace quire::inference
