#include "inference/model_store/hub_choice.h"

#include <gtest/gtest.h>

namespace quire::inference::hub_choice_test {
namespace {

std::vector<HubFile> files_named(std::initializer_list<const char*> paths) {
  std::vector<HubFile> files;
  for (const char* each : paths) files.push_back({.path = each, .bytes = 1 << 20});
  return files;
}

// The chosen files with commas, or the error.
std::string chosen(const std::string& reference, std::initializer_list<const char*> paths) {
  const Result<ChosenModel> model =
      choose_model(ModelReference::parse(reference).value(), files_named(paths));
  if (!model.ok()) return std::string(model.error().message());
  std::string names;
  for (const HubFile& each : model.value().files) names += (names.empty() ? "" : ", ") + each.path;
  return names;
}

void expect_error(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

TEST(HubChoice, TakesTheDefaultQuantizationOrTheOnlyModel) {
  EXPECT_EQ(chosen("hf:a/b", {"README.md", "m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-q4_k_s.gguf"}),
            "m-Q4_K_M.gguf");
  EXPECT_EQ(chosen("hf:a/b", {"m.Q4_1.gguf", "mmproj-m-f16.gguf", "m.imatrix.gguf"}),
            "m.Q4_1.gguf");
  // Publishers put the word for the part that reads pictures anywhere in its path.
  for (const char* part : {"m.mmproj-Q8_0.gguf", "m-MMPROJ-f16.gguf", "mmproj/m-F16.gguf"}) {
    EXPECT_EQ(chosen("hf:a/b", {"m-Q8_0.gguf", part}), "m-Q8_0.gguf");
    EXPECT_EQ(chosen("hf:a/b:Q8_0", {"m-Q8_0.gguf", part}), "m-Q8_0.gguf");
  }
  expect_error(chosen("hf:a/b:F16", {"m-Q8_0.gguf", "m-mmproj-F16.gguf"}),
               {"the quantization F16; there are:", "m-Q8_0.gguf"});
  expect_error(chosen("hf:a/b", {"m-Q8_0.gguf", "m-Q4_0.gguf"}),
               {"fits 2 models", "hf:a/b:QUANT", "m-Q4_0.gguf  1.0 MiB", "m-Q8_0.gguf  1.0 MiB"});
}

TEST(HubChoice, AQuantizationIsAWholeWordInAnyCase) {
  const auto paths = {"m-Q4_K_M.gguf", "m-Q4_K.gguf", "m-IQ4_XS.gguf", "m-UD-Q2_K_XL.gguf",
                      "Q6_K/m.gguf"};
  EXPECT_EQ(chosen("hf:a/b:q4_k", paths), "m-Q4_K.gguf");
  EXPECT_EQ(chosen("hf:a/b:Q4_K_M", paths), "m-Q4_K_M.gguf");
  EXPECT_EQ(chosen("hf:a/b:ud-q2_k_xl", paths), "m-UD-Q2_K_XL.gguf");
  EXPECT_EQ(chosen("hf:a/b:q6_k", paths), "Q6_K/m.gguf");
  expect_error(chosen("hf:a/b:Q4", paths), {"the quantization Q4; there are:", "m-Q4_K.gguf"});
  expect_error(chosen("hf:a/b:Q4_0", {"m-Q4_0.gguf", "n-Q4_0.gguf"}),
               {"fits 2 models", "hf:a/b/FILE"});
}

TEST(HubChoice, ShardsAreOneModelIfTheyAreAllThere) {
  EXPECT_EQ(chosen("hf:a/b:Q8_0",
                   {"Q8_0/m-00002-of-00002.gguf", "Q8_0/m-00001-of-00002.gguf", "m-Q4_0.gguf"}),
            "Q8_0/m-00001-of-00002.gguf, Q8_0/m-00002-of-00002.gguf");
  EXPECT_EQ(
      chosen("hf:a/b/m-00002-of-00002.gguf", {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}),
      "m-00001-of-00002.gguf, m-00002-of-00002.gguf");
  expect_error(chosen("hf:a/b:Q8_0",
                      {"m-Q8_0-00001-of-00003.gguf", "m-Q8_0-00003-of-00003.gguf", "m-Q4_0.gguf"}),
               {"no GGUF file of a/b has the quantization Q8_0"});
  const ChosenModel model =
      choose_model(ModelReference::parse("hf:a/b").value(),
                   files_named({"x/M-00001-of-00002.gguf", "x/M-00002-of-00002.gguf"}))
          .value();
  EXPECT_EQ(model.form, ModelForm::Shards);
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.bytes(), 2u << 20);
  EXPECT_EQ(model.stored_name(1, "mine"), "mine-00002-of-00002.gguf");
}

TEST(HubChoice, AFileThatIsNotThereIsAnswered) {
  expect_error(chosen("hf:a/b/n.gguf", {"m.gguf"}),
               {"no GGUF model \"n.gguf\" in a/b; there are:", "m.gguf"});
  expect_error(chosen("hf:a/b/README.md", {"README.md"}), {"no GGUF model \"README.md\" in a/b"});
}

TEST(HubChoice, ARepositoryWithoutGgufIsACheckpoint) {
  EXPECT_EQ(chosen("hf:a/B", {"README.md", "model.safetensors", "tokenizer.json", "x/config.json",
                              "config.json"}),
            "config.json, tokenizer.json, model.safetensors");
  EXPECT_EQ(chosen("hf:a/B", {"config.json", "model-00001-of-00002.safetensors", "tokenizer.json",
                              "model-00002-of-00002.safetensors", "model.safetensors.index.json"}),
            "config.json, tokenizer.json, model-00001-of-00002.safetensors, "
            "model-00002-of-00002.safetensors, model.safetensors.index.json");
  const ChosenModel model =
      choose_model(ModelReference::parse("hf:a/B.C").value(),
                   files_named({"config.json", "model.safetensors", "tokenizer.json"}))
          .value();
  EXPECT_EQ(model.form, ModelForm::Folder);
  EXPECT_EQ(model.name, "b.c");
  EXPECT_EQ(model.stored_name(0, "mine"), "config.json");
  expect_error(chosen("hf:a/b", {"README.md", "pytorch_model.bin", "config.json"}),
               {"neither a GGUF file nor", "it holds pytorch_model.bin, weights of PyTorch"});
  expect_error(chosen("hf:a/b", {"adapter_config.json", "adapter_model.safetensors"}),
               {"neither a GGUF file nor", "adapter_model.safetensors, an adapter"});
  expect_error(chosen("hf:a/b:Q4_0", {"config.json", "model.safetensors"}),
               {"no GGUF file in a/b"});
  expect_error(chosen("hf:a/b", {}), {"neither a GGUF file nor"});
}

TEST(HubChoice, ACheckpointWithoutATokenizerThatIsReadIsRefused) {
  expect_error(chosen("hf:a/b", {"config.json", "model.safetensors", "tokenizer_config.json"}),
               {"a/b at main has no tokenizer.json, by which this build reads texts"});
  expect_error(
      chosen("hf:a/b", {"config.json", "model.safetensors", "tokenizer.model", "vocab.json"}),
      {"has no tokenizer.json", "it has tokenizer.model, vocab.json", "save_pretrained"});
}

TEST(HubChoice, ACheckpointThatLacksAShardIsRefused) {
  expect_error(
      chosen("hf:a/b", {"config.json", "tokenizer.json", "model.safetensors.index.json",
                        "model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"}),
      {"lacks model-00002-of-00003.safetensors"});
}

TEST(HubChoice, AdditionalChatTemplatesBelongToACheckpoint) {
  EXPECT_EQ(
      chosen("hf:a/b", {"additional_chat_templates/tool_use.jinja", "chat_template.jinja",
                        "additional_chat_templates/x/y.jinja", "additional_chat_templates/.jinja",
                        "additional_chat_templates/a.txt", "templates/tool_use.jinja",
                        "config.json", "model.safetensors", "tokenizer.json"}),
      "config.json, additional_chat_templates/tool_use.jinja, chat_template.jinja, tokenizer.json, "
      "model.safetensors");
}

}  // namespace
}  // namespace quire::inference::hub_choice_test
