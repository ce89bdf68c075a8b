#include "cli/rows.h"

#include <algorithm>
#include <sstream>

namespace quire::cli {

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* each : app.get_options()) options.push_back(each);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* each : group->get_options()) {
      if (std::find(options.begin(), options.end(), each) == options.end()) options.push_back(each);
    }
  }
  return options;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> verbs;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_name().empty()) verbs.push_back(each);
  }
  return verbs;
}

std::string full_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* at = app.get_parent(); at != nullptr; at = at->get_parent()) {
    name = at->get_name() + " " + name;
  }
  return name;
}

const CLI::Option* find_flag(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* each : options_of(app)) {
    const bool is_long = name.starts_with("--") && each->check_lname(name.substr(2));
    const bool is_short = !name.starts_with("--") && each->check_sname(name.substr(1));
    if (is_long || is_short) return each;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& flag) {
  return flag.get_items_expected_max() > 0;  // 0: none, or one after "=" only.
}

std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = type_of(option);
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-|";
  const bool is_list = type.find('|') != std::string::npos;
  if (!is_list || type.find_first_not_of(kLetters) != std::string::npos) return {};
  std::vector<std::string> choices;
  std::istringstream words(type);
  for (std::string each; std::getline(words, each, '|');) choices.push_back(each);
  return choices;
}

}  // namespace quire::cli
