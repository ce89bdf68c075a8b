#pragma once
// quire::http: requests to the outside, where the launch granted it (`quire run --allow-http`).
//
//   const http::Response page = co_await http::get("https://example.com/");
//   if (!page.ok()) ...                                  // A status is not an Error.
//
//   http::Exchange exchange = co_await http::Exchange::open({.url = url});
//   const http::Head head = co_await exchange.head();
//   for (;;) {
//     const std::string piece = co_await exchange.read();
//     if (piece.empty()) break;
//     ...
//   }
//
// Owns     an Exchange its transfer: the last copy that goes cancels it. A Future that goes cancels
//          what it waits for; a read that goes loses nothing.
// Errors   as interface/net.wit says: permission-denied names the flag that would grant the URL. A
//          header is invalid-argument if its name is not a token, or its value has a line end or
//          another control character but a tab.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

namespace http {

struct Header {
  std::string name;  // In lower case where it comes from a server.
  std::string value;
};
using Headers = std::vector<Header>;

struct Head {
  std::uint32_t status = 0;
  Headers headers;

  bool ok() const { return status >= 200 && status < 300; }
  // The first of that name, in lower case.
  std::optional<std::string> header(std::string_view name) const {
    for (const Header& each : headers) {
      if (each.name == name) return each.value;
    }
    return std::nullopt;
  }
};

struct Response : Head {
  std::string body;
};

// For a Request whose body ends with finish() and not with a length.
inline constexpr std::int64_t kUnknownBodyBytes = -1;

struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers = {};
  std::int64_t body_bytes = 0;  // That write() will be given.
};

}  // namespace http

namespace detail {

// A token of RFC 9110.
inline bool is_header_name(std::string_view name) {
  const auto is_token = [](char each) {
    const bool is_letter = (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z');
    return is_letter || (each >= '0' && each <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(each) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_token);
}

inline bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

// Writes headers as the interface takes them. The interface has lines, so a line end in a value
// would begin another header, which an attacker may have chosen. That is invalid-argument, as is a
// name that is not a token.
[[gnu::noinline]] inline Result<std::string> header_lines(const http::Headers& headers) {
  std::string lines;
  for (const http::Header& each : headers) {
    if (!is_header_name(each.name)) {
      const auto number = &each - headers.data() + 1;
      return Error{ErrorCode::InvalidArgument,
                   "header " + std::to_string(number) + " of " + std::to_string(headers.size()) +
                       ": a name is one or more letters, digits and some of !#$%&'*+-.^_`|~"};
    }
    if (!is_header_value(each.value)) {
      return Error{ErrorCode::InvalidArgument,
                   "the value of the header \"" + each.name +
                       "\" has a control character, such as a line end; only tabs may be in one"};
    }
    lines += each.name + ": " + each.value + "\n";
  }
  return lines;
}

// Takes a head off the front of `bytes`.
inline Result<http::Head> decode_head(std::span<const std::byte>& bytes) {
  std::uint32_t record[2];  // Status, bytes of headers.
  const auto cut = [] { return Error{ErrorCode::Internal, "the head of a response is cut short"}; };
  if (bytes.size() < sizeof record) return cut();
  std::memcpy(record, bytes.data(), sizeof record);
  bytes = bytes.subspan(sizeof record);
  if (bytes.size() < record[1]) return cut();
  std::string_view lines(reinterpret_cast<const char*>(bytes.data()), record[1]);
  bytes = bytes.subspan(record[1]);
  http::Head head;
  head.status = record[0];
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::size_t colon = lines.find(": ");
    if (end == std::string_view::npos || colon > end) return cut();
    head.headers.push_back({std::string(lines.substr(0, colon)),
                            std::string(lines.substr(colon + 2, end - colon - 2))});
    lines.remove_prefix(end + 1);
  }
  return head;
}

}  // namespace detail

template <>
struct FutureValue<http::Head> {
  static Result<http::Head> decode(std::span<const std::byte> bytes) {
    return detail::decode_head(bytes);
  }
};

template <>
struct FutureValue<http::Response> {
  static Result<http::Response> decode(std::span<const std::byte> bytes) {
    http::Response response{TRY(detail::decode_head(bytes)), {}};
    response.body.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return response;
  }
};

namespace http {

// `text` as a part of a URL, such as the value of a query: all but letters, digits, "-", ".", "_" and "~" become
// %XX of their bytes (RFC 3986, 2.3).
[[gnu::noinline]] inline std::string encode_url(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    const bool is_letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    const bool is_plain = is_letter || (byte >= '0' && byte <= '9') ||
                          std::string_view("-._~").find(each) != std::string_view::npos;
    if (is_plain) {
      out += each;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// The whole response, redirects followed.
inline Future<Response> get(std::string_view url, const Headers& headers = {}) {
  Result<std::string> lines = detail::header_lines(headers);
  if (!lines.ok()) return Future<Response>(std::move(lines).take_error());
  return Future<Response>(abi::net::http_get(detail::bytes_of(url), detail::count_of(url.size()),
                                             detail::bytes_of(lines.value()),
                                             detail::count_of(lines.value().size())));
}
inline Future<Response> post(std::string_view url, std::string_view body,
                             const Headers& headers = {}) {
  Result<std::string> lines = detail::header_lines(headers);
  if (!lines.ok()) return Future<Response>(std::move(lines).take_error());
  return Future<Response>(
      abi::net::http_post(detail::bytes_of(url), detail::count_of(url.size()),
                          detail::bytes_of(lines.value()), detail::count_of(lines.value().size()),
                          detail::bytes_of(body), detail::count_of(body.size())));
}

// A request and its response, piece by piece.
class Exchange {
 public:
  static Result<Exchange> open(const Request& request) {
    const std::string lines = TRY(detail::header_lines(request.headers));
    Exchange exchange;
    exchange.handle_ = detail::SharedHandle(TRY(checked(abi::net::http_request(
        detail::bytes_of(request.method), detail::count_of(request.method.size()),
        detail::bytes_of(request.url), detail::count_of(request.url.size()),
        detail::bytes_of(lines), detail::count_of(lines.size()), request.body_bytes))));
    return exchange;
  }

  // The next piece of the request's body; ready when another may follow.
  Future<void> write(std::string_view bytes) const {
    return Future<void>(
        abi::net::write_body(handle(), detail::bytes_of(bytes), detail::count_of(bytes.size())));
  }
  Result<void> finish() const { return checked_empty(abi::net::finish_body(handle())); }

  Future<Head> head() const { return Future<Head>(abi::net::response_head(handle())); }
  // The next piece of the response's body; empty: it has ended.
  Future<std::string> read() const { return Future<std::string>(abi::net::read_body(handle())); }

  std::int32_t handle() const { return handle_.get(); }

 private:
  detail::SharedHandle handle_;
};

// The rest of the response's body. too-large: it has more than `bytes_max`.
inline Task<std::string> read_all(Exchange exchange, std::size_t bytes_max) {
  std::string all;
  for (;;) {
    const std::string piece = co_await exchange.read();
    if (piece.empty()) co_return all;
    if (piece.size() > bytes_max - all.size()) {
      co_await fail(ErrorCode::TooLarge,
                    "the response has more than " + std::to_string(bytes_max) + " bytes");
    }
    all += piece;
  }
}

}  // namespace http

}  // namespace quire
