// The programs under inferlets/ as their users run them: Wasm in `quire run` on the default model.
// Where that is not to be had they skip and say so; what needs no text runs on a tiny model.
#include <gtest/gtest.h>
#include <quire_paths.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/default_model.h"
#include "support/process.h"

namespace quire {
namespace {

using nlohmann::json;
using test::ProcessResult;

const std::string kTinyModel = QUIRE_SOURCE_DIR "/tests/golden/tiny_llama";

std::string program(const std::string& name) {
  return QUIRE_BINARY_DIR "/inferlets/" + name + ".wasm";
}

using Words = std::vector<std::string>;

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

ProcessResult run_program(const std::string& name, const std::string& model, const Words& arguments,
                          const std::string& input = "") {
  return test::run_quire(joined({"run", program(name), "--model", model, "--"}, arguments),
                         {.input = input});
}

// The object that a program sends when it is given --json.
json answer_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << result.out;
  return answer;
}

// What each instance of `quire run --each` sent, by its number.
std::map<int, json> answers_of_each(const std::string& name, const std::string& model,
                                    const std::vector<Words>& launches) {
  const test::TemporaryFolder folder;
  std::string lines;
  for (const Words& each : launches) lines += json(each).dump() + "\n";
  const ProcessResult result = test::run_quire({"run", program(name), "--model", model, "--json",
                                                "--each", folder.write("each.jsonl", lines)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<int, json> answers;
  std::istringstream stream(result.out);
  for (std::string line; std::getline(stream, line);) {
    const json said = json::parse(line, nullptr, false);
    if (!said.is_object() || !said.contains("message")) continue;
    answers[said["instance"]] = json::parse(said["message"].get<std::string>(), nullptr, false);
  }
  EXPECT_EQ(answers.size(), launches.size()) << result.out;
  return answers;
}

class InferletsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (model.empty()) GTEST_SKIP() << "no " << test::kDefaultModelFile << " here: make model";
  }
  const std::string model = test::default_model_path();
};

TEST_F(InferletsTest, BothFormsOfTextCompletionAndTheHostsOwnLoopGiveTheSameTokens) {
  const std::vector<Words> samplers = {{"--temperature", "0"},
                                       {"--temperature", "0.8", "--seed", "3"},
                                       {"--temperature", "1.2", "--top-k", "20", "--top-p", "0.9",
                                        "--min-p", "0.02", "--seed", "9"}};
  for (const Words& sampler : samplers) {
    const Words arguments =
        joined({"--prompt", "The pages of a book", "--max-tokens", "40", "--ignore-eos", "--json"},
               sampler);
    const json host = answer_of(test::run_quire(joined({"generate", "--model", model}, arguments)));
    ASSERT_EQ(host["ids"].size(), 40u);
    for (const char* name : {"text_completion", "text_completion_by_hand"}) {
      const json guest = answer_of(run_program(name, model, arguments));
      EXPECT_EQ(guest["prompt_ids"], host["prompt_ids"]) << name;
      EXPECT_EQ(guest["ids"], host["ids"]) << name << " " << json(sampler).dump();
      EXPECT_EQ(guest["text"], host["text"]) << name;
      EXPECT_EQ(guest["finish_reason"], host["finish_reason"]) << name;
    }
  }
}

TEST_F(InferletsTest, WhatIsStreamedIsTheTextOfTheAnswer) {
  const Words arguments = {"--prompt", "Streams", "--max-tokens", "30", "--ignore-eos"};
  const ProcessResult streamed = run_program("text_completion", model, arguments);
  const json answer =
      answer_of(run_program("text_completion", model, joined(arguments, {"--json"})));
  EXPECT_EQ(streamed.out.substr(0, answer["text"].get<std::string>().size()), answer["text"]);
}

TEST_F(InferletsTest, TwentyCopiesAtOnceGiveWhatEachGivesAlone) {
  std::vector<Words> launches;
  for (int i = 0; i < 20; ++i) {
    launches.push_back({"--prompt", "Story " + std::to_string(i) + " begins", "--max-tokens", "24",
                        "--temperature", "0.9", "--seed", std::to_string(i), "--ignore-eos",
                        "--json"});
  }
  for (const char* name : {"text_completion", "text_completion_by_hand"}) {
    const std::map<int, json> together = answers_of_each(name, model, launches);
    for (int i = 0; i < 20; i += 5) {
      const json alone = answer_of(run_program(name, model, launches[i]));
      EXPECT_EQ(together.at(i), alone) << name << " " << i;
    }
  }
}

TEST_F(InferletsTest, APromptOfSeveralPrefillPassesEndsTheSameByHandAndInAContext) {
  std::string prompt;
  for (int i = 0; i < 180; ++i) prompt += "word " + std::to_string(i) + ", ";
  const Words arguments = {"--prompt", prompt, "--max-tokens", "8", "--ignore-eos", "--json"};
  const json high = answer_of(run_program("text_completion", model, arguments));
  ASSERT_GT(high["prompt_ids"].size(), 512u);
  EXPECT_EQ(answer_of(run_program("text_completion_by_hand", model, arguments)), high);
}

TEST(Inferlets, AWrongArgumentIsNamedAndEndsWithTheExitCodeOfAGuestThatFailed) {
  const ProcessResult result = run_program("text_completion", kTinyModel, {"--promt", "x"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("unknown argument --promt"), std::string::npos) << result.err;
}

// Further than the model's context length; which pages are held is the same from the first window
// on.
TEST(Inferlets, AttentionSinkGoesPastTheContextLengthInAConstantNumberOfPages) {
  const Words arguments = {"--prompt", "abc", "--window", "64", "--temperature", "0", "--json"};
  std::map<std::string, json> answers;
  for (const char* count : {"200", "2100"}) {
    answers[count] = answer_of(
        run_program("attention_sink", kTinyModel, joined(arguments, {"--max-tokens", count})));
    ASSERT_TRUE(answers[count].is_object());
    EXPECT_LE(answers[count]["page_count"], 1 + 64 / 16 + 1 + 1);
  }
  EXPECT_GE(answers["2100"]["tokens"], 2100);
  EXPECT_EQ(answers["2100"]["page_count_max"], answers["200"]["page_count_max"]);
  const std::string text = answers["200"]["text"];
  EXPECT_EQ(answers["2100"]["text"].get<std::string>().substr(0, text.size()), text);
}

TEST(Inferlets, AWasmGuestEditsAndSavesContextsOverTheRealControlLayer) {
  const std::string expected =
      "rewound: yes\nspliced: yes\ndropped: yes\nis not seen: yes\nreserved: yes\ncut: yes\n"
      "released: yes\nrewind beyond: out-of-range\ndrop beyond: out-of-range\n"
      "splice beyond: out-of-range\ncommit of a partial page: page-not-full\n"
      "release of too many: out-of-range\nreserve beyond the pool: no-free-page\n"
      "save as ..: invalid-argument\nsave with NUL: invalid-argument\n"
      "save as 4096 bytes: invalid-argument\nsave as bad UTF-8: invalid-argument\n"
      "open of ..: invalid-argument\ntake of nothing: invalid-argument\n"
      "remove of a/b: invalid-argument\n";
  const test::TemporaryFolder folder;
  for (const bool is_kept : {false, true}) {
    const Words store = is_kept ? Words{"--store", folder.file("store")} : Words{"--no-store"};
    const ProcessResult result =
        test::run_quire(joined({"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/context_check.wasm",
                                "--model", kTinyModel, "--kv-pages", "64"},
                               store));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out,
              expected + (is_kept ? "snapshots are kept: yes\nit is shared: yes\n"
                                  : "snapshots are off: yes\nnothing is shared: yes\n"));
  }
}

TEST(Inferlets, OneProgramUsesTwoModelsAtOnceAndEachGivesWhatItGivesAlone) {
  const std::string other = QUIRE_SOURCE_DIR "/tests/golden/tiny_qwen2";
  const auto tokens = [](const Words& models) {
    Words words = {"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/models_check.wasm", "--no-store"};
    for (const std::string& each : models) words = joined(words, {"--model", each});
    return test::run_quire(words);
  };
  const ProcessResult first = tokens({kTinyModel});
  const ProcessResult second = tokens({other});
  const ProcessResult both = tokens({kTinyModel, other});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_NE(first.out, second.out);
  EXPECT_EQ(both.out, first.out + second.out);

  const ProcessResult twice = tokens({other, other});
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_NE(twice.err.find("two models have the name \"tiny_qwen2\": "), std::string::npos)
      << twice.err;
  const ProcessResult absent = tokens({kTinyModel, "absent.gguf"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_NE(absent.err.find("absent.gguf"), std::string::npos) << absent.err;
}

TEST(Inferlets, AProgramLaunchesAnotherByTheNameThatTheCommandLineGaveIt) {
  const Words words = {"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/child_check.wasm", "--model",
                       kTinyModel, "--no-store"};
  const Words launch = {"--", "launch", "hello"};
  const ProcessResult without = test::run_quire(joined(words, launch));
  EXPECT_NE(without.err.find("not-found"), std::string::npos) << without.err;
  const ProcessResult with = test::run_quire(
      joined(joined(words, {"--program", QUIRE_BINARY_DIR "/inferlets/hello.wasm"}), launch));
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out.substr(0, 12), "hello says: ") << with.out;
}

TEST(Inferlets, NotesOfOneRunAreReadByTheNext) {
  const test::TemporaryFolder folder;
  const auto notes = [&folder](const Words& arguments) {
    return test::run_quire(joined({"run", QUIRE_BINARY_DIR "/inferlets/notes.wasm", "--model",
                                   kTinyModel, "--store", folder.file("store"), "--"},
                                  arguments));
  };
  EXPECT_EQ(notes({"buy", "milk"}).out, "1 buy milk\n");
  EXPECT_EQ(notes({"call home"}).out, "1 buy milk\n2 call home\n");
  EXPECT_EQ(notes({"--delete", "1"}).out, "2 call home\n");
  const ProcessResult none = notes({"--delete", "1"});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_NE(none.err.find("not-found: no value under \"notes/00000001\""), std::string::npos)
      << none.err;
}

TEST(Inferlets, AWasmGuestCopiesAndSharesPagesOverTheRealControlLayer) {
  const ProcessResult result =
      test::run_quire({"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/pages_check.wasm", "--model",
                       kTinyModel, "--kv-pages", "64", "--no-store"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "three pages, the last partly filled: yes\n"
            "a context's pages read as those written by hand: yes\n"
            "copies read the same: yes\na context of copies goes on as well: yes\n"
            "it is listed: yes\ncopy to a shared page: page-committed\n"
            "copy of what is not there: page-not-full\ncopy beyond a page: out-of-range\n"
            "export of a name that exists: already-exists\n"
            "export to everyone: permission-denied\nexport as ..: invalid-argument\n"
            "import of nothing: not-found\nimport of too much: out-of-range\n"
            "what was imported goes on as a context: yes\nit is not listed any more: yes\n");
}

TEST(Inferlets, ProgramDeviceAndHostDrawTheSameTokens) {
  for (const std::string& model : {kTinyModel, std::string("smollm2-135m-instruct")}) {
    const ProcessResult result =
        test::run_quire({"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/sample_check.wasm", "--model",
                         model, "--no-store"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::string expected;
    for (int rule = 0; rule < 3; ++rule) {
      expected +=
          "the device draws the same: yes\nthe context knows its tokens: yes\n"
          "the host draws the same: yes\n";
    }
    expected +=
        "logprobs agree: yes\nentropy is positive: yes\n"
        "the embedding is as wide as the model: yes\nlogits need a grant: yes\n"
        "a score is the sum over its tokens: yes\nthe choice is red: yes\n"
        "a stop text is cut: yes\n";
    EXPECT_EQ(result.out, expected);
  }
}

TEST(Inferlets, ProgramLaunchesItselfAndHearsItsChildren) {
  const ProcessResult result =
      test::run_quire({"run", QUIRE_BINARY_DIR "/sdk/cpp/tests/child_check.wasm", "--model",
                       kTinyModel, "--no-store"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "the first speaks: yes\nthe second speaks: yes\nthe job is done: yes\n"
            "the first finished: yes\nthe second trapped: yes\nthe third was killed: yes\n"
            "nobody is not found: yes\nlimits are told: yes\n");
}

TEST(Inferlets, TasksTimeoutsAndDropsWorkOverTheRealWait) {
  const std::string check = QUIRE_BINARY_DIR "/sdk/cpp/tests/async_check.wasm";
  const ProcessResult well =
      test::run_quire({"run", check, "--model", kTinyModel}, {.input = "hi\n"});
  EXPECT_EQ(well.exit_code, 0) << well.err;
  EXPECT_EQ(well.out, "timeout: not done after 20 ms | early 2 | sum 19900 | hi\n");
  const ProcessResult trapped =
      test::run_quire({"run", check, "--model", kTinyModel, "--", "--trap"});
  EXPECT_EQ(trapped.exit_code, 4);
  EXPECT_NE(trapped.out.find("unavailable"), std::string::npos) << trapped.out;
  for (const char* each : {"the value was taken of a result that is not-found", "quire::panic"}) {
    EXPECT_NE(trapped.err.find(each), std::string::npos) << trapped.err;
  }
}

TEST(Inferlets, HelloNamesTheModel) {
  const ProcessResult result = run_program("hello", kTinyModel, {"--name", "you"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Hello, you!"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("pages of 16"), std::string::npos) << result.out;
}

// The acceptance of the whole path: ids equal the reference up to the first step at which two
// tokens are nearly as probable (8-bit activations decide those otherwise).
TEST_F(InferletsTest, AnswersTheEightGoldenPrompts) {
  std::ifstream file(QUIRE_SOURCE_DIR "/tests/golden/smollm2.json");
  const json golden = json::parse(file);
  std::vector<Words> launches;
  for (const json& each : golden["prompts"]) {
    launches.push_back(
        {"--prompt", each["prompt"], "--max-tokens", "32", "--ignore-eos", "--json"});
  }
  for (const char* name : {"text_completion", "text_completion_by_hand"}) {
    const std::map<int, json> answers = answers_of_each(name, model, launches);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const json& expected = golden["prompts"][i];
      const json& answer = answers.at(static_cast<int>(i));
      EXPECT_EQ(answer["prompt_ids"], expected["ids"]) << name << " " << i;
      for (std::size_t step = 0; step < expected["greedy"].size(); ++step) {
        if (expected["greedy"][step]["gap"].get<double>() < 0.3) break;
        EXPECT_EQ(answer["ids"][step], expected["greedy"][step]["id"]) << name << " " << i;
      }
    }
  }
}

// A beam search may lose the way of greedy decoding and find nothing better, so prompts are asked
// where it gains 0.1 nats a token and more: rounding does not decide.
void expect_beams_to_be_worth_it(const std::string& model, const std::string& prompt) {
  const Words arguments = {"--prompt", prompt, "--max-tokens", "24", "--ignore-eos", "--json"};
  const json greedy = answer_of(run_program("text_completion", model, arguments));
  const auto search = [&](const char* width) {
    return answer_of(run_program("beam_search", model, joined(arguments, {"--width", width})));
  };
  const json one = search("1");
  EXPECT_EQ(one["prompt_ids"], greedy["prompt_ids"]);
  EXPECT_EQ(one["ids"], greedy["ids"]);
  EXPECT_EQ(one["answers"][0]["text"], greedy["text"]);
  for (const char* width : {"3", "5"}) {
    const json several = search(width);
    EXPECT_EQ(several["ids"].size(), 24u);
    ASSERT_EQ(several["answers"].size(), static_cast<std::size_t>(std::stoi(width)));
    EXPECT_GT(several["answers"][0]["micro_score"], one["answers"][0]["micro_score"]) << width;
    for (std::size_t i = 1; i < several["answers"].size(); ++i) {
      EXPECT_LE(several["answers"][i]["micro_score"], several["answers"][i - 1]["micro_score"]);
      EXPECT_NE(several["answers"][i]["ids"], several["answers"][i - 1]["ids"]);
    }
  }
}

TEST(Inferlets, OneBeamIsGreedyDecodingAndMoreFindAMoreProbableText) {
  expect_beams_to_be_worth_it(kTinyModel, "abc");
}

TEST_F(InferletsTest, OneBeamIsGreedyDecodingAndMoreFindAMoreProbableText) {
  expect_beams_to_be_worth_it(model, "Streams");
}

TEST_F(InferletsTest, AConversationAndForksOfOnePromptRunToTheirEnd) {
  const ProcessResult chat =
      run_program("chat", model, {"--max-tokens", "12", "--temperature", "0"},
                  "What is the capital of France?\nAnd of Italy?\n");
  EXPECT_EQ(chat.exit_code, 0) << chat.err;
  EXPECT_GE(std::count(chat.out.begin(), chat.out.end(), '\n'), 2) << chat.out;
  const json best = answer_of(
      run_program("best_of_n", model,
                  {"--prompt", "Name a colour.", "--n", "5", "--max-tokens", "12", "--json"}));
  ASSERT_EQ(best["candidates"].size(), 5u);
  std::int64_t largest = INT64_MIN;
  std::string text;
  for (const json& each : best["candidates"]) {
    if (each["micro_nats_per_token"] <= largest) continue;
    largest = each["micro_nats_per_token"];
    text = each["text"];
  }
  EXPECT_EQ(best["best"], text);
}

}  // namespace
}  // namespace quire
