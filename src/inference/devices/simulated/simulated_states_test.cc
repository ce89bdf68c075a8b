// States of the simulated backend: equal however rows are cut over passes and slots, and other
// logits for every way to begin from the wrong one.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "inference/devices/simulated/simulated_backend.h"

namespace quire::inference {
namespace simulated_states_test {
namespace {

class LastCompletion final : public CompletionSink {
 public:
  void complete(Completion completion) override { last = std::move(completion); }
  Completion last;
};

constexpr std::uint32_t kPageSize = 16;

// One sequence over page 0 of a model with states.
class Hybrid {
 public:
  explicit Hybrid(SimulatedBackendOptions options = {.model = simulated_model(), .state_count = 4})
      : device(std::move(options), sink) {}

  // A pass of rows [begin, end) of a fixed text. `writes` are after counts of its rows.
  std::vector<float> forward(std::uint32_t begin, std::uint32_t end, StateSlot from,
                             std::vector<StateWrite> writes) {
    Batch batch = batch_with(end);
    for (std::uint32_t i = begin; i < end; ++i) {
      batch.rows.push_back({.token = TokenId{7 * i + 3}, .position = i, .slot = i});
    }
    return run(std::move(batch), from, std::move(writes));
  }

  std::vector<float> run(Batch batch, StateSlot from, std::vector<StateWrite> writes) {
    const auto row_count = static_cast<std::uint32_t>(batch.rows.size());
    ForwardPass pass{
        .sequence = SequenceId{0}, .row_count = row_count, .visible_slot_end = visible_end_};
    pass.state_from = from;
    pass.state_write_count = static_cast<std::uint32_t>(writes.size());
    batch.state_writes = std::move(writes);
    batch.passes.push_back(pass);
    batch.distributions.push_back({.row = row_count - 1, .kind = DistributionKind::Logits});
    device.submit(std::move(batch));
    Result<Distribution>& result = sink.last.distributions[0];
    return result.ok() ? result.value().values : std::vector<float>();
  }

  Batch batch_with(std::uint32_t slot_count) {
    visible_end_ = slot_count;
    Batch batch;
    batch.table_changes.push_back(
        {.sequence = SequenceId{0},
         .entries = {{.page = PageId{0}, .visible = (1u << slot_count) - 1}},
         .entry_count = 1});
    return batch;
  }

  std::vector<float> row_of_state(StateSlot from) {
    Batch batch = batch_with(kPageSize - 1);
    batch.rows.push_back({.is_of_state = true});
    return run(std::move(batch), from, {});
  }

  LastCompletion sink;
  SimulatedBackend device;
  std::uint32_t visible_end_ = 0;
};

constexpr StateSlot kA{0}, kB{1}, kC{2};

TEST(SimulatedStates, ChunksSlotsAndPlaceDoNotChangeLogits) {
  const std::vector<float> expected = Hybrid().forward(0, 12, kNoState, {});
  Hybrid chunked;
  chunked.forward(0, 5, kNoState, {{3, kC}, {5, kA}});
  chunked.forward(5, 6, kA, {{1, kA}});
  chunked.forward(6, 7, kA, {{1, kB}});
  EXPECT_EQ(chunked.forward(7, 12, kB, {}), expected);
  EXPECT_EQ(chunked.forward(3, 12, kC, {}), expected);
}

TEST(SimulatedStates, RowsThatWriteNothingChangeTheStateAsThoseThatDid) {
  Hybrid hybrid;
  const std::vector<float> expected = hybrid.forward(0, 12, kNoState, {{4, kA}});
  Batch batch = hybrid.batch_with(12);
  for (std::uint32_t i = 4; i < 12; ++i) {
    batch.rows.push_back({.token = TokenId{7 * i + 3}, .position = i});
  }
  EXPECT_EQ(hybrid.run(std::move(batch), kA, {}), expected);
}

TEST(SimulatedStates, EveryWrongStateChangesLogitsAndWhatIsWritten) {
  const std::vector<float> expected = Hybrid().forward(0, 12, kNoState, {});
  Hybrid hybrid;
  hybrid.forward(0, 10, kNoState, {{9, kA}, {10, kB}});
  EXPECT_NE(hybrid.forward(10, 12, kA, {}), expected);        // A row is not replayed.
  EXPECT_NE(hybrid.forward(10, 12, kNoState, {}), expected);  // No row is.
  EXPECT_NE(hybrid.forward(9, 12, kB, {}), expected);         // A row is replayed twice.
  // A row that was computed from the wrong state wrote other contexts, until it is written again.
  const auto last_rows = [&](StateSlot from) {
    hybrid.forward(10, 11, from, {{1, kC}});
    hybrid.forward(10, 11, kB, {{1, kC}});
    return hybrid.forward(11, 12, kC, {});
  };
  hybrid.forward(9, 10, kA, {{1, kB}});
  EXPECT_EQ(last_rows(kA), expected);
  hybrid.forward(10, 11, kB, {{1, kC}});
  hybrid.forward(10, 11, kA, {});
  EXPECT_NE(hybrid.forward(11, 12, kC, {}), expected);
}

TEST(SimulatedStates, SlotThatWasNotWrittenNeverGivesTheSameTwice) {
  Hybrid hybrid;
  EXPECT_NE(hybrid.forward(0, 2, kA, {}), hybrid.forward(0, 2, kA, {}));
  EXPECT_NE(hybrid.row_of_state(kA), hybrid.row_of_state(kA));
}

TEST(SimulatedStates, RowOfAStateGivesTheOutputThatWasKept) {
  Hybrid hybrid;
  const std::vector<float> expected = hybrid.forward(0, 7, kNoState, {{7, kA}});
  hybrid.forward(7, 9, kA, {{2, kB}});
  EXPECT_EQ(hybrid.row_of_state(kA), expected);
  EXPECT_NE(hybrid.row_of_state(kB), expected);
}

TEST(SimulatedStates, FailedPassLeavesNoiseInItsSlots) {
  bool fails = false;
  Hybrid hybrid({.model = simulated_model(),
                 .state_count = 4,
                 .fail_pass = [&](const Batch&, std::size_t) -> std::optional<Error> {
                   if (!fails) return std::nullopt;
                   return Error(ErrorCode::Unavailable, "device lost");
                 }});
  hybrid.forward(0, 5, kNoState, {{5, kA}});
  fails = true;
  EXPECT_TRUE(hybrid.forward(5, 6, kA, {{1, kA}}).empty());
  fails = false;
  EXPECT_NE(hybrid.row_of_state(kA), hybrid.row_of_state(kA));
}

TEST(SimulatedStates, StateThatIsSavedAndLoadedIsTheSame) {
  Hybrid hybrid;
  const std::vector<float> expected = hybrid.forward(0, 7, kNoState, {{7, kA}});
  Batch saves;
  saves.saves.push_back({.state = kA});
  hybrid.device.submit(std::move(saves));
  Batch loads;
  loads.loads.push_back({.bytes = std::move(hybrid.sink.last.saves[0]).take(), .state = kC});
  loads.loads.push_back({.bytes = PageBytes::uninitialised(1), .state = kB});
  hybrid.device.submit(std::move(loads));
  EXPECT_TRUE(hybrid.sink.last.loads[0].ok());
  EXPECT_EQ(hybrid.sink.last.loads[1].error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(hybrid.row_of_state(kC), expected);
}

TEST(SimulatedStates, BackendReportsItsSlots) {
  Hybrid hybrid;
  EXPECT_EQ(hybrid.device.capabilities().state_count, 4u);
  EXPECT_GT(hybrid.device.capabilities().state_bytes, 0u);
  LastCompletion sink;
  const SimulatedBackend plain({.model = simulated_model()}, sink);
  EXPECT_EQ(plain.capabilities().state_count, 0u);
  EXPECT_EQ(plain.capabilities().state_bytes, 0u);
}

TEST(SimulatedStatesDeathTest, StatesThatBreakARuleStopTheProcess) {
  const auto run = [](std::uint32_t end, StateSlot from, std::vector<StateWrite> writes) {
    Hybrid().forward(0, end, from, std::move(writes));
  };
  EXPECT_DEATH(run(2, StateSlot{4}, {}), "begins from a state slot");
  EXPECT_DEATH(run(2, kNoState, {{1, StateSlot{4}}}), "written into a slot");
  EXPECT_DEATH(run(2, kNoState, {{0, kA}}), "rise from the first row");
  EXPECT_DEATH(run(2, kNoState, {{2, kA}, {1, kB}}), "rise from the first row");
  EXPECT_DEATH(run(2, kNoState, {{3, kA}}), "after a row of its pass");
  EXPECT_DEATH(run(2, kNoState, {{1, kA}, {2, kA}}), "at most once");
  EXPECT_DEATH(run(2, kA, {{2, kA}}), "only a pass of one row");
  EXPECT_DEATH(Hybrid().row_of_state(kNoState), "has a state");
  EXPECT_DEATH(Hybrid({.model = simulated_model()}).forward(0, 2, kNoState, {{1, kA}}),
               "need a model with states");
  EXPECT_DEATH(Hybrid({.model = simulated_model()}).forward(0, 2, kA, {}),
               "needs a model with states");
}

TEST(SimulatedStatesDeathTest, StateThatAnotherPassWritesIsNotRead) {
  Hybrid hybrid;
  Batch batch = hybrid.batch_with(2);
  batch.rows = {{.position = 0, .slot = 0}, {.position = 1, .slot = 1}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    batch.passes.push_back(
        {.sequence = SequenceId{0}, .row_first = i, .row_count = 1, .visible_slot_end = 2});
  }
  batch.passes[0].state_from = kA;
  batch.passes[1].state_write_count = 1;
  batch.state_writes = {{1, kA}};
  EXPECT_DEATH(hybrid.device.submit(std::move(batch)), "no pass reads a state that another writes");
}

}  // namespace
}  // namespace simulated_states_test
}  // namespace quire::inference
