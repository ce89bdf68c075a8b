#include "main/verbs/serve/operator_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"

namespace quire {
namespace {

using server::LogEvent;
using server::Severity;

class OperatorLogs : public testing::Test {
 protected:
  OperatorLog log(cli::LogFormat format) {
    return {cli::LogOptions{.format = format}, clock,
            [this](const std::string& line) { lines.push_back(line); }};
  }
  ManualWallClock clock;
  std::vector<std::string> lines;
};

TEST_F(OperatorLogs, AnEventIsALineOfJsonWithItsFields) {
  clock.set_unix_ms(1'700'000'000'123);
  OperatorLog json = log(cli::LogFormat::Json);
  json.tell({"request",
             Severity::Warning,
             "",
             {{"path", "/a\"b\nc\xff"},
              {"status", std::uint64_t{200}},
              {"exit_code", std::int64_t{-1}},
              {"duration_ms", 1.5}}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warning\",\"event\":\"request\","
            "\"path\":\"/a\\\"b\\nc\xef\xbf\xbd\",\"status\":200,\"exit_code\":-1,"
            "\"duration_ms\":1.5}");
  json.tell("words alone");
  EXPECT_EQ(parse_json(lines[1], "the line").value()["event"], "notice");
}

TEST_F(OperatorLogs, PeopleGetTheTextAndNoEventWithoutOne) {
  OperatorLog text = log(cli::LogFormat::Text);
  text.tell({"request", Severity::Info, "", {{"status", std::uint64_t{200}}}});
  text.tell({"shutdown", Severity::Info, "shutting down", {{"instances", std::uint64_t{0}}}});
  EXPECT_EQ(lines, std::vector<std::string>{"shutting down"});
}

TEST_F(OperatorLogs, AnEventBelowTheLevelIsNotWrittenAndAWorseOneIsNamed) {
  const auto write = [this](const std::string& line) { lines.push_back(line); };
  OperatorLog text({cli::LogFormat::Text, cli::LogLevel::Warning}, clock, write);
  OperatorLog json({cli::LogFormat::Json, cli::LogLevel::Warning}, clock, write);
  for (OperatorLog* each : {&text, &json}) {
    each->tell({"program_log", Severity::Debug, "a detail"});
    each->tell({"started", Severity::Info, "it serves"});
    each->tell({"program_log", Severity::Warning, "careful"});
    each->tell({"failed", Severity::Error, "it broke"});
  }
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "warning: careful");
  EXPECT_EQ(lines[1], "error: it broke");
  EXPECT_NE(lines[2].find("\"level\":\"warning\""), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("\"level\":\"error\""), std::string::npos) << lines[3];
}

TEST_F(OperatorLogs, WhatRepeatsIsCounted) {
  clock.set_unix_ms(1'000'000);
  {
    OperatorLog text = log(cli::LogFormat::Text);
    for (int i = 0; i < 100; ++i) text.tell("again");
    text.tell("other");
    text.tell("again");
    text.tell("again");
    clock.set_unix_ms(1'000'000 + kRepeatMs);  // The line stands there again after a while.
    text.tell("again");
    text.tell("again");
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"again", "the last line came 99 more times", "other",
                                             "again", "the last line came 1 more time", "again",
                                             "the last line came 1 more time"}));
}

TEST(OperatorLog, NoControlCharacterReachesALineOfJson) {
  const std::string hostile =
      "a\x7f \xc2\x9b"
      "31m \x1b[2J \xc3\xa9 \xc2\xa0";
  const std::string line =
      log_line(cli::LogFormat::Json, {"program_log", Severity::Info, hostile}, 0);
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto byte = static_cast<unsigned char>(line[at]);
    EXPECT_TRUE(byte >= 0x20 && byte != 0x7f) << at;
    if (byte == 0xc2 && at + 1 < line.size()) {
      EXPECT_GE(static_cast<unsigned char>(line[at + 1]), 0xa0);
    }
  }
  EXPECT_EQ(nlohmann::json::parse(line).at("message"), hostile) << "a reader gets what was said";
}

}  // namespace
}  // namespace quire
