#pragma once
// SimulatedBackend: a device without arithmetic, for tests of the layers above.
//
// It keeps real page memory: for each slot the digest of its input, its position and a digest of
// all that its row saw when it was written, like two layers of a transformer. Logits are drawn from
// a running digest over what a row sees, in slot order. So two ways of computing one context give
// equal logits exactly when every page, copy, mask, hole and position was handled right. A slot
// that was never written holds noise that never repeats, as does every slot of a page whose load
// failed. Loads and saves move these slots, 24 bytes each, so that a page which came back stale,
// late, damaged or in another's place gives other logits. A row's adapter set (digests and scales)
// is part of the digest of its input, and so of what it writes and of its output. A row without a
// set gives what it gave before there were adapters.
//
// With `state_count` it is a model with states. A state is a running digest of what each row saw,
// with the output of the last row. It is part of all that its rows write and give. So a state of
// another offset, a row that is replayed twice or not at all, or a slot that is given out too early
// gives other logits. A slot for states that was never written holds noise that never repeats, as
// does one whose pass failed.
//
// Owns     page tables, page memory, states and kept vectors.
// Thread   the caller's: it has no thread. Completions arrive inside submit(), or, when `manual`,
//          inside complete_next().
// Errors   a pass that reads an embed slot which holds no vector fails alone (NotFound), as does
//          one that `fail_pass` names, and loads and saves with a wrong number of bytes
//          (InvalidArgument) or that `fail_load` and `fail_save` name. A batch that breaks a limit
//          stops the process.
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "inference/api/backend.h"
#include "inference/devices/shared/output_forms.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {

struct SimulatedBackendOptions {
  ModelInfo model{};
  std::uint32_t page_size = 16;  // 1 to 32: smaller than real devices have, for tight tests.
  std::uint32_t page_count = 1024;
  std::uint32_t sequence_count = 256;
  std::uint32_t embed_slot_count = 1024;
  std::uint32_t state_count = 0;  // 0: the model has no states.
  std::uint32_t row_count_max = 512;
  std::uint32_t inflight_max = 2;
  bool adapters = true;
  std::uint64_t seed = 1;
  bool manual = false;  // Batches complete in complete_next() only.
  // Reported as Completion::device_ns; 1 us and 1 us a row where empty. A test with a simulated
  // clock lets so much time pass before it calls complete_next().
  std::function<std::uint64_t(const Batch&)> duration_ns{};
  // An Error here makes that pass (an index into Batch::passes) fail: it writes nothing.
  std::function<std::optional<Error>(const Batch&, std::size_t pass)> fail_pass{};
  // The same for an index into Batch::loads, which leaves noise, and into Batch::saves.
  std::function<std::optional<Error>(const Batch&, std::size_t load)> fail_load{};
  std::function<std::optional<Error>(const Batch&, std::size_t save)> fail_save{};
  // Whether the logits of that distribution (an index into Batch::distributions) hold a NaN.
  std::function<bool(const Batch&, std::size_t distribution)> has_nan{};
};

// A small model for tests: vocabulary 512, context 4096.
ModelInfo simulated_model();

class SimulatedBackend final : public Backend {
 public:
  SimulatedBackend(SimulatedBackendOptions options, CompletionSink& sink);

  const BackendCapabilities& capabilities() const override { return capabilities_; }
  const ModelInfo& model() const override { return options_.model; }
  void submit(Batch batch) override;

  // Manual completion. Requires for both: inflight_count() > 0.
  std::size_t inflight_count() const { return inflight_.size(); }
  const Batch& next_batch() const { return inflight_.front(); }
  std::uint64_t next_duration_ns() const;
  void complete_next();

  void verify() const { tables_.verify(); }

 private:
  struct Slot {
    std::uint64_t input = 0;    // Layer 0: digest of the token or vector.
    std::uint64_t context = 0;  // Layer 1: digest of what the row saw in layer 0.
    std::uint32_t position = 0;
    std::uint32_t written = 0;  // 1: it was written.
  };
  static_assert(std::has_unique_object_representations_v<Slot> && sizeof(Slot) == 24);
  struct RowState {
    std::uint64_t input = 0;
    std::uint64_t context = 0;
    std::uint64_t output = 0;
    std::uint64_t state = 0;  // The digest of the state after the row.
  };
  struct State {
    std::uint64_t digest = 0;
    std::uint64_t output = 0;  // Of the row that it is after.
  };
  enum class Layer : std::uint8_t { Inputs, Contexts };

  Slot& slot_at(std::span<const TableEntry> table, std::uint32_t slot);
  std::uint64_t content(const Slot& slot, const TableEntry& entry, std::uint32_t offset,
                        Layer layer) const;
  Result<void> begin_pass(const Batch& batch, std::size_t index, std::vector<RowState>& rows);
  void write_inputs(const Batch& batch, const ForwardPass& pass, const std::vector<RowState>& rows);
  void attend(const Batch& batch, const ForwardPass& pass, Layer layer,
              std::vector<RowState>& rows);
  // The state that the pass begins from.
  State state_before(const ForwardPass& pass) const;
  State state_in(StateSlot of) const;  // Noise where none was written.
  // Changes the state by each row, whose context becomes the state.
  void advance_state(const ForwardPass& pass, std::vector<RowState>& rows) const;
  void keep_states(const Batch& batch, const std::vector<RowState>& rows,
                   const std::vector<Result<void>>& passes);
  void keep_outputs(const Batch& batch, const std::vector<RowState>& rows,
                    const std::vector<Result<void>>& passes);
  void copy_slots(const PageCopy& copy);
  std::span<Slot> page_slots(PageId page);
  Result<void> load(const Batch& batch, std::size_t index);
  Result<PageBytes> save(Batch& batch, std::size_t index);
  Result<Distribution> distribution(const Batch& batch, std::size_t index,
                                    const std::vector<RowState>& rows,
                                    const std::vector<Result<void>>& passes);
  bool has_states() const { return !states_.empty(); }
  std::vector<RowState> run_passes(const Batch& batch, Completion& completion);
  Completion execute(Batch& batch);

  const SimulatedBackendOptions options_;
  CompletionSink& sink_;
  BackendCapabilities capabilities_;
  PageTables tables_;
  std::vector<Slot> slots_;  // [page_count][page_size]
  std::vector<std::optional<std::uint64_t>> embeds_;
  std::vector<std::optional<State>> states_;  // Nothing: noise.
  std::deque<Batch> inflight_;
  std::uint64_t batch_count_ = 0;
  OutputScratch scratch_;
};

}  // namespace quire::inference
