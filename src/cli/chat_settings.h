#pragma once
// The settings that `/set NAME VALUE` changes in the middle of a chat. Each is a flag of `quire chat`
// without its dashes, with the same values, ranges and messages.
//
// Thread   any; plain functions.
// Errors   InvalidArgument says what the setting takes, or which one was meant.
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace quire::cli {

std::vector<std::string> chat_setting_names();

// Leaves the settings as they are if it returns an error.
Result<void> change_chat_setting(ChatSettings& settings, const std::string& name,
                                 const std::string& value);

struct ShownSetting {
  std::string name;
  std::string value;
  std::string help;
};
std::vector<ShownSetting> shown_chat_settings(const ChatSettings& settings);

}  // namespace quire::cli
