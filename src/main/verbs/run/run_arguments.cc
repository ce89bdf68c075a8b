#include "main/verbs/run/run_arguments.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/file.h"
#include "base/json.h"

namespace quire {
namespace {

constexpr std::uint64_t kEachFileBytesMax = std::uint64_t{256} << 20;

// One instance for each line: a JSON array of arguments, or an object with "args".
Result<std::vector<Arguments>> parse_each(const std::string& text, const std::string& name) {
  std::vector<Arguments> all;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    line_number += 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = name + ", line " + std::to_string(line_number);
    Json json = TRY(parse_json(line, where));
    if (json.is_object() && json.contains("args")) json = Json(json["args"]);
    const bool strings =
        json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& each) {
          return each.is_string() || each.is_number();
        });
    if (!strings) {
      return Error(ErrorCode::InvalidArgument,
                   where + ": a line is a JSON array of arguments, or an object with \"args\"");
    }
    Arguments arguments;
    for (const Json& each : json) {
      arguments.push_back(each.is_string() ? each.get<std::string>() : dump_json(each));
    }
    all.push_back(std::move(arguments));
  }
  if (all.empty()) return Error(ErrorCode::InvalidArgument, name + " has no line");
  return all;
}

}  // namespace

Result<std::vector<Arguments>> run_arguments(const cli::RunOptions& options) {
  if (options.each_file.empty()) return std::vector<Arguments>{options.arguments};
  const std::string text = TRY(read_input_file(options.each_file, kEachFileBytesMax));
  std::vector<Arguments> all = TRY(parse_each(text, options.each_file));
  for (Arguments& arguments : all) {
    arguments.insert(arguments.begin(), options.arguments.begin(), options.arguments.end());
  }
  return all;
}

}  // namespace quire
