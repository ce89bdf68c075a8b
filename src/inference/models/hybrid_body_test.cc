// A body whose layers have states, but for one with gated attention. It is near double arithmetic.
// Its bits depend neither on how rows are cut into passes, nor on the slots of states, nor on other
// passes and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "inference/models/body.h"
#include "support/hybrid_reference.h"

namespace quire::inference {
namespace hybrid_body_test {
namespace {

using test::TinyHybrid;

constexpr std::uint32_t kPageSize = 32;  // All of a text.
constexpr std::uint32_t kTextTokens = 24;
constexpr std::uint32_t kSlots = 12;
constexpr int kNone = -1;

// After the first row_count rows of a pass, the state goes to the slot.
struct Wanted {
  std::uint32_t row_count;
  int slot;
};

// Tokens [begin, end) of a text.
struct Pass {
  std::uint32_t text = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  int from = kNone;
  std::vector<Wanted> wanted{};
};

std::uint32_t token_at(std::uint32_t text, std::uint32_t position) {
  return (position * 31 + text * 17 + position * position) % 48;
}

// A body with pages for some texts, and slots for states.
class Machine {
 public:
  Machine(const TinyHybrid& model, const KernelTable& kernels, std::uint32_t threads)
      : kv_(kv_heads(model.spec()), kPageSize, KvFormat::F32),
        state_(model.spec()),
        pool_(WorkerPool::create(threads, 0).take()),
        weights_(model.pack(kernels.matmul)),
        width_(model.spec().embedding_width) {
    body_ =
        Body::create(*weights_, kernels, {.kv = kv_, .row_count_max = 64, .worker_count = threads})
            .take();
    states_ = MappedMemory::create(kSlots * state_.bytes()).take();
    // Whatever is not written must not be read.
    std::fill_n(reinterpret_cast<float*>(states_.data()), kSlots * state_.bytes() / sizeof(float),
                std::nanf(""));
  }

  std::byte* slot(int slot) {
    return slot == kNone ? nullptr
                         : states_.data() + static_cast<std::size_t>(slot) * state_.bytes();
  }
  std::vector<std::byte> state(int slot_index) {
    return {slot(slot_index), slot(slot_index) + state_.output_offset()};
  }

  // The final hidden states of all rows of the passes.
  std::vector<std::vector<float>> run(const std::vector<Pass>& passes) {
    plan_ = {};
    plan_.windows.resize(1);
    views_.clear();
    for (const Pass& pass : passes) {
      const TextPage& page = page_of(pass.text);
      views_.push_back({page.memory.data(), page.positions, (1u << pass.end) - 1});
    }
    for (std::size_t i = 0; i < passes.size(); ++i) add(passes[i], views_[i]);
    pool_->run([&](Worker& worker) { body_->forward(worker, plan_); });
    std::vector<std::vector<float>> hidden(plan_.rows.size(), std::vector<float>(width_));
    for (std::uint32_t row = 0; row < hidden.size(); ++row) body_->hidden(row, hidden[row].data());
    return hidden;
  }

 private:
  struct TextPage {
    MappedMemory memory;
    std::uint32_t positions[kPageSize];
  };

  TextPage& page_of(std::uint32_t text) {
    TextPage& page = pages_[text];
    if (page.memory.data() == nullptr) {
      page.memory = MappedMemory::create(kv_.page_bytes()).take();
      for (std::uint32_t i = 0; i < kPageSize; ++i) page.positions[i] = i;
    }
    return page;
  }

  void add(const Pass& pass, const PageView& view) {
    static constexpr std::uint32_t kSpans[] = {0};
    const auto first = static_cast<std::uint32_t>(plan_.rows.size());
    for (std::uint32_t i = pass.begin; i < pass.end; ++i) {
      plan_.rows.push_back({.token = TokenId{token_at(pass.text, i)},
                            .position = i,
                            .page = page_of(pass.text).memory.data(),
                            .page_slot = i});
      plan_.windows[0].query_rows.push_back({.position = i, .own_slot_end = i + 1});
    }
    plan_.windows[0].attention.push_back({.pages = std::span(&view, 1),
                                          .spans = kSpans,
                                          .visible_slot_end = pass.end,
                                          .row_first = first,
                                          .row_count = pass.end - pass.begin});
    plan_.states.push_back({.row_first = first,
                            .row_count = pass.end - pass.begin,
                            .from = slot(pass.from),
                            .target_first = static_cast<std::uint32_t>(plan_.state_targets.size()),
                            .target_count = static_cast<std::uint32_t>(pass.wanted.size())});
    for (const Wanted& each : pass.wanted) {
      plan_.state_targets.push_back({each.row_count, slot(each.slot)});
    }
  }

  KvLayout kv_;
  StateLayout state_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<PackedWeights> weights_;
  std::size_t width_;
  std::unique_ptr<Body> body_;
  MappedMemory states_;
  std::map<std::uint32_t, TextPage> pages_;
  std::vector<PageView> views_;
  ForwardPlan plan_;
};

class HybridBody : public testing::TestWithParam<const KernelTable*> {
 protected:
  const TinyHybrid model_;
};

TEST_P(HybridBody, IsNearDoubleArithmetic) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < kTextTokens; ++i) tokens.push_back(token_at(0, i));
  const std::vector<std::vector<double>> expected = test::HybridReference(model_).hidden(tokens);
  Machine machine(model_, *GetParam(), 1);
  const auto hidden = machine.run({{.end = kTextTokens}});
  for (std::size_t row = 0; row < hidden.size(); ++row) {
    for (std::size_t i = 0; i < hidden[row].size(); ++i) {
      EXPECT_NEAR(hidden[row][i], expected[row][i], 1e-4) << row << " " << i;
    }
  }
}

TEST_P(HybridBody, BitsDependNeitherOnPassesNorOnSlotsNorOnThreads) {
  Machine machine(model_, *GetParam(), 1);
  const auto expected = machine.run({{.end = kTextTokens, .wanted = {{9, 1}, {kTextTokens, 0}}}});
  const std::vector<std::byte> end = machine.state(0), middle = machine.state(1);
  for (const std::uint32_t threads : {1u, 2u, 3u}) {
    Machine other(model_, *GetParam(), threads);
    // One by one in place, then some to another slot, then one to another and to two more.
    std::vector<std::vector<float>> hidden;
    const auto go = [&](const Pass& pass) {
      for (auto& row : other.run({pass})) hidden.push_back(std::move(row));
    };
    go({.end = 1, .wanted = {{1, 5}}});
    for (std::uint32_t i = 1; i < 9; ++i) {
      go({.begin = i, .end = i + 1, .from = 5, .wanted = {{1, 5}}});
    }
    EXPECT_EQ(other.state(5), middle);
    go({.begin = 9, .end = 11, .from = 5, .wanted = {{1, 6}, {2, 7}}});
    go({.begin = 11, .end = 12, .from = 7, .wanted = {{1, 7}, {1, 8}, {1, 9}}});
    EXPECT_EQ(other.state(7), other.state(8));
    EXPECT_EQ(other.state(7), other.state(9));
    go({.begin = 12, .end = kTextTokens, .from = 9, .wanted = {{kTextTokens - 12, 4}}});
    EXPECT_EQ(other.state(4), end);
    EXPECT_EQ(hidden, expected);
    // Rows again, from what was kept in the middle of a pass, which it still is.
    other.run({{.begin = 10, .end = kTextTokens, .from = 6, .wanted = {{kTextTokens - 10, 3}}}});
    EXPECT_EQ(other.state(3), end);
    other.run({{.begin = 9, .end = 12, .from = 5, .wanted = {{2, 10}}}});
    EXPECT_EQ(other.state(5), middle);
    EXPECT_EQ(other.state(10), [&] {
      other.run({{.begin = 10, .end = 11, .from = 6, .wanted = {{1, 6}}}});
      return other.state(6);
    }());
  }
}

// Cuts texts at random into the passes of shared batches.
TEST_P(HybridBody, BitsDoNotDependOnOtherPassesOfTheBatch) {
  constexpr std::uint32_t kTexts = 5;
  std::vector<std::vector<std::vector<float>>> expected(kTexts);
  std::vector<std::vector<std::byte>> ends;
  Machine alone(model_, *GetParam(), 1);
  for (std::uint32_t text = 0; text < kTexts; ++text) {
    expected[text] = alone.run({{.text = text, .end = kTextTokens, .wanted = {{kTextTokens, 0}}}});
    ends.push_back(alone.state(0));
  }
  std::mt19937 random(7);
  for (const std::uint32_t threads : {1u, 3u}) {
    Machine machine(model_, *GetParam(), threads);
    std::vector<std::uint32_t> done(kTexts);
    while (std::ranges::any_of(done, [](std::uint32_t each) { return each < kTextTokens; })) {
      std::vector<Pass> passes;
      for (std::uint32_t text = 0; text < kTexts; ++text) {
        const std::uint32_t left = kTextTokens - done[text];
        if (left == 0 || random() % 4 == 0) continue;
        const std::uint32_t count = std::min(left, static_cast<std::uint32_t>(random() % 7) + 1);
        // A text has two slots, which it takes in turn, or changes one of them in place.
        const int now = static_cast<int>(2 * text + done[text] % 2);
        const int next = static_cast<int>(2 * text + (done[text] + count) % 2);
        const int from = done[text] == 0 ? kNone : now;
        if (from == next && count > 1) continue;
        passes.push_back({text, done[text], done[text] + count, from, {{count, next}}});
        done[text] += count;
      }
      if (passes.empty()) continue;
      const auto hidden = machine.run(passes);
      std::size_t row = 0;
      for (const Pass& pass : passes) {
        for (std::uint32_t i = pass.begin; i < pass.end; ++i) {
          ASSERT_EQ(hidden[row++], expected[pass.text][i]) << pass.text << " " << i;
        }
      }
    }
    for (std::uint32_t text = 0; text < kTexts; ++text) {
      EXPECT_EQ(machine.state(static_cast<int>(2 * text + kTextTokens % 2)), ends[text]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, HybridBody, testing::ValuesIn(supported_kernels()),
                         [](const testing::TestParamInfo<const KernelTable*>& of) {
                           return of.param->name;
                         });

TEST(StateLayout, PartsLieOneAfterTheOtherOnCacheLines) {
  const ModelSpec spec = test::tiny_hybrid_spec();
  const StateLayout layout(spec);
  std::size_t at = 0;
  for (const std::uint32_t layer : {0u, 1u, 3u}) {
    const LayerState& state = layout.layer(layer);
    ASSERT_EQ(state.tile_count(), 8u);  // Two blocks of columns for each of four heads.
    for (std::uint32_t tile = 0; tile < 8; ++tile, at += 24 * 16 * 4) {
      EXPECT_EQ(state.tile_offset(tile), at);
    }
    for (std::uint32_t row = 0; row < 3; ++row, at += 176 * 4) {
      EXPECT_EQ(state.convolution_offset(row), at);
    }
  }
  EXPECT_EQ(layout.output_offset(), at);
  EXPECT_EQ(layout.bytes(), at + 48 * 4);
  ModelSpec plain = spec;
  plain.layers = {spec.layers[2]};
  EXPECT_EQ(StateLayout(plain).bytes(), 0u);
}

}  // namespace
}  // namespace hybrid_body_test
}  // namespace quire::inference
