#include "cli/adapter_option.h"

#include <gtest/gtest.h>

namespace quire::cli {
namespace {

TEST(ParseAdapter, TakesNamePathModelAndScale) {
  const AdapterOption plain = parse_adapter("pirate=a/b.gguf").value();
  EXPECT_EQ(plain.name, "pirate");
  EXPECT_EQ(plain.path, "a/b.gguf");
  EXPECT_EQ(plain.model, "");
  EXPECT_FALSE(plain.scale.has_value());
  const AdapterOption full = parse_adapter("base:pirate=x@y=z@-0.5").value();
  EXPECT_EQ(full.model, "base");
  EXPECT_EQ(full.name, "pirate");
  EXPECT_EQ(full.path, "x@y=z");
  EXPECT_EQ(full.scale, -0.5f);
  EXPECT_EQ(parse_adapter("a=b@c").value().path, "b@c");
  EXPECT_EQ(parse_adapter("a=b@inf").value().path, "b@inf");
}

TEST(ParseAdapter, NamesTheFormWhereOneIsMissing) {
  for (const char* text : {"", "pirate", "=path", "pirate=", "base:=path", "pirate=@2"}) {
    const Result<AdapterOption> parsed = parse_adapter(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message().find("is not NAME=PATH"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace quire::cli
