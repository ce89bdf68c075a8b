#include "inference/devices/cpu/attention_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace quire::inference {
namespace {

constexpr std::uint32_t kPagesPerSpan = 16;

// Passes over made-up pages, whose addresses are never read.
class Passes {
 public:
  // The spans of pass `parent` up to `agreed`, then new ones.
  void add(std::uint32_t parent, std::uint32_t agreed, std::uint32_t span_count,
           std::uint32_t row_count, bool has_mask = false) {
    std::vector<PageView> pages;
    if (agreed > 0) {
      pages.assign(pages_[parent].begin(), pages_[parent].begin() + agreed * kPagesPerSpan);
    }
    while (pages.size() < span_count * kPagesPerSpan) {
      pages.push_back({reinterpret_cast<const std::byte*>(next_ += 64), nullptr, 0xffff});
    }
    pages_.push_back(pages);
    spans_.emplace_back(span_count);
    std::iota(spans_.back().begin(), spans_.back().end(), 0u);
    AttentionPass shape;
    shape.visible_slot_end = span_count * kSpanSlots - 3;
    shape.has_mask = has_mask;
    shape.row_first = row_total_;
    shape.row_count = row_count;
    shapes_.push_back(shape);
    row_total_ += row_count;
  }

  AttentionTasks plan(const AttentionPlanOptions& options) {
    passes_ = shapes_;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      passes_[i].pages = pages_[i];
      passes_[i].spans = spans_[i];
    }
    AttentionTasks plan;
    plan.query_rows.resize(row_total_);
    AttentionPlan(options).fill(passes_, plan);
    return plan;
  }

  const std::vector<AttentionPass>& passes() const { return passes_; }
  std::size_t row_total() const { return row_total_; }

 private:
  std::size_t next_ = 4096;
  std::uint32_t row_total_ = 0;
  std::vector<std::vector<PageView>> pages_;
  std::vector<std::vector<std::uint32_t>> spans_;
  std::vector<AttentionPass> shapes_, passes_;
};

// Each row meets its own spans, each once, in order: those of its partials, then the rest.
void verify(const Passes& passes, const AttentionTasks& plan, std::uint32_t partial_count_max) {
  std::map<std::uint32_t, const AttentionPass*> pass_of;
  for (const AttentionPass& pass : passes.passes()) {
    for (std::uint32_t r = 0; r < pass.row_count; ++r) pass_of[pass.row_first + r] = &pass;
  }
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> by_partial;
  for (const PartialRows& task : plan.partial_tasks) {
    for (std::uint32_t r = 0; r < task.row_count; ++r) {
      const std::uint32_t row = plan.partial_row_of[task.row_first + r];
      EXPECT_EQ(plan.partial_query_rows[task.row_first + r].partial_first,
                plan.query_rows[row].partial_first);
      for (std::uint32_t i = 0; i < task.spans.size(); ++i) {
        const std::uint32_t span = task.spans[i];
        const std::size_t page = std::size_t{span} * kPagesPerSpan;
        EXPECT_EQ(task.pages[page].base, pass_of[row]->pages[page].base);
        EXPECT_LE(std::min((span + 1) * kSpanSlots, task.visible_slot_end),
                  pass_of[row]->visible_slot_end);
        const std::uint32_t index = task.use == PartialUse::WriteOne ? 0 : i;
        by_partial[row][task.partial_offset + index].push_back(span);
      }
    }
  }
  std::vector<bool> taken(partial_count_max);
  std::uint32_t row_count = 0;
  for (const AttentionRows& rows : plan.attention) {
    for (std::uint32_t row = rows.row_first; row < rows.row_first + rows.row_count; ++row) {
      ++row_count;
      const QueryRow& query = plan.query_rows[row];
      std::vector<std::uint32_t> met;
      ASSERT_EQ(by_partial[row].size(), query.partial_count);
      for (std::uint32_t i = 0; i < query.partial_count; ++i) {
        ASSERT_FALSE(taken.at(query.partial_first + i));
        taken[query.partial_first + i] = true;
        const auto& spans = by_partial[row].at(i);
        ASSERT_TRUE(spans.size() == 1 || i == 0);
        met.insert(met.end(), spans.begin(), spans.end());
      }
      met.insert(met.end(), rows.spans.begin(), rows.spans.end());
      const auto& wanted = pass_of[row]->spans;
      EXPECT_EQ(met, std::vector<std::uint32_t>(wanted.begin(), wanted.end()));
    }
  }
  EXPECT_EQ(row_count, passes.row_total());
}

TEST(AttentionPlan, EveryRowMeetsItsSpansInOrderWhateverIsShared) {
  std::mt19937 source(5);
  const auto random = [&source] { return static_cast<std::uint32_t>(source()); };
  for (int round = 0; round < 300; ++round) {
    Passes passes;
    const std::uint32_t count = 1 + random() % 20;
    std::vector<std::uint32_t> span_counts;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t parent = i == 0 ? 0 : random() % i;
      const std::uint32_t agreed =
          i == 0 || random() % 4 == 0 ? 0 : random() % (span_counts[parent] + 1);
      span_counts.push_back(agreed + 1 + random() % 20);
      passes.add(parent, agreed, span_counts.back(), random() % 5 == 0 ? 40 : 1 + random() % 4,
                 random() % 8 == 0);
    }
    const std::uint32_t partials[] = {0, 10, 100, 8192};
    const AttentionPlanOptions options{.kv_head_count = 1 + random() % 8,
                                       .worker_count = 1 + random() % 9,
                                       .partial_count_max = partials[random() % 4]};
    verify(passes, passes.plan(options), options.partial_count_max);
  }
}

TEST(AttentionPlan, RowsOfSixteenForksMeetTheirPrefixInOneTask) {
  Passes passes;
  for (int i = 0; i < 16; ++i) passes.add(0, i == 0 ? 0 : 16, 17, 1);
  const AttentionTasks plan =
      passes.plan({.kv_head_count = 8, .worker_count = 2, .partial_count_max = 8192});
  ASSERT_EQ(plan.partial_tasks.size(), 1u);
  EXPECT_EQ(plan.partial_tasks[0].row_count, 16u);
  EXPECT_EQ(plan.partial_tasks[0].spans.size(), 16u);
  for (const AttentionRows& rows : plan.attention) EXPECT_EQ(rows.spans.size(), 1u);
}

TEST(AttentionPlan, ALongContextIsCutForWorkersAndAShortOneIsNot) {
  for (const std::uint32_t spans : {4u, 32u}) {
    Passes passes;
    passes.add(0, 0, spans, 1);
    const AttentionTasks plan =
        passes.plan({.kv_head_count = 2, .worker_count = 4, .partial_count_max = 8192});
    EXPECT_EQ(plan.partial_tasks.size(), spans == 4 ? 0u : 8u);
  }
}

}  // namespace
}  // namespace quire::inference
