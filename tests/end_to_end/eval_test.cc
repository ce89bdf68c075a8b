// quire eval against the reference answers of the tiny models.
#include <cmath>
#include <sstream>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

constexpr double kTolerance = 1e-3;
constexpr double kToleranceLong = 2e-3;
const char* const kModels[] = {"tiny_llama", "tiny_qwen2", "tiny_qwen3"};

struct EvalFiles {
  std::string ids;
  std::string mask = {};
  std::string positions = {};
  std::string logits;
};

// The logits of one run, [tokens][vocabulary].
std::vector<float> evaluate(const std::string& model, const EvalFiles& files,
                            const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "eval",      "--model", golden_path(model), "--ids", files.ids,    "--logits", files.logits,
      "--backend", "scalar",  "--kv-format",      "f32",   "--kv-pages", "512",      "--json"};
  if (!files.mask.empty()) arguments.insert(arguments.end(), {"--mask", files.mask});
  if (!files.positions.empty()) arguments.insert(arguments.end(), {"--positions", files.positions});
  arguments.insert(arguments.end(), more.begin(), more.end());
  output_json(run_quire(arguments));
  Result<NpyArray> logits = read_npy(files.logits, 256u << 20);
  if (!logits.ok()) {
    ADD_FAILURE() << logits.error().message();
    return {};
  }
  return logits.value().values<float>().value();
}

double largest_difference(const std::vector<float>& left, const std::vector<float>& right) {
  EXPECT_EQ(left.size(), right.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(left[i]) - right[i]));
  }
  return largest;
}

TEST(EndToEndEval, EveryLogitOfTheTinyModelsUnderEveryMaskIsWithinTolerance) {
  TemporaryFolder folder;
  for (const char* model : kModels) {
    const Golden golden = read_golden(model);
    const std::size_t count = golden.ids.size();
    EvalFiles files{.ids = folder.write("ids.json", nlohmann::json(golden.ids).dump()),
                    .logits = folder.file("logits.npy")};
    for (const GoldenMask& mask : golden.masks) {
      files.mask = folder.write("mask.npy", npy_bytes("|b1", {count, count}, mask.visible));
      files.positions = folder.write("positions.npy", npy_bytes("<i4", {count}, mask.positions));
      const std::vector<float> whole = evaluate(model, files, {});
      EXPECT_LT(largest_difference(whole, mask.logits), kTolerance) << model << " " << mask.name;
      // However it is chunked, paged or threaded: the same bits.
      EXPECT_EQ(evaluate(model, files, {"--chunk", "7", "--page-size", "8"}), whole)
          << model << " " << mask.name;
    }
  }
}

TEST(EndToEndEval, AContextAndPagesByHandGiveTheSameBits) {
  TemporaryFolder folder;
  for (const char* model : kModels) {
    const Golden golden = read_golden(model);
    EvalFiles files{.ids = folder.write("ids.json", nlohmann::json(golden.ids).dump()),
                    .logits = folder.file("logits.npy")};
    const std::vector<float> context = evaluate(model, files, {"--threads", "2"});
    EXPECT_EQ(evaluate(model, files, {"--kv", "basic", "--threads", "1"}), context) << model;
    EXPECT_EQ(evaluate(model, files, {"--chunk", "5"}), context) << model;
    files.positions = folder.write(
        "positions.npy", npy_bytes("<i4", {golden.ids.size()}, golden.masks[0].positions));
    EXPECT_EQ(evaluate(model, files, {}), context) << model;
  }
}

// `visible(query, key)` for keys that are not later than the query.
template <typename Visible>
std::vector<std::uint8_t> mask_of(std::size_t count, Visible visible) {
  std::vector<std::uint8_t> mask(count * count, 0);
  for (std::size_t query = 0; query < count; ++query) {
    for (std::size_t key = 0; key <= query; ++key) mask[query * count + key] = visible(query, key);
  }
  return mask;
}

TEST(EndToEndEval, LongContextsWithHolesStayWithinTolerance) {
  TemporaryFolder folder;
  for (const char* model : kModels) {
    Result<NpzArrays> read = read_npz(golden_path(std::string(model) + "/expected_long.npz"));
    ASSERT_TRUE(read.ok()) << read.error().message();
    const NpzArrays& arrays = read.value();
    const auto ids = arrays.at("ids").values<std::int32_t>().value();
    const auto rows = arrays.at("rows").values<std::int32_t>().value();
    EvalFiles files{.ids = folder.write("ids.json", nlohmann::json(ids).dump()),
                    .logits = folder.file("logits.npy")};
    const auto check = [&](const std::string& name, const std::vector<std::uint8_t>& mask) {
      files.mask = folder.write("mask.npy", npy_bytes("|b1", {ids.size(), ids.size()}, mask));
      const std::vector<float> logits = evaluate(model, files, {"--chunk", "100"});
      const auto expected = arrays.at("logits_" + name).values<float>().value();
      const std::size_t width = expected.size() / rows.size();
      ASSERT_EQ(logits.size(), ids.size() * width);
      double largest = 0.0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t row = static_cast<std::size_t>(rows[i / width]);
        largest = std::max(
            largest, std::abs(static_cast<double>(expected[i]) - logits[row * width + i % width]));
      }
      EXPECT_LT(largest, kToleranceLong) << model << " " << name;
    };
    check("causal", mask_of(ids.size(), [](std::size_t, std::size_t) { return 1; }));
    check("drop_96_400", mask_of(ids.size(), [](std::size_t query, std::size_t key) {
            return query < 400 || key < 96 || key >= 400 ? 1 : 0;
          }));
    check("sink4_window256", mask_of(ids.size(), [](std::size_t query, std::size_t key) {
            return key < 4 || query - key < 256 ? 1 : 0;
          }));
  }
}

TEST(EndToEndEval, EveryGreedyTokenOfTheTinyModelsIsEqual) {
  TemporaryFolder folder;
  for (const char* model : kModels) {
    const nlohmann::json golden = read_json(golden_path(std::string(model) + "/greedy.json"));
    std::vector<std::uint32_t> ids = golden["ids"];
    const std::size_t prompt_count = ids.size();
    std::vector<std::uint32_t> greedy;
    for (const nlohmann::json& step : golden["greedy"]) {
      greedy.push_back(step.is_object() ? step["id"] : step);
    }
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    const std::string file = folder.write("ids.json", nlohmann::json(ids).dump());
    const nlohmann::json json =
        output_json(run_quire({"eval", "--model", golden_path(model), "--ids", file, "--backend",
                               "scalar", "--kv-format", "f32", "--kv-pages", "64", "--json"}));
    const std::vector<std::uint32_t> argmax = json["argmax"];
    for (std::size_t step = 0; step < greedy.size(); ++step) {
      EXPECT_EQ(argmax[prompt_count - 1 + step], greedy[step]) << model << ", step " << step;
    }
  }
}

TEST(EndToEndEval, EverySureArgmaxOfTheTextAgreesAndTheMeanIsClose) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  TemporaryFolder folder;
  const nlohmann::json text = read_json(golden_path("smollm2.json"))["text"];
  const std::string file = folder.write("ids.json", text["ids"].dump());
  const nlohmann::json json =
      output_json(run_quire({"eval", "--model", default_model, "--ids", file, "--json"}));
  EXPECT_NEAR(json["mean_nll"].get<double>(), text["mean_nll"].get<double>(), 0.01);
  for (std::size_t i = 0; i < text["argmax"].size(); ++i) {
    if (text["gap"][i].get<double>() < 0.3) continue;
    EXPECT_EQ(json["argmax"][i], text["argmax"][i]) << "token " << i;
  }
}

}  // namespace
}  // namespace quire::test
