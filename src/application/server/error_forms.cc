#include "application/server/error_forms.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"

namespace quire::server {
namespace {

enum class Interface : std::uint8_t { Own, OpenAi, Anthropic };

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Interface interface_at(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (is_below(path, "/v1/messages")) return Interface::Anthropic;
  const bool is_open_ai = is_below(path, "/v1") || path == "/tokenize" || path == "/detokenize" ||
                          path == "/apply-template";
  return is_open_ai ? Interface::OpenAi : Interface::Own;
}

struct OpenAiForm {
  const char* type;
  const char* code;
};
OpenAiForm open_ai_form(std::uint32_t status) {
  switch (status) {
    case 400:
    case 408:
      return {"invalid_request_error", nullptr};
    case 401:
      return {"invalid_request_error", "invalid_api_key"};
    case 403:
      return {"invalid_request_error", "permission_denied"};
    case 404:
    case 409:
      return {"invalid_request_error", nullptr};
    case 413:
      return {"invalid_request_error", "request_too_large"};
    case 415:
      return {"invalid_request_error", "unsupported_content_encoding"};
    case 429:
      return {"rate_limit_error", "rate_limit_exceeded"};
    case 503:
      return {"overloaded_error", nullptr};
    default:
      return {"server_error", nullptr};
  }
}

const char* anthropic_type(std::uint32_t status) {
  switch (status) {
    case 400:
    case 408:
    case 415:
      return "invalid_request_error";
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return "api_error";
  }
}

nlohmann::ordered_json open_ai_json(std::uint32_t status, const std::string& message) {
  const OpenAiForm form = open_ai_form(status);
  nlohmann::ordered_json error = {
      {"message", message}, {"type", form.type}, {"param", nullptr}, {"code", nullptr}};
  if (form.code != nullptr) error["code"] = form.code;
  return {{"error", std::move(error)}};
}

}  // namespace

HttpAnswer refusal_for(const RequestName& request, std::uint32_t status, ErrorCode code,
                       const std::string& message, std::optional<std::uint64_t> retry_after_ms) {
  HttpAnswer answer = HttpRouter::refusal(status, code, message, retry_after_ms);
  switch (interface_at(request.target)) {
    case Interface::Own:
      break;
    case Interface::OpenAi:
      answer.body = dump_json(open_ai_json(status, message)) + "\n";
      break;
    case Interface::Anthropic:
      answer.body = dump_json(nlohmann::ordered_json{
                        {"type", "error"},
                        {"error", {{"type", anthropic_type(status)}, {"message", message}}},
                        {"request_id", request.request_id}}) +
                    "\n";
      answer.headers.emplace_back("request-id", request.request_id);
      break;
  }
  return answer;
}

}  // namespace quire::server
