#pragma once
// quire::serve: programs that answer HTTP requests. A server launches the program once for each
// request to its endpoint (`quire serve --endpoint "POST /greet=greet.wasm"`).
//
//   #include "quire/quire.h"
//   using namespace quire;
//   Task<> greet(serve::Request request, serve::Response response) {
//     const Json body = co_await request.json();      // Status 400 if it is not JSON.
//     JsonWriter answer;
//     answer.begin_object().key("text").text("hello, " + body.text("name")).end_object();
//     co_await response.json(200, answer);
//   }
//   QUIRE_HTTP_MAIN(greet)
//
// A response in parts, as events of a browser's EventSource:
//
//   serve::EventStream events = co_await response.events();
//   co_await events.send("a token");                  // Waits while the client does not read.
//   co_await events.finish();
//
// Errors   co_await request.refuse(404, "no such model") ends the handler with a response that the
//          SDK writes: {"error": {"code", "message", "request_id"}}. The code goes with the status.
//          Any other Error that the handler ends in is the program's own: the operator reads it in
//          the log, and the server responds 503 if it says that the server is full, 504 for a
//          timeout, and else 500, "internal error". A handler with a form of errors of its own calls
//          attempt() and responds itself. If the client goes first, the server ends the program:
//          AfterClient::GoOn asks it not to.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/event_text.h"
#include "quire/future.h"
#include "quire/http.h"
#include "quire/json.h"
#include "quire/main.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/serve_status.h"
#include "quire/task.h"

namespace quire::serve {

using http::Header;
using http::Headers;

inline constexpr std::size_t kBodyBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kPartBytesMax = std::size_t{1} << 20;  // Of one write.

// The fate of the program if its client goes before the response is finished.
enum class AfterClient : std::uint32_t { Stop = 0, GoOn = 1 };

namespace detail {

// The state that the request and its response share.
struct Exchange {
  std::string method;
  std::string target;
  Headers headers;
  Headers added;  // To the response.
  bool begun = false;
  bool has_events = false;  // The response that has begun is an event stream.
  bool finished = false;
  struct Refusal {
    std::uint32_t status = 0;
    Error error;
  };
  std::optional<Refusal> refusal;  // The last one that the handler asked for.

  std::string header(std::string_view name) const {
    for (const Header& each : headers) {
      if (each.name == name) return each.value;
    }
    return "";
  }
};
using ExchangeHandle = std::shared_ptr<Exchange>;

// interface/serve.wit: request-head.
inline Result<Exchange> decode_request(std::string_view bytes) {
  std::uint32_t counts[3] = {};  // Bytes of method, target and headers.
  if (bytes.size() >= sizeof counts) std::memcpy(counts, bytes.data(), sizeof counts);
  if (bytes.size() != sizeof counts + std::uint64_t{counts[0]} + counts[1] + counts[2]) {
    return Error{ErrorCode::Internal,
                 "a request's head in " + std::to_string(bytes.size()) + " bytes"};
  }
  Exchange exchange;
  exchange.method = bytes.substr(sizeof counts, counts[0]);
  exchange.target = bytes.substr(sizeof counts + counts[0], counts[1]);
  std::string_view lines = bytes.substr(sizeof counts + counts[0] + counts[1]);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      return Error{ErrorCode::Internal, "a header of a request without a name"};
    }
    exchange.headers.push_back(
        {std::string(line.substr(0, colon)), std::string(line.substr(colon + 2))});
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return exchange;
}

// "%41" of a path; what is not an escape stays as it is.
inline std::string decode_path(std::string_view text) {
  const auto digit = [](char each) {
    if (each >= '0' && each <= '9') return each - '0';
    if (each >= 'a' && each <= 'f') return each - 'a' + 10;
    if (each >= 'A' && each <= 'F') return each - 'A' + 10;
    return -1;
  };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && at + 2 < text.size() && digit(text[at + 1]) >= 0 &&
                           digit(text[at + 2]) >= 0;
    if (is_escape) {
      out += static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2]));
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}
// A query writes a blank as "+" too.
inline std::string decode_query(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '+', ' ');
  return decode_path(blanks);
}

inline constexpr const char* kEventStream = "text/event-stream";

inline void add_event_headers(Headers& headers) {
  headers.push_back({"content-type", kEventStream});
  headers.push_back({"cache-control", "no-store"});
}

inline bool has_header(const Headers& headers, std::string_view name) {
  const auto is_same = [&](const Header& each) {
    return std::equal(each.name.begin(), each.name.end(), name.begin(), name.end(),
                      [](char left, char right) {
                        return (left >= 'A' && left <= 'Z' ? left + 32 : left) == right;
                      });
  };
  return std::any_of(headers.begin(), headers.end(), is_same);
}

}  // namespace detail

class EventStream;

// The response; copies are the same one.
class Response {
 public:
  explicit Response(detail::ExchangeHandle exchange) : exchange_(std::move(exchange)) {}

  bool begun() const { return exchange_->begun; }
  bool has_events() const { return exchange_->has_events; }  // It began as an event stream.
  bool finished() const { return exchange_->finished; }

  // The response has it too, whatever begins it.
  void add_header(Header header) const { exchange_->added.push_back(std::move(header)); }

  // The first bytes. Without a "content-length" the body ends with finish(). invalid-argument: a
  // header whose name is not a token, or whose value has a control character but a tab.
  Result<void> begin(std::uint32_t status, const Headers& headers = {},
                     AfterClient after = AfterClient::Stop) const {
    Headers all = headers;
    all.insert(all.end(), exchange_->added.begin(), exchange_->added.end());
    const std::string lines = TRY(quire::detail::header_lines(all));
    TRY(checked(abi::serve::respond(status, quire::detail::bytes_of(lines),
                                    quire::detail::count_of(lines.size()),
                                    static_cast<std::uint32_t>(after))));
    exchange_->begun = true;
    exchange_->has_events = std::ranges::any_of(all, [](const Header& each) {
      return each.name == "content-type" && each.value == detail::kEventStream;
    });
    return {};
  }
  // At most kPartBytesMax. Ready once there is room for another part: wait for it.
  Future<void> write(std::string_view part) const {
    return Future<void>(abi::serve::write_response(quire::detail::bytes_of(part),
                                                   quire::detail::count_of(part.size())));
  }
  Result<void> finish() const {
    TRY(checked(abi::serve::finish_response()));
    exchange_->finished = true;
    return {};
  }

  // All of it. The type is "text/plain; charset=utf-8" if `headers` name none.
  Task<> send(std::uint32_t status, std::string body, Headers headers = {}) const {
    return whole(*this, status, std::move(body), std::move(headers), "text/plain; charset=utf-8");
  }
  Task<> json(std::uint32_t status, std::string text, Headers headers = {}) const {
    return whole(*this, status, std::move(text), std::move(headers), "application/json");
  }
  Task<> json(std::uint32_t status, const Json& value, Headers headers = {}) const {
    return json(status, value.str(), std::move(headers));
  }
  Task<> json(std::uint32_t status, const JsonWriter& writer, Headers headers = {}) const {
    return json(status, writer.str(), std::move(headers));
  }
  // In the form of the server's own errors.
  Task<> error(std::uint32_t status, std::string message, Headers headers = {}) const {
    return error(status, Error{code_of_status(status), std::move(message)}, std::move(headers));
  }
  Task<> error(std::uint32_t status, const Error& error, Headers headers = {}) const {
    JsonWriter body;
    body.begin_object().key("error").begin_object();
    body.key("code").text(abi::error_code_name(error.code)).key("message").text(error.message);
    body.key("request_id").text(exchange_->header("x-request-id"));
    body.end_object().end_object();
    return json(status, body.str() + "\n", std::move(headers));
  }

  // Begins a response of events (Server-Sent Events), status 200.
  Result<EventStream> events(Headers headers = {}, AfterClient after = AfterClient::Stop) const;

 private:
  static Task<> whole(Response response, std::uint32_t status, std::string body, Headers headers,
                      const char* type) {
    if (!detail::has_header(headers, "content-type")) headers.push_back({"content-type", type});
    const bool has_body = status != 204 && status != 304;
    if (has_body && !detail::has_header(headers, "content-length")) {
      headers.push_back({"content-length", std::to_string(body.size())});
    }
    co_await response.begin(status, headers);
    const std::string_view all = has_body ? std::string_view(body) : std::string_view();
    for (std::size_t at = 0; at < all.size(); at += kPartBytesMax) {
      co_await response.write(all.substr(at, kPartBytesMax));
    }
    co_await response.finish();
  }

  detail::ExchangeHandle exchange_;
};

// A response of type text/event-stream.
class EventStream {
 public:
  explicit EventStream(Response response) : response_(std::move(response)) {}

  // One event, whose data may have several lines. Ready once there is room for another.
  Future<void> send(std::string_view data, const Event& event = {}) const {
    return response_.write(event_text(data, event));
  }
  Future<void> send(const JsonWriter& data, const Event& event = {}) const {
    return send(data.str(), event);
  }
  // Clients pass over it; it keeps proxies from closing a silent connection.
  Future<void> comment(std::string_view text) const {
    return response_.write(": " + std::string(text) + "\n\n");
  }
  Result<void> finish() const { return response_.finish(); }

 private:
  Response response_;
};

inline Result<EventStream> Response::events(Headers headers, AfterClient after) const {
  detail::add_event_headers(headers);
  TRY(begin(200, headers, after));
  return EventStream(*this);
}

// The request that launched the program; copies are the same one.
class Request {
 public:
  // not-supported: no request launched it. QUIRE_HTTP_MAIN opens it for the handler.
  static Result<Request> open() {
    std::string bytes(4096, '\0');
    std::int32_t needed = TRY(read_head(bytes));
    if (static_cast<std::size_t>(needed) > bytes.size()) {
      bytes.resize(static_cast<std::size_t>(needed));
      needed = TRY(read_head(bytes));
    }
    bytes.resize(static_cast<std::size_t>(needed));
    return Request(std::make_shared<detail::Exchange>(TRY(detail::decode_request(bytes))));
  }

  const std::string& method() const QUIRE_LIFETIME_BOUND { return exchange_->method; }
  const std::string& target() const QUIRE_LIFETIME_BOUND {
    return exchange_->target;
  }  // With its query.
  std::string_view path() const QUIRE_LIFETIME_BOUND {
    return std::string_view(target()).substr(0, query_at());
  }
  std::string_view query() const QUIRE_LIFETIME_BOUND {
    return std::string_view(target()).substr(std::min(query_at() + 1, target().size()));
  }
  // The part of the path after `prefix`, decoded: the name in "/models/NAME". Empty if it has none.
  std::string path_after(std::string_view prefix) const {
    if (!path().starts_with(prefix)) return "";
    return detail::decode_path(path().substr(prefix.size()));
  }
  // The parameters of the query in their order, decoded; one without "=" has an empty value.
  std::vector<std::pair<std::string, std::string>> query_parameters() const {
    std::vector<std::pair<std::string, std::string>> parameters;
    std::string_view rest = query();
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      if (part.empty()) continue;
      const std::size_t equals = std::min(part.find('='), part.size());
      parameters.emplace_back(detail::decode_query(part.substr(0, equals)),
                              detail::decode_query(part.substr(std::min(equals + 1, part.size()))));
    }
    return parameters;
  }
  // The first of that name, decoded.
  std::optional<std::string> query_value(std::string_view name) const {
    for (auto& [each, value] : query_parameters()) {
      if (each == name) return std::move(value);
    }
    return std::nullopt;
  }
  const Headers& headers() const QUIRE_LIFETIME_BOUND { return exchange_->headers; }
  // The first of that name, in lower case.
  std::optional<std::string> header(std::string_view name) const {
    for (const Header& each : headers()) {
      if (each.name == name) return each.value;
    }
    return std::nullopt;
  }
  // The client's, or one that the server made. The response has it too.
  std::string id() const { return exchange_->header("x-request-id"); }

  // The next part of the body; empty at its end.
  Future<std::string> read() const { return Future<std::string>(abi::serve::read_request()); }
  // The rest of the body. Refused with 413 if it has more than `bytes_max`.
  Task<std::string> body(std::size_t bytes_max = kBodyBytesMax) const {
    return rest_of_body(*this, bytes_max);
  }
  // The body as JSON. Refused with 400 if it is none.
  Task<Json> json(std::size_t bytes_max = kBodyBytesMax) const {
    return json_body(*this, bytes_max);
  }

  // co_await request.refuse(404, "no model x"): ends the handler, and the client gets that status.
  // The code is the one that goes with the status, or the one given.
  auto refuse(std::uint32_t status, std::string message, ErrorCode code) const {
    exchange_->refusal = {status, Error{code, message}};
    return fail(code, std::move(message));
  }
  auto refuse(std::uint32_t status, std::string message) const {
    return refuse(status, std::move(message), code_of_status(status));
  }

  Response response() const { return Response(exchange_); }
  const detail::ExchangeHandle& exchange() const QUIRE_LIFETIME_BOUND { return exchange_; }

 private:
  explicit Request(detail::ExchangeHandle exchange) : exchange_(std::move(exchange)) {}

  static Result<std::int32_t> read_head(std::string& into) {
    return checked(abi::serve::request_head(into.data(), quire::detail::count_of(into.size())));
  }
  std::size_t query_at() const { return std::min(target().find('?'), target().size()); }

  static Task<std::string> rest_of_body(Request request, std::size_t bytes_max) {
    std::string all;
    for (;;) {
      const std::string part = co_await request.read();
      if (part.empty()) co_return all;
      if (part.size() > bytes_max - all.size()) {
        co_await request.refuse(413,
                                "the body has more than " + std::to_string(bytes_max) + " bytes");
      }
      all += part;
    }
  }
  static Task<Json> json_body(Request request, std::size_t bytes_max) {
    Result<Json> json = Json::parse_in_place(co_await request.body(bytes_max));
    if (!json.ok()) co_await request.refuse(400, "the body: " + json.error().message);
    co_return std::move(json).take();
  }

  detail::ExchangeHandle exchange_;
};

namespace detail {

// Runs the handler, and responds for it if it refused the request. To any other error the server
// responds, which also logs it.
inline Task<> answer(Request request, Task<> handling) {
  const Result<void> outcome = co_await attempt(std::move(handling));
  const Response response = request.response();
  if (outcome.ok()) {
    if (response.begun() && !response.finished()) co_await response.finish();
    co_return;
  }
  const Error error = outcome.error();
  const std::optional<Exchange::Refusal>& refusal = request.exchange()->refusal;
  const bool is_refusal =
      refusal && refusal->error.code == error.code && refusal->error.message == error.message;
  if (response.begun() || !is_refusal) co_await fail(error);
  // A header that cannot be sent must not keep the refusal from the client.
  std::erase_if(request.exchange()->added,
                [](const Header& each) { return !quire::detail::header_lines({each}).ok(); });
  Headers headers;
  if (refusal->status == 503) headers.push_back({"retry-after", "1"});
  co_await response.error(refusal->status, error, std::move(headers));
}

template <typename Options>
using HandlerWith = Task<>(Request, Response, Options);
using Handler = Task<>(Request, Response);

inline Result<Task<>> begun(Handler* handler, const std::vector<std::string>& words) {
  TRY(OptionReader().parse(words));
  Request request = TRY(Request::open());
  return answer(request, handler(request, request.response()));
}
template <typename Options>
Result<Task<>> begun(HandlerWith<Options>* handler, const std::vector<std::string>& words) {
  auto options = TRY(quire::detail::options_of<std::remove_cvref_t<Options>>(words));
  Request request = TRY(Request::open());
  return answer(request, handler(request, request.response(), std::move(options)));
}

inline const char* schema_of(Handler*) {
  return quire::detail::schema_of_none();
}
template <typename Options>
const char* schema_of(HandlerWith<Options>*) {
  return quire::detail::schema_of_options<std::remove_cvref_t<Options>>();
}

template <typename Function>
std::int32_t run_handler(Function* handler) {
  Result<std::vector<std::string>> words = runtime::arguments();
  if (!words.ok()) return quire::detail::failed(words.error());
  Result<Task<>> task = begun(handler, words.value());
  if (!task.ok()) return quire::detail::failed(task.error());
  const Result<void> outcome = run(std::move(task).take());
  std::fflush(nullptr);
  return outcome.ok() ? 0 : quire::detail::failed(outcome.error());
}

}  // namespace detail

}  // namespace quire::serve

// `handler` is a coroutine function of a Request and a Response, and of options (options.h) if it
// takes any: Task<> handler(serve::Request, serve::Response) or (.., .., Options).
#define QUIRE_HTTP_MAIN(handler)                                        \
  extern "C" QUIRE_EXPORT("run") std::int32_t run();                    \
  extern "C" std::int32_t run() {                                       \
    return ::quire::serve::detail::run_handler(handler);                \
  }                                                                     \
  extern "C" QUIRE_EXPORT("quire_options") const char* quire_options(); \
  extern "C" const char* quire_options() {                              \
    return ::quire::serve::detail::schema_of(handler);                  \
  }
