// A thousand programs at once on the default model: each is between its first token and its last at
// one instant, and all give what each gives alone.
//
// All seeds (QUIRE_SEED_SHARE=0/1, `make campaign`) are a thousand programs; a share of them is so
// much of a thousand.
#include <algorithm>
#include <limits>
#include <sstream>
#include <vector>

#include "base/seeds.h"
#include "end_to_end/server_process.h"
#include "end_to_end/support.h"

namespace quire::test {
namespace {

constexpr std::size_t kCrowdCount = 1000;
constexpr std::size_t kAloneCountMax = 100;  // Of a share; of all seeds, all are compared.

std::vector<std::string> arguments_of(std::size_t index) {
  return {"--prompt", "Number " + std::to_string(index) + " is", "--max-tokens", "24",
          "--ignore-eos"};
}

// The output of one program, and its place in the order of all messages.
struct Sent {
  std::string text;
  std::size_t message_count = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

TEST(EndToEndCrowd, AThousandProgramsAliveAtOnceGiveWhatEachGivesAlone) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const bool is_whole = parse_seed_share(std::getenv("QUIRE_SEED_SHARE")).count == 1;
  const std::size_t count = campaign_seeds(kCrowdCount).size();
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) lines += nlohmann::json(arguments_of(i)).dump() + "\n";
  TemporaryFolder folder;
  const ProcessResult together =
      run_quire({"run", inferlet("text_completion"), "--model", default_model, "--no-store",
                 "--each", folder.write("crowd.jsonl", lines), "--json"});
  ASSERT_EQ(together.exit_code, 0) << together.err;
  std::vector<Sent> sent(count);
  std::size_t at = 0;
  std::istringstream out(together.out);
  for (std::string line; std::getline(out, line); ++at) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.contains("message")) continue;
    Sent& one = sent.at(json["instance"].get<std::size_t>());
    if (one.message_count++ == 0) one.first = at;
    one.last = at;
    one.text += json["message"].get<std::string>();
  }
  std::size_t last_first = 0;
  std::size_t first_last = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_GT(sent[i].message_count, 1u) << "instance " << i;
    last_first = std::max(last_first, sent[i].first);
    first_last = std::min(first_last, sent[i].last);
  }
  EXPECT_LT(last_first, first_last) << "one ended before another began";

  ServerProcess server({inferlet("text_completion"), "--model", default_model});
  ASSERT_NE(server.url(), "") << server.err;
  for (std::size_t i = 0; i < (is_whole ? count : std::min(count, kAloneCountMax)); ++i) {
    std::vector<std::string> words = {"run", "--server", server.url(), "text_completion", "--"};
    const std::vector<std::string> arguments = arguments_of(i);
    words.insert(words.end(), arguments.begin(), arguments.end());
    const ProcessResult alone = run_quire(words);
    ASSERT_EQ(alone.exit_code, 0) << alone.err;
    // As text it ends with a line's end, whatever the program sent.
    EXPECT_EQ(sent[i].text + (sent[i].text.ends_with('\n') ? "" : "\n"), alone.out)
        << "instance " << i;
  }
}

}  // namespace
}  // namespace quire::test
