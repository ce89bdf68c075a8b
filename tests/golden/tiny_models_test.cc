// The F32 path against PyTorch on the tiny models: every logit under every mask.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/backend_logits.h"
#include "support/golden.h"
#include "support/tiny_gguf.h"

namespace quire::test {
namespace {

using inference::Batch;
using inference::Completion;
using inference::DeviceOptions;
using inference::KvFormat;
using inference::KvMode;
using inference::SlotMask;

constexpr double kTolerance = 1e-3;
constexpr double kToleranceLong = 2e-3;

SlotMask rows_of(const GoldenMask& mask, Span span, std::uint32_t width) {
  SlotMask rows{.slot_count = span.end};
  for (std::uint32_t row = span.begin; row < span.end; ++row) {
    std::vector<std::uint64_t> words(rows.words_per_row());
    for (std::uint32_t slot = 0; slot < span.end; ++slot) {
      if (mask.visible[row * width + slot] != 0) words[slot / 64] |= std::uint64_t{1} << slot % 64;
    }
    rows.words.insert(rows.words.end(), words.begin(), words.end());
  }
  return rows;
}

// All logits [64][vocabulary] under one mask, computed in chunks.
std::vector<float> masked_logits(Device& device, const Golden& golden, const GoldenMask& mask,
                                 std::uint32_t chunk) {
  const auto count = static_cast<std::uint32_t>(golden.ids.size());
  std::vector<float> all;
  const Sequence sequence{.id = inference::SequenceId{1},
                          .page_size = device.backend->capabilities().page_size};
  for (std::uint32_t begin = 0; begin < count; begin += chunk) {
    const Span span{begin, std::min(count, begin + chunk)};
    Batch batch;
    add_pass(batch, sequence, golden.ids, span, span, &mask.positions);
    batch.passes[0].mask = rows_of(mask, span, count);
    Completion completion = device.run(std::move(batch));
    for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
      const std::vector<float> logits = logits_of(completion, i);
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

class TinyModels : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return golden_path(GetParam()); }
};

TEST_P(TinyModels, EveryLogitUnderEveryMaskIsThatOfTheReference) {
  const Golden golden = read_golden(GetParam());
  const auto device = Device::open(path(), exact_options());
  ASSERT_NE(device, nullptr);
  for (const GoldenMask& mask : golden.masks) {
    SCOPED_TRACE(mask.name);
    const std::vector<float> logits = masked_logits(*device, golden, mask, 64);
    EXPECT_LT(largest_difference(logits, mask.logits), kTolerance);
    EXPECT_EQ(masked_logits(*device, golden, mask, 7), logits) << "in chunks of 7";
  }
}

TEST_P(TinyModels, GgufAgreesWithSafetensors) {
  const Golden golden = read_golden(GetParam());
  const std::string gguf = write_tiny_gguf(GetParam());
  const auto from_folder = Device::open(path(), exact_options());
  const auto from_gguf = Device::open(gguf, exact_options());
  std::filesystem::remove(gguf);
  ASSERT_NE(from_gguf, nullptr);
  for (const GoldenMask& mask : golden.masks) {
    const std::vector<float> logits = masked_logits(*from_gguf, golden, mask, 64);
    EXPECT_LT(largest_difference(logits, mask.logits), kTolerance) << mask.name;
    EXPECT_LT(largest_difference(logits, masked_logits(*from_folder, golden, mask, 64)), 1e-4);
  }
}

TEST_P(TinyModels, RuleAboutPositionsEqualsTheCausalMask) {
  const Golden golden = read_golden(GetParam());
  const auto device = Device::open(path(), exact_options());
  const std::vector<float> masked = masked_logits(*device, golden, golden.masks[0], 64);
  Batch batch;
  add_pass(batch, {.id = inference::SequenceId{2}, .first_page = 50}, golden.ids, {0, 64},
           {63, 64});
  Completion completion = device->run(std::move(batch));
  const std::vector<float> last = logits_of(completion, 0);
  EXPECT_EQ(last, std::vector<float>(masked.end() - static_cast<long>(last.size()), masked.end()));
}

TEST_P(TinyModels, GreedyTokensAreThoseOfTheReference) {
  const auto json = nlohmann::json::parse(
      read_file(golden_path(std::string(GetParam()) + "/greedy.json"), 1 << 20).value());
  auto ids = json["ids"].get<std::vector<std::int32_t>>();
  const auto device = Device::open(path(), exact_options());
  const Sequence sequence{.id = inference::SequenceId{1}};
  std::uint32_t done = 0;
  for (const auto& step : json["greedy"]) {
    const auto end = static_cast<std::uint32_t>(ids.size());
    Batch batch;
    add_pass(batch, sequence, ids, {done, end}, {end - 1, end});
    Completion completion = device->run(std::move(batch));
    ids.push_back(static_cast<std::int32_t>(argmax(logits_of(completion, 0))));
    ASSERT_EQ(ids.back(), step["id"].get<std::int32_t>()) << "after " << end << " tokens";
    done = end;
  }
}

// tiny_llama as a model whose own files ask for a window of 16, as Mistral's do.
std::string write_windowed() {
  const std::filesystem::path folder =
      testing::TempDir() + "quire_windowed_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  for (const auto& file : std::filesystem::directory_iterator(golden_path("tiny_llama"))) {
    std::filesystem::copy(file, folder / file.path().filename(),
                          std::filesystem::copy_options::overwrite_existing);
  }
  const std::string config = read_file(golden_path("tiny_llama/config.json"), 1 << 20).value();
  auto json = nlohmann::json::parse(config);
  json["model_type"] = "mistral";
  json["sliding_window"] = 16;
  std::ofstream(folder / "config.json") << json.dump();
  return folder;
}

TEST(SlidingWindow, OfTheModelItselfGivesTheLogitsOfTheWindowMask) {
  const Golden golden = read_golden("tiny_llama");
  const auto expected = std::find_if(golden.masks.begin(), golden.masks.end(),
                                     [](const auto& mask) { return mask.name == "window16"; });
  const std::string folder = write_windowed();
  const auto device = Device::open(folder, exact_options());
  std::filesystem::remove_all(folder);
  ASSERT_NE(device, nullptr);
  for (const std::uint32_t chunk : {64u, 9u}) {
    std::vector<float> all;
    for (std::uint32_t begin = 0; begin < 64; begin += chunk) {
      const Span span{begin, std::min(64u, begin + chunk)};
      Batch batch;
      add_pass(batch, {}, golden.ids, span, span);
      Completion completion = device->run(std::move(batch));
      for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
        const std::vector<float> logits = logits_of(completion, i);
        all.insert(all.end(), logits.begin(), logits.end());
      }
    }
    EXPECT_LT(largest_difference(all, expected->logits), kTolerance);
  }
  // A mask of the caller's still holds inside the window: together they are the window here.
  EXPECT_LT(
      largest_difference(masked_logits(*device, golden, golden.masks[0], 64), expected->logits),
      kTolerance);
}

// The rows of expected_long.npz, each as the last of a context of 800 random tokens.
struct Long {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> rows;
  std::vector<float> logits;  // [rows][vocabulary]
};

Long read_long(const std::string& model, const std::string& mask) {
  const NpzArrays arrays = read_npz(golden_path(model + "/expected_long.npz")).take();
  return {arrays.at("ids").values<std::int32_t>().value(),
          arrays.at("rows").values<std::int32_t>().value(),
          arrays.at("logits_" + mask).values<float>().value()};
}

// Logits at the rows of `golden`; what a row may not see is as `visible` says.
template <typename Visible>
std::vector<float> long_logits(Device& device, const Long& golden, std::uint32_t chunk,
                               const Visible& visible) {
  const auto count = static_cast<std::uint32_t>(golden.ids.size());
  const Sequence sequence{.id = inference::SequenceId{1},
                          .page_size = device.backend->capabilities().page_size};
  std::vector<float> all;
  for (std::uint32_t begin = 0; begin < count; begin += chunk) {
    const Span span{begin, std::min(count, begin + chunk)};
    Batch batch;
    add_pass(batch, sequence, golden.ids, span, {});
    SlotMask mask{.slot_count = span.end};
    mask.words.resize(std::size_t{span.end - span.begin} * mask.words_per_row());
    for (std::uint32_t row = span.begin; row < span.end; ++row) {
      std::uint64_t* words = &mask.words[(row - span.begin) * mask.words_per_row()];
      for (std::uint32_t slot = 0; slot <= row; ++slot) {
        if (visible(row, slot)) words[slot / 64] |= std::uint64_t{1} << slot % 64;
      }
    }
    batch.passes[0].mask = std::move(mask);
    for (const std::int32_t row : golden.rows) {
      const auto at = static_cast<std::uint32_t>(row);
      if (at < span.begin || at >= span.end) continue;
      batch.distributions.push_back(
          {.row = at - span.begin, .kind = inference::DistributionKind::Logits});
    }
    Completion completion = device.run(std::move(batch));
    for (std::size_t i = 0; i < completion.distributions.size(); ++i) {
      const std::vector<float> logits = logits_of(completion, i);
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }
  return all;
}

TEST_P(TinyModels, LongContextsWithHolesAreThoseOfTheReference) {
  const auto device = Device::open(path(), exact_options());
  const auto check = [&](const char* mask, const auto& visible) {
    const Long golden = read_long(GetParam(), mask);
    EXPECT_LT(largest_difference(long_logits(*device, golden, 200, visible), golden.logits),
              kToleranceLong)
        << mask;
  };
  check("causal", [](std::uint32_t, std::uint32_t) { return true; });
  check("sink4_window256",
        [](std::uint32_t row, std::uint32_t slot) { return slot < 4 || row - slot < 256; });
  check("drop_96_400", [](std::uint32_t row, std::uint32_t slot) {
    return row < 400 || slot < 96 || slot >= 400;
  });
}

TEST_P(TinyModels, MaskedAndLeftOutAreEqualBitForBit) {
  const Long golden = read_long(GetParam(), "drop_96_400");
  std::vector<std::vector<float>> seen;
  for (const bool leave_out : {false, true}) {
    const auto device = Device::open(path(), exact_options());
    Sequence sequence{.id = inference::SequenceId{1}};
    std::vector<float> all;
    for (std::uint32_t begin = 0; begin < 800; begin += 200) {
      if (begin == 400) {
        sequence.masked = {{96, 400}};
        sequence.leave_out = leave_out;
      }
      Batch batch;
      add_pass(batch, sequence, golden.ids, {begin, begin + 200}, {begin + 199, begin + 200});
      Completion completion = device->run(std::move(batch));
      const std::vector<float> logits = logits_of(completion, 0);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    seen.push_back(all);
  }
  EXPECT_EQ(seen[0], seen[1]);
  const std::size_t width = seen[0].size() / 4;
  const std::vector<float> last(seen[0].end() - static_cast<long>(width), seen[0].end());
  const std::vector<float> expected(golden.logits.end() - static_cast<long>(width),
                                    golden.logits.end());
  EXPECT_LT(largest_difference(last, expected), kToleranceLong);
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyModels,
                         testing::Values("tiny_llama", "tiny_qwen3", "tiny_qwen2"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace quire::test
