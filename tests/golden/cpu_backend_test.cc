// Tests of the CPU backend's promises other than logits: distributions, kept vectors, copies,
// failures that stay alone, and that old bytes in pages do not matter.
#include "inference/devices/open_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "inference/devices/cpu/batch_plan.h"
#include "inference/devices/cpu/pack.h"
#include "inference/models/body.h"
#include "inference/weights/safetensors_file.h"
#include "quire/draw_arithmetic.h"
#include "support/backend_driver.h"
#include "support/golden.h"

namespace quire::test::cpu_backend_test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::DistributionKind;
using inference::EmbedSlot;
using inference::PageId;
using inference::SequenceId;
using inference::TokenId;

std::vector<std::int32_t> some_ids(std::uint32_t count) {
  std::vector<std::int32_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(3 + i * 37 % 600));
  }
  return ids;
}

class CpuBackend : public testing::TestWithParam<std::string> {
 protected:
  DeviceOptions options() const {
    DeviceOptions options;
    options.name = GetParam();
    options.threads = 2;
    options.page_count = 64;
    return options;
  }
  std::unique_ptr<Device> open() const {
    return Device::open(golden_path("tiny_llama"), options());
  }
};

TEST_P(CpuBackend, TopKIsTheSoftmaxOfTheLogitsCutAndNotRenormalised) {
  const auto device = open();
  const auto ids = some_ids(20);
  Batch batch;
  add_pass(batch, {}, ids, {0, 20}, {19, 20});
  batch.distributions.push_back({.row = 19, .top_k = 7, .temperature = 0.5f});
  batch.distributions.push_back({.row = 19, .top_k = 5000});
  Completion completion = device->run(std::move(batch));
  const std::vector<float> logits = logits_of(completion, 0);
  const auto& cut = completion.distributions[1].value();
  const auto& all = completion.distributions[2].value();
  ASSERT_EQ(cut.tokens.size(), 7u);
  ASSERT_EQ(all.tokens.size(), logits.size());
  double sum = 0.0;
  double sum_half = 0.0;
  for (const float logit : logits) {
    sum += std::exp(double{logit});
    sum_half += std::exp(double{logit} / 0.5);
  }
  for (std::size_t i = 0; i < all.tokens.size(); ++i) {
    const double expected = std::exp(logits[static_cast<std::size_t>(all.tokens[i])]) / sum;
    ASSERT_NEAR(all.probabilities[i], expected, 1e-6);
    ASSERT_LE(all.probabilities[i], all.probabilities[i == 0 ? 0 : i - 1]);
  }
  for (std::size_t i = 0; i < cut.tokens.size(); ++i) {
    EXPECT_EQ(cut.tokens[i], all.tokens[i]);
    const double logit = logits[static_cast<std::size_t>(cut.tokens[i])];
    EXPECT_NEAR(cut.probabilities[i], std::exp(logit / 0.5) / sum_half, 1e-6);
  }
}

TEST_P(CpuBackend, DrawsTheTokensThatAProgramDrawsFromItsNumbers) {
  const auto device = open();
  const auto mask = std::make_shared<const std::vector<std::uint32_t>>(
      (device->backend->model().vocabulary_size + 31) / 32, 0x9249'2492u);
  sampling::Random random(4);
  DrawScratch scratch;
  for (std::uint32_t round = 0; round < 30; ++round) {
    DrawRule rule{.temperature = 1.5, .top_p = 0.98};
    if (round % 2 == 1) rule.repetition_penalty = 1.3;
    const auto shared_rule = std::make_shared<const DrawRule>(rule);
    const double number = random.uniform();
    const std::vector<TokenId> history = {TokenId{3}, TokenId{40 + round}};
    Batch batch;
    add_pass(batch, {}, some_ids(20), {0, 20}, {19, 20});
    batch.distributions.push_back({.row = 19, .top_k = 5000, .mask = mask});
    batch.distributions.push_back({.row = 19,
                                   .kind = DistributionKind::Draw,
                                   .draw = {shared_rule, number, history},
                                   .mask = mask});
    Completion completion = device->run(std::move(batch));
    std::vector<float> logits = logits_of(completion, 0);
    const auto& masked = completion.distributions[1].value();
    const auto token = static_cast<std::uint32_t>(completion.distributions[2].value().tokens[0]);
    const std::size_t index = sampling::draw_index(masked.probabilities, rule, number, scratch);
    const auto by_hand = round % 2 == 0
                             ? static_cast<std::uint32_t>(masked.tokens[index])
                             : *sampling::draw_token(logits, rule, std::vector{3u, 40 + round},
                                                     *mask, number, scratch);
    ASSERT_EQ(token, by_hand) << round;
  }
}

TEST_P(CpuBackend, KeptVectorGivesTheDistributionOfItsRowLater) {
  const auto device = open();
  const auto ids = some_ids(9);
  Batch batch;
  add_pass(batch, {}, ids, {0, 9}, {8, 9});
  batch.rows[8].output = EmbedSlot{5};
  Completion completion = device->run(std::move(batch));
  const std::vector<float> expected = logits_of(completion, 0);
  Batch later;
  later.distributions.push_back({.embed = EmbedSlot{5}, .kind = DistributionKind::Logits});
  Completion completion_later = device->run(std::move(later));
  EXPECT_EQ(logits_of(completion_later, 0), expected);
}

TEST_P(CpuBackend, QueryOnlyRowGivesTheBitsOfTheRowThatWrote) {
  const auto device = open();
  const auto ids = some_ids(32);
  Batch batch;
  add_pass(batch, {}, ids, {0, 32}, {31, 32});
  Completion completion = device->run(std::move(batch));
  Batch again;
  again.rows.push_back({.token = TokenId{static_cast<std::uint32_t>(ids[31])}, .position = 31});
  again.passes.push_back({.row_count = 1, .visible_slot_end = 32});
  again.distributions.push_back({.row = 0, .kind = DistributionKind::Logits});
  Completion completion_again = device->run(std::move(again));
  EXPECT_EQ(logits_of(completion_again, 0), logits_of(completion, 0));
}

TEST_P(CpuBackend, PassThatReadsWhatAnotherPassOfItsBatchWritesSeesIt) {
  const auto device = open();
  const auto ids = some_ids(40);
  Batch whole;
  add_pass(whole, {}, ids, {0, 40}, {39, 40});
  Completion expected = device->run(std::move(whole));
  // The second sequence shares the first one's pages and goes on in pages of its own.
  Batch batch;
  add_pass(batch, {.id = SequenceId{1}, .first_page = 40}, ids, {0, 32}, {});
  inference::TableChange table = Sequence{.id = SequenceId{2}, .first_page = 40}.table(40);
  table.entries[2].page = PageId{50};
  batch.table_changes.push_back(std::move(table));
  for (std::uint32_t i = 32; i < 40; ++i) {
    batch.rows.push_back(
        {.token = TokenId{static_cast<std::uint32_t>(ids[i])}, .position = i, .slot = i});
  }
  batch.passes.push_back(
      {.sequence = SequenceId{2}, .row_first = 32, .row_count = 8, .visible_slot_end = 40});
  batch.distributions.push_back({.row = 39, .kind = DistributionKind::Logits});
  Completion completion = device->run(std::move(batch));
  EXPECT_EQ(logits_of(completion, 0), logits_of(expected, 0));
}

TEST_P(CpuBackend, CopiedSlotsServeAsTheirOrigin) {
  const auto device = open();
  const auto ids = some_ids(24);
  Batch whole;
  add_pass(whole, {}, ids, {0, 24}, {23, 24});
  Completion expected = device->run(std::move(whole));
  Batch copied;
  const Sequence fork{.id = SequenceId{1}, .first_page = 30};
  copied.copies.push_back({.from = PageId{0}, .to = PageId{30}, .slot_count = 16});
  copied.copies.push_back({.from = PageId{1}, .to = PageId{31}, .slot_count = 5});
  add_pass(copied, fork, ids, {21, 24}, {23, 24});
  Completion completion = device->run(std::move(copied));
  EXPECT_EQ(logits_of(completion, 0), logits_of(expected, 0));
}

TEST_P(CpuBackend, PassThatReadsAnEmptyEmbedSlotFailsAlone) {
  const auto device = open();
  const auto ids = some_ids(4);
  Batch batch;
  add_pass(batch, {.id = SequenceId{0}}, ids, {0, 4}, {3, 4});
  batch.rows[2].embed = EmbedSlot{9};
  batch.rows[3].output = EmbedSlot{7};
  add_pass(batch, {.id = SequenceId{1}, .first_page = 8}, ids, {0, 4}, {3, 4});
  batch.distributions.push_back({.row = 7, .temperature = 0.0f});
  batch.distributions.push_back({.embed = EmbedSlot{7}});
  const Completion completion = device->run(std::move(batch));
  EXPECT_EQ(completion.passes[0].error().code(), ErrorCode::NotFound);
  EXPECT_EQ(completion.distributions[0].error().code(), ErrorCode::NotFound);
  EXPECT_TRUE(completion.passes[1].ok());
  EXPECT_TRUE(completion.distributions[1].ok());
  EXPECT_EQ(completion.distributions[2].error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(completion.distributions[3].error().code(), ErrorCode::NotFound);
}

// tiny_llama with one token whose embedding holds not-a-number.
std::string write_poisoned(std::uint32_t token) {
  const std::filesystem::path folder =
      testing::TempDir() + "quire_poisoned_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  for (const auto& file : std::filesystem::directory_iterator(golden_path("tiny_llama"))) {
    std::filesystem::copy(file, folder / file.path().filename(),
                          std::filesystem::copy_options::overwrite_existing);
  }
  const auto read = inference::SafetensorsFile::open_folder(golden_path("tiny_llama"));
  for (const inference::SafetensorsTensor& tensor : read.value().tensors) {
    if (tensor.name != "model.embed_tokens.weight") continue;
    std::fstream file(folder / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    const float nan = NAN;
    file.seekp(static_cast<std::streamoff>(tensor.offset +
                                           std::uint64_t{token} * tensor.dimensions[1] * 4));
    file.write(reinterpret_cast<const char*>(&nan), sizeof(nan));
  }
  return folder;
}

TEST_P(CpuBackend, NonFiniteLogitsAreAnErrorOfTheirDistributionAlone) {
  const std::string folder = write_poisoned(700);
  const auto device = Device::open(folder, options());
  std::filesystem::remove_all(folder);
  const auto ids = some_ids(4);
  const auto run = [&](bool poisoned) {
    Batch batch;
    add_pass(batch, {.id = SequenceId{0}}, ids, {0, 4}, {3, 4});
    add_pass(batch, {.id = SequenceId{1}, .first_page = 8}, ids, {0, 4}, {3, 4});
    batch.distributions.push_back({.row = 3});
    if (poisoned) batch.rows[1].token = TokenId{700};
    return device->run(std::move(batch));
  };
  Completion clean = run(false);
  Completion completion = run(true);
  EXPECT_EQ(completion.distributions[0].error().code(), ErrorCode::Internal);
  EXPECT_EQ(completion.distributions[2].error().code(), ErrorCode::Internal);
  EXPECT_EQ(logits_of(completion, 1), logits_of(clean, 1));
  Completion after = run(false);  // The pages that held not-a-number are written again.
  EXPECT_EQ(logits_of(after, 0), logits_of(clean, 0));
}

// The parts of the backend in the test's own hands, so that it can fill pages before they are used.
std::vector<float> logits_over_pages_full_of(std::byte filling, const std::string& kernels_name,
                                             inference::KvMode mode) {
  const auto* kernels = inference::choose_kernels(kernels_name).value();
  const auto files = inference::open_model(golden_path("tiny_qwen3")).take();
  const auto weights = inference::pack_weights(*files, kernels->matmul, 1).take();
  const inference::KvLayout layout(kv_heads(weights.spec), 16, inference::KvFormat::F16);
  inference::DeviceStores stores{
      inference::KvStore::create(
          {.layout = layout, .mode = mode, .page_count = 64, .sequence_count = 4})
          .take(),
      inference::EmbedStore::create(4, weights.spec.embedding_width).take(),
      inference::StateStore::create(inference::StateLayout(weights.spec), 0).take()};
  inference::KvStore& kv = stores.kv;
  const auto body =
      inference::Body::create(weights, *kernels, {.kv = layout, .row_count_max = 512}).take();
  inference::BatchPlan plan(weights.spec.embedding_width, {0}, {});
  const auto pool = inference::WorkerPool::create(1, 0).take();
  const auto ids = some_ids(500);
  std::vector<float> logits(weights.spec.vocabulary_size);
  for (const Span span : {Span{0, 280}, Span{280, 499}, Span{499, 500}}) {
    Sequence sequence;
    sequence.masked = {{35, 41}, {100, 299}};
    Batch batch;
    add_pass(batch, sequence, ids, span, {span.end - 1, span.end});
    kv.apply(batch.table_changes[0]);
    for (std::uint32_t slot = (span.begin + 15) / 16 * 16; slot < span.end; slot += 16) {
      const inference::SlotAddress address = kv.slot(sequence.id, slot);
      std::memset(address.page, std::to_integer<int>(filling), layout.page_bytes());
      std::memset(address.position, std::to_integer<int>(filling), 16 * sizeof(std::uint32_t));
    }
    Completion completion;
    plan.fill(batch, stores, completion);
    pool->run([&](inference::Worker& worker) {
      body->forward(worker, plan.forward());
      body->hidden(plan.hidden()[0].plan_row, plan.hidden()[0].out);
      const float* vectors[] = {plan.hidden()[0].out};
      body->logits(worker, vectors, logits.data());
    });
    kv.verify();
  }
  return logits;
}

TEST_P(CpuBackend, OldBytesInPagesDoNotMatter) {
  for (const auto mode : {inference::KvMode::Paged, inference::KvMode::Basic}) {
    const auto zeros = logits_over_pages_full_of(std::byte{0}, GetParam(), mode);
    EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](float x) { return std::isfinite(x); }));
    EXPECT_EQ(logits_over_pages_full_of(std::byte{0xff}, GetParam(), mode), zeros);  // NaN
    EXPECT_EQ(logits_over_pages_full_of(std::byte{0x7c}, GetParam(), mode), zeros);  // Large, NaN
  }
}

TEST_P(CpuBackend, BatchesInFlightCompleteInOrder) {
  const auto device = open();
  const auto ids = some_ids(40);
  for (std::uint32_t round = 0; round < 20; ++round) {
    for (std::uint32_t half : {0u, 1u}) {
      Batch batch;
      batch.id = inference::BatchId{round * 2 + half};
      add_pass(batch, {}, ids, {half * 20, half * 20 + 20}, {});
      device->backend->submit(std::move(batch));
    }
    EXPECT_EQ(device->sink.wait().id, inference::BatchId{round * 2});
    EXPECT_EQ(device->sink.wait().id, inference::BatchId{round * 2 + 1});
  }
}

TEST(DeviceOptions, BadOnesAreErrorsWithTheNumbers) {
  const auto files = inference::open_model(golden_path("tiny_llama")).take();
  WaitingSink sink;
  const auto message_of = [&](const DeviceOptions& options) {
    const auto made = inference::open_device(*files, options, sink);
    return made.ok() ? std::string("made") : std::string(made.error().message());
  };
  EXPECT_EQ(message_of({.threads = 1, .page_size = 12}),
            "page size 12 is not supported (8, 16 or 32)");
  EXPECT_EQ(message_of({.threads = 0}), "threads 0 is not in 1..256");
  EXPECT_NE(message_of({.kv_memory_bytes = 1000}).find("holds no page of"), std::string::npos);
  EXPECT_NE(message_of({.name = "abacus"}).find("abacus"), std::string::npos);
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    names.emplace_back(table->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tables, CpuBackend, testing::ValuesIn(table_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace quire::test::cpu_backend_test
