#include "application/server/endpoint_table.h"

#include <gtest/gtest.h>

namespace quire::server {
namespace {

EndpointTable table_of(const std::vector<std::string>& texts) {
  std::vector<EndpointRule> rules;
  for (const std::string& each : texts) rules.push_back(parse_endpoint_rule(each).take());
  return EndpointTable::create(std::move(rules)).take();
}
std::string program_at(const EndpointTable& table, std::string_view method, std::string_view path) {
  const EndpointRule* rule = table.find(method, path);
  return rule == nullptr ? "none" : rule->program;
}

TEST(EndpointTable, ARuleIsAMethodAPathAProgramAndItsArguments) {
  const EndpointRule rule = parse_endpoint_rule("POST /v1/x=complete.wasm --n 4").take();
  EXPECT_EQ(rule.method, "POST");
  EXPECT_EQ(rule.path, "/v1/x");
  EXPECT_FALSE(rule.is_prefix);
  EXPECT_EQ(rule.program, "complete.wasm");
  EXPECT_EQ(rule.arguments, (std::vector<std::string>{"--n", "4"}));
  EXPECT_EQ(parse_endpoint_rule("GET /a/*=b").value().text(), "GET /a/*");
  EXPECT_EQ(parse_endpoint_rule("GET /a=b=c").value().program, "b=c");
}

TEST(EndpointTable, WhatIsNoRuleIsRefusedWithTheReason) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"POST /x", "names no program"},
           {"POST /x=", "names no program"},
           {"POST /x= ", "names no program"},
           {"/x=program", "a method and a path"},
           {"POST=program", "a method and a path"},
           {"POST /x y=program", "a method and a path"},
           {"post /x=program", "\"post\" is not one of"},
           {"OPTIONS /x=program", "\"OPTIONS\" is not one of"},
           {"HEAD /x=program", "\"HEAD\" is not one of"},
           {"POST x=program", "\"x\" is not one"},
           {"POST /x?y=program", "is not one"},
           {"POST /x*=program", "is not one"},
           {"POST /*/x=program", "is not one"},
           {"POST /x/**=program", "is not one"},
           {"POST /\xc3\xa9=program", "is not one"},
           {"POST /" + std::string(2000, 'x') + "=program", "is not one"},
           {"GET /=program", "answers /"},
           {"POST /health=program", "answers /health"}}) {
    const Result<EndpointRule> rule = parse_endpoint_rule(text);
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_EQ(rule.error().code(), ErrorCode::InvalidArgument) << text;
    EXPECT_NE(rule.error().message().find(why), std::string_view::npos) << rule.error().message();
  }
}

TEST(EndpointTable, TwoOfOnePlaceAreRefused) {
  std::vector<EndpointRule> rules;
  for (const char* text : {"POST /x=one", "GET /x=two", "POST /x/*=three", "POST /x=four"}) {
    rules.push_back(parse_endpoint_rule(text).take());
  }
  const Result<EndpointTable> table = EndpointTable::create(std::move(rules));
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(table.error().message(), "two endpoints are at POST /x: one and four");
}

TEST(EndpointTable, TheMoreExactPathGoesFirst) {
  const EndpointTable table = table_of({"GET /*=all", "GET /a/*=a", "GET /a/b/*=ab", "GET /a/b=b",
                                        "POST /a/*=post", "GET /a/b/c=c"});
  EXPECT_EQ(program_at(table, "GET", "/a/b"), "b");
  EXPECT_EQ(program_at(table, "GET", "/a/b/"), "ab");
  EXPECT_EQ(program_at(table, "GET", "/a/b/c"), "c");
  EXPECT_EQ(program_at(table, "GET", "/a/b/c/d"), "ab");
  EXPECT_EQ(program_at(table, "GET", "/a/x"), "a");
  EXPECT_EQ(program_at(table, "GET", "/a"), "all");
  EXPECT_EQ(program_at(table, "POST", "/a/b"), "post");
  EXPECT_EQ(program_at(table, "POST", "/b"), "none");
  EXPECT_EQ(program_at(table, "PUT", "/a/b"), "none");
  EXPECT_EQ(program_at(table, "GET", "x"), "none");
}

TEST(EndpointTable, AHeadIsAnsweredAsItsGet) {
  const EndpointTable table = table_of({"GET /x=get", "POST /y=post"});
  EXPECT_EQ(program_at(table, "HEAD", "/x"), "get");
  EXPECT_EQ(program_at(table, "HEAD", "/y"), "none");
  EXPECT_EQ(table.methods_at("/x"), "GET, HEAD");
  EXPECT_EQ(table.methods_at("/y"), "POST");
  EXPECT_EQ(table.methods_at("/z"), "");
}

TEST(EndpointTable, WithoutEndpointsNothingIsThere) {
  EXPECT_EQ(EndpointTable().find("GET", "/x"), nullptr);
  EXPECT_EQ(EndpointTable().methods_at("/x"), "");
}

}  // namespace
}  // namespace quire::server
