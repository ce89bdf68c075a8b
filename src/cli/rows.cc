#include "cli/rows.h"

#include <algorithm>
#include <sstream>

namespace quire::cli {
namespace {

// "0 to 1000000": what the check of a value calls its range; empty: none.
std::string range_of(const CLI::Option& option) {
  try {
    // CLI11 has this one for options that can change alone.
    return const_cast<CLI::Option&>(option).get_validator(0)->get_description();
  } catch (const CLI::OptionNotFound&) {
    return "";
  }
}

std::string position_of(const CLI::Option& option) {
  return option.get_name(true) + (option.get_items_expected_max() > 1 ? "..." : "");
}

}  // namespace

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
  std::string type = option.get_type_name();
  const std::string range = range_of(option);
  if (!range.empty() && type.ends_with(":" + range)) type.resize(type.size() - range.size() - 1);
  return type;
}

std::string facts_of(const CLI::Option& option) {
  std::string facts = range_of(option);
  std::string value = option.get_default_str();
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  if (!value.empty()) facts += (facts.empty() ? "default " : ", default ") + value;
  return facts;
}

std::string head_of(const CLI::Option& option) {
  const std::string facts = facts_of(option);
  const std::string after = facts.empty() ? "" : " (" + facts + ")";
  if (!option.nonpositional()) return position_of(option) + after;
  std::string head;
  for (const std::string& name : option.get_snames()) head += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) head += "--" + name + ", ";
  head.resize(head.size() - 2);
  const std::string type = type_of(option);
  if (type.empty()) return head + after;
  return head + (takes_value(option) ? " " + type : "[=" + type + "]") + after;
}

std::string usage_of(const CLI::App& app) {
  std::string usage = " [OPTIONS]";
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!group->get_name().empty()) continue;
    std::string names;
    for (const CLI::Option* each : group->get_options()) {
      names += (names.empty() ? "" : " | ") + head_of(*each);
    }
    usage += " (" + names + ")";
  }
  for (const CLI::Option* each : app.get_options()) {
    if (!each->get_positional() || each->get_group().empty()) continue;
    const std::string name = position_of(*each);
    usage += each->get_required() ? " " + name : " [" + name + "]";
  }
  return usage + (verbs_of(app).empty() ? "" : " VERB");
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
