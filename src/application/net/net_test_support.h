#pragma once
// Common parts of the tests of this folder.
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "application/net/http_client.h"
#include "application/net/http_grant.h"

namespace quire::net {

inline IpAddress address(const std::string& text) {
  const std::optional<IpAddress> v4 = parse_ipv4(text);
  const std::optional<IpAddress> parsed = v4 ? v4 : parse_ipv6(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(IpAddress{});
}

inline std::vector<HttpGrant> grants(std::initializer_list<std::string> patterns) {
  return parse_http_grants(patterns).value();
}

inline HttpRequest get_request(const std::string& url, std::vector<HttpGrant> granted) {
  HttpRequest request;
  request.hop = {.method = "GET", .url = parse_url(url).value(), .headers = {}, .has_body = false};
  request.grants = std::move(granted);
  return request;
}

inline void expect_error(const HttpEvent& event, ErrorCode code, const std::string& text) {
  ASSERT_TRUE(event.error) << "status " << event.head.status;
  EXPECT_STREQ(error_code_name(event.error->code()), error_code_name(code))
      << event.error->message();
  EXPECT_NE(event.error->message().find(text), std::string_view::npos) << "wanted: " << text << "\n"
                                                                       << event.error->message();
}

}  // namespace quire::net
