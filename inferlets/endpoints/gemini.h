#pragma once
// The endpoints of the Gemini interface share this: the form of errors, the chunks of a stream,
// and how members are spelled.
//
// Errors   {"error": {"code", "message", "status", "details"}}, as Google's servers write them.
#include <optional>
#include <string>
#include <utility>

#include "errors.h"
#include "live_options.h"
#include "members.h"

namespace endpoints::gemini {

// ---- members ------------------------------------------------------------------------------------

// Google's servers take each member in camel case and in snake case.
inline Members members_of(const Json& object, LeftOut& left_out) {
  return Members(object, left_out, "", Spelling::CamelOrSnake);
}
inline Result<Members> members_at(const Json& value, const std::string& path, LeftOut& left_out) {
  return Members::of(value, path, left_out, Spelling::CamelOrSnake);
}
inline std::string at_index(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}
// A word in capitals, as Google's enumerations have them; clients may write small letters.
inline std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 32) : each;
  return out;
}
// A model's name without the collection in front of it.
inline std::string plain_model_name(std::string_view name) {
  for (const std::string_view each : {"models/", "tunedModels/"}) {
    if (name.starts_with(each)) return std::string(name.substr(each.size()));
  }
  return std::string(name);
}

// Whether a path ends with a method of a model, as in "/v1beta/models/NAME:countTokens".
inline bool is_method_path(std::string_view path) {
  constexpr std::string_view kMethods[] = {":generateContent", ":streamGenerateContent",
                                           ":countTokens"};
  return std::ranges::any_of(kMethods, [&](std::string_view each) { return path.ends_with(each); });
}

// ---- streams ------------------------------------------------------------------------------------

// The chunks of a streamed response: events, or the elements of a JSON array if the request has no
// "alt=sse".
class Chunks {
 public:
  explicit Chunks(serve::Response response) : response_(std::move(response)) {}

  void set_events(bool are_events) { are_events_ = are_events; }
  // Begins a stream for a request that is good. Google's clients fail at a comment in a stream of
  // events (": ping"), and skip an empty line in both forms of a stream.
  Task<> open(LiveOptions options) {
    serve::Headers headers;
    headers.push_back({"content-type", are_events_ ? "text/event-stream" : "application/json"});
    headers.push_back({"cache-control", "no-store"});
    serve::KeepAlive keep_alive{
        .interval = options.interval(), .filler = "\n", .begin_after = kRefusalTime};
    live_ = co_await serve::LiveResponse::open(response_, {.headers = std::move(headers)},
                                               std::move(keep_alive));
  }
  Task<> send(std::string json) { return live_->write(chunk(std::move(json))); }
  Task<> finish() {
    if (!are_events_) co_await live_->write(has_any_ ? "]\n" : "[]\n");
    co_await live_->finish();
  }
  // Ends a stream before its time: no empty line follows. Returns the text of a last chunk, which
  // is `json` itself if the request wants no stream.
  std::string stop(std::string json) {
    if (!live_) return json;
    live_->stop();
    return chunk(std::move(json)) + (are_events_ ? "" : "]\n");
  }

 private:
  std::string chunk(std::string json) {
    const bool is_first = !std::exchange(has_any_, true);  // Candidates send beside each other.
    if (are_events_) return "data: " + std::move(json) + "\n\n";
    return (is_first ? "[" : ",\n") + std::move(json);
  }

  serve::Response response_;
  std::optional<serve::LiveResponse> live_;  // If the request wants a stream.
  bool are_events_ = false;
  bool has_any_ = false;
};

// ---- errors -------------------------------------------------------------------------------------

inline std::string error_json(const ErrorRow& row, const Error& error) {
  JsonWriter json;
  json.begin_object().key("error").begin_object().key("code").number(row.status);
  json.key("message").text(error.message).key("status").text(row.google_status);
  json.key("details").begin_array().end_array();
  return json.end_object().end_object().str();
}
inline std::string error_json(const Error& error) {
  return error_json(row_of(error), error);
}

// The path is there, for other methods of HTTP.
inline Task<> refuse_method(serve::Request http, serve::Response response, std::string allowed) {
  const ErrorRow& row = row_of(ErrorKind::WrongMethod);
  const Error error{ErrorCode::NotSupported,
                    std::string(http.path()) + " takes " + allowed + ", not " + http.method()};
  co_await response.json(row.status, error_json(row, error), {{"allow", allowed}});
}

// Runs `handling`, and writes the error in which it ends. If the response has begun, the error is
// the last of its chunks.
inline Task<> answer(serve::Request request, serve::Response response, Chunks& chunks,
                     Task<> handling) {
  const Result<void> outcome = co_await attempt(std::move(handling));
  if (outcome.ok()) co_return;
  const Error error = outcome.error();
  const Error shown = shown_error(error, "the request " + request.id());
  const std::string last = chunks.stop(error_json(shown));
  if (response.begun()) co_return co_await end_begun(response, last, last, error);
  if (is_internal(error)) co_await fail(error);
  const std::uint32_t status = row_of(error).status;
  serve::Headers headers;
  if (status == row_of(ErrorKind::Overloaded).status) headers.push_back({"retry-after", "1"});
  co_await response.json(status, error_json(error), std::move(headers));
  if (status >= 500) co_await fail(error);
}

}  // namespace endpoints::gemini
