// Tests of the rules for a program's requests: addresses, URLs, grants, heads of messages.
#include <gtest/gtest.h>

#include "application/net/http_grant.h"
#include "application/net/http_message.h"
#include "application/net/net_test_support.h"

namespace quire::net {
namespace {

TEST(IpAddress, EachRangeBeginsAndEndsWhereItsRegistrySays) {
  struct Row {
    const char* first;
    const char* last;
    const char* name;  // Of all between; those beside are of another kind.
    Reach reach;
    const char* before = nullptr;
    const char* after = nullptr;
  };
  const Row rows[] = {
      {"0.0.0.0", "0.255.255.255", "this network", Reach::Never, nullptr, "1.0.0.0"},
      {"10.0.0.0", "10.255.255.255", "private network", Reach::Private, "9.255.255.255",
       "11.0.0.0"},
      {"100.64.0.0", "100.127.255.255", "carrier-grade NAT", Reach::Private, "100.63.255.255",
       "100.128.0.0"},
      {"127.0.0.0", "127.255.255.255", "loopback", Reach::Private, "126.255.255.255", "128.0.0.0"},
      {"168.63.129.16", "168.63.129.16", "Azure platform", Reach::LinkLocal, "168.63.129.15",
       "168.63.129.17"},
      {"169.254.0.0", "169.254.255.255", "link-local", Reach::LinkLocal, "169.253.255.255",
       "169.255.0.0"},
      {"172.16.0.0", "172.31.255.255", "private network", Reach::Private, "172.15.255.255",
       "172.32.0.0"},
      {"192.0.0.0", "192.0.0.255", "protocol assignments", Reach::Never, "191.255.255.255",
       "192.0.1.0"},
      {"192.0.2.0", "192.0.2.255", "documentation", Reach::Never, "192.0.1.255", "192.0.3.0"},
      {"192.88.99.0", "192.88.99.255", "6to4 relay", Reach::Never, "192.88.98.255", "192.88.100.0"},
      {"192.168.0.0", "192.168.255.255", "private network", Reach::Private, "192.167.255.255",
       "192.169.0.0"},
      {"198.18.0.0", "198.19.255.255", "benchmarking", Reach::Never, "198.17.255.255",
       "198.20.0.0"},
      {"198.51.100.0", "198.51.100.255", "documentation", Reach::Never, "198.51.99.255",
       "198.51.101.0"},
      {"203.0.113.0", "203.0.113.255", "documentation", Reach::Never, "203.0.112.255",
       "203.0.114.0"},
      {"224.0.0.0", "239.255.255.255", "multicast", Reach::Never, "223.255.255.255"},
      {"240.0.0.0", "255.255.255.254", "reserved", Reach::Never},
      {"255.255.255.255", "255.255.255.255", "broadcast", Reach::Never},
      {"::", "::", "unspecified", Reach::Never},
      {"::1", "::1", "loopback", Reach::Private},
      {"::2", "::ffff:ffff", "IPv4-compatible", Reach::Never},
      {"::ffff:0:0", "::ffff:ffff:ffff", "IPv4-mapped", Reach::Never},
      {"::ffff:0:0:0", "::ffff:0:ffff:ffff", "IPv4-translated", Reach::Never},
      {"64:ff9b::", "64:ff9b::ffff:ffff", "NAT64", Reach::Never},
      {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local NAT64", Reach::Never},
      {"100::", "100::ffff:ffff:ffff:ffff", "discard-only", Reach::Never},
      {"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo", Reach::Never,
       "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "benchmarking", Reach::Never},
      {"2001:1::", "2001:1:ffff::", "protocol assignments", Reach::Never},
      {"2001:10::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments", Reach::Never,
       nullptr, "2001:200::"},
      {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation", Reach::Never,
       "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
      {"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4", Reach::Never,
       "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
      {"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation", Reach::Never,
       "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
      {"4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", Reach::Never,
       "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing", Reach::Never},
      {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique-local network", Reach::Private},
      {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local", Reach::LinkLocal},
      {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local network", Reach::Private},
      {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast", Reach::Never},
  };
  for (const Row& row : rows) {
    for (const char* inside : {row.first, row.last}) {
      const AddressKind kind = classify(address(inside));
      EXPECT_STREQ(kind.name, row.name) << inside;
      EXPECT_EQ(kind.reach, row.reach) << inside;
    }
    for (const char* beside : {row.before, row.after}) {
      if (beside == nullptr) continue;
      EXPECT_EQ(classify(address(beside)).reach, Reach::Public) << beside;
    }
  }
  for (const char* each : {"1.1.1.1", "8.8.8.8", "93.184.215.14", "223.255.255.255",
                           "2606:4700:4700::1111", "2a00:1450:4001::1", "2620:4f:8000::1"}) {
    EXPECT_EQ(classify(address(each)).reach, Reach::Public) << each;
  }
}

TEST(IpAddress, OnlyTheOneSpellingOfAnIpv4AddressIsOne) {
  EXPECT_EQ(text_of(*parse_ipv4("192.0.2.235")), "192.0.2.235");
  for (const char* each :
       {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.4.", ".1.2.3.4", "1..3.4", "01.2.3.4", "1.2.3.256",
        "1.2.3.1000", "1.2.3.-4", " 1.2.3.4", "1.2.3.4 ", "0x1.2.3.4", "1.2.3.4/8", "a.b.c.d"}) {
    EXPECT_FALSE(parse_ipv4(each)) << each;
  }
  EXPECT_FALSE(parse_ipv6(std::string_view("::1\0x", 5)));
  EXPECT_EQ(text_of(*parse_ipv6("2001:DB8:0:0::0:1")), "2001:db8::1");
}

TEST(Url, IsTakenApartAndPutTogether) {
  const auto text = [](std::string_view given) {
    Result<Url> url = parse_url(given);
    return url.ok() ? text_of(url.value()) : std::string(url.error().message());
  };
  EXPECT_EQ(text("http://example.com"), "http://example.com:80/");
  EXPECT_EQ(text("HTTPS://Example.COM/A?b=C#d"), "https://example.com:443/A?b=C");
  EXPECT_EQ(text("https://example.com:8443?q"), "https://example.com:8443/?q");
  EXPECT_EQ(text("http://[2001:DB8::1]:81/x"), "http://[2001:db8::1]:81/x");
  EXPECT_EQ(text("http://9.9.9.9/%7Ename/\xc3\xa9?\xff"), "http://9.9.9.9:80/%7Ename/%C3%A9?%FF");
  EXPECT_EQ(text("http://a_b.example-1.org/"), "http://a_b.example-1.org:80/");
  // libcurl takes a list of addresses that begins with a hyphen for one to be forgotten.
  for (const char* each : {"http://-a.com/", "http://a-.com/", "http://a.-b.com/", "http://-/"}) {
    EXPECT_NE(text(each).find("begins or ends with \"-\""), std::string::npos) << each;
  }
  EXPECT_NE(text("http://" + std::string(64, 'a') + ".com/").find("63 bytes"), std::string::npos);
  std::string longest;
  while (longest.size() < 250) longest += "a.";
  EXPECT_NE(text("http://" + longest + "abcd/").find("253 bytes"), std::string::npos);
}

TEST(Url, EveryByteThatIsNoPartOfOneIsRefused) {
  for (int byte = 0; byte < 256; ++byte) {
    const char each = static_cast<char>(byte);
    const bool is_host = (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                         (each >= 'A' && each <= 'Z') || each == '-' || each == '_' || each == '.';
    // These end the host, or its port begins.
    const bool ends = each == '/' || each == '?' || each == '#';
    EXPECT_EQ(parse_url(std::string("http://a") + each + "b.com/").ok(), is_host || ends) << byte;
    EXPECT_EQ(parse_url(std::string("http://a") + each).ok(),
              (is_host && each != '-' && each != '.') || ends)
        << byte;
    const bool is_path = byte > 0x20 && byte != 0x7f && each != '\\';
    EXPECT_EQ(parse_url(std::string("http://a.com/b") + each + "c").ok(), is_path) << byte;
  }
}

TEST(Url, ALocationIsReadAgainstWhereItCameFrom) {
  const Url base = parse_url("https://example.com:8443/a/b/c?q").value();
  const auto text = [&](std::string_view location) {
    Result<Url> url = resolve_location(base, location);
    return url.ok() ? text_of(url.value()) : "error";
  };
  const std::string root = "https://example.com:8443";
  EXPECT_EQ(text("/x"), root + "/x");
  EXPECT_EQ(text("x"), root + "/a/b/x");
  EXPECT_EQ(text("./x?y#z"), root + "/a/b/x?y");
  EXPECT_EQ(text("../x"), root + "/a/x");
  EXPECT_EQ(text("../../../../x"), root + "/x");
  EXPECT_EQ(text(".."), root + "/a/");
  EXPECT_EQ(text("x/.."), root + "/a/b/");
  EXPECT_EQ(text("?y"), root + "/a/b/c?y");
  EXPECT_EQ(text("#z"), root + "/a/b/c?q");
  EXPECT_EQ(text(""), root + "/a/b/c?q");
  EXPECT_EQ(text("//other.com/x"), "https://other.com:443/x");
  EXPECT_EQ(text("http://other.com/x"), "http://other.com:80/x");
  EXPECT_EQ(text("x:y"), "error");
  EXPECT_EQ(text("mailto:a@b.com"), "error");
  EXPECT_EQ(text("/a b"), "error");
  EXPECT_EQ(text("//a@b.com/"), "error");
}

TEST(HttpGrant, OpensWhatItNamesAndNothingElse) {
  struct Row {
    const char* pattern;
    std::vector<const char*> open;
    std::vector<const char*> shut;
  };
  const Row rows[] = {
      {"*",
       {"http://a.com/", "https://a.com/", "http://a.com:443/", "http://9.9.9.9/", "http://[::1]/"},
       {"http://a.com:8080/", "https://9.9.9.9:8443/"}},
      {"*:*", {"http://a.com:8080/", "http://9.9.9.9:1/"}, {}},
      {"API.example.com",
       {"https://api.example.com/", "http://api.EXAMPLE.com/"},
       {"https://example.com/", "https://xapi.example.com/", "https://api.example.com.evil.org/",
        "https://api.example.com:8443/"}},
      {"*.example.com",
       {"https://a.example.com/", "https://a.b.example.com/"},
       {"https://example.com/", "https://badexample.com/", "https://example.com.evil.org/",
        "https://a.example.com:81/"}},
      {"*.example.com:*", {"https://a.example.com:81/"}, {"https://example.com:81/"}},
      {"example.com:8443",
       {"https://example.com:8443/", "http://example.com:8443/"},
       {"https://example.com/", "https://a.example.com:8443/"}},
      {"[2001:db8::1]:81", {"http://[2001:db8:0::1]:81/"}, {"http://[2001:db8::1]/"}},
      {"10.0.0.7:8080", {"http://10.0.0.7:8080/"}, {"http://10.0.0.7/", "http://10.0.0.8:8080/"}},
  };
  for (const Row& row : rows) {
    const std::vector<HttpGrant> one = grants({row.pattern});
    for (const char* each : row.open) {
      EXPECT_TRUE(granted_reach(parse_url(each).value(), one).ok()) << row.pattern << " " << each;
    }
    for (const char* each : row.shut) {
      const Result<Reach> reach = granted_reach(parse_url(each).value(), one);
      ASSERT_FALSE(reach.ok()) << row.pattern << " " << each;
      EXPECT_EQ(reach.error().code(), ErrorCode::PermissionDenied);
      EXPECT_NE(reach.error().message().find("--allow-http "), std::string_view::npos);
    }
  }
}

TEST(HttpGrant, ReachesInsideOnlyWhereHostAndPortAreNamed) {
  const auto reach = [](const char* url, std::initializer_list<std::string> patterns) {
    return granted_reach(parse_url(url).value(), grants(patterns)).value();
  };
  EXPECT_EQ(reach("http://a.com/", {"*", "a.com", "*.com", "*:*", "a.com:*"}), Reach::Public);
  EXPECT_EQ(reach("http://a.com:80/", {"*:80", "*.com:80"}), Reach::Public);
  EXPECT_EQ(reach("http://a.com:80/", {"a.com:80"}), Reach::Private);
  EXPECT_EQ(reach("http://10.0.0.1:80/", {"10.0.0.1"}), Reach::Public);
  EXPECT_EQ(reach("http://10.0.0.1:80/", {"*:80", "10.0.0.1:80"}), Reach::LinkLocal);
  const Url url = parse_url("http://a.com/").value();
  for (const char* each : {"0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1", "240.0.0.1", "::"}) {
    const Result<void> checked = check_addresses(url, {address(each)}, Reach::LinkLocal, classify);
    ASSERT_FALSE(checked.ok()) << each;
    EXPECT_NE(checked.error().message().find("no grant opens it"), std::string_view::npos);
  }
  EXPECT_TRUE(check_addresses(url, {address("10.0.0.1")}, Reach::Private, classify).ok());
  EXPECT_FALSE(check_addresses(url, {address("169.254.1.1")}, Reach::Private, classify).ok());
  EXPECT_TRUE(check_addresses(url, {address("169.254.1.1")}, Reach::LinkLocal, classify).ok());
  EXPECT_EQ(check_addresses(url, {}, Reach::Public, classify).error().code(), ErrorCode::NotFound);
}

TEST(HttpGrant, OfATenantIsNamedByWhatIsRefused) {
  const std::vector<HttpGrant> of_tenant = parse_http_grants({"a.example"}, 7).value();
  const Url url = parse_url("https://b.example/").value();
  EXPECT_EQ(granted_reach(url, of_tenant).error().message(),
            "no grant of this program covers b.example:443; start the server with "
            "--tenant 7=allow-http:b.example");
  const std::string inside(
      check_addresses(url, {address("10.0.0.1")}, Reach::Public, classify, of_tenant)
          .error()
          .message());
  EXPECT_TRUE(inside.ends_with("; only --tenant 7=allow-http:b.example:443 opens it")) << inside;
}

TEST(HttpGrant, WhatIsNoPatternIsRefused) {
  for (const char* each : {"", ":80", "*:", "*:0", "*:65536", "*.", "**", "a.*", "*.9.9.9.9", "::1",
                           "[::1", "https://a.com", "a.com/", "a b", "a.com.", "127.1:80", "*a.com",
                           "a.com:80:80", "a.com:http"}) {
    const Result<HttpGrant> grant = parse_http_grant(each);
    ASSERT_FALSE(grant.ok()) << each;
    EXPECT_EQ(grant.error().code(), ErrorCode::InvalidArgument);
    EXPECT_NE(grant.error().message().find("is not a grant"), std::string_view::npos);
  }
}

TEST(HttpGrant, AUrlInItsPlaceIsAnsweredWithItsHost) {
  EXPECT_EQ(parse_http_grant("http://api.example.com:8080/v1").error().message(),
            "\"http://api.example.com:8080/v1\" is not a grant (as in *, api.example.com, "
            "*.example.com, example.com:8443, [::1]:8080): a grant has no http:// and no path: "
            "give api.example.com:8080");
}

TEST(HttpMessage, HeadersOfAProgramAreLines) {
  const std::vector<HttpHeader> headers =
      parse_header_lines("Accept: a, b\nX-Empty:\nx-tab:\t c\td  \nX-\x21: \xe9").value();
  EXPECT_EQ(headers, (std::vector<HttpHeader>{
                         {"accept", "a, b"}, {"x-empty", ""}, {"x-tab", "c\td"}, {"x-!", "\xe9"}}));
  EXPECT_EQ(header_lines(headers), "accept: a, b\nx-empty: \nx-tab: c\td\nx-!: \xe9\n");
  EXPECT_TRUE(parse_header_lines("").value().empty());
  for (const char* each :
       {"no colon", ": value", "a b: c", "a\r: b", "a: b\r", "a: b\rc: d", "a: \x01", "a:b\n\nc:d",
        "Host: a", "content-length: 5", "Transfer-Encoding: chunked", "connection: close",
        "Proxy-Authorization: x", "upgrade: h2c", "TE: trailers", "expect: 100-continue"}) {
    const Result<std::vector<HttpHeader>> refused = parse_header_lines(each);
    ASSERT_FALSE(refused.ok()) << each;
    EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  }
  std::string many;
  for (int i = 0; i < 257; ++i) many += "a: b\n";
  EXPECT_EQ(parse_header_lines(many).error().code(), ErrorCode::TooLarge);
  EXPECT_TRUE(check_method("PATCH").ok());
  for (const char* each : {"", "get", "CONNECT", "TRACE", "GET /", "G\r\n"}) {
    EXPECT_FALSE(check_method(each).ok()) << each;
  }
}

TEST(HttpMessage, AHeadIsReadPastInterimResponses) {
  HeadParser parser(1000);
  for (const char* each :
       {"HTTP/1.1 103 Early Hints\r\n", "link: x\r\n", "\r\n", "HTTP/1.1 204 No Content\r\n",
        "Set-Cookie: a\r\n", "SET-COOKIE: b\r\n", "folded: one\r\n", "  two\r\n"}) {
    EXPECT_FALSE(parser.take(each).value());
  }
  EXPECT_TRUE(parser.take("\r\n").value());
  EXPECT_FALSE(parser.take("trailer: late\r\n").value());
  EXPECT_EQ(parser.head().status, 204);
  EXPECT_EQ(
      parser.head().headers,
      (std::vector<HttpHeader>{{"set-cookie", "a"}, {"set-cookie", "b"}, {"folded", "one two"}}));
  EXPECT_EQ(parser.take(std::string(1000, 'x')).error().code(), ErrorCode::TooLarge);
  for (const char* each : {"HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2x0\r\n",
                           "HTTP/1.1 101 Switching\r\n", "no colon\r\n", "a: \x02\r\n"}) {
    EXPECT_EQ(HeadParser(1000).take(each).error().code(), ErrorCode::Io) << each;
  }
}

TEST(HttpMessage, RedirectsChangeTheRequestAsTheyMust) {
  Hop hop{"POST",
          parse_url("https://a.com/x").value(),
          {{"authorization", "secret"}, {"cookie", "c"}, {"content-type", "t"}, {"x-own", "1"}},
          true};
  const auto next = [&](std::uint16_t status, const char* location, bool is_streamed = false) {
    return next_hop(hop, {status, {{"location", location}}}, is_streamed);
  };
  const Hop got = *next(302, "/y").value();
  EXPECT_EQ(got.method, "GET");
  EXPECT_FALSE(got.has_body);
  EXPECT_EQ(header_lines(got.headers), "authorization: secret\ncookie: c\nx-own: 1\n");
  const Hop kept = *next(307, "https://a.com:443/y").value();
  EXPECT_EQ(kept.method, "POST");
  EXPECT_TRUE(kept.has_body);
  EXPECT_EQ(kept.headers, hop.headers);
  for (const char* other : {"https://b.com/", "https://a.com:8443/", "//b.com/x"}) {
    EXPECT_EQ(header_lines(next(308, other).value()->headers), "content-type: t\nx-own: 1\n");
  }
  EXPECT_EQ(next(303, "/y").value()->method, "GET");
  EXPECT_EQ(next(301, "http://a.com/").error().code(), ErrorCode::PermissionDenied);
  EXPECT_EQ(next(301, "ftp://a.com/").error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(next(307, "/y", true).value());
  EXPECT_FALSE(next(304, "/y").value());
  EXPECT_FALSE(next(200, "/y").value());
  EXPECT_FALSE(next_hop(hop, {302, {}}, false).value());
  hop.method = "HEAD";
  EXPECT_EQ(next(303, "/y").value()->method, "HEAD");
  hop.method = "PUT";
  EXPECT_EQ(next(302, "/y").value()->method, "PUT");
}

}  // namespace
}  // namespace quire::net
