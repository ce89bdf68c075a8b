#pragma once
// A codec with a chat template of a test's choice.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/tokenizer/utf8.h"
#include "inference/tokenizer/vocabulary.h"

namespace quire::test {

inline Result<std::unique_ptr<inference::ChatTemplate>> compile_one(const std::string& source,
                                                                    std::string variables) {
  return inference::compile_chat_templates({{std::string(inference::kDefaultTemplate), source}},
                                           std::move(variables));
}

// A codec of single bytes and some control tokens, with a template of one's choice.
inline constexpr std::uint32_t kFirstControl = 256;
inline std::unique_ptr<inference::TextCodec> codec_with(const std::string& chat_template,
                                                        const std::vector<std::string>& controls = {
                                                            "<|im_start|>", "<|im_end|>", "</s>",
                                                            "[INST]", "<\uff5cend\uff5c>"}) {
  using namespace inference;
  TokenizerParts parts;
  parts.model = "gpt2";
  parts.pre = "gpt-2";
  parts.tokens.resize(256);
  for (char32_t code = 0; code < 0x200; ++code) {
    if (const int byte = byte_of_character(code); byte >= 0)
      append_utf8(parts.tokens[static_cast<std::size_t>(byte)], code);
  }
  parts.token_types.assign(256, static_cast<std::int32_t>(TokenType::Normal));
  for (const std::string& text : controls) {
    parts.tokens.push_back(text);
    parts.token_types.push_back(static_cast<std::int32_t>(TokenType::Control));
  }
  parts.tokens.emplace_back("<tool_call>");
  parts.token_types.push_back(static_cast<std::int32_t>(TokenType::UserDefined));
  if (controls.size() > 2) parts.eos_id = static_cast<std::int32_t>(kFirstControl) + 2;
  parts.chat_template = chat_template;
  auto made = make_text_codec(std::move(parts), [] { return std::int64_t{0}; });
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? std::move(made).take() : nullptr;
}

inline std::string request_of(const std::vector<std::string>& contents) {
  OrderedJson messages = OrderedJson::array();
  for (const std::string& content : contents)
    messages.push_back({{"role", "user"}, {"content", content}});
  return dump_json(OrderedJson{{"messages", messages}, {"add_generation_prompt", true}});
}

}  // namespace quire::test
