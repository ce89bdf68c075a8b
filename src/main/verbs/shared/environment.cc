#include "main/verbs/shared/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace quire {
namespace {

bool begins_name(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
}

bool is_variable_name(const std::string& name) {
  return !name.empty() && begins_name(name.front()) && std::ranges::all_of(name, [](char each) {
    return begins_name(each) || (each >= '0' && each <= '9');
  });
}

Error wrong_name(const std::string& flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !is_variable_name(text.substr(0, equals))) {
    return Error(ErrorCode::InvalidArgument, flag + ": " + in_quotes(text) +
                                                 " is not the name of a variable, as in " + flag +
                                                 " API_KEY");
  }
  const std::string name = text.substr(0, equals);
  // The value is not repeated here: errors may be logged.
  return Error(
      ErrorCode::InvalidArgument,
      flag + ": give the name " + name +
          " alone; its value is read from the environment of quire, since ps shows the words "
          "of a command line. Write " +
          name + "=VALUE before the command, or export it");
}

}  // namespace

Result<hostcalls::EnvironmentHandle> read_environment(const std::vector<std::string>& names,
                                                      const std::string& flag) {
  hostcalls::Environment variables;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    if (!is_variable_name(name)) return wrong_name(flag, name);
    const auto is_same = [&](const auto& each) { return each.name == name; };
    if (std::ranges::any_of(variables, is_same)) continue;
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return Error(ErrorCode::NotFound,
                   flag + ": " + name + " is not set in the environment of quire");
    }
    if (utf8_valid_bytes(value) != std::string_view(value).size()) {
      return Error(ErrorCode::InvalidArgument, flag + ": the value of " + name + " is not UTF-8");
    }
    bytes += name.size() + std::string_view(value).size() + 2;
    variables.push_back({.name = name, .value = value});
  }
  if (variables.size() > hostcalls::kEnvironmentCountMax) {
    return Error(ErrorCode::TooLarge, flag + ": " + std::to_string(variables.size()) +
                                          " variables, at most " +
                                          std::to_string(hostcalls::kEnvironmentCountMax));
  }
  if (bytes > hostcalls::kEnvironmentBytesMax) {
    return Error(ErrorCode::TooLarge, flag + ": names and values have " + std::to_string(bytes) +
                                          " bytes, at most " +
                                          std::to_string(hostcalls::kEnvironmentBytesMax));
  }
  if (variables.empty()) return hostcalls::EnvironmentHandle();
  return hostcalls::EnvironmentHandle(
      std::make_shared<const hostcalls::Environment>(std::move(variables)));
}

}  // namespace quire
