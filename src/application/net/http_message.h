#pragma once
// Heads of requests and responses: what a program may say in one, what a server said in the other,
// and where a redirect leads.
//
// Thread   any; plain values, and HeadParser of one owner.
// Errors   InvalidArgument for what a program gave; Io for what a server sent; PermissionDenied for
//          a redirect from https to http.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "application/net/url.h"
#include "base/result.h"

namespace quire::net {

struct HttpHeader {
  std::string name;
  std::string value;

  friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

struct HttpHead {
  std::uint16_t status = 0;
  std::vector<HttpHeader> headers;  // In the order of the response, names in lower case.
};

// The last of that name (in lower case); null where there is none.
const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name);
void remove_header(std::vector<HttpHeader>& headers, std::string_view name);

// "name: value" lines, each ended by a line feed (the last one's may lack). Names in lower case.
// Refuses what the transport writes itself: host, content-length, connection and so on.
Result<std::vector<HttpHeader>> parse_header_lines(std::string_view lines);
std::string header_lines(const std::vector<HttpHeader>& headers);

// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
Result<void> check_method(std::string_view method);

// Takes a response's head line by line. Interim responses (1xx) are passed over.
class HeadParser {
 public:
  explicit HeadParser(std::uint32_t bytes_max) : bytes_max_(bytes_max) {}

  // One line with its line end. True when it was the one that ends the head. What comes later
  // (trailers) is counted and dropped.
  Result<bool> take(std::string_view line);
  HttpHead& head() { return head_; }

 private:
  std::uint32_t bytes_max_;
  std::uint64_t bytes_ = 0;
  HttpHead head_;
  bool ended_ = false;
};

// One request of an exchange; redirects make more.
struct Hop {
  std::string method;
  Url url;
  std::vector<HttpHeader> headers;  // Of the program.
  bool has_body = false;
};

// The next hop of a redirect, or nothing if the response is the program's. A body that comes as a
// stream cannot be sent again, so its redirects are the program's. Headers that identify the client
// (authorization, cookie) are removed when the origin changes.
Result<std::optional<Hop>> next_hop(const Hop& hop, const HttpHead& head, bool is_body_streamed);

}  // namespace quire::net
