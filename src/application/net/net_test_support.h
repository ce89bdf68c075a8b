#pragma once
// What the tests of this folder say often.
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "application/net/http_grant.h"

namespace quire::net {

inline IpAddress address(const std::string& text) {
  const std::optional<IpAddress> v4 = parse_ipv4(text);
  const std::optional<IpAddress> parsed = v4 ? v4 : parse_ipv6(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(IpAddress{});
}

inline std::vector<HttpGrant> grants(std::initializer_list<std::string> patterns) {
  std::vector<HttpGrant> out;
  for (const std::string& each : patterns) out.push_back(parse_http_grant(each).value());
  return out;
}

}  // namespace quire::net
