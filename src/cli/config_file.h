#pragma once
// A configuration file: keys with values, each with its line. The format is TOML; toml++ is seen in
// config_file.cc alone.
//
// Thread   any; plain functions.
// Errors   each names the file, and the line where there is one.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire::cli {

enum class ConfigType : std::uint8_t { Text, Whole, Real, Flag };
const char* config_type_name(ConfigType type);  // "a text", "a whole number", ...

struct ConfigValue {
  ConfigType type = ConfigType::Text;
  std::string text;  // As a command line would have it; of a flag, "true" or "false".
};

struct ConfigEntry {
  std::string key;
  std::uint32_t line = 0;
  bool is_list = false;
  std::vector<ConfigValue> values;  // One, if it is not a list.
};

inline constexpr std::uint64_t kConfigBytesMax = 1u << 20;

// The entries by their lines. `name` is the file's, for errors.
Result<std::vector<ConfigEntry>> parse_config(const std::string& text, const std::string& name);
Result<std::vector<ConfigEntry>> read_config(const std::string& path);

}  // namespace quire::cli
