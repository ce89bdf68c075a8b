// Batches of a model with states as a plan turns them into addresses: what is read, what is stored,
// and what a pass that fails leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "inference/devices/cpu/batch_plan.h"
#include "inference/models/body.h"
#include "support/tiny_hybrid.h"

namespace quire::inference {
namespace states_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr StateSlot kA{0}, kB{1}, kC{2};

// The parts of a CPU backend in the test's own hands: one sequence over page 0.
class Parts {
 public:
  Parts()
      : layout_(kv_heads(model_.spec()), kPageSize, KvFormat::F32),
        kernels_(*choose_kernels("auto").value()),
        weights_(model_.pack(kernels_.matmul)),
        body_(Body::create(*weights_, kernels_, {.kv = layout_, .row_count_max = 64}).take()),
        stores{
            KvStore::create({.layout = layout_, .page_count = 4, .sequence_count = 4}).take(),
            EmbedStore::create(4, width()).take(),
            StateStore::create(StateLayout(model_.spec()), 3).take(),
        },
        plan(width(), sliding_windows(model_.spec()), {}) {}

  std::uint32_t width() const { return model_.spec().embedding_width; }

  // Runs the batch as the device does.
  Completion run(const Batch& batch) {
    for (const TableChange& change : batch.table_changes) stores.kv.apply(change);
    Completion completion;
    plan.fill(batch, stores, completion);
    pool_->run([&](Worker& worker) { body_->forward(worker, plan.forward()); });
    for (const HiddenWanted& each : plan.hidden()) {
      if (each.kept != nullptr) {
        std::copy_n(each.kept, width(), each.out);
      } else {
        body_->hidden(each.plan_row, each.out);
      }
    }
    return completion;
  }

  std::vector<float> vector_at(const float* at) const { return {at, at + width()}; }
  std::vector<float> output_of(StateSlot slot) const {
    return vector_at(stores.states.output(slot));
  }
  std::vector<std::byte> state(StateSlot slot) const {
    const std::byte* at = stores.states.at(slot);
    return {at, at + StateLayout(model_.spec()).bytes()};
  }

 private:
  const test::TinyHybrid model_;
  const KvLayout layout_;
  const KernelTable& kernels_;
  std::unique_ptr<PackedWeights> weights_;
  std::unique_ptr<Body> body_;
  std::unique_ptr<WorkerPool> pool_ = WorkerPool::create(1, 0).take();

 public:
  DeviceStores stores;
  BatchPlan plan;
};

void add_pass(Batch& batch, std::uint32_t begin, std::uint32_t end, StateSlot from,
              const std::vector<StateWrite>& writes) {
  batch.table_changes.push_back({.sequence = SequenceId{0},
                                 .entries = {{.page = PageId{0}, .visible = (1u << end) - 1}},
                                 .entry_count = 1});
  ForwardPass pass{.sequence = SequenceId{0},
                   .row_first = static_cast<std::uint32_t>(batch.rows.size()),
                   .row_count = end - begin,
                   .visible_slot_end = end,
                   .state_from = from,
                   .state_write_first = static_cast<std::uint32_t>(batch.state_writes.size()),
                   .state_write_count = static_cast<std::uint32_t>(writes.size())};
  for (std::uint32_t i = begin; i < end; ++i) {
    batch.rows.push_back({.token = TokenId{i * 5 % 48}, .position = i, .slot = i});
  }
  batch.state_writes.insert(batch.state_writes.end(), writes.begin(), writes.end());
  batch.passes.push_back(pass);
}

TEST(CpuStates, StateHasTheOutputOfItsLastRow) {
  Parts parts;
  Batch batch;
  add_pass(batch, 0, 10, kNoState, {{4, kA}, {10, kB}});
  batch.rows[3].output = EmbedSlot{1};
  batch.rows[9].output = EmbedSlot{2};
  parts.run(batch);
  EXPECT_EQ(parts.output_of(kA), parts.vector_at(parts.stores.embeds.find(EmbedSlot{1})));
  EXPECT_EQ(parts.output_of(kB), parts.vector_at(parts.stores.embeds.find(EmbedSlot{2})));
  EXPECT_NE(parts.output_of(kA), parts.output_of(kB));
}

TEST(CpuStates, StateOfTheMiddleOfAPassGoesOnAsThePassDid) {
  Parts parts;
  Batch batch;
  add_pass(batch, 0, 10, kNoState, {{4, kA}, {10, kB}});
  parts.run(batch);
  Batch more;
  add_pass(more, 4, 9, kA, {{5, kC}});
  parts.run(more);
  Batch one;
  add_pass(one, 9, 10, kC, {{1, kC}});
  parts.run(one);
  EXPECT_EQ(parts.state(kC), parts.state(kB));
}

TEST(CpuStates, RowOfAStateIsReadNotComputed) {
  Parts parts;
  Batch batch;
  add_pass(batch, 0, 6, kNoState, {{6, kA}});
  parts.run(batch);
  const std::vector<float> kept = parts.output_of(kA);
  // Beside a pass that goes on from the state to another slot.
  Batch next;
  add_pass(next, 0, 1, kA, {});
  next.rows[0] = {.output = EmbedSlot{3}, .is_of_state = true};
  add_pass(next, 6, 8, kA, {{2, kB}});
  next.distributions = {{.row = 0, .kind = DistributionKind::Vector},
                        {.row = 0, .kind = DistributionKind::Logits},
                        {.row = 2, .kind = DistributionKind::Vector}};
  const Completion completion = parts.run(next);
  EXPECT_TRUE(completion.passes[0].ok());
  EXPECT_EQ(parts.plan.forward().rows.size(), 2u);
  EXPECT_EQ(parts.vector_at(parts.plan.vectors()[0].hidden), kept);
  EXPECT_EQ(parts.vector_at(parts.plan.distributions()[0].hidden), kept);
  EXPECT_EQ(parts.vector_at(parts.stores.embeds.find(EmbedSlot{3})), kept);
  EXPECT_EQ(parts.vector_at(parts.plan.vectors()[1].hidden), parts.output_of(kB));
  EXPECT_EQ(parts.output_of(kA), kept);
}

TEST(CpuStates, PassThatFailsStoresNoStateAndOthersDo) {
  Parts parts;
  Batch batch;
  add_pass(batch, 0, 5, kNoState, {{5, kA}, {5, kB}});
  parts.run(batch);
  const std::vector<std::byte> before = parts.state(kB);
  Batch failing;
  add_pass(failing, 5, 6, kB, {{1, kB}});
  failing.rows[0].embed = EmbedSlot{0};  // It holds no vector.
  add_pass(failing, 5, 7, kA, {{2, kC}});
  const Completion completion = parts.run(failing);
  EXPECT_EQ(completion.passes[0].error().code(), ErrorCode::NotFound);
  EXPECT_TRUE(completion.passes[1].ok());
  EXPECT_EQ(parts.state(kB), before);
  Batch alone;
  add_pass(alone, 5, 7, kA, {{2, kB}});
  parts.run(alone);
  EXPECT_EQ(parts.state(kC), parts.state(kB));
}

TEST(CpuStatesDeathTest, SlotBeyondTheStoreStopsTheProcess) {
  const Parts parts;
  EXPECT_DEATH(parts.stores.states.at(StateSlot{3}), "a state slot lies in the store");
}

}  // namespace
}  // namespace states_test
}  // namespace quire::inference
