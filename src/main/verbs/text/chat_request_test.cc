#include "main/verbs/text/chat_request.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace quire {
namespace {

std::string made(std::string_view text, const ChatRequestExtras& extras = {}) {
  Result<std::string> request = chat_request(text, extras);
  return request.ok() ? std::move(request).take()
                      : "error: " + std::string(request.error().message());
}

TEST(ChatRequest, KeepsKeysAndNumbersAsTheUserWroteThem) {
  const std::string tools = R"("tools": [{"z": 1.0, "a": 18446744073709551616, "m": 1e2}])";
  const std::string text = R"({"messages": [{"role": "user", "content": "x"}], )" + tools + "}";
  EXPECT_NE(made(text).find(tools), std::string::npos);
  EXPECT_NE(made(R"([{"role": "user", "content": "x"}])")
                .find(R"("messages": [{"role": "user", "content": "x"}])"),
            std::string::npos);
}

TEST(ChatRequest, AddsASystemMessageBeforeTheOthers) {
  const std::string system = R"({"role":"system","content":"be \"nice\""})";
  for (const auto& [text, messages] :
       {std::pair(R"([{"role": "user"}])", "[" + system + R"(, {"role": "user"}])"),
        std::pair(R"( {"n": [1, "]"], "mess\u0061ges" : [ ] , "t": {}} )", "[" + system + " ]")}) {
    const std::string request = made(text, {.system = "be \"nice\""});
    EXPECT_NE(request.find(messages), std::string::npos) << request;
    EXPECT_TRUE(parse_json(request, "request").ok()) << request;
  }
}

TEST(ChatRequest, AsksForAnAnswerUnlessTheTextSaysOtherwise) {
  const auto asks = [](std::string_view text, bool add) {
    const std::string request = made(text, {.system = "", .add_generation_prompt = add});
    return parse_json(request, "request").value()["add_generation_prompt"].get<bool>();
  };
  EXPECT_TRUE(asks("[]", true));
  EXPECT_FALSE(asks("[]", false));
  EXPECT_FALSE(asks(R"({"messages": [], "add_generation_prompt": false})", true));
}

TEST(ChatRequest, SaysWhatItExpects) {
  for (const char* text : {"", "3", "{", "{}", "{\"messages\": 3}", "[1", "\"messages\"",
                           "{\"a\": {\"messages\": []}}"}) {
    EXPECT_NE(made(text).find("messages are JSON"), std::string::npos) << text;
  }
  EXPECT_NE(made(std::string(300000, '[')).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace quire
