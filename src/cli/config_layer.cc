#include "cli/config_layer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "cli/config_file.h"
#include "cli/rows.h"
#include "cli/spelling.h"

namespace quire::cli {
namespace {

constexpr const char* kConfigFlag = "--config";
constexpr const char* kProgramsKey = "programs";
// About one command, and not about a server.
constexpr const char* kNoKeys[] = {"config", "json", "output", "help", "help-all"};
// Pairs that exclude each other, where one wins over the other by its layer (EngineFlags).
constexpr std::pair<const char*, const char*> kAlternatives[] = {{"store", "no-store"},
                                                                 {"no-store", "store"}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Empty for an option that has no key.
std::string key_of(const CLI::Option& option) {
  if (option.get_positional()) return kProgramsKey;
  if (option.get_lnames().empty()) return "";
  const std::string& name = option.get_lnames().front();
  const bool has_key = std::none_of(std::begin(kNoKeys), std::end(kNoKeys),
                                    [&](const char* each) { return name == each; });
  return has_key ? name : "";
}

const CLI::Option* find_key(const CLI::App& verb, const std::string& key) {
  for (const CLI::Option* each : verb.get_options()) {
    if (!key.empty() && key_of(*each) == key) return each;
  }
  return nullptr;
}

std::vector<std::string> keys_of(const CLI::App& verb) {
  std::vector<std::string> keys;
  for (const CLI::Option* each : verb.get_options()) {
    if (const std::string key = key_of(*each); !key.empty()) keys.push_back(key);
  }
  return keys;
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

bool is_given(const CLI::Option& option, const CheckedWords& checked) {
  return option.get_positional() ? checked.value_count > 0 : checked.given.contains(&option);
}

bool has_variable(const CLI::Option& option) {
  return !option.get_envname().empty() && !variable(option.get_envname().c_str()).empty();
}

// Whether a flag or a variable says something about this option, or about one that excludes it.
bool is_decided(const CLI::App& verb, const CLI::Option& option, const CheckedWords& checked) {
  const auto says = [&](const CLI::Option& each) {
    return is_given(each, checked) || has_variable(each);
  };
  if (says(option)) return true;
  for (const CLI::Option* other : option.get_excludes()) {
    if (says(*other)) return true;
  }
  for (const auto& [one, other] : kAlternatives) {
    const CLI::Option* alternative = key_of(option) == one ? find_key(verb, other) : nullptr;
    if (alternative != nullptr && says(*alternative)) return true;
  }
  return false;
}

// The name of the option's type says what a value must be.
Result<void> check_type(const CLI::Option& option, const ConfigValue& value) {
  const std::string type = type_of(option);
  const bool is_whole = type == "N" || type.find_first_not_of("0123456789|") == std::string::npos;
  const bool is_real = type == "SECONDS";
  const bool is_size = type == "BYTES";
  bool is_fit = value.type == ConfigType::Text;
  std::string expected = config_type_name(ConfigType::Text);
  if (is_flag(option)) {
    is_fit = value.type == ConfigType::Flag;
    expected = config_type_name(ConfigType::Flag);
  } else if (is_whole || is_real) {
    is_fit = value.type == ConfigType::Whole || (is_real && value.type == ConfigType::Real);
    expected = config_type_name(is_real ? ConfigType::Real : ConfigType::Whole);
  } else if (is_size) {
    is_fit = value.type == ConfigType::Text || value.type == ConfigType::Whole;
    expected = "a text as \"512MiB\" or a whole number";
  }
  if (value.type == ConfigType::Text && value.text.empty()) {
    return Error(ErrorCode::InvalidArgument, "the text is empty");
  }
  if (is_fit) return {};
  const std::string shown = value.type == ConfigType::Text ? in_quotes(value.text) : value.text;
  return Error(ErrorCode::InvalidArgument, shown + " is not " + expected);
}

std::vector<std::string> words_of(const CLI::Option& option, const ConfigEntry& entry) {
  std::vector<std::string> words;
  for (const ConfigValue& each : entry.values) {
    if (option.get_positional()) {
      words.push_back(each.text);
    } else if (!is_flag(option)) {
      words.push_back("--" + entry.key + "=" + each.text);
    } else if (each.text == "true") {
      words.push_back("--" + entry.key);
    }
  }
  return words;
}

Result<void> add_entry(const CLI::App& verb, const CheckedWords& checked, const ConfigEntry& entry,
                       ConfigLayer& layer) {
  const std::string place = layer.file + ":" + std::to_string(entry.line);
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::InvalidArgument, place + ": " + what);
  };
  const CLI::Option* option = find_key(verb, entry.key);
  if (option == nullptr) {
    const std::string near = did_you_mean(entry.key, keys_of(verb));
    return wrong("there is no key " + in_quotes(entry.key) +
                 (near.empty() ? ": keys are the flags of quire serve" : near));
  }
  if (entry.is_list && option->get_items_expected_max() <= 1) {
    return wrong(entry.key + " takes one value, not a list");
  }
  for (const ConfigValue& each : entry.values) {
    Result<void> fits = check_type(*option, each);
    if (!fits.ok()) return std::move(fits).take_error().while_(place + ": " + entry.key);
  }
  if (is_decided(verb, *option, checked)) return {};
  for (std::string& each : words_of(*option, entry)) layer.words.push_back(std::move(each));
  const bool is_off = is_flag(*option) && entry.values.front().text == "false";
  (is_off ? layer.flags_off : layer.places).emplace(option, place);
  return {};
}

// The value that the command line gives --config; the last one counts.
std::string given_config(const CommandWords& command) {
  const std::string begin = std::string(kConfigFlag) + "=";
  std::string path;
  for (std::size_t at = 0; at < command.words.size(); ++at) {
    const std::string& word = command.words[at];
    if (word == "--") break;
    if (word == kConfigFlag && at + 1 < command.words.size()) path = command.words[at + 1];
    if (word.starts_with(begin)) path = word.substr(begin.size());
  }
  return path;
}

std::string config_path(const CommandWords& command) {
  std::string path = given_config(command);
  if (path.empty()) path = variable("QUIRE_CONFIG");
  if (!path.empty()) return path;
  path = default_config_path();
  std::error_code failed;
  return std::filesystem::exists(path, failed) ? path : "";
}

}  // namespace

bool takes_config(const CLI::App& verb) {
  return verb.get_option_no_throw(kConfigFlag) != nullptr;
}

std::string default_config_path() {
  if (const std::string own = variable("XDG_CONFIG_HOME"); !own.empty()) {
    return own + "/quire/quire.toml";
  }
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.config/quire/quire.toml";
}

Result<ConfigLayer> read_config_layer(const CLI::App& verb, const CheckedWords& checked,
                                      const CommandWords& command) {
  ConfigLayer layer;
  layer.file = config_path(command);
  if (layer.file.empty()) return layer;
  for (const ConfigEntry& each : TRY(read_config(layer.file))) {
    TRY(add_entry(verb, checked, each, layer));
  }
  return layer;
}

std::vector<ShownValue> shown_values(const CLI::App& verb, const CheckedWords& checked,
                                     const ConfigLayer& layer) {
  std::vector<ShownValue> shown;
  for (const CLI::Option* each : verb.get_options()) {
    ShownValue value;
    value.key = key_of(*each);
    if (value.key.empty()) continue;
    if (is_given(*each, checked)) {
      value.origin = "flag";
    } else if (each->count() > 0 && layer.places.contains(each)) {
      value.origin = layer.places.at(each);
    } else if (layer.flags_off.contains(each)) {
      value.origin = layer.flags_off.at(each);
    } else if (each->count() > 0) {
      value.origin = "variable " + each->get_envname();
    } else {
      value.origin = "default";
    }
    if (each->count() > 0) {
      value.values = each->results();
    } else if (is_flag(*each)) {
      value.values = {"false"};
    } else if (!each->get_default_str().empty()) {
      value.values = {each->get_default_str()};
    }
    shown.push_back(std::move(value));
  }
  return shown;
}

std::string with_place(std::string message, const ConfigLayer& layer) {
  for (const auto& [option, place] : layer.places) {
    const std::string name = option->get_name();
    if (message.starts_with(name + ":") || message.starts_with(name + " ")) {
      return place + ": " + key_of(*option) + message.substr(name.size());
    }
  }
  // Some checks name the value and not the flag.
  for (const auto& [option, place] : layer.places) {
    for (const std::string& value : option->results()) {
      if (message.find("\"" + value + "\"") != std::string::npos) return place + ": " + message;
    }
  }
  return message;
}

}  // namespace quire::cli
