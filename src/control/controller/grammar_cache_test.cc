#include "control/controller/grammar_cache.h"

#include <gtest/gtest.h>

namespace quire::control {
namespace {

class SizedGrammar final : public inference::Grammar {
 public:
  explicit SizedGrammar(std::size_t bytes) : bytes_(bytes) {}
  Result<std::unique_ptr<inference::Matcher>> matcher() const override {
    return Error(ErrorCode::NotSupported, "not in this test");
  }
  Result<bool> fits(std::string_view) const override {
    return Error(ErrorCode::NotSupported, "not in this test");
  }
  std::size_t memory_bytes() const override { return bytes_; }

 private:
  const std::size_t bytes_;
};

Digest key(std::uint32_t tenant, const std::string& source,
           inference::GrammarKind kind = inference::GrammarKind::Regex) {
  return GrammarCache::key_of(TenantId{tenant}, {.model = {}, .kind = kind, .source = source});
}

TEST(GrammarCache, FindsWhatTheSameTenantCompiledByContent) {
  GrammarCache cache;
  const auto grammar = std::make_shared<const SizedGrammar>(10);
  cache.insert(TenantId{1}, key(1, "a"), grammar);
  EXPECT_EQ(cache.find(key(1, "a")), grammar);
  EXPECT_EQ(cache.find(key(2, "a")), nullptr);
  EXPECT_EQ(cache.find(key(1, "b")), nullptr);
  EXPECT_EQ(cache.find(key(1, "a", inference::GrammarKind::Lark)), nullptr);
}

TEST(GrammarCache, LetsGoWhatWasAskedForLongestAgo) {
  GrammarCache cache;
  const std::size_t third = GrammarCache::kBytesMax / 3;
  for (const char* each : {"a", "b", "c"}) {
    cache.insert(TenantId{1}, key(1, each), std::make_shared<const SizedGrammar>(third));
  }
  EXPECT_NE(cache.find(key(1, "a")), nullptr);
  cache.insert(TenantId{1}, key(1, "d"), std::make_shared<const SizedGrammar>(third));
  EXPECT_NE(cache.find(key(1, "a")), nullptr);
  EXPECT_EQ(cache.find(key(1, "b")), nullptr);
  EXPECT_LE(cache.bytes(), GrammarCache::kBytesMax);
  cache.insert(TenantId{1}, key(1, "too large"),
               std::make_shared<const SizedGrammar>(GrammarCache::kBytesMax + 1));
  EXPECT_EQ(cache.find(key(1, "too large")), nullptr);
  EXPECT_EQ(cache.count(), 3u);
}

TEST(GrammarCache, KeepsABoundedNumber) {
  GrammarCache cache;
  for (std::size_t each = 0; each < 2 * GrammarCache::kCountMax; ++each) {
    cache.insert(TenantId{1}, key(1, std::to_string(each)),
                 std::make_shared<const SizedGrammar>(1));
  }
  EXPECT_EQ(cache.count(), GrammarCache::kCountMax);
  EXPECT_EQ(cache.bytes(), GrammarCache::kCountMax);
}

}  // namespace
}  // namespace quire::control
