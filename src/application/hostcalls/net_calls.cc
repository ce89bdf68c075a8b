// net: HTTP to the outside. What may be asked for is checked here; where it leads, by the client.
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/net/http_client.h"

namespace quire::hostcalls {
namespace {

Result<void> check_bytes(std::uint64_t count, std::uint64_t count_max, const char* what,
                         const char* limit) {
  if (count <= count_max) return {};
  return Error(ErrorCode::TooLarge, std::string(limit) + ": " + what + " has " +
                                        std::to_string(count) + " bytes, the limit is " +
                                        std::to_string(count_max));
}

// Everything but the body.
Result<net::HttpRequest> read_request(HostCall& call, std::string method,
                                      GuestList<std::uint8_t> url,
                                      GuestList<std::uint8_t> headers) {
  const GuestLimits& limits = call.guest.identity.limits;
  TRY(check_bytes(url.count, limits.http.url_bytes_max, "the URL", "http.url_bytes_max"));
  TRY(check_bytes(headers.count, limits.http.request_header_bytes_max, "the list of headers",
                  "http.request_header_bytes_max"));
  const std::string url_text = TRY(call.memory.read_bytes(url, "url"));
  const std::string header_text = TRY(call.memory.read_bytes(headers, "headers"));
  net::HttpRequest request;
  request.hop.method = std::move(method);
  request.hop.url = TRY(net::parse_url(url_text));
  TRY(net::granted_reach(request.hop.url, limits.http_grants));
  request.hop.headers = TRY(net::parse_header_lines(header_text));
  TRY(call.guest.http.check_room());
  return request;
}

Result<std::int32_t> start(HostCall& call, net::HttpRequest request) {
  const GuestHandle handle = TRY(call.guest.http.start(std::move(request)));
  return static_cast<std::int32_t>(handle);
}

}  // namespace

Result<std::int32_t> net_http_get(HostCall& call, GuestList<std::uint8_t> url,
                                  GuestList<std::uint8_t> headers) {
  TRY(call.guest.check_future_room());
  net::HttpRequest request = TRY(read_request(call, "GET", url, headers));
  return start(call, std::move(request));
}

Result<std::int32_t> net_http_post(HostCall& call, GuestList<std::uint8_t> url,
                                   GuestList<std::uint8_t> headers, GuestList<std::uint8_t> body) {
  TRY(call.guest.check_future_room());
  net::HttpRequest request = TRY(read_request(call, "POST", url, headers));
  const std::uint32_t bytes_max = call.guest.identity.limits.text_bytes_max;
  TRY(check_bytes(body.count, bytes_max, "the body (http-request takes it in pieces)",
                  "text_bytes_max"));
  request.body = TRY(call.memory.read_bytes(body, "body"));
  request.hop.has_body = true;
  return start(call, std::move(request));
}

Result<std::int32_t> net_http_request(HostCall& call, GuestList<std::uint8_t> list,
                                      GuestList<std::uint8_t> url, GuestList<std::uint8_t> headers,
                                      std::int64_t body_bytes) {
  constexpr std::uint32_t kMethodBytesMax = 16;
  TRY(check_bytes(list.count, kMethodBytesMax, "the method", "the longest method"));
  std::string method = TRY(call.memory.read_bytes(list, "method"));
  TRY(net::check_method(method));
  if (body_bytes != 0 && (method == "GET" || method == "HEAD")) {
    return Error(ErrorCode::InvalidArgument, "a " + method + " has no body: body-bytes is 0");
  }
  net::HttpRequest request = TRY(read_request(call, std::move(method), url, headers));
  request.is_streamed = true;
  request.is_body_streamed = body_bytes != 0;
  // One of these without a body says that it has 0 bytes: servers insist.
  const std::string& asked = request.hop.method;
  request.hop.has_body = body_bytes != 0 || asked == "POST" || asked == "PUT" || asked == "PATCH";
  if (body_bytes > 0) {
    request.body_bytes = static_cast<std::uint64_t>(body_bytes);
    TRY(check_bytes(*request.body_bytes, call.guest.identity.limits.http.request_body_bytes_max,
                    "the body", "http.request_body_bytes_max"));
  }
  return start(call, std::move(request));
}

Result<std::int32_t> net_write_body(HostCall& call, GuestHandle exchange,
                                    GuestList<std::uint8_t> bytes) {
  TRY(call.guest.check_future_room());
  TRY(check_bytes(bytes.count, call.guest.identity.limits.text_bytes_max, "a piece of a body",
                  "text_bytes_max"));
  std::string piece = TRY(call.memory.read_bytes(bytes, "bytes"));
  return static_cast<std::int32_t>(TRY(call.guest.http.write(exchange, std::move(piece))));
}

Result<std::int32_t> net_finish_body(HostCall& call, GuestHandle exchange) {
  TRY(call.guest.http.finish(exchange));
  return 0;
}

Result<std::int32_t> net_response_head(HostCall& call, GuestHandle exchange) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.http.head(exchange)));
}

Result<std::int32_t> net_read_body(HostCall& call, GuestHandle exchange) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.http.read(exchange)));
}

}  // namespace quire::hostcalls
