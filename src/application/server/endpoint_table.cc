#include "application/server/endpoint_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace quire::server {
namespace {

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
// The server itself answers at these paths.
constexpr std::string_view kOwnPaths[] = {"/", "/health", "/health/live", "/health/ready",
                                          "/metrics"};
constexpr std::size_t kPathBytesMax = 1024;

template <std::size_t N>
bool contains(const std::string_view (&all)[N], std::string_view one) {
  return std::find(std::begin(all), std::end(all), one) != std::end(all);
}

Error wrong(std::string_view text, const std::string& why) {
  return Error(ErrorCode::InvalidArgument,
               "endpoint " + in_quotes(text) + ": " + why + "; as in \"POST /x=program\"");
}

bool is_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= kPathBytesMax &&
         std::all_of(path.begin(), path.end(), [](char each) {
           return each > 0x20 && each < 0x7f && each != '?' && each != '#' && each != '*';
         });
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    const std::string_view word = text.substr(0, text.find(' '));
    words.emplace_back(word);
    text.remove_prefix(word.size());
  }
}

}  // namespace

Result<EndpointRule> parse_endpoint_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return wrong(text, "it names no program");
  const std::vector<std::string> place = words_of(text.substr(0, equals));
  std::vector<std::string> command = words_of(text.substr(equals + 1));
  if (place.size() != 2) return wrong(text, "a method and a path were expected before the =");
  if (command.empty()) return wrong(text, "it names no program");
  EndpointRule rule;
  rule.method = place[0];
  if (!contains(kMethods, rule.method)) {
    return wrong(text, "method " + in_quotes(rule.method) +
                           " is not one of GET, POST, PUT, PATCH and DELETE");
  }
  rule.path = place[1];
  rule.is_prefix = rule.path.ends_with("/*");
  if (rule.is_prefix) rule.path.pop_back();
  if (!is_path(rule.path)) {
    return wrong(text,
                 "path " + in_quotes(place[1]) +
                     " is not one: it begins with / and has no blank, ? or #, and a * only as "
                     "its end, after a /");
  }
  if (!rule.is_prefix && (contains(kOwnPaths, rule.path) || contains(kAdapterPaths, rule.path))) {
    return wrong(text, "the server itself answers " + rule.path);
  }
  rule.program = command.front();
  rule.arguments.assign(std::next(command.begin()), command.end());
  return rule;
}

Result<EndpointTable> EndpointTable::create(std::vector<EndpointRule> rules) {
  EndpointTable table;
  for (EndpointRule& rule : rules) {
    auto& places = rule.is_prefix ? table.prefixes_ : table.exact_;
    std::vector<std::size_t>& there = places[rule.path];
    for (const std::size_t other : there) {
      if (table.rules_[other].method != rule.method) continue;
      return Error(ErrorCode::AlreadyExists, "two endpoints are at " + rule.text() + ": " +
                                                 table.rules_[other].program + " and " +
                                                 rule.program);
    }
    there.push_back(table.rules_.size());
    table.rules_.push_back(std::move(rule));
  }
  return table;
}

// The endpoints at the path, the more exact first, until the function returns true.
template <typename Function>
void EndpointTable::each_at(std::string_view path, Function&& function) const {
  const auto visit = [&](const auto& places, std::string_view at) {
    const auto found = places.find(at);
    if (found == places.end()) return false;
    for (const std::size_t each : found->second) {
      if (function(rules_[each])) return true;
    }
    return false;
  };
  if (visit(exact_, path)) return;
  if (prefixes_.empty()) return;
  // "/a/b/c" lies below "/a/b/", "/a/" and "/".
  for (std::size_t end = path.rfind('/'); end != std::string_view::npos;
       end = end == 0 ? std::string_view::npos : path.rfind('/', end - 1)) {
    if (visit(prefixes_, path.substr(0, end + 1))) return;
  }
}

const EndpointRule* EndpointTable::find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const EndpointRule* found = nullptr;
  each_at(path, [&](const EndpointRule& rule) {
    if (rule.method == wanted) found = &rule;
    return found != nullptr;
  });
  return found;
}

std::string EndpointTable::methods_at(std::string_view path) const {
  std::vector<std::string_view> methods;
  each_at(path, [&](const EndpointRule& rule) {
    if (std::find(methods.begin(), methods.end(), rule.method) == methods.end()) {
      methods.push_back(rule.method);
    }
    return false;
  });
  std::string text;
  for (const std::string_view each : kMethods) {
    if (std::find(methods.begin(), methods.end(), each) == methods.end()) continue;
    text += (text.empty() ? "" : ", ") + std::string(each);
    if (each == "GET") text += ", HEAD";
  }
  return text;
}

}  // namespace quire::server
