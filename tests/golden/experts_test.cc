// Mixtures of experts against transformers and llama.cpp (make_expert_goldens.py): logits and
// greedy tokens of every form in which a model is stored, and the same bits among any neighbors.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "inference/weights/safetensors_file.h"
#include "support/backend_logits.h"
#include "support/golden.h"
#include "support/process.h"

namespace quire::test::experts_test {
namespace {

using inference::DeviceOptions;

// A model as stored, and the folder of its answers.
struct Stored {
  const char* path;
  const char* answers;
};

void PrintTo(const Stored& stored, std::ostream* out) {
  *out << stored.path;
}

constexpr Stored kStored[] = {
    {"qwen3moe_8", "qwen3moe_8"},      {"qwen3moe_8_stacked", "qwen3moe_8"},
    {"qwen3moe_8.gguf", "qwen3moe_8"}, {"qwen3moe_8_fused.gguf", "qwen3moe_8"},
    {"qwen3moe_64", "qwen3moe_64"},    {"qwen2moe_8", "qwen2moe_8"},
    {"qwen2moe_8.gguf", "qwen2moe_8"}};

std::string experts_path(const std::string& name) {
  return golden_path("experts/" + name);
}

struct Answers {
  std::vector<std::int32_t> ids;
  std::vector<float> logits;  // [ids][vocabulary]
};

Answers answers_of(const char* model) {
  const NpzArrays arrays = read_npz(experts_path(model) + "/expected.npz").take();
  return {arrays.at("ids").values<std::int32_t>().value(),
          arrays.at("logits").values<float>().value()};
}

class Experts : public testing::TestWithParam<Stored> {
 protected:
  std::string path() const { return experts_path(GetParam().path); }
};

TEST_P(Experts, EveryLogitIsThatOfTheReference) {
  const Answers answers = answers_of(GetParam().answers);
  const auto device = Device::open(path(), exact_options());
  ASSERT_NE(device, nullptr);
  const Logits logits = in_chunks(*device, answers.ids, 48);
  const std::size_t width = answers.logits.size() / answers.ids.size();
  for (std::uint32_t row = 0; row < answers.ids.size(); ++row) {
    expect_near(logits, row, std::span(answers.logits).subspan(row * width, width));
  }
}

TEST_P(Experts, GreedyTokensAreThoseOfLlamaCpp) {
  const auto json = nlohmann::json::parse(
      read_or_fail(experts_path(std::string(GetParam().answers) + "/greedy.json")));
  auto ids = json["ids"].get<std::vector<std::int32_t>>();
  const auto device = Device::open(path(), exact_options());
  ASSERT_NE(device, nullptr);
  std::uint32_t done = 0;
  for (const auto& step : json["greedy"]) {
    const auto end = static_cast<std::uint32_t>(ids.size());
    inference::Batch batch;
    add_pass(batch, {.id = inference::SequenceId{1}}, ids, {done, end}, {end - 1, end});
    inference::Completion completion = device->run(std::move(batch));
    ids.push_back(static_cast<std::int32_t>(argmax(logits_of(completion, 0))));
    ASSERT_EQ(ids.back(), step["id"].get<std::int32_t>()) << "after " << end << " tokens";
    done = end;
  }
}

// The logits of the last token of `ids`, in a batch with one token of each of `other_count` other
// sequences, of which `before_count` come first.
std::vector<float> among_others(Device& device, const std::vector<std::int32_t>& ids,
                                std::uint32_t other_count, std::uint32_t before_count) {
  const auto count = static_cast<std::uint32_t>(ids.size());
  const Sequence own{.id = inference::SequenceId{1}};
  inference::Batch prefix;
  add_pass(prefix, own, ids, {0, count - 1}, {});
  device.run(std::move(prefix));
  inference::Batch batch;
  const auto add_others = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
      const Sequence other{.id = inference::SequenceId{2 + i}, .first_page = 8 + i};
      add_pass(batch, other, {static_cast<std::int32_t>((i * 37 + 11) % 320)}, {0, 1}, {});
    }
  };
  add_others(0, before_count);
  add_pass(batch, own, ids, {count - 1, count}, {count - 1, count});
  add_others(before_count, other_count);
  inference::Completion completion = device.run(std::move(batch));
  return logits_of(completion, 0);
}

TEST_P(Experts, ARowHasTheSameBitsAmongAnyOthers) {
  const Answers answers = answers_of(GetParam().answers);
  for (const char* kernels : {"scalar", "avx2", "avxvnni", "avx512"}) {
    if (!inference::choose_kernels(kernels).ok()) continue;  // This machine has not got them.
    SCOPED_TRACE(kernels);
    DeviceOptions options;
    options.name = kernels;
    options.page_count = 640;
    const auto one = Device::open(path(), options);
    options.threads = 2;
    const auto two = Device::open(path(), options);
    ASSERT_TRUE(one != nullptr && two != nullptr);
    const std::vector<float> alone = among_others(*one, answers.ids, 0, 0);
    for (const std::uint32_t other_count : {1u, 15u, 511u}) {
      EXPECT_EQ(among_others(*one, answers.ids, other_count, other_count), alone) << other_count;
      EXPECT_EQ(among_others(*two, answers.ids, other_count, other_count / 3), alone)
          << other_count;
    }
  }
}

TEST_P(Experts, GiveTheSameBitsInChunksAndForks) {
  const Answers answers = answers_of(GetParam().answers);
  auto files = inference::open_model(path());
  ASSERT_TRUE(files.ok()) << files.error().message();
  expect_same_bits(*files.value(), answers.ids);
}

// A copy of a model whose embedding of one token is not-a-number.
void write_poisoned(const std::filesystem::path& folder, const std::string& model,
                    std::uint32_t token) {
  std::filesystem::copy(model, folder);
  const auto read = inference::SafetensorsFile::open_folder(model);
  for (const inference::SafetensorsTensor& tensor : read.value().tensors) {
    if (tensor.name != "model.embed_tokens.weight") continue;
    const std::string nan(tensor.bytes / tensor.dimensions[0], '\xff');
    std::fstream file(folder / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(tensor.offset + token * nan.size()));
    file << nan;
  }
}

TEST(ExpertsOfNoNumber, MakeAnErrorOfTheirRowAlone) {
  constexpr std::uint32_t kPoisoned = 300;
  const TemporaryFolder folder;
  const std::filesystem::path model = folder.file("model");
  write_poisoned(model, experts_path("qwen2moe_8"), kPoisoned);
  const auto device = Device::open(model, exact_options());
  ASSERT_NE(device, nullptr);
  const std::vector<std::int32_t> ids = {5, 9, 30, 2};
  const auto run = [&](bool is_poisoned) {
    inference::Batch batch;
    add_pass(batch, {.id = inference::SequenceId{0}}, ids, {0, 4}, {3, 4});
    add_pass(batch, {.id = inference::SequenceId{1}, .first_page = 8}, ids, {0, 4}, {3, 4});
    if (is_poisoned) batch.rows[1].token = inference::TokenId{kPoisoned};
    return device->run(std::move(batch));
  };
  inference::Completion clean = run(false);
  inference::Completion completion = run(true);
  EXPECT_EQ(completion.distributions[0].error().code(), ErrorCode::Internal);
  EXPECT_EQ(logits_of(completion, 1), logits_of(clean, 1));
}

INSTANTIATE_TEST_SUITE_P(AsStored, Experts, testing::ValuesIn(kStored), [](const auto& each) {
  std::string name = each.param.path;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace quire::test::experts_test
