// Hybrids of attention and recurrent layers against transformers and llama.cpp
// (make_recurrent_goldens.py): logits and greedy tokens of every form in which a model is stored.
// The bits are the same however rows are cut over passes, slots and threads, and after a way back.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "support/backend_logits.h"
#include "support/golden.h"

namespace quire::test::recurrent_test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::kNoState;
using inference::StateSlot;
using inference::StateWrite;

// A model as stored, and the folder of its answers.
struct Stored {
  const char* path;
  const char* answers;
};

void PrintTo(const Stored& stored, std::ostream* out) {
  *out << stored.path;
}

constexpr Stored kStored[] = {
    {"qwen35_4k4v", "qwen35_4k4v"},       {"qwen35_4k4v.gguf", "qwen35_4k4v"},
    {"qwen35_published", "qwen35_4k4v"},  {"qwen35_published.gguf", "qwen35_4k4v"},
    {"qwen35_16k32v", "qwen35_16k32v"},   {"qwen35_16k32v.gguf", "qwen35_16k32v"},
    {"qwen35moe_2k4v", "qwen35moe_2k4v"}, {"qwen35moe_2k4v.gguf", "qwen35moe_2k4v"}};

std::string recurrent_path(const std::string& name) {
  return golden_path("recurrent/" + name);
}

struct Answers {
  std::vector<std::int32_t> ids;
  std::vector<float> logits;  // [ids][vocabulary]
};

Answers answers_of(const char* model) {
  const NpzArrays arrays = read_npz(recurrent_path(model) + "/expected.npz").take();
  return {arrays.at("ids").values<std::int32_t>().value(),
          arrays.at("logits").values<float>().value()};
}

DeviceOptions options_of(const char* kernels, std::uint32_t threads) {
  DeviceOptions options = exact_options();
  options.name = kernels;
  options.threads = threads;
  options.state_count = 3;
  return options;
}

// A text whose state is in one slot after each pass. A pass of one row changes it in place.
class Text {
 public:
  Text(Device& device, const std::vector<std::int32_t>& ids) : device_(&device), ids_(&ids) {}

  // The logits of the rows `wanted` of the span. Keeps the state after `kept` rows in slot 2.
  Logits run(Span span, Span wanted, std::uint32_t kept = 0) {
    Batch batch;
    add_pass(batch, {.id = inference::SequenceId{1}}, *ids_, span, wanted);
    inference::ForwardPass& pass = batch.passes[0];
    pass.state_from = span.begin == 0 ? kNoState : StateSlot{slot_};
    if (pass.row_count > 1) slot_ = slot_ == 0 ? 1 : 0;
    if (kept > 0) batch.state_writes.push_back({kept, StateSlot{2}});
    batch.state_writes.push_back({pass.row_count, StateSlot{slot_}});
    pass.state_write_count = static_cast<std::uint32_t>(batch.state_writes.size());
    Completion completion = device_->run(std::move(batch));
    Logits logits;
    for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
      logits.push_back(logits_of(completion, i));
    }
    return logits;
  }
  void go_back_to_kept() { slot_ = 2; }

 private:
  Device* device_;
  const std::vector<std::int32_t>* ids_;
  std::uint32_t slot_ = 0;
};

Logits in_passes_of(Device& device, const std::vector<std::int32_t>& ids, std::uint32_t rows) {
  Logits all;
  Text text(device, ids);
  for (std::uint32_t begin = 0; begin < ids.size(); begin += rows) {
    const Span span{begin, std::min(begin + rows, static_cast<std::uint32_t>(ids.size()))};
    for (auto& each : text.run(span, span)) all.push_back(std::move(each));
  }
  return all;
}

class Recurrent : public testing::TestWithParam<Stored> {
 protected:
  std::string path() const { return recurrent_path(GetParam().path); }
};

TEST_P(Recurrent, EveryLogitIsThatOfTheReference) {
  const Answers answers = answers_of(GetParam().answers);
  const std::size_t width = answers.logits.size() / answers.ids.size();
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    const auto device = Device::open(path(), options_of(table->name, 1));
    ASSERT_NE(device, nullptr);
    const Logits logits = in_passes_of(*device, answers.ids, 64);
    for (std::uint32_t row = 0; row < answers.ids.size(); ++row) {
      expect_near(logits, row, std::span(answers.logits).subspan(row * width, width));
    }
  }
}

TEST_P(Recurrent, GreedyTokensAreThoseOfLlamaCpp) {
  const auto json = nlohmann::json::parse(
      read_or_fail(recurrent_path(std::string(GetParam().answers) + "/greedy.json")));
  auto ids = json["ids"].get<std::vector<std::int32_t>>();
  const auto device = Device::open(path(), options_of("scalar", 1));
  ASSERT_NE(device, nullptr);
  Text text(*device, ids);
  std::uint32_t done = 0;
  for (const auto& step : json["greedy"]) {
    const auto end = static_cast<std::uint32_t>(ids.size());
    const Logits logits = text.run({done, end}, {end - 1, end});
    ids.push_back(static_cast<std::int32_t>(argmax(logits[0])));
    ASSERT_EQ(ids.back(), step["id"].get<std::int32_t>()) << "after " << end << " tokens";
    done = end;
  }
}

TEST_P(Recurrent, BitsDoNotDependOnPassesThreadsAndWaysBack) {
  const std::vector<std::int32_t> ids = answers_of(GetParam().answers).ids;
  const auto count = static_cast<std::uint32_t>(ids.size());
  for (const inference::KernelTable* table : inference::supported_kernels()) {
    SCOPED_TRACE(table->name);
    const auto one = Device::open(path(), options_of(table->name, 1));
    const auto two = Device::open(path(), options_of(table->name, 2));
    ASSERT_TRUE(one != nullptr && two != nullptr);
    const Logits expected = in_passes_of(*one, ids, count);
    EXPECT_EQ(in_passes_of(*one, ids, 1), expected);
    EXPECT_EQ(in_passes_of(*two, ids, 7), expected);
    // Other tokens after a kept state, and then those of the text again.
    std::vector<std::int32_t> branch = ids;
    for (std::uint32_t i = 40; i < count; ++i) branch[i] = ids[count - 1 - i];
    Text text(*two, branch);
    text.run({0, 60}, {0, 0}, 40);
    text.go_back_to_kept();
    branch = ids;
    const Logits back = text.run({40, count}, {40, count});
    EXPECT_TRUE(std::equal(back.begin(), back.end(), expected.begin() + 40, expected.end()));
  }
}

TEST_P(Recurrent, DeviceReportsStatesAndRefusesBasicMemory) {
  DeviceOptions options = options_of("scalar", 1);
  const auto device = Device::open(path(), options);
  ASSERT_NE(device, nullptr);
  const inference::BackendCapabilities& has = device->backend->capabilities();
  EXPECT_EQ(has.state_count, 3u);
  EXPECT_GT(has.state_bytes, 0u);
  EXPECT_TRUE(has.numerics_id.ends_with("/recurrent-1")) << has.numerics_id;
  options.kv_mode = inference::KvMode::Basic;
  const auto files = inference::open_model(path()).take();
  WaitingSink sink;
  const auto basic = inference::open_device(*files, options, sink);
  EXPECT_EQ(basic.error().code(), ErrorCode::NotSupported);
}

INSTANTIATE_TEST_SUITE_P(AsStored, Recurrent, testing::ValuesIn(kStored));

}  // namespace
}  // namespace quire::test::recurrent_test
