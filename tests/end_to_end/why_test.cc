// Tests of a run's report about its pages: tokens saved, why not more, and which programs ended for
// want of pages.
#include <map>
#include <set>
#include <sstream>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

const char* const kFox =
    "The quick brown fox jumps over the lazy dog, then runs home along the river, through the wood "
    "and up the hill, to sleep under";

std::string line_of(const std::string& prompt, int max_tokens) {
  return nlohmann::json(
             {"--prompt", prompt, "--max-tokens", std::to_string(max_tokens), "--ignore-eos"})
             .dump() +
         "\n";
}

// The object with that key, of output that is one object a line.
nlohmann::json line_with(const std::string& out, const std::string& key) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains(key)) return json[key];
  }
  ADD_FAILURE() << "no line with " << key << " in:\n" << out;
  return {};
}

TEST(EndToEndWhy, EachInstanceIsToldWhatItSavedAndWhyNotMore) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  TemporaryFolder folder;
  const std::string report = folder.file("report.json");
  const std::string each =
      folder.write("each.jsonl", line_of(std::string(kFox) + " a tree.", 4) +
                                     line_of(std::string(kFox) + " the stars.", 4));
  const ProcessResult run =
      run_quire({"run", inferlet("text_completion"), "--model", default_model, "--no-store",
                 "--each", each, "--kv-why", "--kv-report", report, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json why = line_with(run.out, "kv_why");
  ASSERT_EQ(why["instances"].size(), 2u);
  std::uint64_t found = 0;
  std::set<std::string> reasons;
  for (const nlohmann::json& instance : why["instances"]) {
    // No suspension here: what was not found was computed, once.
    EXPECT_EQ(instance["asked_tokens"].get<int>(),
              instance["found_tokens"].get<int>() + instance["computed_tokens"].get<int>());
    found += instance["found_tokens"].get<int>();
    for (const nlohmann::json& miss : instance["misses"]) {
      reasons.insert(miss["reason"]);
      if (miss["reason"] != "differs") continue;
      EXPECT_EQ(miss["field"], "tokens");
      EXPECT_NE(miss["here_text"], miss["there_text"]);
    }
  }
  EXPECT_GE(found, 16u);  // The pages that both prompts begin with.
  EXPECT_TRUE(reasons.contains("never-seen"));
  // The same from the file, as JSON and in words.
  const ProcessResult again = run_quire({"kv", "why", report, "--json"});
  EXPECT_EQ(line_with(again.out, "kv_why"), why);
  const ProcessResult words = run_quire({"kv", "why", report, "--instance", "1"});
  EXPECT_EQ(words.exit_code, 0) << words.err;
  EXPECT_EQ(words.out.find("instance 0:"), std::string::npos) << words.out;
  EXPECT_NE(words.out.find("instance 1: "), std::string::npos) << words.out;
  EXPECT_NE(words.out.find(" % saved)"), std::string::npos) << words.out;
  const ProcessResult tree = run_quire({"kv", "tree", report});
  EXPECT_NE(tree.out.find("tokens known"), std::string::npos) << tree.out;
  const ProcessResult dot = run_quire({"kv", "tree", report, "--dot"});
  EXPECT_EQ(dot.out.rfind("digraph pages {", 0), 0u) << dot.out;
}

TEST(EndToEndWhy, AnInstanceThatIsNotThereAndAFileThatIsNoReportAreTold) {
  TemporaryFolder folder;
  const std::string empty = folder.write(
      "empty.json", R"({"format":"quire page report","version":1,"tree":{"text":"","dot":""},)"
                    R"("why":{"page_size":16,"forgotten_misses":0,"instances":[]}})");
  EXPECT_EQ(run_quire({"kv", "why", empty}).exit_code, 0);
  const ProcessResult absent = run_quire({"kv", "why", empty, "--instance", "9"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_NE(absent.err.find("has no instance 9, it has 0"), std::string::npos) << absent.err;
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "its text: byte 1: not valid JSON"},
      {"[1, 2", "its text: byte 6: not valid JSON"},
      {"[]", "it is not a JSON object"},
      {"{}", "\"format\""},
      {R"({"format":"quire page report","version":2})", "version"},
      {R"({"format":"quire page report","version":1,"tree":{},"why":{}})", "tree has no \"text\""},
      {R"({"format":"quire page report","version":1,"tree":{"text":"","dot":""},"why":[]})",
       "\"page_size\""},
      {R"({"format":"quire page report","version":1,"tree":{"text":"","dot":""},)"
       R"("why":{"page_size":16,"forgotten_misses":0,"instances":[{"instance":-1}]}})",
       "\"instance\""}};
  for (const auto& [bytes, what] : wrong) {
    const ProcessResult result = run_quire({"kv", "why", folder.write("wrong.json", bytes)});
    EXPECT_EQ(result.exit_code, 1) << bytes;
    EXPECT_NE(result.err.find("wrong.json is not a report"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(what), std::string::npos) << bytes << "\n" << result.err;
  }
  EXPECT_EQ(run_quire({"kv", "tree", folder.file("none.json")}).exit_code, 3);
}

TEST(EndToEndWhy, AReportThatCannotBeWrittenIsToldBeforeAnythingRuns) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult run =
      run_quire({"run", inferlet("text_completion"), "--model", default_model, "--no-store",
                 "--kv-report", "/nowhere/report.json", "--", "--prompt", "Hello"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("cannot write /nowhere/report.json"), std::string::npos) << run.err;
  EXPECT_EQ(run.out, "");
}

// Six conversations of 9 pages in a pool of 20.
TEST(EndToEndWhy, UnderFcfsKillTheLastToStartEndAndTheFirstGiveWhatTheyGiveAlone) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  TemporaryFolder folder;
  std::string lines;
  for (int each = 0; each < 6; ++each) {
    lines += line_of("Story " + std::to_string(each) + ": once upon a time", 128);
  }
  const std::string all = folder.write("all.jsonl", lines);
  const std::string first = folder.write("first.jsonl", lines.substr(0, lines.find('\n') + 1));
  const auto run = [&](const std::string& each, const std::string& policy) {
    return run_quire({"run", inferlet("text_completion"), "--model", default_model, "--no-store",
                      "--each", each, "--kv-pages", "20", "--when-full", policy, "--json"});
  };
  const auto text_of_first = [](const ProcessResult& result) {
    std::string text;
    std::istringstream out(result.out);
    for (std::string line; std::getline(out, line);) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (json.contains("message") && json["instance"] == 0) text += json["message"];
    }
    return text;
  };
  const auto ends = [](const ProcessResult& result) {
    std::map<int, nlohmann::json> by_instance;
    std::istringstream out(result.out);
    for (std::string line; std::getline(out, line);) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (json.contains("end")) by_instance[json["instance"]] = json;
    }
    return by_instance;
  };
  const ProcessResult killed = run(all, "fcfs-kill");
  EXPECT_EQ(killed.exit_code, 4);
  const auto told = ends(killed);
  ASSERT_EQ(told.size(), 6u) << killed.err;
  EXPECT_EQ(told.at(0)["end"], "finished");
  EXPECT_EQ(told.at(5)["end"], "killed");
  EXPECT_EQ(told.at(5)["limit"], "no-free-page");
  EXPECT_NE(told.at(5)["error"].get<std::string>().find("fcfs-kill ended this instance"),
            std::string::npos);
  EXPECT_EQ(text_of_first(killed), text_of_first(run(first, "fcfs-kill")));
  // By default no program ends.
  const ProcessResult suspended = run(all, "suspend");
  EXPECT_EQ(suspended.exit_code, 0) << suspended.err;
}

}  // namespace
}  // namespace quire::test
