#include "main/verbs/text/chat_request.h"

#include <cctype>
#include <optional>

#include "base/json.h"

namespace quire {
namespace {

// The bytes of a value in a text that is valid JSON.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// Finds the end of the value that begins at `begin`.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const char each = text[at];
    if (each == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
      if (depth == 0) return at + 1;
    } else if (each == '[' || each == '{') {
      ++depth;
    } else if (each == ']' || each == '}') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (each == ',' || std::isspace(static_cast<unsigned char>(each)) != 0)) {
      return at;
    }
  }
  return text.size();
}

// The value of a key of the object that `text` is.
std::optional<Span> find_member(std::string_view text, std::string_view key) {
  std::size_t at = skip_spaces(text, 0) + 1;
  while (true) {
    at = skip_spaces(text, at);
    if (at >= text.size() || text[at] == '}') return std::nullopt;
    const std::size_t key_end = end_of_value(text, at);
    // The key may be written with escapes.
    const Result<Json> name = parse_json(text.substr(at, key_end - at), "a key");
    const std::size_t begin = skip_spaces(text, skip_spaces(text, key_end) + 1);
    const std::size_t end = end_of_value(text, begin);
    if (name.ok() && name.value() == key) return Span{begin, end};
    at = skip_spaces(text, end);
    if (at < text.size() && text[at] == ',') ++at;
  }
}

std::string system_message(const std::string& content) {
  return dump_json(OrderedJson{{"role", "system"}, {"content", content}});
}

Error wrong_shape() {
  return Error(ErrorCode::InvalidArgument,
               "messages are JSON: [{\"role\": \"user\", \"content\": \"...\"}], or an object with "
               "\"messages\"");
}

}  // namespace

Result<std::string> chat_request(std::string_view text, const ChatRequestExtras& extras) {
  const Result<Json> parsed = parse_json(text, "messages");
  if (!parsed.ok()) {
    return Error(ErrorCode::InvalidArgument, std::string(parsed.error().message()) + "; " +
                                                 std::string(wrong_shape().message()));
  }
  std::string request(text);
  if (parsed.value().is_array()) request = "{\"messages\": " + request + "}";
  if (!parsed.value().is_array() && !parsed.value().is_object()) return wrong_shape();
  const std::optional<Span> messages = find_member(request, "messages");
  if (!messages || request[messages->begin] != '[') return wrong_shape();
  if (!extras.system.empty()) {
    const bool is_empty = request[skip_spaces(request, messages->begin + 1)] == ']';
    request.insert(messages->begin + 1, system_message(extras.system) + (is_empty ? "" : ", "));
  }
  if (!find_member(request, "add_generation_prompt")) {
    const std::string value = extras.add_generation_prompt ? "true" : "false";
    request.insert(skip_spaces(request, 0) + 1, "\"add_generation_prompt\": " + value + ", ");
  }
  return request;
}

}  // namespace quire
