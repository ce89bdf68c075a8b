// Pages that leave the CPU backend and come back, into whichever page of whichever backend, give
// the bits of pages that stayed.
#include <algorithm>

#include "base/seeds.h"
#include "inference/kernels/kernels.h"
#include "support/backend_driver.h"
#include "support/golden.h"
#include "support/page_mover.h"

namespace quire::test::page_transfer_test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;
using inference::KvMode;
using inference::PageBytes;
using inference::PageId;
using inference::SequenceId;

constexpr std::uint64_t kSeedCount = 48;

std::vector<std::int32_t> random_ids(std::uint64_t seed, std::uint32_t count) {
  SeededRandom random(seed);
  std::vector<std::int32_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(3 + random.next() % 600));
  }
  return ids;
}

bool same_bytes(const PageBytes& a, const PageBytes& b) {
  return std::ranges::equal(a.span(), b.span());
}

// Entries name these pages; all slots below slot_count are visible.
inference::TableChange table_of(SequenceId sequence, const std::vector<std::uint32_t>& pages,
                                std::uint32_t slot_count) {
  inference::TableChange change = Sequence{.id = sequence}.table(slot_count);
  for (std::size_t i = 0; i < pages.size(); ++i) change.entries[i].page = PageId{pages[i]};
  return change;
}

class PageTransfer : public testing::TestWithParam<std::string> {
 protected:
  DeviceOptions options() const {
    DeviceOptions options;
    options.name = GetParam();
    options.threads = 2;
    options.page_count = 64;
    return options;
  }
  std::unique_ptr<Device> open(const DeviceOptions& options,
                               const char* model = "tiny_llama") const {
    return Device::open(golden_path(model), options);
  }
};

TEST_P(PageTransfer, PagesThatMoveAtRandomGiveTheBitsOfPagesThatStay) {
  constexpr const char* kModels[] = {"tiny_llama", "tiny_qwen3", "tiny_qwen2"};
  constexpr KvFormat kFormats[] = {KvFormat::F16, KvFormat::F32, KvFormat::BF16};
  constexpr std::uint32_t kPageSizes[] = {8, 16, 32};
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) {
    DeviceOptions each = options();
    each.page_size = kPageSizes[seed % 3];
    each.kv_format = kFormats[seed / 3 % 3];
    each.threads = 1 + static_cast<std::uint32_t>(seed % 2);
    const auto device = open(each, kModels[seed / 2 % 3]);
    const RunBatch run = [&](Batch batch) { return device->run(std::move(batch)); };
    const std::vector<std::int32_t> ids = random_ids(seed, 300);
    const auto expected = plain_logits(run, each.page_size, ids);
    PageMover(run, device->backend->capabilities(), seed).compute(ids, expected);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

TEST_P(PageTransfer, PagesSavedInTheStepThatWroteThemServeInAnotherBackend) {
  const auto device = open(options());
  const auto other = open(options());
  const auto ids = random_ids(1, 45);
  Batch batch;
  add_pass(batch, {}, ids, {0, 45}, {44, 45});
  batch.saves.push_back({.page = PageId{0}});
  batch.saves.push_back({.page = PageId{1}});
  batch.saves.push_back({.page = PageId{2}, .slots = 0xfff});  // Slots 32 to 43.
  Completion completion = device->run(std::move(batch));
  const std::vector<std::uint32_t> pages = {50, 7, 51};
  Batch later;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    later.loads.push_back({PageId{pages[i]}, std::move(completion.saves[i]).take()});
  }
  add_pass(later, {}, ids, {44, 45}, {44, 45});
  later.table_changes[0] = table_of({}, pages, 45);
  Completion completion_later = other->run(std::move(later));
  EXPECT_EQ(logits_of(completion_later, 0), logits_of(completion, 0));
}

TEST_P(PageTransfer, LoadsComeBeforeCopiesAndSavesAfterEverythingThatWrites) {
  const auto device = open(options());
  const auto ids = random_ids(2, 24);
  Batch whole;
  add_pass(whole, {}, ids, {0, 24}, {23, 24});
  whole.saves.push_back({.page = PageId{0}});
  whole.saves.push_back({.page = PageId{1}, .slots = 0xff});
  Completion expected = device->run(std::move(whole));
  // Page 0 comes back as page 40, five of its slots are copied, the rest is computed, and saved.
  Batch batch;
  batch.loads.push_back({PageId{40}, expected.saves[0].value().copy()});
  batch.copies.push_back({.from = PageId{40}, .to = PageId{41}, .slot_count = 5});
  add_pass(batch, {.id = SequenceId{1}, .first_page = 41}, ids, {5, 24}, {23, 24});
  batch.saves.push_back({.page = PageId{41}});
  batch.saves.push_back({.page = PageId{42}, .slots = 0xff});
  Completion completion = device->run(std::move(batch));
  EXPECT_EQ(logits_of(completion, 0), logits_of(expected, 0));
  EXPECT_TRUE(same_bytes(completion.saves[0].value(), expected.saves[0].value()));
  EXPECT_TRUE(same_bytes(completion.saves[1].value(), expected.saves[1].value()));
}

TEST_P(PageTransfer, SlotsThatAreNotAskedForComeAsZerosWhateverLiesThere) {
  const auto device = open(options());
  const std::uint64_t page_bytes = device->backend->capabilities().page_bytes;
  const auto ids = random_ids(3, 5);
  const auto save_after = [&](PageBytes before, std::uint32_t slots) {
    Batch batch;
    batch.loads.push_back({PageId{0}, std::move(before)});
    add_pass(batch, {}, ids, {0, 5}, {});
    batch.saves.push_back({.page = PageId{0}, .slots = slots, .memory = poison(page_bytes)});
    return std::move(device->run(std::move(batch)).saves[0]).take();
  };
  PageBytes zeros = PageBytes::uninitialised(page_bytes);
  std::ranges::fill(zeros.span(), std::byte{0});
  const PageBytes clean = save_after(zeros.copy(), inference::kAllSlots);
  EXPECT_TRUE(same_bytes(save_after(poison(page_bytes), 0x1f), clean));
  EXPECT_FALSE(same_bytes(save_after(poison(page_bytes), inference::kAllSlots), clean));
  EXPECT_TRUE(same_bytes(save_after(poison(page_bytes), 0), zeros));
}

TEST_P(PageTransfer, WrongByteCountsFailAloneAndLoadsGiveTheirBytesBack) {
  const auto device = open(options());
  const std::uint64_t page_bytes = device->backend->capabilities().page_bytes;
  const auto ids = random_ids(4, 20);
  Batch whole;
  add_pass(whole, {}, ids, {0, 20}, {19, 20});
  whole.saves.push_back({.page = PageId{0}});
  Completion expected = device->run(std::move(whole));
  PageBytes saved = std::move(expected.saves[0]).take();
  Batch batch;
  batch.loads.push_back({PageId{30}, PageBytes::uninitialised(page_bytes - 1)});
  batch.loads.push_back({PageId{31}, saved.copy()});
  batch.loads.push_back({PageId{33}, PageBytes()});
  batch.saves.push_back({.page = PageId{31}, .memory = PageBytes::uninitialised(page_bytes + 1)});
  batch.saves.push_back({.page = PageId{31}});
  add_pass(batch, {.id = SequenceId{1}, .first_page = 31}, ids, {16, 20}, {19, 20});
  Completion completion = device->run(std::move(batch));
  ASSERT_EQ(completion.loads.size(), 3u);
  EXPECT_EQ(completion.loads[0].error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(completion.loads[0].error().message(),
            "what is to be loaded into page 30 has " + std::to_string(page_bytes - 1) +
                " bytes; a page has " + std::to_string(page_bytes));
  EXPECT_TRUE(completion.loads[1].ok());
  EXPECT_EQ(completion.loads[2].error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(completion.saves[0].error().code(), ErrorCode::InvalidArgument);
  EXPECT_TRUE(same_bytes(completion.saves[1].value(), saved));
  EXPECT_EQ(logits_of(completion, 0), logits_of(expected, 0));
  ASSERT_EQ(completion.load_bytes.size(), 3u);
  EXPECT_EQ(completion.load_bytes[0].byte_count(), page_bytes - 1);
  EXPECT_TRUE(same_bytes(completion.load_bytes[1], saved));
}

TEST_P(PageTransfer, BasicMemoryRefusesEachTransferAndRunsTheRest) {
  DeviceOptions basic = options();
  basic.kv_mode = KvMode::Basic;
  const auto device = open(basic);
  EXPECT_EQ(device->backend->capabilities().page_bytes, 0u);
  const auto ids = random_ids(5, 20);
  Batch batch;
  batch.loads.push_back({PageId{0}, PageBytes::uninitialised(100)});
  add_pass(batch, {}, ids, {0, 20}, {19, 20});
  batch.saves.push_back({.page = PageId{0}});
  Completion completion = device->run(std::move(batch));
  EXPECT_EQ(completion.loads[0].error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(completion.saves[0].error().code(), ErrorCode::NotSupported);
  EXPECT_FALSE(logits_of(completion, 0).empty());
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, PageTransfer, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::page_transfer_test
