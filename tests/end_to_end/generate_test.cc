// quire generate and text_completion against the reference answers of SmolLM2, and one another.
#include <filesystem>
#include <fstream>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

constexpr double kGapEightBit = 0.3;  // Activations in 8 bits.
constexpr double kGapFloat = 0.005;   // In float32.
constexpr const char* kSteps = "32";

std::vector<std::string> generate_arguments(const std::string& model, const std::string& prompt) {
  return {"generate", "--model",      model,           "--prompt", prompt,  "--max-tokens",
          kSteps,     "--ignore-eos", "--temperature", "0",        "--json"};
}

TEST(EndToEndGenerate, EqualsTheReferenceForEveryPrompt) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  for (const GoldenPrompt& golden : golden_prompts()) {
    const nlohmann::json json =
        output_json(run_quire(generate_arguments(default_model, golden.prompt)));
    EXPECT_EQ(json["prompt_ids"].get<std::vector<std::uint32_t>>(), golden.prompt_ids);
    EXPECT_EQ(json["ids"].size(), 32u);
    EXPECT_EQ(json["finish_reason"], "length");
    expect_ids(golden, json["ids"], kGapEightBit);
  }
}

TEST(EndToEndGenerate, ScalarWithFloatKeysEqualsTheReferenceMoreClosely) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const GoldenPrompt golden = golden_prompts()[0];
  std::vector<std::string> arguments = generate_arguments(default_model, golden.prompt);
  arguments.insert(arguments.end(), {"--backend", "scalar", "--kv-format", "f32"});
  expect_ids(golden, output_json(run_quire(arguments))["ids"], kGapFloat);
}

TEST(EndToEndGenerate, BasicAndPagedAndEveryPageSizeGiveTheSameTokens) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const GoldenPrompt golden = golden_prompts()[1];
  const auto ids_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = generate_arguments(default_model, golden.prompt);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return output_json(run_quire(arguments))["ids"].get<std::vector<std::uint32_t>>();
  };
  const std::vector<std::uint32_t> paged = ids_with({});
  EXPECT_EQ(ids_with({"--kv", "basic"}), paged);
  EXPECT_EQ(ids_with({"--page-size", "8"}), paged);
  EXPECT_EQ(ids_with({"--page-size", "32", "--threads", "1"}), paged);
}

TEST(EndToEndGenerate, ASeedRepeatsAndAnotherDiffers) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const auto ids_with = [&](const char* seed) {
    return output_json(run_quire({"generate", "--model", default_model, "--prompt", "Once upon a",
                                  "--max-tokens", "24", "--temperature", "1", "--seed", seed,
                                  "--json"}))["ids"]
        .get<std::vector<std::uint32_t>>();
  };
  const std::vector<std::uint32_t> first = ids_with("1");
  EXPECT_EQ(ids_with("1"), first);
  EXPECT_NE(ids_with("2"), first);
}

TEST(EndToEndGenerate, BothFormsOfTextCompletionEqualItForEveryPrompt) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  TemporaryFolder folder;
  std::string lines;
  std::vector<std::string> expected;
  for (const GoldenPrompt& golden : golden_prompts()) {
    lines += nlohmann::json({"--prompt", golden.prompt, "--max-tokens", kSteps, "--temperature",
                             "0", "--ignore-eos"})
                 .dump() +
             "\n";
    expected.push_back(
        output_json(run_quire(generate_arguments(default_model, golden.prompt)))["text"]);
  }
  const std::string file = folder.write("prompts.jsonl", lines);
  for (const char* name : {"text_completion", "text_completion_by_hand"}) {
    const ProcessResult result =
        run_quire({"run", inferlet(name), "--model", default_model, "--each", file, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> answers(expected.size());
    std::istringstream out(result.out);
    for (std::string line; std::getline(out, line);) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (!json.contains("message")) continue;
      answers.at(json["instance"]) += json["message"].get<std::string>();
    }
    EXPECT_EQ(answers, expected) << name;
  }
}

// tiny_llama with room for 64 tokens.
std::string short_model(const TemporaryFolder& folder) {
  const std::filesystem::path model = folder.file("short_model");
  std::filesystem::copy(golden_path("tiny_llama"), model);
  std::ifstream file(model / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  config["max_position_embeddings"] = 64;
  config.erase("rope_scaling");
  std::ofstream(model / "config.json") << config.dump();
  return model.string();
}

TEST(EndToEndGenerate, AFullContextEndsEveryLoopWithItsLengthAndAllItsTokens) {
  const TemporaryFolder folder;
  const std::string model = short_model(folder);
  for (const std::size_t words : {1u, 40u}) {
    std::string prompt = "a";
    while (prompt.size() < 2 * words) prompt += " a";
    const std::vector<std::string> arguments = {"--prompt", prompt, "--max-tokens", "1000",
                                                "--ignore-eos"};
    const auto with = [&](std::vector<std::string> first) {
      first.insert(first.end(), arguments.begin(), arguments.end());
      return run_quire(first);
    };
    const nlohmann::json host = output_json(with({"generate", "--json", "--model", model}));
    EXPECT_EQ(host["finish_reason"], "length");
    EXPECT_EQ(host["ids"].size() + host["prompt_ids"].size(), 65u);
    for (const char* name : {"text_completion", "text_completion_by_hand"}) {
      const ProcessResult guest =
          with({"run", inferlet(name), "--json", "--no-store", "--model", model, "--"});
      EXPECT_EQ(guest.exit_code, 0) << guest.err;
      std::string text;
      std::istringstream out(guest.out);
      for (std::string line; std::getline(out, line);) {
        const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
        if (json.contains("message")) text += json["message"].get<std::string>();
      }
      EXPECT_EQ(text, host["text"]) << name;
    }
  }
}

}  // namespace
}  // namespace quire::test
