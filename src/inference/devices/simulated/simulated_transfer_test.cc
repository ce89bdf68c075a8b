// Pages that leave the simulated device and come back: what a tier above may do wrong shows in the
// logits.
#include <gtest/gtest.h>

#include <memory>

#include "base/seeds.h"
#include "inference/devices/simulated/simulated_backend.h"
#include "support/backend_driver.h"
#include "support/page_mover.h"

namespace quire::inference {
namespace {

constexpr std::uint64_t kSeedCount = 400;

struct SimulatedDevice {
  explicit SimulatedDevice(SimulatedBackendOptions options) : backend(std::move(options), sink) {}
  Completion run(Batch batch) {
    backend.submit(std::move(batch));
    backend.verify();
    return sink.wait();
  }
  test::WaitingSink sink;
  SimulatedBackend backend;
};

SimulatedBackendOptions small_options() {
  return {.model = simulated_model(), .page_size = 4, .page_count = 64};
}

std::vector<std::int32_t> some_ids(std::uint32_t count) {
  std::vector<std::int32_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>((7 + i * 37) % 512));
  }
  return ids;
}

// Ten tokens in pages 0 to 2, saved in the step that writes them, and the logits of the last.
struct Written {
  explicit Written(SimulatedDevice& device) {
    Batch batch;
    test::add_pass(batch, {.page_size = 4}, some_ids(10), {0, 10}, {9, 10});
    for (std::uint32_t page = 0; page < 3; ++page) batch.saves.push_back({.page = PageId{page}});
    Completion completion = device.run(std::move(batch));
    logits = test::logits_of(completion, 0);
    for (Result<PageBytes>& saved : completion.saves) pages.push_back(std::move(saved).take());
  }
  std::vector<PageBytes> pages;
  std::vector<float> logits;
};

// Computes the tenth token over pages 10 to 12, after loads into them.
Completion compute_last(SimulatedDevice& device, std::vector<PageLoad> loads) {
  Batch batch;
  batch.loads = std::move(loads);
  test::add_pass(batch, {.first_page = 10, .page_size = 4}, some_ids(10), {9, 10}, {9, 10});
  return device.run(std::move(batch));
}

std::vector<PageLoad> loads_of(const Written& written) {
  std::vector<PageLoad> loads;
  for (std::uint32_t i = 0; i < 3; ++i) loads.push_back({PageId{10 + i}, written.pages[i].copy()});
  return loads;
}

std::vector<float> last_logits(SimulatedDevice& device, std::vector<PageLoad> loads) {
  Completion completion = compute_last(device, std::move(loads));
  return test::logits_of(completion, 0);
}

TEST(SimulatedTransfer, PagesThatMoveAtRandomGiveTheLogitsOfPagesThatStay) {
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) {
    constexpr std::uint32_t kPageSizes[] = {1, 2, 8, 16, 32};
    SimulatedBackendOptions options = small_options();
    options.page_size = kPageSizes[seed % 5];
    options.page_count = 512;
    SimulatedDevice device(options);
    const test::RunBatch run = [&](Batch batch) { return device.run(std::move(batch)); };
    const std::vector<std::int32_t> ids = some_ids(80);
    const auto expected = test::plain_logits(run, options.page_size, ids);
    test::PageMover(run, device.backend.capabilities(), seed).compute(ids, expected);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

TEST(SimulatedTransfer, APageOfAnotherPlaceOrDamagedOrLeftOutGivesOtherLogits) {
  SimulatedDevice device(small_options());
  const Written written(device);
  ASSERT_EQ(last_logits(device, loads_of(written)), written.logits);
  std::vector<PageLoad> swapped = loads_of(written);
  std::swap(swapped[0].bytes, swapped[1].bytes);
  EXPECT_NE(last_logits(device, std::move(swapped)), written.logits);
  // Any bit of a slot that is read counts: slots 0 to 3 here, of page 0.
  for (std::size_t bit = 0; bit < written.pages[0].byte_count() * 8; ++bit) {
    std::vector<PageLoad> damaged = loads_of(written);
    damaged[0].bytes.span()[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_NE(last_logits(device, std::move(damaged)), written.logits) << "bit " << bit;
  }
  SimulatedDevice other(small_options());
  std::vector<PageLoad> missing = loads_of(written);
  missing.erase(missing.begin() + 1);
  EXPECT_NE(last_logits(other, std::move(missing)), written.logits);
}

TEST(SimulatedTransfer, AFailedLoadFailsAloneAndLeavesNoiseEvenWhereTheBytesStillLay) {
  bool fails = false;
  SimulatedBackendOptions options = small_options();
  options.fail_load = [&](const Batch&, std::size_t load) -> std::optional<Error> {
    if (!fails || load != 1) return std::nullopt;
    return Error(ErrorCode::Unavailable, "device lost");
  };
  SimulatedDevice device(options);
  const Written written(device);
  ASSERT_EQ(last_logits(device, loads_of(written)), written.logits);
  fails = true;
  Completion completion = compute_last(device, loads_of(written));
  EXPECT_TRUE(completion.loads[0].ok());
  EXPECT_EQ(completion.loads[1].error().code(), ErrorCode::Unavailable);
  EXPECT_TRUE(completion.loads[2].ok());
  EXPECT_TRUE(completion.passes[0].ok());
  EXPECT_NE(test::logits_of(completion, 0), written.logits);
  EXPECT_TRUE(std::ranges::equal(completion.load_bytes[1].span(), written.pages[1].span()));
}

TEST(SimulatedTransfer, WrongByteCountsAndNamedSavesFailAlone) {
  SimulatedBackendOptions options = small_options();
  options.fail_save = [](const Batch& batch, std::size_t save) -> std::optional<Error> {
    if (batch.saves[save].page != PageId{11}) return std::nullopt;
    return Error(ErrorCode::Unavailable, "device lost");
  };
  SimulatedDevice device(options);
  const Written written(device);
  const std::uint64_t page_bytes = device.backend.capabilities().page_bytes;
  Batch batch;
  batch.loads.push_back({PageId{10}, written.pages[0].copy()});
  batch.loads.push_back({PageId{20}, PageBytes::uninitialised(page_bytes + 1)});
  batch.saves.push_back({.page = PageId{11}});
  batch.saves.push_back({.page = PageId{12}, .memory = PageBytes::uninitialised(1)});
  batch.saves.push_back({.page = PageId{10}});
  const Completion completion = device.run(std::move(batch));
  EXPECT_TRUE(completion.loads[0].ok());
  EXPECT_EQ(completion.loads[1].error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(completion.saves[0].error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(completion.saves[1].error().code(), ErrorCode::InvalidArgument);
  EXPECT_TRUE(std::ranges::equal(completion.saves[2].value().span(), written.pages[0].span()));
}

TEST(SimulatedTransfer, ASlotThatIsNotAskedForComesBackUnwritten) {
  SimulatedDevice device(small_options());
  const Written written(device);
  Batch batch;
  batch.saves.push_back({.page = PageId{0}, .slots = 0b1011});
  Completion completion = device.run(std::move(batch));
  const std::size_t slot_bytes = written.pages[0].byte_count() / 4;
  const auto saved = completion.saves[0].value().span();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const bool is_asked_for = i / slot_bytes != 2;
    ASSERT_EQ(saved[i], is_asked_for ? written.pages[0].span()[i] : std::byte{0});
  }
  std::vector<PageLoad> loads = loads_of(written);
  loads[0].bytes = std::move(completion.saves[0]).take();
  EXPECT_NE(last_logits(device, std::move(loads)), written.logits);
}

TEST(SimulatedTransferDeathTest, APageLoadedTwiceOrBeyondThePoolStopsTheProcess) {
  SimulatedDevice device(small_options());
  const auto submit = [&](std::vector<PageId> loads, std::vector<PageId> saves) {
    Batch batch;
    for (const PageId page : loads) batch.loads.push_back({.page = page});
    for (const PageId page : saves) batch.saves.push_back({.page = page});
    device.run(std::move(batch));
  };
  submit({PageId{63}, PageId{3}}, {PageId{63}, PageId{63}});
  EXPECT_DEATH(submit({PageId{3}, PageId{4}, PageId{3}}, {}), "loads a page at most once");
  EXPECT_DEATH(submit({PageId{64}}, {}), "load into");
  EXPECT_DEATH(submit({}, {PageId{64}}), "save of");
}

}  // namespace
}  // namespace quire::inference
