#pragma once
// Flight has the receivers of a batch's outcomes: a record for each of its passes and of its
// distributions, and the owner of each load and save, in the order of the batch.
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/slab.h"
#include "control/batches/step_model.h"
#include "control/objects/instance.h"
#include "inference/api/batch.h"

namespace quire::control {

class TransferOwner;  // transfer_owner.h
struct Flight;
struct PassRecord;
struct ReadRecord;

// The receiver of a pass's outcome when its batch is done.
class PassOwner {
 public:
  virtual ~PassOwner() = default;
  virtual void passed(const Flight& flight, PassRecord& pass, Result<void> outcome) = 0;
};

// The receiver of a distribution, or of a draw. The record's operation lives.
class ReadOwner {
 public:
  virtual ~ReadOwner() = default;
  virtual void read(const ReadRecord& record, Result<inference::Distribution> outcome) = 0;
};

struct PageWrite {
  Ref<PageObject> page;
  std::uint32_t bits = 0;
};

// The record of a low-level forward.
struct ForwardRecord {
  std::vector<PageWrite> writes{};
  std::vector<std::uint32_t> reads_passes{};  // Passes of this batch whose slots it sees.
  std::vector<PageId> scratch{};              // Pages that end with the pass.
  inference::SequenceId sequence{};           // Likewise.
};

struct PassRecord {
  PassOwner* owner = nullptr;
  Ref<Operation> operation{};
  Ref<Context> context{};                      // Of a context's pass, while it lives.
  std::uint32_t forward = inference::kNoSlot;  // Index into Flight::forwards, of a forward's.
  std::uint32_t output_first = 0;              // Into Flight::outputs.
  std::uint32_t output_count = 0;
  std::uint32_t draft_count = 0;  // Of its rows the last ones, which may have to go again.
  bool is_last = false;           // Of its operation.
  bool has_failed = false;
};

struct ReadRecord {
  ReadOwner* owner = nullptr;
  Ref<Operation> operation{};
  inference::DistributionKind kind{};
  std::uint32_t pass = inference::kNoSlot;  // Of this batch, whose output it is.
  std::uint32_t place = 0;                  // Among the requests of its operation.
  std::uint32_t draft_count = 0;            // Of that pass.
};

struct Flight {
  BatchId id{};
  std::vector<PassRecord> passes;
  std::vector<ForwardRecord> forwards;
  std::vector<Ref<EmbedObject>> outputs;
  std::vector<ReadRecord> reads;
  std::vector<TransferOwner*> loads;
  std::vector<TransferOwner*> saves;
  StepModel::Step step;  // Its time is there when the batch is done.

  std::uint32_t row_count() const { return step.decode_row_count + step.prefill_row_count; }
  void clear() {  // Buffers keep their capacity.
    passes.clear();
    forwards.clear();
    outputs.clear();
    reads.clear();
    loads.clear();
    saves.clear();
    step = {};
  }
};

}  // namespace quire::control
