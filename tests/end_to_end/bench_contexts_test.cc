// `quire-bench restore | pressure | sink`: figures that are there, of outputs that were checked.
#include "end_to_end/support.h"

namespace quire::test {
namespace {

nlohmann::json bench_tiny(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--model", kTiny, "--json"});
  return output_json(run_quire_bench(arguments));
}

TEST(EndToEndBenchContexts, RestoreTellsBothTimesAndHowColdTheFilesWere) {
  const nlohmann::json json = bench_tiny({"restore", "--tokens", "100", "--repetitions", "2"});
  EXPECT_EQ(json["tokens"], 100);
  for (const char* key : {"recompute_s", "restore_cold_s", "restore_warm_s"}) {
    EXPECT_GT(json[key]["least"], 0.0) << key;
    EXPECT_LE(json[key]["least"], json[key]["median"]) << key;
  }
  EXPECT_GT(json["store_bytes"], 0);
  EXPECT_LE(json["file_cache_share"], 1.0);
}

TEST(EndToEndBenchContexts, PressureRunsInAQuarterOfThePages) {
  const nlohmann::json json = bench_tiny({"pressure", "--conversations", "8", "--prompt-tokens",
                                          "40", "--decode-tokens", "24", "--repetitions", "1"});
  EXPECT_EQ(json["roomy_page_count"], 32);
  EXPECT_EQ(json["tight_page_count"], 8);
  EXPECT_GT(json["ratio"], 0.0);
}

TEST(EndToEndBenchContexts, SinkHoldsAConstantNumberOfPages) {
  const nlohmann::json json = bench_tiny({"sink", "--tokens", "3000"});
  EXPECT_EQ(json["token_ms_by_fifth"].size(), 5u);
  // 4 slots, then 256 that begin anywhere in a page.
  EXPECT_EQ(json["page_count_least"], 17);
  EXPECT_EQ(json["page_count_most"], 18);
}

TEST(EndToEndBenchContexts, KvLeavesRoomBehindTheLongestLengthAndRefusesOneThatIsLonger) {
  const nlohmann::json rows = bench_tiny({"kv", "--lengths", "64,2048"});  // All of its context.
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["tokens"], 64);
  EXPECT_EQ(rows[3]["tokens"], 2032);
  EXPECT_EQ(rows[3]["kv"], "paged");
  EXPECT_GT(rows[3]["decode_tokens_per_s"], 0.0);
  const ProcessResult result =
      run_quire({"bench", "kv", "--lengths", "64,2049", "--model", kTiny, "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("2049 tokens do not fit the context"), std::string::npos) << result.err;
}

TEST(EndToEndBenchContexts, ReportsSayWherePagesWereAndWhyTokensWereComputed) {
  TemporaryFolder folder;
  const std::string report = folder.file("report.json");
  const auto words = [&](const char* what) {
    const ProcessResult result = run_quire({"kv", what, report});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  bench_tiny({"pressure", "--conversations", "8", "--prompt-tokens", "40", "--decode-tokens", "24",
              "--repetitions", "1", "--kv-report", report});
  EXPECT_NE(words("why").find("all 8: "), std::string::npos) << words("why");
  EXPECT_NE(words("why").find("instance 7: "), std::string::npos) << words("why");
  EXPECT_NE(words("why").find(" from 0 on: "), std::string::npos) << words("why");
  EXPECT_NE(words("tree").find("pool of 8: "), std::string::npos) << words("tree");
  bench_tiny({"restore", "--tokens", "100", "--repetitions", "1", "--kv-report", report});
  EXPECT_NE(words("why").find("instance 0: 1 token asked"), std::string::npos) << words("why");
  EXPECT_NE(words("tree").find("6 pages of 16 tokens known"), std::string::npos) << words("tree");
  bench_tiny({"sink", "--tokens", "2000", "--kv-report", report});
  EXPECT_NE(words("tree").find("without bytes"), std::string::npos) << words("tree");
  EXPECT_NE(words("tree").find("\nnone "), std::string::npos) << words("tree");
}

TEST(EndToEndBenchContexts, AReportThatCannotBeWrittenIsToldFirst) {
  const ProcessResult result =
      run_quire_bench({"sink", "--model", kTiny, "--kv-report", "/nowhere/report.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("cannot write /nowhere/report.json"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(EndToEndBenchContexts, RestoreNeedsPages) {
  const ProcessResult result =
      run_quire_bench({"restore", "--kv", "basic", "--tokens", "64", "--model", kTiny});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("paged KV cache"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace quire::test
