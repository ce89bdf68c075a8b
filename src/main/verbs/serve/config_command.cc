#include "main/verbs/serve/config_command.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

std::string text_of(const cli::ShownValue& value) {
  if (value.values.empty()) return "-";
  std::string text;
  for (const std::string& each : value.values) {
    text += (text.empty() ? "" : ", ") + printable(each);
  }
  return text;
}

void show_text(const cli::ConfigOptions& options) {
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const cli::ShownValue& each : options.values) {
    key_width = std::max(key_width, each.key.size());
    value_width = std::max(value_width, std::min<std::size_t>(text_of(each).size(), 40));
  }
  std::string page = "file: " + (options.file.empty() ? "none" : printable(options.file)) + "\n";
  for (const cli::ShownValue& each : options.values) {
    std::string line = each.key;
    line.resize(std::max(line.size(), key_width), ' ');
    line += "  " + text_of(each);
    line.resize(std::max(line.size(), key_width + 2 + value_width), ' ');
    page += line + "  " + printable(each.origin) + "\n";
  }
  print(page);
}

void show_json(const cli::ConfigOptions& options) {
  OrderedJson json = {{"file", nullptr}, {"values", OrderedJson::array()}};
  if (!options.file.empty()) json["file"] = options.file;
  for (const cli::ShownValue& each : options.values) {
    json["values"].push_back({{"key", each.key}, {"values", each.values}, {"origin", each.origin}});
  }
  print(dump_json(json) + "\n");
}

}  // namespace

int config_command(const cli::ConfigOptions& options) {
  if (options.output == cli::OutputStyle::Json) {
    show_json(options);
  } else {
    show_text(options);
  }
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace quire
