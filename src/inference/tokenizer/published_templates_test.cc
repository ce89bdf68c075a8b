// Chat templates against the texts that other implementations give: llama.cpp's own, and Python's
// Jinja2 as transformers sets it up.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/sha256.h"
#include "inference/tokenizer/chat_codec_test_support.h"
#include "support/golden_files.h"

#ifdef QUIRE_ENGINES

namespace quire::inference::published_templates_test {
namespace {

using Json = nlohmann::ordered_json;
using test::codec_with, test::compile_one, test::golden_path, test::read_or_fail;

TEST(ChatTemplate, The35TemplatesOfLlamaCppGiveItsTexts) {
  const Json cases = Json::parse(read_or_fail(golden_path("chat_templates.json")));
  ASSERT_EQ(cases.size(), 35u);
  for (const Json& each : cases) {
    const auto compiled =
        compile_one(each["template"].get<std::string>(), each["variables"].dump());
    ASSERT_TRUE(compiled.ok()) << each["name"] << ": " << compiled.error().message();
    const auto chat = compiled.value()->render(each["request"].dump(), {"<|im_end|>", "<s>"}, 0);
    ASSERT_TRUE(chat.ok()) << each["name"] << ": " << chat.error().message();
    EXPECT_EQ(chat.value().text, each["expected"].get<std::string>()) << each["name"];
  }
}

std::string short_hash(const std::string& text) {
  return hex(sha256(std::as_bytes(std::span(text)))).substr(0, 16);
}

void use_utc() {
  setenv("TZ", "UTC", 1);
  tzset();
}

const std::vector<std::string> kPublishedTokens = {"<|im_start|>",
                                                   "<|im_end|>",
                                                   "<|endoftext|>",
                                                   "<s>",
                                                   "</s>",
                                                   "[INST]",
                                                   "[/INST]",
                                                   "<|start_header_id|>",
                                                   "<|end_header_id|>",
                                                   "<|eot_id|>",
                                                   "<|begin_of_text|>",
                                                   "<|end|>",
                                                   "<|user|>",
                                                   "<|assistant|>",
                                                   "<|system|>",
                                                   "<|start|>",
                                                   "<|message|>",
                                                   "<|channel|>",
                                                   "<start_of_turn>",
                                                   "<end_of_turn>",
                                                   "<bos>",
                                                   "[TOOL_CALLS]",
                                                   "[AVAILABLE_TOOLS]",
                                                   "[/AVAILABLE_TOOLS]",
                                                   "[TOOL_RESULTS]",
                                                   "[/TOOL_RESULTS]",
                                                   "<|tool_calls_section_begin|>",
                                                   "<|im_user|>",
                                                   "<|im_middle|>",
                                                   "<|im_assistant|>",
                                                   "<|im_system|>",
                                                   "<\uff5cUser\uff5c>",
                                                   "<\uff5cAssistant\uff5c>",
                                                   "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
                                                   "<|start_of_role|>",
                                                   "<|end_of_role|>",
                                                   "<|end_of_text|>",
                                                   "<|START_OF_TURN_TOKEN|>",
                                                   "<|END_OF_TURN_TOKEN|>"};
// The conversation whose content spells some of them.
const std::string kSpellsTokens = "specials";

// The ids spell the text. If the request spells no token, they are those of the text.
void check_ids(const TextCodec& codec, const std::string& request, bool spells_tokens) {
  const auto text = codec.apply_chat_template(request);
  const auto ids = codec.encode_chat(request);
  ASSERT_EQ(text.ok(), ids.ok());
  if (!text.ok()) return;
  EXPECT_EQ(codec.decode(ids.value(), true).value(), text.value());
  if (spells_tokens) return;
  EXPECT_EQ(ids.value(),
            codec.encode(text.value(), {.parse_special = true, .add_bos = false}).value());
}

// One conversation in one template: whether both give the same text, or refuse.
void check_outcome(const ChatTemplate& chat_template, const std::string& request,
                   const Json& golden, const Json& hash, const Json* text) {
  const auto chat = chat_template.render(request, kPublishedTokens,
                                         golden["now_unix_seconds"].get<std::int64_t>());
  if (hash.is_null()) {
    EXPECT_EQ(chat.ok() ? ErrorCode::Internal : chat.error().code(), ErrorCode::InvalidArgument);
    return;
  }
  ASSERT_TRUE(chat.ok()) << chat.error().message();
  if (text != nullptr) {
    EXPECT_EQ(chat.value().text, text->get<std::string>());
  }
  EXPECT_EQ(short_hash(chat.value().text), hash.get<std::string>()) << chat.value().text;
}

TEST(ChatTemplate, PublishedTemplatesGiveWhatJinja2Gives) {
  const auto folder = test::fetched_golden("templates");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing: tools/fetch_tokenizer_goldens.sh fetches it";
  }
  use_utc();
  const Json golden = Json::parse(read_or_fail(golden_path("chat_templates_jinja2.json")));
  const Json& requests = golden["requests"];
  std::size_t refusals = 0;
  for (const auto& [name, outcomes] : golden["templates"].items()) {
    const std::string source = read_or_fail((folder / name).string());
    const auto compiled = compile_one(source, golden["variables"].dump());
    ASSERT_TRUE(compiled.ok()) << name << ": " << compiled.error().message();
    const auto codec = codec_with(source, kPublishedTokens);
    ASSERT_EQ(outcomes.size(), requests.size());
    const bool in_full = golden["texts"].contains(name);
    for (const auto& [kind, hash] : outcomes.items()) {
      SCOPED_TRACE(name + " " + kind);
      const std::string request = requests[kind].dump();
      refusals += hash.is_null() ? 1 : 0;
      check_outcome(*compiled.value(), request, golden, hash,
                    in_full && !hash.is_null() ? &golden["texts"][name][kind] : nullptr);
      check_ids(*codec, request, kind == kSpellsTokens);
    }
  }
  ASSERT_EQ(golden["templates"].size(), 70u);
  std::printf("%zu templates x %zu conversations equal, texts and ids; %zu of them refused\n",
              golden["templates"].size(), requests.size(), refusals);
}

TEST(ChatTemplate, ExpressionsGiveWhatJinja2Gives) {
  use_utc();
  const Json golden = Json::parse(read_or_fail(golden_path("chat_expressions.json")));
  Json request = golden["values"];
  request["messages"] = Json::array();
  const std::string text = request.dump();
  std::size_t refusals = 0;
  for (const Json& each : golden["cases"]) {
    const auto source = each[0].get<std::string>();
    const auto compiled = compile_one(source, "{}");
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto chat =
        compiled.value()->render(text, {}, golden["now_unix_seconds"].get<std::int64_t>());
    if (each[1].is_null()) {
      ++refusals;
      EXPECT_EQ(chat.ok() ? ErrorCode::Internal : chat.error().code(), ErrorCode::InvalidArgument)
          << source << "\ngave " << (chat.ok() ? chat.value().text : "");
      continue;
    }
    ASSERT_TRUE(chat.ok()) << source << ": " << chat.error().message();
    EXPECT_EQ(chat.value().text, each[1].get<std::string>()) << source;
  }
  std::printf("%zu small templates equal, %zu of them refused\n", golden["cases"].size(), refusals);
}

}  // namespace
}  // namespace quire::inference::published_templates_test

#endif
