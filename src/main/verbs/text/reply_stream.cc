#include "main/verbs/text/reply_stream.h"

#include "base/json.h"

namespace quire {
namespace {

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::uint64_t count_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

}  // namespace

std::string refusal_of(std::string_view body) {
  const Result<Json> json = parse_json(body, "the answer");
  if (!json.ok() || !json.value().is_object() || !json.value().contains("error")) return "";
  const Json& error = json.value()["error"];
  return error.is_object() ? text_of(error, "message") : "";
}

Result<void> ReplyStream::receive(std::string_view bytes) {
  pending_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string_view line = std::string_view(pending_).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    constexpr std::string_view kData = "data:";
    if (!line.starts_with(kData)) continue;  // A comment, or the blank line between events.
    line.remove_prefix(kData.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    TRY(take(line));
  }
  pending_.erase(0, begin);
  if (pending_.size() <= kLineBytesMax) return {};
  return Error(ErrorCode::TooLarge, "a line of the server's answer is longer than " +
                                        std::to_string(kLineBytesMax) + " bytes");
}

Result<void> ReplyStream::take(std::string_view event) {
  if (event == "[DONE]") {
    is_complete_ = true;
    return {};
  }
  if (const std::string refusal = refusal_of(event); !refusal.empty()) {
    return Error(ErrorCode::Unavailable, refusal);
  }
  const Json json = TRY(parse_json(event, "the server's answer"));
  if (!json.is_object() || !json.contains("choices") || !json["choices"].is_array()) {
    return Error(ErrorCode::Corrupted, "the server's answer is not a stream of a chat");
  }
  for (const Json& choice : json["choices"]) {
    if (!choice.is_object() || !choice.contains("delta") || !choice["delta"].is_object()) continue;
    const std::string thought = text_of(choice["delta"], "reasoning_content");
    const std::string part = text_of(choice["delta"], "content");
    if (!thought.empty()) think_(thought);
    if (part.empty()) continue;
    text_ += part;
    show_(part);
  }
  if (json.contains("usage") && json["usage"].is_object()) {
    const Json& usage = json["usage"];
    usage_ = {.prompt_count = count_of(usage, "prompt_tokens"),
              .token_count = count_of(usage, "completion_tokens")};
    if (usage.contains("prompt_tokens_details") && usage["prompt_tokens_details"].is_object()) {
      usage_->found_count = count_of(usage["prompt_tokens_details"], "cached_tokens");
    }
  }
  return {};
}

}  // namespace quire
