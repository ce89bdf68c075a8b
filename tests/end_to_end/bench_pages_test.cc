// `quire-bench pages --trace`: the same figures from runs, JSON lines and gzip, and bad files
// named.
#include <zlib.h>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

const std::string kTrace = QUIRE_SOURCE_DIR "/tests/traces/mooncake_synthetic.txt";

double hit_rate(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"pages", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return output_json(run_quire_bench(arguments)).value("hit_rate", -1.0);
}

void expect_failure(const std::string& file, int exit_code, const std::string& text) {
  const ProcessResult result = run_quire_bench({"pages", "--capacity", "9", "--trace", file});
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
}

std::string gzipped(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.file("trace.gz");
  const gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

TEST(EndToEndBenchPages, TellsTheHitRateOfEachPolicyAndOfHints) {
  const std::vector<std::string> base = {"--trace", kTrace, "--capacity", "5000"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return hit_rate(arguments);
  };
  EXPECT_NEAR(with({"--policy", "lru"}), 27.91, 0.1);
  EXPECT_GE(with({}), with({"--policy", "s3-fifo"}) + 0.5);
  EXPECT_GE(with({"--hints", "future"}), 40.36 - 3.0);
  EXPECT_LT(with({"--to", "0.5"}), with({"--from", "0.5"}));
  EXPECT_LT(with({"--from", "0.5", "--cold"}), with({"--from", "0.5"}));
}

TEST(EndToEndBenchPages, ReadsJsonLinesAndGzip) {
  const std::string lines =
      "{\"timestamp\": 0, \"hash_ids\": [900, 901]}\n{\"timestamp\": 9, \"hash_ids\": [900, "
      "902]}\n";
  TemporaryFolder folder;
  EXPECT_EQ(hit_rate({"--capacity", "9", "--trace", folder.write("a", lines)}), 25.0);
  EXPECT_EQ(hit_rate({"--capacity", "9", "--trace", gzipped(folder, lines)}), 25.0);
}

TEST(EndToEndBenchPages, ABadTraceIsNamedWithItsLine) {
  TemporaryFolder folder;
  expect_failure("/nowhere/trace", 3, "/nowhere/trace");
  expect_failure(folder.write("a", "{\"timestamp\": 0, \"hash_ids\": [1]}\n{\"timestamp\": 1}\n"),
                 1, "line 2 has no list of hash_ids");
  expect_failure(folder.write("b", "{\"timestamp\": 0, \"hash_ids\": [\"x\"]}"), 1,
                 "line 1 has a hash_id that is no whole number");
  expect_failure(folder.write("c", "{\"timestamp\": 0, \"hash_ids\": [1, 1]}"), 1,
                 "names a block twice");
  expect_failure(folder.write("d", "1 1-20"), 1, "does not fit a capacity of 9");
  const std::string whole = read_file(gzipped(folder, "1 1-9\n"), 1 << 20).take();
  expect_failure(folder.write("e", whole.substr(0, whole.size() - 9)), 1, "no whole gzip file");
}

}  // namespace
}  // namespace quire::test
