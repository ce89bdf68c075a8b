#include "cli/help.h"

#include <set>
#include <string_view>

#include "cli/rows.h"

namespace quire::cli {
namespace {

bool has_group(const CLI::App& app, const std::string& group) {
  const auto is_in_it = [&](const CLI::Option* each) { return each->get_group() == group; };
  return !app.get_options(is_in_it).empty();
}

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(HelpScope scope) : scope_(scope) {}

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    const bool is_left_out =
        scope_ == HelpScope::Verb && (group == kLimitsGroup || group == kEngineGroup);
    if (is_left_out) return "";
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }

  // CLI11 keeps flags that exclude each other by their addresses, which differ from build to build.
  std::string make_option_opts(const CLI::Option* option) const override {
    constexpr std::string_view kExcludes = " Excludes:";
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::size_t begin = text.find(kExcludes);
    if (begin == std::string::npos) return text;
    std::set<std::string> names;
    for (const CLI::Option* each : option->get_excludes()) names.insert(each->get_name());
    text.resize(begin + kExcludes.size());
    for (const std::string& each : names) text += " " + each;
    return text;
  }

 private:
  HelpScope scope_;
};

// CLI11 leaves a blank line for each group, also for one that is left out.
std::string without_double_blanks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

std::string help_of(const CLI::App& app, HelpScope scope) {
  if (scope == HelpScope::All && !verbs_of(app).empty()) {
    return app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent()),
                    CLI::AppFormatMode::All);
  }
  return without_double_blanks(
      HelpFormatter(scope).make_help(&app, full_name(app), CLI::AppFormatMode::Normal));
}

void describe_help_all(CLI::App& verb) {
  CLI::Option* option = verb.get_option_no_throw("--help-all");
  if (option == nullptr) return;
  const bool has_limits = has_group(verb, kLimitsGroup);
  if (!has_limits && !has_group(verb, kEngineGroup)) {
    option->group("");
    return;
  }
  option->description(std::string("Print this with the flags of the engine") +
                      (has_limits ? " and the limits" : ""));
}

}  // namespace quire::cli
