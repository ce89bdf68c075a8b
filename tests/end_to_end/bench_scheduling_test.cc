// `quire-bench batching | scheduler | arrival`: figures that are there and make sense.
#include <map>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

nlohmann::json bench(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  return output_json(run_quire_bench(arguments));
}

std::map<std::string, double> requests_per_s(const nlohmann::json& json, const char* device) {
  std::map<std::string, double> rates;
  for (const nlohmann::json& each : json["results"]) {
    EXPECT_EQ(each["device"], device);
    EXPECT_LE(each["least"], each["requests_per_s"]);
    EXPECT_LE(each["requests_per_s"], each["most"]);
    rates[each["policy"]] = each["requests_per_s"];
  }
  return rates;
}

// The whole comparison, one round of it: the simulated clock makes it the same on every machine.
TEST(EndToEndBenchScheduling, AdaptiveBeatsEveryOtherPolicyOnAGpusCostCurve) {
  const nlohmann::json json = bench({"batching", "--device", "simulated", "--rounds", "1"});
  EXPECT_EQ(json["instances"], 128);
  const std::map<std::string, double> rates = requests_per_s(json, "simulated");
  ASSERT_EQ(rates.size(), 13u);
  for (const auto& [policy, rate] : rates) {
    EXPECT_GT(rate, 0.0) << policy;
    if (policy == "adaptive") continue;
    EXPECT_GE(rates.at("adaptive"), (policy == "eager" ? 5.0 : 1.05) * rate) << policy;
  }
}

TEST(EndToEndBenchScheduling, BatchingOnTheCpuTellsWhatTheEngineKeepsOfTheDevicesGain) {
  const nlohmann::json json =
      bench({"batching", "--device", "cpu", "--instances", "4", "--decode-tokens", "4", "--rounds",
             "1", "--policies", "adaptive,k-only:2", "--model", golden_path("tiny_llama")});
  EXPECT_EQ(requests_per_s(json, "cpu").size(), 2u);
  const nlohmann::json& gain = json["cpu_gain"];
  EXPECT_GT(gain["raw"], 0.0);
  EXPECT_NEAR(gain["share"].get<double>(), gain["engine"].get<double>() / gain["raw"].get<double>(),
              1e-6);
}

TEST(EndToEndBenchScheduling, SchedulerTellsTheTimeOfAStepForEachCountAndWayOfAsking) {
  const nlohmann::json json = bench({"scheduler", "--requests", "1,16"});
  ASSERT_EQ(json["results"].size(), 4u);
  for (std::size_t index = 0; index < json["results"].size(); ++index) {
    const nlohmann::json& each = json["results"][index];
    EXPECT_EQ(each["request"], index < 2 ? "forward_sample" : "get_next_dist");
    EXPECT_EQ(each["requests"], index % 2 == 0 ? 1 : 16);
    EXPECT_GT(each["build_us"], 0.0);
    EXPECT_GT(each["complete_us"], 0.0);
    EXPECT_NEAR(each["budget_us"].get<double>(), 5 + 0.1 * each["requests"].get<double>(), 1e-9);
  }
}

TEST(EndToEndBenchScheduling, ArrivalTellsTimesBetweenTokensWithAndWithoutThePrompt) {
  const nlohmann::json json = bench({"arrival", "--streams", "2", "--prompt-tokens", "200",
                                     "--repetitions", "1", "--model", golden_path("tiny_llama")});
  ASSERT_EQ(json["results"].size(), 1u);
  const nlohmann::json& figures = json["results"][0];
  EXPECT_GT(figures["before"]["count"], 50);
  EXPECT_GT(figures["with"]["count"], 0);
  EXPECT_EQ(figures["without"]["count"], figures["with"]["count"]) << "the same tokens";
  EXPECT_GT(figures["without"]["median_ms"], 0.0);
  EXPECT_GT(figures["first_token_s"], 0.0);
}

TEST(EndToEndBenchScheduling, AWrongPolicyOrDeviceIsNamed) {
  const ProcessResult policy = run_quire_bench({"batching", "--policies", "adaptive,k-only"});
  EXPECT_EQ(policy.exit_code, 2);
  EXPECT_NE(policy.err.find("--batching k-only: k-only takes a count"), std::string::npos)
      << policy.err;
  const ProcessResult device = run_quire_bench({"batching", "--device", "tpu"});
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_NE(device.err.find("supported: both, cpu, simulated"), std::string::npos) << device.err;
}

TEST(EndToEndBenchScheduling, CallsTellTimesForEachCountOfPrograms) {
  const nlohmann::json json = bench({"calls", "--instances", "1,20", "--decode-tokens", "0"});
  EXPECT_TRUE(json["calls_per_token"].empty());
  ASSERT_EQ(json["results"].size(), 4u);
  for (const nlohmann::json& each : json["results"]) {
    EXPECT_GT(each["p50_us"], 0.0) << each;
    EXPECT_LE(each["p50_us"], each["p99_us"]) << each;
    EXPECT_EQ(each.contains("one_way_us"), each["kind"] == "device");
    if (each["kind"] != "device") continue;
    EXPECT_GT(each["one_way_us"], 0.0);
    EXPECT_LE(each["one_way_us"], each["p99_us"]);
  }
}

TEST(EndToEndBenchScheduling, CallsAreCountedForEachTokenOfAnAnswer) {
  const nlohmann::json json = bench(
      {"calls", "--instances", "1", "--decode-tokens", "32", "--model", golden_path("tiny_llama")});
  const nlohmann::json& rows = json["calls_per_token"];
  ASSERT_EQ(rows.size(), 4u);
  for (const nlohmann::json& each : rows) {
    EXPECT_NEAR(each["calls_per_token"].get<double>(),
                each["control"].get<double>() + each["device"].get<double>(), 1e-9);
    EXPECT_GT(each["control"], each["device"]) << each;
  }
  // The host's loop takes one call for all tokens. Of a token by hand: embed_txt, forward and
  // get_next_dist; of a beam's, forward and get_next_dist. The first token of a beam search has one
  // beam, whose prompt is computed before.
  EXPECT_EQ(rows[0]["device"], 1.0 / 32) << rows;
  EXPECT_EQ(rows[1]["device"], 3.0) << rows;
  EXPECT_EQ(rows[2]["program"], "beam_search --width 3");
  EXPECT_EQ(rows[2]["device"], (1 + 2.0 * (1 + 31 * 3)) / 32) << rows;
  EXPECT_EQ(rows[3]["device"], (1 + 2.0 * (1 + 31 * 5)) / 32) << rows;
}

TEST(EndToEndBenchScheduling, OverheadTellsWhatEachLayerAddsToAToken) {
  const nlohmann::json json = bench({"overhead", "--instances", "1,3", "--decode-tokens", "4",
                                     "--rounds", "1", "--model", golden_path("tiny_llama")});
  ASSERT_EQ(json["results"].size(), 2u * 9);
  for (const nlohmann::json& each : json["results"]) {
    EXPECT_GT(each["ms_per_token"], 0.0) << each;
    if (each["way"] == "host loop") {
      EXPECT_EQ(each["over_host_loop"], 0.0);
    }
  }
  const ProcessResult result = run_quire_bench(
      {"overhead", "--program", "absent.wasm", "--model", golden_path("tiny_llama")});
  EXPECT_EQ(result.exit_code, 3) << result.err;
}

}  // namespace
}  // namespace quire::test
