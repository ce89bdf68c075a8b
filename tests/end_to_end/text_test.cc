// tokenize, detokenize, template, model and doctor.
#include <algorithm>

#include "end_to_end/support.h"

namespace quire::test {
namespace {

TEST(EndToEndText, APromptBecomesItsIdsAndComesBack) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const GoldenPrompt prompt = golden_prompts()[6];  // With special tokens in its text.
  const nlohmann::json json = output_json(
      run_quire({"tokenize", "--model", default_model, "--json"}, {.input = prompt.prompt}));
  EXPECT_EQ(json["ids"].get<std::vector<std::uint32_t>>(), prompt.prompt_ids);
  const ProcessResult back =
      run_quire({"detokenize", "--model", default_model}, {.input = json.dump()});
  EXPECT_EQ(back.out, prompt.prompt + "\n");
}

TEST(EndToEndText, ATemplateOpensTheAssistantsTurn) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  const ProcessResult text =
      run_quire({"template", "--model", default_model, "--system", "Be brief.", "--user", "Hi"});
  EXPECT_EQ(text.out,
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n\n");
  // Text of a user never becomes a special token.
  const nlohmann::json ids = output_json(run_quire(
      {"template", "--model", default_model, "--ids", "--json", "--user", "<|im_end|>"}))["ids"];
  const std::vector<std::uint32_t> all = ids;
  EXPECT_EQ(std::count(all.begin(), all.end(), 2u), 2);  // After system and after user.
}

TEST(EndToEndText, WrongIdsAreNamed) {
  const std::string tiny = golden_path("tiny_llama");
  EXPECT_EQ(run_quire({"detokenize", "--model", tiny, "999999"}).exit_code, 1);
  const ProcessResult words = run_quire({"detokenize", "--model", tiny}, {.input = "1 two 3"});
  EXPECT_EQ(words.exit_code, 1);
  EXPECT_NE(words.err.find("whole numbers"), std::string::npos) << words.err;
}

TEST(EndToEndModel, IsAddedShownVerifiedAndRemoved) {
  TemporaryFolder folder;
  const ProcessOptions options{.environment = {{"QUIRE_DATA", folder.file("data")}}};
  const ProcessResult added =
      run_quire({"model", "add", golden_path("tiny_qwen3"), "--name", "tiny"}, options);
  ASSERT_EQ(added.exit_code, 0) << added.err;
  const nlohmann::json list = output_json(run_quire({"model", "list", "--json"}, options));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["name"], "tiny");
  const nlohmann::json facts =
      output_json(run_quire({"model", "show", "tiny", "--kv-memory", "1MiB", "--json"}, options));
  EXPECT_EQ(facts["architecture"], "qwen3");
  const std::uint64_t per_token = facts["kv_bytes_per_token"];
  EXPECT_EQ(per_token, 2 * facts["kv_heads"].get<std::uint64_t>() *
                           facts["head_dim"].get<std::uint64_t>() *
                           facts["layers"].get<std::uint64_t>() * 2);
  EXPECT_EQ(facts["pool_tokens"], (1u << 20) / (per_token * 16) * 16);
  EXPECT_EQ(run_quire({"model", "verify", "tiny"}, options).exit_code, 0);
  EXPECT_EQ(run_quire({"model", "remove", "tiny"}, options).exit_code, 0);
  EXPECT_EQ(run_quire({"model", "remove", "tiny"}, options).exit_code, 3);
}

TEST(EndToEndDoctor, SaysWhatIsMissingAndWhatToDo) {
  TemporaryFolder folder;
  const ProcessOptions options{.environment = {{"QUIRE_DATA", folder.file("data")}}};
  const ProcessResult result = run_quire({"doctor", "--json"}, options);
  EXPECT_EQ(result.exit_code, 1);
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out;
  EXPECT_FALSE(json["ok"].get<bool>());
  bool advised = false;
  for (const nlohmann::json& finding : json["findings"]) {
    if (finding["what"] == "model")
      advised = finding["advice"] == "quire model add smollm2-135m-instruct";
  }
  EXPECT_TRUE(advised) << result.out;
  EXPECT_FALSE(json.contains("tiers"));
}

TEST(EndToEndDoctor, MeasuresWhatATierCostsAndSaysWhichIsChosen) {
  const ProcessResult result =
      run_quire({"doctor", "--tiers", "--model", golden_path("tiny_llama"), "--json"});
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object() && json.contains("tiers")) << result.out << result.err;
  const nlohmann::json& tiers = json["tiers"];
  for (const char* key : {"compute_ms_per_page", "load_ms_per_page", "read_ms_per_page"}) {
    EXPECT_GT(tiers[key], 0.0) << key;
  }
  EXPECT_EQ(tiers["page_size"], 16);
  EXPECT_NE(tiers["read_ms"], 0.2);  // Before the first sample.
  ASSERT_EQ(tiers["lengths"].size(), 5u);
  for (const nlohmann::json& length : tiers["lengths"]) {
    for (const char* place : {"host", "disk"}) {
      const bool is_restored = length[std::string(place) + "_ms"] < length["compute_ms"];
      EXPECT_EQ(length[std::string("from_") + place], is_restored ? "restore" : "recompute")
          << length;
    }
    EXPECT_GT(length["disk_ms"], length["host_ms"]);
  }
}

TEST(EndToEndDoctor, SaysThatABasicCacheHasNoTiers) {
  const ProcessResult result =
      run_quire({"doctor", "--tiers", "--kv", "basic", "--model", golden_path("tiny_llama")});
  EXPECT_NE(result.out.find("tiers need the paged KV cache"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace quire::test
