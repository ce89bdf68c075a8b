#include "cli/flag.h"

#include <gtest/gtest.h>

#include "cli/verb.h"

namespace quire::cli {
namespace {

TEST(FlagRows, ShowTheDefaultInTheirPlaceUnlessTheirCheckRefusesIt) {
  std::uint32_t count = 7;
  std::uint32_t refused = 0;
  std::string text = "x";
  std::string empty;
  std::uint64_t size = std::uint64_t{3} << 20;
  std::uint64_t odd_size = 1536;
  CLI::App app;
  Rows(&app).add({
      {"--count", "N", &count, "", whole_within(1, 9)},
      {"--refused", "N", &refused, "", whole_within(1, 9)},
      {"--text", "TEXT", &text, ""},
      {"--empty", "TEXT", &empty, ""},
      {"--size", "BYTES", bytes(size), ""},
      {"--odd-size", "BYTES", bytes(odd_size), ""},
  });
  EXPECT_EQ(app.get_option("--count")->get_default_str(), "7");
  EXPECT_EQ(app.get_option("--refused")->get_default_str(), "");
  EXPECT_EQ(app.get_option("--text")->get_default_str(), "x");
  EXPECT_EQ(app.get_option("--empty")->get_default_str(), "");
  EXPECT_EQ(app.get_option("--size")->get_default_str(), "3MiB");
  EXPECT_EQ(app.get_option("--odd-size")->get_default_str(), "1536");
}

TEST(FlagRows, OfTheEngineHaveVariablesAndARunOnAServerRefusesThem) {
  bool is_here = false;
  bool is_anywhere = false;
  bool is_of_engine = false;
  CLI::App app;
  Rows rows(&app);
  rows.add({Flag{"--here", "", &is_here, ""}.here(), {"--anywhere", "", &is_anywhere, ""}});
  rows.add({{"--of-engine", "", &is_of_engine, ""}}, Part::Engine);
  EXPECT_EQ(app.get_option("--of-engine")->get_envname(), "QUIRE_OF_ENGINE");
  EXPECT_EQ(app.get_option("--here")->get_envname(), "");
  app.parse("--anywhere");
  EXPECT_TRUE(rows.check_remote(" is for an engine").ok());
  app.parse("--anywhere --of-engine");
  EXPECT_EQ(rows.check_remote(" is for an engine").error().message(),
            "--of-engine is for an engine");
  app.parse("--here");
  EXPECT_EQ(rows.check_remote(" is for an engine").error().message(), "--here is for an engine");
}

}  // namespace
}  // namespace quire::cli
