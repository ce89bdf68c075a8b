#include "cli/chat_settings.h"

#include <CLI/CLI.hpp>

#include "cli/spelling.h"
#include "cli/verb.h"

namespace quire::cli {
namespace {

// Flags that write into `settings`.
class Flags {
 public:
  explicit Flags(ChatSettings& settings) { Rows(&app_).add(chat_rows(settings)); }

  // Null if there is no such setting.
  CLI::Option* find(const std::string& name) {
    const std::string spelled = name.starts_with("--") ? name : "--" + name;
    CLI::Option* found = app_.get_option_no_throw(spelled);
    return found == nullptr || found->check_lname("help") ? nullptr : found;
  }
  std::vector<CLI::Option*> all() {
    return app_.get_options([](const CLI::Option* each) { return !each->check_lname("help"); });
  }

 private:
  CLI::App app_;
};

std::string name_of(const CLI::Option& flag) {
  return flag.get_lnames().front();
}

// Turns an error of CLI11 about "--name" into one about the setting "name".
Error wrong_value(const std::string& message) {
  const std::string text = with_subject(message);
  return Error(ErrorCode::InvalidArgument, text.starts_with("--") ? text.substr(2) : text);
}

}  // namespace

std::vector<std::string> chat_setting_names() {
  ChatSettings settings;
  Flags flags(settings);
  std::vector<std::string> names;
  for (const CLI::Option* each : flags.all()) names.push_back(name_of(*each));
  return names;
}

Result<void> change_chat_setting(ChatSettings& settings, const std::string& name,
                                 const std::string& value) {
  ChatSettings changed = settings;
  Flags flags(changed);
  CLI::Option* flag = flags.find(name);
  if (flag == nullptr) {
    const std::string near = did_you_mean(name, chat_setting_names());
    return Error(ErrorCode::InvalidArgument, "there is no setting \"" + name + "\"" +
                                                 (near.empty() ? "; /set lists them" : near));
  }
  try {
    flag->add_result(value);
    flag->run_callback();
  } catch (const CLI::ParseError& error) {
    return wrong_value(error.what());
  }
  settings = changed;
  return {};
}

std::vector<ShownSetting> shown_chat_settings(const ChatSettings& settings) {
  ChatSettings shown = settings;
  Flags flags(shown);
  std::vector<ShownSetting> all;
  for (CLI::Option* each : flags.all()) {
    each->capture_default_str();
    all.push_back({name_of(*each), each->get_default_str(), each->get_description()});
  }
  return all;
}

}  // namespace quire::cli
