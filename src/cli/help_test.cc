#include "cli/help.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <vector>

#include "base/columns.h"
#include "cli/help_layout.h"
#include "cli/manual_pages.h"
#include "cli/rows.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr std::uint32_t kEndless = 100'000;

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without the "\" of a command that goes on.
std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (word != "\\") words.push_back(word);
  }
  return words;
}

bool is_one_word(const std::string& line) {
  return line.find_last_of(' ') == line.find_first_not_of(' ') - 1;
}

void expect_fits(const std::string& text, std::uint32_t columns) {
  for (const std::string& line : lines_in(text)) {
    EXPECT_TRUE(column_count(line) <= columns || is_one_word(line)) << columns << ": " << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

template <typename Check>
void for_each_verb(const CLI::App& app, const Check& check) {
  check(app);
  for (const CLI::App* each : verbs_of(app)) for_each_verb(*each, check);
}

template <typename Check>
void for_each_help(const Check& check) {
  for (const CommandLine program : {CommandLine::Quire, CommandLine::QuireBench}) {
    CLI::App app;
    const std::vector<Verb> verbs = add_verbs(app, program);
    for_each_verb(app, [&](const CLI::App& verb) {
      SCOPED_TRACE(full_name(verb));
      for (const HelpScope scope : {HelpScope::Verb, HelpScope::All}) check(verb, scope);
    });
  }
}

TEST(Help, OfEachVerbFitsATerminalOfAnyWidthAndBreaksNoWord) {
  for_each_help([](const CLI::App& verb, HelpScope scope) {
    const std::vector<std::string> words = words_in(help_of(verb, scope, kEndless));
    for (const std::uint32_t columns : {60u, 80u, 120u, 200u}) {
      const std::string text = help_of(verb, scope, columns);
      expect_fits(text, columns);
      EXPECT_EQ(words_in(text), words) << columns;
    }
  });
}

TEST(Help, HasNoNotationOfTheParser) {
  const std::regex notation(
      "UINT|FLOAT|TEXT:|REQUIRED|Excludes|Needs:|Env:|Positionals|OPTION|Subcommand| in \\[");
  for_each_help([&](const CLI::App& verb, HelpScope scope) {
    for (const std::string& line : lines_in(help_of(verb, scope, 80))) {
      if (line.starts_with("Usage: ")) continue;  // "[OPTIONS]".
      EXPECT_FALSE(std::regex_search(line, notation)) << line;
    }
  });
  for (const ManualPage& page : manual_pages()) {
    for (const std::string& line : lines_in(page.text)) {
      if (line.starts_with(".SH ") || line.find("[OPTIONS]") != std::string::npos) continue;
      EXPECT_FALSE(std::regex_search(line, notation)) << page.file << ": " << line;
    }
  }
}

std::string help_of_verb(const char* name, std::uint32_t columns) {
  CLI::App app;
  const std::vector<Verb> verbs = add_verbs(app);
  return help_of(*app.get_subcommand(name), HelpScope::All, columns);
}

TEST(Help, SaysUnitRangeAndDefaultInTheHeadAndHangsTheText) {
  const std::string help = help_of_verb("run", 80);
  EXPECT_NE(help.find("\n  --deadline SECONDS (0 to 1000000, default 0)\n"
                      "                          Time after its launch by which"),
            std::string::npos)
      << help;
  EXPECT_NE(help.find("\n  --kv-tree[=text|dot]"), std::string::npos);
  EXPECT_NE(help.find("\n  -m, --model NAME|PATH"), std::string::npos);
  EXPECT_NE(help.find("Variable: QUIRE_MODEL"), std::string::npos);
  EXPECT_NE(help.find("Variables have the names of these flags, as QUIRE_BACKEND for --backend."),
            std::string::npos);
  const std::string chat = help_of_verb("chat", 80);
  EXPECT_NE(chat.find("\n  --top-p X (above 0, at most 1, default 1)\n"), std::string::npos);
  EXPECT_NE(chat.find("\n  -n, --max-tokens N (1 to 16777216, default 1024)\n"), std::string::npos);
  EXPECT_NE(help_of_verb("eval", 200)
                .find("Usage: quire eval [OPTIONS] (TEXT | --text-file FILE | --ids FILE.json)\n"),
            std::string::npos);
}

TEST(HelpLayout, ACommandGoesOnAfterABackslashAndItsQuotesStayWhole) {
  EXPECT_EQ(help_notes("Examples:\n  quire run --flag \"some words here\" file\n", 30),
            "Examples:\n  quire run --flag \\\n      \"some words here\" file\n");
  EXPECT_EQ(help_notes("Examples:\n  quire eval \\\n    --json\n", 60),
            "Examples:\n  quire eval --json\n");
}

TEST(HelpLayout, RowsOfNotesKeepTheirColumnAndParagraphsAreFilled) {
  EXPECT_EQ(help_notes("Codes:\n  0    done\n  4    the program failed,\n       or trapped\n", 20),
            "Codes:\n  0     done\n  4     the program\n        failed, or\n        trapped\n");
  EXPECT_EQ(help_notes("one two\nthree\n\nfour", 60), "one two three\n\nfour\n");
}

}  // namespace
}  // namespace quire::cli
