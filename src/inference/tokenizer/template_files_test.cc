// The right values are what transformers 5.24 gives for the same files.
#include "inference/tokenizer/template_files.h"

#include <gtest/gtest.h>

#include "inference/tokenizer/tokenizer_parts.h"
#include "support/gguf_builder.h"

namespace quire::inference {
namespace {

std::string variables_of(const std::string& config, const std::string& map = "") {
  TokenizerTexts texts;
  texts.special_tokens_map_json = map;
  const Result<Json> variables = template_variables(texts, Json::parse(config));
  return variables.ok() ? variables.value().dump()
                        : "error: " + std::string(variables.error().message());
}

TEST(TemplateFiles, SpecialTokensComeFromEveryFileThatNamesThem) {
  struct Case {
    const char* config;
    const char* map;
    const char* variables;
  };
  for (const Case& each : std::vector<Case>{
           {R"({})", R"({"bos_token": "<s>"})", R"({"bos_token":"<s>"})"},
           {R"({"bos_token": "<s>"})", R"({"bos_token": "<x>"})", R"({"bos_token":"<x>"})"},
           {R"({"bos_token": "<s>", "added_tokens_decoder": {}})",
            R"({"bos_token": "<x>", "eos_token": "</s>"})", R"({"bos_token":"<s>"})"},
           {R"({})", R"({"bos_token": {"content": "<s>", "lstrip": false}})",
            R"({"bos_token":"<s>"})"},
           {R"({"bos_token": {"__type": "AddedToken", "content": "<s>"}})", "",
            R"({"bos_token":"<s>"})"},
           {R"({"image_token": "<img>", "other": "q", "add_bos_token": true})", "",
            R"({"image_token":"<img>"})"},
           {R"({"extra_special_tokens": {"image_token": "<img>", "foo": "<x>"}})", "",
            R"({"foo":"<x>","image_token":"<img>"})"},
           {R"({"extra_special_tokens": ["<img>"], "additional_special_tokens": ["<x>"]})", "",
            R"({})"},
           {R"({"bos_token": null})", R"({"bos_token": "<s>"})", R"({"bos_token":"<s>"})"},
           {R"({"bos_token": "<s>"})", R"({"bos_token": null})", R"({})"},
           {R"({"tokenizer_class": "LlamaTokenizerFast"})", "",
            R"({"bos_token":"<s>","eos_token":"</s>","unk_token":"<unk>"})"},
           {R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": null, "eos_token": "E"})", "",
            R"({"eos_token":"E","unk_token":"<unk>"})"},
           {R"({"bos_token": ""})", "", R"({"bos_token":""})"},
       }) {
    EXPECT_EQ(variables_of(each.config, each.map), each.variables) << each.config << each.map;
  }
  EXPECT_EQ(variables_of(R"({"bos_token": 3})"),
            "error: tokenizer_config.json: \"bos_token\" is a number; a text or an object with "
            "\"content\" is expected");
  EXPECT_NE(variables_of("{}", "[]").find("special_tokens_map.json: not an object"),
            std::string::npos);
}

std::string sources_of(const TokenizerTexts& texts, const std::string& config = "{}") {
  const auto sources = chat_template_sources(texts, Json::parse(config));
  if (!sources.ok()) return "error: " + std::string(sources.error().message());
  std::string line;
  for (const ChatTemplateSource& each : sources.value())
    line += each.name + "=" + each.source + " ";
  return line;
}

TEST(TemplateFiles, TemplatesInFilesOfTheirOwnReplaceThoseOfTheConfig) {
  const std::string named =
      R"({"chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]})";
  TokenizerTexts texts;
  EXPECT_EQ(sources_of(texts), "");
  EXPECT_EQ(sources_of(texts, R"({"chat_template": "C"})"), "default=C ");
  EXPECT_EQ(sources_of(texts, R"({"chat_template": null})"), "");
  EXPECT_EQ(sources_of(texts, named), "tool_use=T default=D ");
  EXPECT_EQ(sources_of(texts, R"({"chat_template": {"default": "D"}})"), "default=D ");
  EXPECT_EQ(sources_of(texts, R"({"chat_template": [{"name": "a", "template": "1"}, )"
                              R"({"name": "a", "template": "2"}]})"),
            "a=2 ");
  texts.chat_template_json = R"({"chat_template": "J"})";
  EXPECT_EQ(sources_of(texts), "default=J ");
  EXPECT_EQ(sources_of(texts, named), "tool_use=T default=D ");
  texts.additional_chat_templates = {{"tool_use", "A"}};
  EXPECT_EQ(sources_of(texts, named), "tool_use=A ");
  texts.chat_template = "F";
  EXPECT_EQ(sources_of(texts, named), "default=F tool_use=A ");
}

TEST(TemplateFiles, SaysWhichTemplateIsWrong) {
  TokenizerTexts texts;
  EXPECT_EQ(sources_of(texts, R"({"chat_template": [{"name": "default"}]})"),
            "error: tokenizer_config.json: chat_template 0 has no text \"name\" or no text "
            "\"template\"");
  EXPECT_EQ(sources_of(texts, R"({"chat_template": 3})"),
            "error: tokenizer_config.json: chat_template is a number; a text or a list of named "
            "templates is expected");
}

Result<TokenizerParts> parts_of(test::GgufBuilder& builder) {
  const std::string bytes = builder.build();
  const std::vector<std::byte> copy = test::to_bytes(bytes);
  auto source = std::make_shared<MemorySource>("test", copy);
  Result<GgufFile> file = GgufFile::parse(source);
  if (!file.ok()) return std::move(file).take_error();
  return tokenizer_parts_from_gguf(*file.value().metadata);
}

TEST(TemplateFiles, AGgufNamesItsFurtherTemplatesInAList) {
  test::GgufBuilder builder;
  builder.add_text("tokenizer.ggml.model", "gpt2");
  builder.add_texts("tokenizer.ggml.tokens", {"a", "<pad>"});
  builder.add_u32("tokenizer.ggml.padding_token_id", 1);
  builder.add_text("tokenizer.chat_template", "D");
  builder.add_text("tokenizer.chat_template.tool_use", "T");
  builder.add_texts("tokenizer.chat_templates", {"tool_use"});
  const Result<TokenizerParts> parts = parts_of(builder);
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  EXPECT_EQ(parts.value().chat_template, "D");
  ASSERT_EQ(parts.value().named_chat_templates.size(), 1u);
  EXPECT_EQ(parts.value().named_chat_templates[0].name, "tool_use");
  EXPECT_EQ(parts.value().named_chat_templates[0].source, "T");
  ASSERT_EQ(parts.value().further_special_ids.size(), 1u);
  EXPECT_EQ(parts.value().further_special_ids[0].first, "pad_token");

  test::GgufBuilder missing;
  missing.add_text("tokenizer.ggml.model", "gpt2");
  missing.add_texts("tokenizer.ggml.tokens", {"a"});
  missing.add_texts("tokenizer.chat_templates", {"rag"});
  EXPECT_NE(std::string(parts_of(missing).error().message())
                .find("tokenizer.chat_template.rag is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::inference
