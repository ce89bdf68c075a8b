#include "cli/config_file.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace quire::cli {
namespace {

std::string real_text(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return out.str();
}

Error wrong_at(const std::string& name, std::uint32_t line, const std::string& what) {
  return Error(ErrorCode::InvalidArgument, name + ":" + std::to_string(line) + ": " + what);
}

// Without the spaces around it.
std::string trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

// The next step if the line gives a text without its quotes, as kv-memory = 2GiB, or nothing.
std::string quotes_hint(std::string_view text, std::uint32_t line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find_first_of("\n#"));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string value = trimmed(text.substr(equals + 1));
  if (value.empty() || value.find_first_of("\"'[{\\") != std::string::npos) return "";
  if (printable(value) != value || toml::parse("value = " + value)) return "";
  return "; a text is quoted: " + trimmed(text.substr(0, equals)) + " = \"" + value + "\"";
}

std::optional<ConfigValue> value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return ConfigValue{ConfigType::Text, text->get()};
  if (const auto* whole = node.as_integer()) {
    return ConfigValue{ConfigType::Whole, std::to_string(whole->get())};
  }
  if (const auto* real = node.as_floating_point()) {
    return ConfigValue{ConfigType::Real, real_text(real->get())};
  }
  if (const auto* flag = node.as_boolean()) {
    return ConfigValue{ConfigType::Flag, flag->get() ? "true" : "false"};
  }
  return std::nullopt;
}

Result<ConfigEntry> entry_of(const std::string& key, const toml::node& node,
                             const std::string& name) {
  ConfigEntry entry;
  entry.key = key;
  entry.line = node.source().begin.line;
  const auto unfit = [&] {
    return wrong_at(name, entry.line,
                    in_quotes(key) +
                        " is a table or a date: a text, a number, true, false or a list "
                        "of these was expected");
  };
  const toml::array* list = node.as_array();
  entry.is_list = list != nullptr;
  if (list == nullptr) {
    std::optional<ConfigValue> value = value_of(node);
    if (!value) return unfit();
    entry.values.push_back(std::move(*value));
    return entry;
  }
  for (const toml::node& each : *list) {
    std::optional<ConfigValue> value = value_of(each);
    if (!value) return unfit();
    entry.values.push_back(std::move(*value));
  }
  return entry;
}

}  // namespace

const char* config_type_name(ConfigType type) {
  switch (type) {
    case ConfigType::Text:
      return "a text";
    case ConfigType::Whole:
      return "a whole number";
    case ConfigType::Real:
      return "a number";
    case ConfigType::Flag:
      return "true or false";
  }
  return "";
}

Result<std::vector<ConfigEntry>> parse_config(const std::string& text, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const std::uint32_t line = error.source().begin.line;
    return wrong_at(name, line, printable(error.description()) + quotes_hint(text, line));
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : parsed.table()) {
    entries.push_back(TRY(entry_of(std::string(key.str()), node, name)));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& one, const auto& other) { return one.line < other.line; });
  return entries;
}

Result<std::vector<ConfigEntry>> read_config(const std::string& path) {
  const std::string text = TRY(read_input_file(path, kConfigBytesMax));
  return parse_config(text, path);
}

}  // namespace quire::cli
