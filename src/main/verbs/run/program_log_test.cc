#include "main/verbs/run/program_log.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

using service::LogLevel;
using service::LogLine;
using service::LogSource;

std::vector<std::string> texts(const std::vector<ProgramLog::Line>& lines) {
  std::vector<std::string> all;
  for (const ProgramLog::Line& each : lines) all.push_back(each.text);
  return all;
}

std::vector<std::string> shown(ProgramLog& log, LogLevel level, const char* text) {
  return texts(log.add(0, {LogSource::Log, level, text}));
}

using Texts = std::vector<std::string>;

TEST(ProgramLog, NamesTheLevelOnceForALineAndThoseThatContinueIt) {
  ProgramLog log(cli::LogLevel::Debug);
  EXPECT_EQ(shown(log, LogLevel::Debug, "d"), Texts{"debug: d"});
  EXPECT_EQ(shown(log, LogLevel::Warning, "careful"), Texts{"warning: careful"});
  EXPECT_EQ(shown(log, LogLevel::Info, "{"), Texts{"info: {"});
  EXPECT_EQ(shown(log, LogLevel::Info, "  a: 1"), Texts{"  a: 1"});
  EXPECT_EQ(shown(log, LogLevel::Info, "}"), Texts{"}"});
  EXPECT_EQ(texts(log.add(0, {LogSource::Stderr, LogLevel::Warning, "as it is"})),
            Texts{"as it is"});
}

TEST(ProgramLog, LeavesOutWhatIsBelowItsLevel) {
  ProgramLog log(cli::LogLevel::Warning);
  EXPECT_EQ(shown(log, LogLevel::Debug, "d"), Texts{});
  EXPECT_EQ(shown(log, LogLevel::Info, "i"), Texts{});
  EXPECT_EQ(shown(log, LogLevel::Warning, "w"), Texts{"warning: w"});
}

TEST(ProgramLog, AnErrorIsShownUnlessTheProgramEndsWithIt) {
  ProgramLog log(cli::LogLevel::Debug);
  EXPECT_EQ(shown(log, LogLevel::Error, "tried once"), Texts{});
  EXPECT_EQ(shown(log, LogLevel::Info, "again"), (Texts{"error: tried once", "info: again"}));
  EXPECT_EQ(shown(log, LogLevel::Error, "first"), Texts{});
  EXPECT_EQ(shown(log, LogLevel::Error, "two"), Texts{});
  EXPECT_EQ(shown(log, LogLevel::Error, "lines"), Texts{});
  EXPECT_EQ(log.holder(), 0u);
  EXPECT_EQ(texts(log.take_held(0, "two\nlines")), Texts{"error: first"});
  EXPECT_EQ(log.holder(), std::nullopt);
}

}  // namespace
}  // namespace quire
