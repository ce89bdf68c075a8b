#include "application/access/key_ring.h"

#include <gtest/gtest.h>

#include <set>

namespace quire::access {
namespace {

using service::Principal;
using service::Right;
using service::Rights;

constexpr const char* kTime = "2026-11-25T19:10:00Z";

KeyEntry entry_of(std::string name, std::string_view key, std::uint32_t tenant = 1,
                  Rights rights = {Right::Launch}) {
  return {std::make_shared<const Principal>(
              Principal{TenantId{tenant}, std::move(name), rights, digest_of_key(key)}),
          kTime};
}

std::string parse_error(const std::string& text) {
  const Result<KeyRing> ring = KeyRing::parse(text);
  return ring.ok() ? "" : std::string(ring.error().message());
}

TEST(KeyRing, KeysAreOfOneFormAndNoTwoAreAlike) {
  SystemRandom random;
  std::set<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.insert(make_key(random));
  EXPECT_EQ(keys.size(), 100u);
  for (const std::string& each : keys) {
    EXPECT_TRUE(is_key(each)) << each;
    EXPECT_EQ(each.size(), 46u);
    EXPECT_FALSE(is_key(each.substr(1)));
    EXPECT_FALSE(is_key(each.substr(0, 45) + "="));
    EXPECT_FALSE(is_key(each + "A"));
  }
  // All of the 32 bytes are in the key: base64url of zeros, and of ones.
  struct Constant final : RandomSource {
    explicit Constant(int of) : value(static_cast<std::byte>(of)) {}
    void fill(std::span<std::byte> into) override {
      EXPECT_EQ(into.size(), 32u);
      std::fill(into.begin(), into.end(), value);
    }
    std::byte value;
  };
  Constant zeros(0);
  Constant ones(255);
  EXPECT_EQ(make_key(zeros), "qk_" + std::string(43, 'A'));
  EXPECT_EQ(make_key(ones), "qk_" + std::string(42, '_') + "8");
}

TEST(KeyRing, FindsAKeyByItsHashAndNoOther) {
  SeededRandom random(1);
  KeyRing ring;
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < 20; ++i) {
    keys.push_back(make_key(random));
    ring = ring.with(entry_of("key" + std::to_string(i), keys.back(), i)).take();
  }
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_NE(ring.find(keys[i]), nullptr);
    EXPECT_EQ(ring.find(keys[i])->tenant, TenantId{i});
  }
  EXPECT_EQ(ring.find(make_key(random)), nullptr);
  EXPECT_EQ(ring.find(""), nullptr);
  EXPECT_EQ(KeyRing().find(keys[0]), nullptr);
}

TEST(KeyRing, ItsTextHoldsNoKeyAndGivesTheSameRing) {
  SeededRandom random(2);
  const std::string key = make_key(random);
  const Rights rights{Right::Launch, Right::Upload, Right::NamePrograms, Right::SeeTenant};
  const KeyRing ring = KeyRing()
                           .with(entry_of("alice", key, 4294967295u, rights))
                           .take()
                           .with(entry_of("b.o-b_2", make_key(random), 0, {Right::Operate}))
                           .take();
  const std::string text = ring.text();
  EXPECT_EQ(text.find(key.substr(3)), std::string::npos);
  EXPECT_NE(text.find("alice 4294967295 launch,upload,name-programs,see-tenant "),
            std::string::npos);
  const Result<KeyRing> again = KeyRing::parse(text + "\n# a comment\n");
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again.value().text(), text);
  EXPECT_EQ(*again.value().find(key), *ring.find(key));
}

TEST(KeyRing, HoldsAPrincipalUntilItsKeyIsGoneOrMeansSomethingElse) {
  SeededRandom random(3);
  const std::string key = make_key(random);
  const KeyRing ring = KeyRing().with(entry_of("alice", key)).take();
  const Principal principal = *ring.find(key);
  EXPECT_TRUE(ring.holds(principal));
  EXPECT_FALSE(ring.without("alice").take().holds(principal));
  const KeyRing more = KeyRing().with(entry_of("alice", key, 1, {Right::Operate})).take();
  EXPECT_FALSE(more.holds(principal));
}

TEST(KeyRing, AKeyHasItsEndInTheTextAndFromThenOnItHasExpired) {
  SeededRandom random(5);
  const std::string key = make_key(random);
  KeyEntry entry = entry_of("alice", key);
  Principal ends = *entry.principal;
  ends.end_unix_s = 1'800'000'000;
  entry.principal = std::make_shared<const Principal>(ends);
  const KeyRing ring = KeyRing().with(std::move(entry)).take();
  EXPECT_TRUE(ring.has_ends());
  EXPECT_TRUE(ring.text().ends_with(" 2026-11-25T19:10:00Z 2027-01-15T08:00:00Z\n")) << ring.text();
  const KeyRing again = KeyRing::parse(ring.text()).take();
  const service::PrincipalHandle found = again.find(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, ends);
  EXPECT_FALSE(has_expired(*found, 1'799'999'999));
  EXPECT_TRUE(has_expired(*found, 1'800'000'000));
  const KeyRing endless = KeyRing().with(entry_of("bob", key)).take();
  EXPECT_FALSE(endless.has_ends());
  EXPECT_FALSE(has_expired(*endless.find(key), UINT64_MAX));
}

TEST(KeyRing, NamesAndKeysAreUnique) {
  SeededRandom random(4);
  const std::string key = make_key(random);
  const KeyRing ring = KeyRing().with(entry_of("alice", key)).take();
  EXPECT_EQ(ring.with(entry_of("alice", make_key(random))).error().code(),
            ErrorCode::AlreadyExists);
  EXPECT_EQ(ring.with(entry_of("bob", key)).error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(ring.without("bob").error().message(), "no key is named \"bob\"; there are: alice");
}

TEST(KeyRing, ATextThatIsNotOneSaysInWhichLineAndWhy) {
  const std::string head = "# quire keys 1\n";
  const std::string hash(64, 'a');
  const std::string time = kTime;
  EXPECT_NE(parse_error("").find("does not begin with"), std::string::npos);
  EXPECT_NE(parse_error("alice 1 launch " + hash + " " + time).find("does not begin"),
            std::string::npos);
  EXPECT_EQ(parse_error(head), "");
  EXPECT_EQ(parse_error(head + "alice 1 launch " + hash + " " + time), "");
  const std::pair<std::string, std::string> wrong[] = {
      {"alice 1 launch " + hash, "were expected"},
      {"alice  1 launch " + hash + " " + time, "were expected"},
      {"alice 1 launch " + hash + " " + time + " ", "were expected"},
      {"alice 1 launch " + hash + " " + time + " " + time + " x", "were expected"},
      {"alice 1 launch " + hash + " " + time + " x", "\"x\" is not a time"},
      {"alice -1 launch " + hash + " " + time, "not a tenant"},
      {"alice 4294967296 launch " + hash + " " + time, "not a tenant"},
      {"alice 1 fly " + hash + " " + time, "\"fly\" is not a right: there are launch,"},
      {"alice 1 launch, " + hash + " " + time, "\"\" is not a right"},
      {"alice 1 launch " + hash.substr(1) + " " + time, "64 hex digits"},
      {"alice 1 launch A" + hash.substr(1) + " " + time, "64 hex digits"},
      {"alice 1 launch " + hash + " now", "not a time"},
      {"al/ice 1 launch " + hash + " " + time, "not the name of a key"},
      {"-alice 1 launch " + hash + " " + time, "not the name of a key"},
      {std::string(65, 'a') + " 1 launch " + hash + " " + time, "not the name of a key"}};
  for (const auto& [line, why] : wrong) {
    const std::string error = parse_error(head + "\n" + line + "\n");
    EXPECT_TRUE(error.starts_with("line 3: ")) << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
  }
}

TEST(KeyRing, TheRightToOperateIsEveryRight) {
  const Principal operates{TenantId{0}, "admin", {Right::Operate}, {}};
  const Principal launches{TenantId{0}, "alice", {Right::Launch}, {}};
  for (const Right each : service::kRights) {
    EXPECT_TRUE(service::may(operates, each));
    EXPECT_EQ(service::may(launches, each), each == Right::Launch);
  }
}

}  // namespace
}  // namespace quire::access
