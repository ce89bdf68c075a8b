// Sequences that share pages, and long ones that are cut for many workers, give the bits that each
// gives alone on one thread.
#include <numeric>
#include <utility>

#include "base/random.h"
#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"
#include "support/golden.h"

namespace quire::test::shared_spans_test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;
using inference::PageId;
using inference::SequenceId;
using inference::TableChange;

constexpr std::uint32_t kPageSize = 16;

// A node of a tree of prefixes: its parent's tokens, then its own.
struct Branch {
  const Branch* parent = nullptr;
  std::uint32_t own_tokens = 0;
  std::uint32_t first_page = 0;

  std::uint32_t token_count() const {
    return own_tokens + (parent == nullptr ? 0 : parent->token_count());
  }
  void add_pages(std::vector<PageId>& pages) const {
    if (parent != nullptr) parent->add_pages(pages);
    for (std::uint32_t i = 0; i < own_tokens / kPageSize; ++i) {
      pages.push_back(PageId{first_page + i});
    }
  }
};

std::int32_t id_of(std::uint32_t branch_page, std::uint32_t position) {
  return static_cast<std::int32_t>(3 + (branch_page * 131 + position * 37) % 600);
}

TableChange table_of(std::uint32_t sequence, const std::vector<PageId>& pages,
                     std::uint32_t slot_count) {
  TableChange change{.sequence = SequenceId{sequence}};
  change.entry_count = (slot_count + kPageSize - 1) / kPageSize;
  for (std::uint32_t i = 0; i < change.entry_count; ++i) {
    const std::uint32_t used = std::min(kPageSize, slot_count - i * kPageSize);
    change.entries.push_back({pages[i], (1u << used) - 1});
  }
  return change;
}

// Rows [begin, begin + count) of a sequence; logits of the last one.
void add_rows(Batch& batch, std::uint32_t sequence, const std::vector<PageId>& pages,
              std::uint32_t begin, std::uint32_t count) {
  batch.table_changes.push_back(table_of(sequence, pages, begin + count));
  const auto first = static_cast<std::uint32_t>(batch.rows.size());
  for (std::uint32_t i = begin; i < begin + count; ++i) {
    const auto page = static_cast<std::uint32_t>(pages[i / kPageSize]);
    batch.rows.push_back({.token = inference::TokenId{static_cast<std::uint32_t>(id_of(page, i))},
                          .position = i,
                          .slot = i});
  }
  batch.passes.push_back({.sequence = SequenceId{sequence},
                          .row_first = first,
                          .row_count = count,
                          .visible_slot_end = begin + count});
  batch.distributions.push_back(
      {.row = first + count - 1, .kind = inference::DistributionKind::Logits});
}

class SharedSpans : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Device> open(const char* model, std::uint32_t threads, KvFormat format) const {
    DeviceOptions options;
    options.name = GetParam();
    options.threads = threads;
    options.page_count = 1024;
    options.page_size = kPageSize;
    options.row_count_max = 1024;
    options.kv_format = format;
    return Device::open(golden_path(model), options);
  }
};

// One root, two branches of it, and leaves of all three; some leaves end within a span of a branch.
std::vector<Branch> make_leaves(std::vector<Branch>& inner) {
  inner.reserve(3);
  inner.push_back({nullptr, 800, 0});
  inner.push_back({&inner[0], 544, 100});
  inner.push_back({&inner[0], 304, 200});
  std::vector<Branch> leaves;
  const std::uint32_t parents[] = {1, 0, 2, 1, 2, 1, 0, 2};
  std::uint32_t page = 300;
  for (std::uint32_t i = 0; i < 8; ++i, page += 40) {
    leaves.push_back({&inner[parents[i]], 16 * (i % 4 + 1) + (i == 3 ? 400u : 0u), page});
  }
  return leaves;
}

// Computes all tokens of the tree, then one to three rows of each leaf: in one batch, or each leaf
// in its own.
std::vector<std::vector<float>> logits_of_leaves(Device& device, bool together) {
  std::vector<Branch> inner;
  const std::vector<Branch> leaves = make_leaves(inner);
  std::vector<const Branch*> all;
  for (const Branch& each : inner) all.push_back(&each);
  for (const Branch& each : leaves) all.push_back(&each);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    std::vector<PageId> pages;
    all[i]->add_pages(pages);
    const std::uint32_t rest = i < inner.size() ? 0 : i % 3 + 1;
    Batch batch;
    add_rows(batch, i, pages, all[i]->token_count() - all[i]->own_tokens,
             all[i]->own_tokens - rest);
    device.run(std::move(batch));
  }
  std::vector<std::vector<float>> logits;
  Batch batch;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) {
    const auto sequence = static_cast<std::uint32_t>(inner.size()) + i;
    const std::uint32_t rest = sequence % 3 + 1;
    std::vector<PageId> pages;
    leaves[i].add_pages(pages);
    add_rows(batch, sequence, pages, leaves[i].token_count() - rest, rest);
    if (together && i + 1 < leaves.size()) continue;
    Completion completion = device.run(std::move(batch));
    for (std::size_t d = 0; d < completion.distributions.size(); ++d) {
      logits.push_back(logits_of(completion, d));
    }
    batch = {};
  }
  return logits;
}

TEST_P(SharedSpans, GiveTheBitsOfEachSequenceAloneOnAnyNumberOfWorkers) {
  for (const auto& [model, format] :
       {std::pair{"tiny_llama", KvFormat::F16}, std::pair{"tiny_qwen2", KvFormat::Q8}}) {
    const auto alone = logits_of_leaves(*open(model, 1, format), false);
    ASSERT_EQ(alone.size(), 8u);
    for (const std::uint32_t threads : {1u, 2u}) {
      EXPECT_EQ(logits_of_leaves(*open(model, threads, format), true), alone) << threads;
    }
  }
}

// 2,400 tokens: ten spans, which two workers share.
TEST_P(SharedSpans, ALongContextGivesTheSameBitsCutForManyWorkers) {
  constexpr std::uint32_t kTokens = 2400;
  std::vector<PageId> pages(kTokens / kPageSize + 2);
  std::iota(reinterpret_cast<std::uint32_t*>(pages.data()),
            reinterpret_cast<std::uint32_t*>(pages.data() + pages.size()), 7u);
  std::vector<std::vector<float>> expected;
  for (const std::uint32_t threads : {1u, 2u}) {
    const auto device = open("tiny_llama", threads, KvFormat::F16);
    for (std::uint32_t begin = 0; begin < kTokens; begin += 600) {
      Batch batch;
      add_rows(batch, 0, pages, begin, 600);
      device->run(std::move(batch));
    }
    std::vector<std::vector<float>> seen;
    for (std::uint32_t i = 0; i < 3; ++i) {
      Batch batch;
      add_rows(batch, 0, pages, kTokens + i * (i + 1) / 2, i + 1);
      Completion completion = device->run(std::move(batch));
      seen.push_back(logits_of(completion, 0));
    }
    if (threads == 1) expected = seen;
    EXPECT_EQ(seen, expected) << threads;
  }
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, SharedSpans, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::shared_spans_test
