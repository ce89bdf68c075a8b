#include "main/verbs/text/reply_stream.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

struct Heard {
  std::string text;
  std::string thoughts;
  ReplyStream stream{[this](const std::string& part) { text += part; },
                     [this](const std::string& part) { thoughts += part; }};
};

const std::string kStream =
    ": a comment\n\n"
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\r\n\r\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"Gr\\u00fc\"}}]}\n\n"
    "data:{\"choices\":[{\"delta\":{\"content\":\"\xc3\x9f\"},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":2,"
    "\"prompt_tokens_details\":{\"cached_tokens\":16}}}\n\n"
    "data: [DONE]\n\n";

TEST(ReplyStream, IsTheSameInWhateverPartsItComes) {
  for (std::size_t part = 1; part <= kStream.size(); ++part) {
    Heard heard;
    for (std::size_t at = 0; at < kStream.size(); at += part) {
      ASSERT_TRUE(heard.stream.receive(std::string_view(kStream).substr(at, part)).ok());
    }
    EXPECT_TRUE(heard.stream.is_complete());
    EXPECT_EQ(heard.text, "Grü\xc3\x9f");
    EXPECT_EQ(heard.stream.text(), heard.text);
    EXPECT_EQ(heard.thoughts, "Hm.");
    ASSERT_TRUE(heard.stream.usage().has_value());
    EXPECT_EQ(heard.stream.usage()->prompt_count, 20u);
    EXPECT_EQ(heard.stream.usage()->found_count, 16u);
    EXPECT_EQ(heard.stream.usage()->token_count, 2u);
  }
}

TEST(ReplyStream, EndsWithTheWordsOfTheServer) {
  Heard heard;
  const Result<void> failed = heard.stream.receive(
      "data: {\"error\":{\"message\":\"all pages are held\",\"code\":null}}\n\n");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "all pages are held");
}

TEST(ReplyStream, RefusesWhatIsNotAStreamOfAChat) {
  for (const char* bytes :
       {"data: {\"choices\":", "data: {", "data: []", "data: {\"choices\":7}", "data: \"x\""}) {
    Heard heard;
    EXPECT_FALSE(heard.stream.receive(std::string(bytes) + "\n").ok()) << bytes;
  }
  for (const char* bytes :
       {"data: {\"choices\":[7,{},{\"delta\":7}],\"usage\":7}", "event: x", "id: 1"}) {
    Heard heard;
    EXPECT_TRUE(heard.stream.receive(std::string(bytes) + "\n").ok()) << bytes;
  }
  Heard heard;
  const Result<void> failed =
      heard.stream.receive(std::string(ReplyStream::kLineBytesMax + 1, 'x'));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::TooLarge);
}

TEST(ReplyStream, ARefusalIsItsMessage) {
  EXPECT_EQ(refusal_of("{\"error\":{\"message\":\"no\"}}"), "no");
  EXPECT_EQ(refusal_of("{\"error\":\"no\"}"), "");
  EXPECT_EQ(refusal_of("<html>"), "");
}

}  // namespace
}  // namespace quire
