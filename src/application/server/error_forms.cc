#include "application/server/error_forms.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "endpoints/error_table.h"

namespace quire::server {
namespace {

using endpoints::ErrorRow;

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// "/v1/models/NAME:generateContent": Gemini's methods have a second place, below a path of OpenAI.
bool is_gemini_method(std::string_view path) {
  constexpr std::string_view kGeminiMethods[] = {":generateContent", ":streamGenerateContent",
                                                 ":countTokens"};
  return path.starts_with("/v1/models/") &&
         std::any_of(std::begin(kGeminiMethods), std::end(kGeminiMethods),
                     [&](std::string_view each) { return path.ends_with(each); });
}

nlohmann::ordered_json open_ai_json(const ErrorRow& row, const std::string& message) {
  nlohmann::ordered_json error = {
      {"message", message}, {"type", row.open_ai_type}, {"param", nullptr}, {"code", nullptr}};
  if (row.open_ai_code != nullptr) error["code"] = row.open_ai_code;
  return {{"error", std::move(error)}};
}

nlohmann::ordered_json gemini_json(const ErrorRow& row, std::uint32_t status,
                                   const std::string& message) {
  return {{"error",
           {{"code", status},
            {"message", message},
            {"status", row.google_status},
            {"details", nlohmann::ordered_json::array()}}}};
}

}  // namespace

Interface interface_at(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (is_below(path, "/v1/messages")) return Interface::Anthropic;
  if (is_below(path, "/v1beta") || is_gemini_method(path)) return Interface::Gemini;
  const bool is_open_ai = is_below(path, "/v1") || path == "/tokenize" || path == "/detokenize" ||
                          path == "/apply-template";
  return is_open_ai ? Interface::OpenAi : Interface::Own;
}

HttpAnswer refusal_for(const RequestName& request, std::uint32_t status, ErrorCode code,
                       const std::string& message, std::optional<std::uint64_t> retry_after_ms) {
  HttpAnswer answer = HttpRouter::refusal(status, code, message, retry_after_ms);
  const ErrorRow& row = endpoints::row_of_status(status);
  switch (interface_at(request.target)) {
    case Interface::Own:
      break;
    case Interface::OpenAi:
      answer.body = dump_json(open_ai_json(row, message)) + "\n";
      break;
    case Interface::Anthropic:
      answer.body = dump_json(nlohmann::ordered_json{
                        {"type", "error"},
                        {"error", {{"type", row.anthropic_type}, {"message", message}}},
                        {"request_id", request.request_id}}) +
                    "\n";
      answer.headers.emplace_back("request-id", request.request_id);
      break;
    case Interface::Gemini:
      answer.body = dump_json(gemini_json(row, status, message)) + "\n";
      break;
  }
  return answer;
}

HttpAnswer failure_form(const RequestName& request, std::uint32_t status, ErrorCode code,
                        const std::string& message, std::optional<std::uint64_t> retry_after_ms) {
  HttpAnswer answer = refusal_for(request, status, code, message, retry_after_ms);
  if (interface_at(request.target) != Interface::Own) return answer;
  nlohmann::ordered_json error = {
      {"code", error_code_name(code)}, {"message", message}, {"request_id", request.request_id}};
  if (retry_after_ms) error["retry_after_ms"] = *retry_after_ms;
  answer.body = dump_json(nlohmann::ordered_json{{"error", std::move(error)}}) + "\n";
  return answer;
}

}  // namespace quire::server
