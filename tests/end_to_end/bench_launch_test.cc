// `quire bench launch`: figures that are there and make sense, and the program that it launches.
#include <map>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

std::vector<std::string> launch_bench(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"bench",
                                        "launch",
                                        QUIRE_BINARY_DIR "/bench/first_message.wasm",
                                        "--model",
                                        kTiny,
                                        "--kv-pages",
                                        "64",
                                        "--simultaneous",
                                        "1,12",
                                        "--programs",
                                        "3",
                                        "--repetitions",
                                        "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(EndToEndBenchLaunch, EveryModeIsMeasuredAndColdTakesLongerThanWarm) {
  const nlohmann::json json =
      output_json(run_quire(launch_bench({"--json", "--", "--prompt", "x"})));
  std::map<std::pair<std::string, int>, double> p50;
  for (const nlohmann::json& each : json["results"]) {
    EXPECT_GT(each["p50_ms"], 0.0) << each;
    EXPECT_LE(each["p50_ms"], each["p99_ms"]) << each;
    EXPECT_LE(each["replied_p50_ms"], each["p50_ms"]) << each;
    EXPECT_GE(each["launches"], each["simultaneous"]) << each;
    EXPECT_GT(each["first_p50_ms"], 0.0) << each;
    EXPECT_LE(each["first_p50_ms"], each["first_p99_ms"]) << each;
    p50[{each["mode"], each["simultaneous"]}] = each["p50_ms"];
  }
  EXPECT_EQ(p50.size(), 5u) << json;
  EXPECT_GT((p50[{"cold", 1}]), (p50[{"warm", 1}]));
  EXPECT_GT((p50[{"cold-different", 3}]), (p50[{"warm", 12}]));
}

TEST(EndToEndBenchLaunch, AProgramThatSaysNothingIsNamed) {
  const ProcessResult silent = run_quire(launch_bench({"--", "--no-such-flag"}));
  EXPECT_EQ(silent.exit_code, 1);
  EXPECT_NE(silent.err.find("the program ended before it sent a message"), std::string::npos)
      << silent.err;
  EXPECT_EQ(run_quire({"bench", "launch", "/nowhere.wasm"}).exit_code, 3);
}

TEST(EndToEndBenchLaunch, TheProgramThatItLaunchesWaitsForItsClientsWord) {
  const std::vector<std::string> words = {"--prompt", "a b", "--max-tokens", "8"};
  const auto run = [&](const std::string& program, const std::string& input) {
    std::vector<std::string> arguments = {"run", "--model", kTiny, "--kv-pages",
                                          "64",  program,   "--"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    return run_quire(arguments, {.input = input});
  };
  const std::string program = QUIRE_BINARY_DIR "/bench/first_message.wasm";
  const ProcessResult result = run(program, "go\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ready\n" + run(inferlet("text_completion"), "").out);
  EXPECT_EQ(run(program, "").exit_code, 4) << "no client gave the word";
}

}  // namespace
}  // namespace quire::test
