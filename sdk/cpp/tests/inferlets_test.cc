// The programs under inferlets/ as their users run them: Wasm in `quire run` on the default model.
// Where that is not to be had they skip and say so; what needs no text runs on a tiny model.
#include <gtest/gtest.h>
#include <quire_paths.h>
#include <filesystem>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
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

// The messages of `quire run --json`, by instance.
std::map<int, std::string> texts_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<int, std::string> texts;
  std::istringstream stream(result.out);
  for (std::string line; std::getline(stream, line);) {
    const json said = json::parse(line, nullptr, false);
    if (!said.is_object() || !said.contains("message")) continue;
    texts[said["instance"]] += said["message"].get<std::string>();
  }
  return texts;
}

// All that a program sends.
std::string text_of(const std::string& name, const std::string& model, const Words& arguments) {
  return texts_of(test::run_quire(
      joined({"run", program(name), "--model", model, "--json", "--"}, arguments)))[0];
}

// The output of each instance of `quire run --each`, by its number.
std::map<int, std::string> texts_of_each(const std::string& name, const std::string& model,
                                         const std::vector<Words>& launches) {
  const test::TemporaryFolder folder;
  std::string lines;
  for (const Words& each : launches) lines += json(each).dump() + "\n";
  std::map<int, std::string> texts =
      texts_of(test::run_quire({"run", program(name), "--model", model, "--json", "--each",
                                folder.write("each.jsonl", lines)}));
  EXPECT_EQ(texts.size(), launches.size());
  return texts;
}

// The answer of `quire generate` to the same arguments.
json generated(const std::string& model, const Words& arguments) {
  const ProcessResult result =
      test::run_quire(joined({"generate", "--model", model, "--json"}, arguments));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, false);
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
        joined({"--prompt", "The pages of a book", "--max-tokens", "40", "--ignore-eos"}, sampler);
    const json host = generated(model, arguments);
    ASSERT_EQ(host["ids"].size(), 40u);
    for (const char* name : {"text_completion", "text_completion_by_hand"}) {
      EXPECT_EQ(text_of(name, model, arguments), host["text"]) << name << json(sampler).dump();
    }
  }
}

TEST_F(InferletsTest, TwentyCopiesAtOnceGiveWhatEachGivesAlone) {
  std::vector<Words> launches;
  for (int i = 0; i < 20; ++i) {
    launches.push_back({"--prompt", "Story " + std::to_string(i) + " begins", "--max-tokens", "24",
                        "--temperature", "0.9", "--seed", std::to_string(i), "--ignore-eos"});
  }
  for (const char* name : {"text_completion", "text_completion_by_hand"}) {
    const std::map<int, std::string> together = texts_of_each(name, model, launches);
    for (int i = 0; i < 20; i += 5) {
      EXPECT_EQ(together.at(i), text_of(name, model, launches[i])) << name << " " << i;
    }
  }
}

TEST_F(InferletsTest, APromptOfSeveralPrefillPassesEndsTheSameByHandAndInAContext) {
  std::string prompt;
  for (int i = 0; i < 180; ++i) prompt += "word " + std::to_string(i) + ", ";
  const Words arguments = {"--prompt", prompt, "--max-tokens", "8", "--ignore-eos"};
  const json host = generated(model, arguments);
  ASSERT_GT(host["prompt_ids"].size(), 512u);
  EXPECT_EQ(text_of("text_completion", model, arguments), host["text"]);
  EXPECT_EQ(text_of("text_completion_by_hand", model, arguments), host["text"]);
}

TEST(Inferlets, AWrongArgumentIsNamedAndEndsWithTheExitCodeOfAGuestThatFailed) {
  const ProcessResult result = run_program("text_completion", kTinyModel, {"--promt", "x"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("unknown option --promt; did you mean --prompt?"), std::string::npos)
      << result.err;
}

// Further than the model's context length; which pages are held is the same from the first window
// on.
TEST(Inferlets, AttentionSinkGoesPastTheContextLengthInAConstantNumberOfPages) {
  const Words arguments = {"--prompt", "abc", "--window", "64", "--temperature", "0"};
  struct Outcome {
    std::string text;
    int token_count = 0;
    int page_count = 0;
    int page_count_max = 0;
  };
  std::map<std::string, Outcome> outcomes;
  for (const char* count : {"200", "2100"}) {
    Outcome& outcome = outcomes[count];
    const std::string sent =
        text_of("attention_sink", kTinyModel, joined(arguments, {"--max-tokens", count}));
    const std::size_t last = sent.rfind("\n[");
    ASSERT_NE(last, std::string::npos) << sent;
    outcome.text = sent.substr(0, last);
    ASSERT_EQ(std::sscanf(sent.c_str() + last, "\n[%d tokens in %d pages, at most %d]",
                          &outcome.token_count, &outcome.page_count, &outcome.page_count_max),
              3);
    EXPECT_LE(outcome.page_count, 1 + 64 / 16 + 1 + 1);
  }
  EXPECT_GE(outcomes["2100"].token_count, 2100);
  EXPECT_EQ(outcomes["2100"].page_count_max, outcomes["200"].page_count_max);
  // The last characters of the shorter one may have been held back.
  const std::string text = outcomes["200"].text.substr(0, outcomes["200"].text.size() - 8);
  EXPECT_EQ(outcomes["2100"].text.substr(0, text.size()), text);
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
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(QUIRE_BINARY_DIR "/inferlets/hello.wasm", folder.file("greeter.wasm"));
  const Words launch = {"--", "launch", "greeter"};
  const ProcessResult without = test::run_quire(joined(words, launch));
  EXPECT_NE(without.err.find("not-found"), std::string::npos) << without.err;
  const ProcessResult with =
      test::run_quire(joined(joined(words, {"--program", folder.file("greeter.wasm")}), launch));
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out.substr(0, 14), "greeter says: ") << with.out;
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
          "the host draws the same: yes\nthe context knows its tokens: yes\n"
          "drafts give the same: yes\na second context follows: yes\nlogits give the same: yes\n";
    }
    expected +=
        "logprobs agree: yes\nentropy is positive: yes\n"
        "the embedding is as wide as the model: yes\nall logits: yes\n"
        "a score is the sum over its tokens: yes\nthe choice is red: yes\n"
        "a stop text is cut: yes\na healed prompt stays: yes\nthe text is complete: yes\nstep by "
        "step the same: yes\n"
        "drawn by the program the same: yes\nrewound and forked the same: yes\n"
        "a wrong expression is refused: yes\n";
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

// The acceptance of the whole path. Ids equal the reference up to the first step at which two
// tokens are nearly as probable; 8-bit activations decide such steps otherwise.
TEST_F(InferletsTest, AnswersTheEightGoldenPrompts) {
  std::ifstream file(QUIRE_SOURCE_DIR "/tests/golden/smollm2.json");
  const json golden = json::parse(file);
  std::vector<Words> launches;
  std::vector<json> hosts;
  for (const json& each : golden["prompts"]) {
    launches.push_back({"--prompt", each["prompt"], "--max-tokens", "32", "--ignore-eos"});
    hosts.push_back(generated(model, launches.back()));
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const json& expected = golden["prompts"][i];
    EXPECT_EQ(hosts[i]["prompt_ids"], expected["ids"]) << i;
    for (std::size_t step = 0; step < expected["greedy"].size(); ++step) {
      if (expected["greedy"][step]["gap"].get<double>() < 0.3) break;
      EXPECT_EQ(hosts[i]["ids"][step], expected["greedy"][step]["id"]) << i;
    }
  }
  for (const char* name : {"text_completion", "text_completion_by_hand"}) {
    const std::map<int, std::string> texts = texts_of_each(name, model, launches);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      EXPECT_EQ(texts.at(static_cast<int>(i)), hosts[i]["text"]) << name << " " << i;
    }
  }
}

// The text of greedy decoding, and those of 3 and 5 beams; one beam gives the first.
std::vector<std::string> beam_texts(const std::string& model, const std::string& prompt) {
  const Words arguments = {"--prompt", prompt, "--max-tokens", "24", "--ignore-eos"};
  std::vector<std::string> texts = {text_of("text_completion", model, arguments)};
  const auto search = [&](const char* width) {
    return text_of("beam_search", model, joined(arguments, {"--width", width}));
  };
  EXPECT_EQ(search("1"), texts[0]);
  texts.push_back(search("3"));
  texts.push_back(search("5"));
  EXPECT_NE(texts[1], texts[0]);
  EXPECT_NE(texts[2], texts[0]);
  return texts;
}

// The texts are not read back as the tokens that were drawn, so their probability is not asked for.
TEST(Inferlets, OneBeamIsGreedyDecodingAndMoreFindAnotherText) {
  beam_texts(kTinyModel, "abc");
}

// A beam search may lose the way of greedy decoding and find nothing better. So the prompt is one
// on which it gains 0.1 nats a token and more: rounding does not decide. How probable a text is the
// model says itself (`quire eval`).
TEST_F(InferletsTest, OneBeamIsGreedyDecodingAndMoreFindAMoreProbableText) {
  const std::string prompt = "Streams";
  const test::TemporaryFolder folder;
  const auto nats = [&](const std::string& text) {
    const ProcessResult result =
        test::run_quire({"eval", "--model", model, "--text-file",
                         folder.write("text.txt", prompt + text), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json scored = json::parse(result.out, nullptr, false);
    double sum = 0.0;
    for (const json& each : scored["nll"]) sum += each.get<double>();
    return sum;
  };
  const std::vector<std::string> texts = beam_texts(model, prompt);
  EXPECT_LT(nats(texts[1]), nats(texts[0]));
  EXPECT_LT(nats(texts[2]), nats(texts[0]));
}

TEST_F(InferletsTest, AConversationAndForksOfOnePromptRunToTheirEnd) {
  const ProcessResult chat =
      run_program("chat", model, {"--max-tokens", "12", "--temperature", "0"},
                  "What is the capital of France?\nAnd of Italy?\n");
  EXPECT_EQ(chat.exit_code, 0) << chat.err;
  EXPECT_GE(std::count(chat.out.begin(), chat.out.end(), '\n'), 2) << chat.out;
  const Words arguments = {"Name a colour.", "--max-tokens", "12", "--temperature", "0.8"};
  const std::string best = text_of("best_of_n", model, joined(arguments, {"--n", "5"}));
  std::set<std::string> alone;
  for (int seed = 0; seed < 5; ++seed) {
    alone.insert(text_of("text_completion", model,
                         joined(arguments, {"--chat", "--seed", std::to_string(seed)})));
  }
  EXPECT_TRUE(alone.contains(best)) << best;
  const std::string thought = text_of(
      "tree_of_thought", model,
      {"What is 3 times 4?", "--depth", "1", "--width", "2", "--keep", "1", "--max-tokens", "12"});
  EXPECT_FALSE(thought.empty());
}

}  // namespace
}  // namespace quire
