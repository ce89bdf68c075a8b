#include "cli/completion.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quire::cli {
namespace {

std::vector<std::string> words_of(const std::vector<std::string>& line) {
  std::vector<std::string> words;
  for (const CompletedWord& each : complete(line).words) words.push_back(each.word);
  return words;
}

using Words = std::vector<std::string>;

TEST(Completion, KnowsVerbsAndTheirVerbs) {
  EXPECT_EQ(words_of({"gen"}), Words{"generate"});
  EXPECT_EQ(words_of({"model", "r"}), Words{"remove"});
  EXPECT_GT(words_of({""}).size(), 15u);
  EXPECT_EQ(words_of({"completion", ""}), (Words{"bash", "zsh", "fish"}));
  EXPECT_EQ(words_of({"help", "gen"}), Words{"generate"});
  EXPECT_TRUE(words_of({}).empty());
}

TEST(Completion, KnowsTheFlagsOfAVerbAndTheirValues) {
  EXPECT_EQ(words_of({"chat", "--max"}), Words{"--max-tokens"});
  EXPECT_EQ(words_of({"chat", "--help"}), (Words{"--help", "--help-all"}));
  EXPECT_EQ(words_of({"chat", "--when"}), Words{"--when-full"});
  EXPECT_EQ(words_of({"chat", "--kv-format", ""}), (Words{"f32", "f16", "bf16", "q8"}));
  EXPECT_EQ(words_of({"chat", "--kv-format", "b"}), Words{"bf16"});
  EXPECT_EQ(words_of({"chat", "--kv-format=b"}), Words{"--kv-format=bf16"});
  EXPECT_EQ(words_of({"chat", "--kv-format", "="}), (Words{"f32", "f16", "bf16", "q8"}));
  EXPECT_EQ(words_of({"chat", "--kv-format", "=", "b"}), Words{"bf16"});
  EXPECT_EQ(words_of({"serve", "--log-format", "j"}), Words{"json"});
  EXPECT_EQ(words_of({"serve", "--page-size", ""}), (Words{"8", "16", "32"}));
  EXPECT_EQ(words_of({"eval", "--text"}), Words{"--text-file"});
  EXPECT_TRUE(words_of({"chat", "--max-tokens", ""}).empty());
  EXPECT_FALSE(complete({"chat", "--max"}).words.front().help.empty());
}

TEST(Completion, KnowsWhereFilesModelsAndProgramsStand) {
  EXPECT_TRUE(complete({"chat", "--json-schema", ""}).takes_files);
  EXPECT_TRUE(complete({"serve", "--store", ""}).takes_folders);
  EXPECT_TRUE(complete({"chat", "-m", ""}).takes_models);
  EXPECT_TRUE(complete({"chat", "--model=smo"}).takes_models);
  EXPECT_EQ(complete({"chat", "--model=smo"}).begin, "smo");
  EXPECT_TRUE(complete({"model", "remove", ""}).takes_models);
  EXPECT_TRUE(complete({"run", "--watch", ""}).takes_programs);
  EXPECT_TRUE(complete({"run", "--deadline", "1", ""}).takes_files);
  EXPECT_FALSE(complete({"run", "x.wasm", ""}).takes_programs);  // There is one already.
  EXPECT_TRUE(complete({"serve", "x.wasm", ""}).takes_files);
  EXPECT_TRUE(complete({"run", "x.wasm", "--", "--prompt"}).takes_files);
  EXPECT_FALSE(complete({"chat", ""}).takes_files);
}

TEST(Completion, KnowsThePathAfterANameAndAnEqualsSign) {
  for (const char* verb : {"generate", "chat", "run", "serve"}) {
    // As bash divides it, and as zsh and fish hand it on.
    EXPECT_TRUE(complete({verb, "--adapter", "x", "=", "my"}).takes_files) << verb;
    EXPECT_EQ(complete({verb, "--adapter", "x", "=", "my"}).begin, "my") << verb;
    EXPECT_TRUE(complete({verb, "--adapter", "x", "="}).takes_files) << verb;
    EXPECT_EQ(complete({verb, "--adapter", "x", "="}).begin, "") << verb;
    EXPECT_TRUE(complete({verb, "--adapter", "x=my"}).takes_files) << verb;
  }
  EXPECT_FALSE(complete({"generate", "--adapter", "x", "=", "my", ""}).takes_files);
  EXPECT_FALSE(complete({"generate", "--seed", "1", "=", ""}).takes_files);
}

TEST(Completion, AsksForTheInstancesOfTheServerThatTheLineNames) {
  for (const char* verb : {"attach", "send", "abort"}) {
    const Completion found =
        complete({verb, "--server", "ws://127.0.0.1:7000", "--key-file=alice.key", ""});
    EXPECT_TRUE(found.takes_instances) << verb;
    EXPECT_EQ(found.server, "ws://127.0.0.1:7000");
    EXPECT_EQ(found.key_file, "alice.key");
  }
  EXPECT_FALSE(complete({"send", "12", ""}).takes_instances);
  EXPECT_TRUE(complete({"abort", "12", ""}).takes_instances);
}

}  // namespace
}  // namespace quire::cli
