#pragma once
// The refusals of the server at the path of a known interface, in that interface's own form: clients of OpenAI,
// Anthropic and Gemini show what they understand. The form depends on the path alone, so that a refusal
// reveals no endpoint.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "application/server/http_router.h"

namespace quire::server {

// A refusal depends on these parts of its request.
struct RequestName {
  std::string target;
  std::string request_id;
};
// Without the query, which may hold a key.
inline RequestName name_of(const HttpHead& head) {
  return {std::string(path_of(head)), head.request_id};
}

enum class Interface : std::uint8_t { Own, OpenAi, Anthropic, Gemini };
// The interface to whose paths the target belongs.
Interface interface_at(std::string_view target);

// As HttpRouter::refusal(), for this request.
HttpAnswer refusal_for(const RequestName& request, std::uint32_t status, ErrorCode code,
                       const std::string& message,
                       std::optional<std::uint64_t> retry_after_ms = std::nullopt);
// The same for a request that reached its endpoint: the server's own form has "request_id", too, as
// the SDKs write it.
HttpAnswer failure_form(const RequestName& request, std::uint32_t status, ErrorCode code,
                        const std::string& message, std::optional<std::uint64_t> retry_after_ms);

}  // namespace quire::server
