// Host calls on the real controller, a simulated device and a simulated disk: what a guest is
// answered when it edits contexts, keeps them under a name and brings them back.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/sandbox/fake_runtime.h"
#include "base/random.h"
#include "control/harness.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kTokens = 1024;
constexpr std::uint32_t kName = 4096;
constexpr std::uint32_t kEmbed = 8192;
constexpr std::uint32_t kBuffer = 16384;
constexpr std::int64_t kOverwrite = 1;

std::int64_t minus(ErrorCode code) {
  return -static_cast<std::int64_t>(code);
}

// One instance: its calls, and the engine turned until all of them are answered.
class Guest {
 public:
  Guest(Harness& harness, TenantId tenant, const InstanceLimits& limits = {})
      : harness_(harness),
        parts_{*harness.controller, harness.clock, harness.wall_clock, random_, 0, nullptr},
        state_(parts_, hostcalls::GuestIdentity{harness.start(tenant, limits), {}, {}, limits}),
        host_(hostcalls::host_functions(), &state_, 1u << 16) {
    model_ = call("models", "get-model", {0, 0});
    queue = call("queue", "create-queue", {model_, 1});
    EXPECT_EQ(call("allocate", "alloc-emb", {queue, 1, kEmbed}), 1);
  }
  ~Guest() { harness_.controller->end_instance(state_.identity.instance); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  std::int64_t call(std::string_view interface, std::string_view name,
                    std::initializer_list<std::int64_t> arguments) {
    const std::int64_t value = host_.call(interface, name, arguments).value;
    state_.verify();
    return value;
  }
  // The result of a future, or its error; kBuffer holds its bytes.
  std::int64_t result_of(std::int64_t future) {
    if (future < 0) return future;
    settle();
    return call("future", "take", {future, kBuffer, 16384});
  }
  std::int64_t context(std::string_view name, std::initializer_list<std::int64_t> arguments) {
    return result_of(call("context", name, arguments));
  }
  void settle() {
    harness_.run();
    for (auto& [key, body] : std::exchange(harness_.answers, {})) {
      if (key.first == state_.identity.instance) {
        state_.answer({key.first, key.second, std::move(body)});
      }
    }
    state_.verify();
  }

  void append(std::int64_t to, std::uint32_t count, std::uint32_t first = 1) {
    const std::vector<std::uint32_t> tokens = count_tokens(count, first);
    host_.put(kTokens, {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 4});
    EXPECT_EQ(call("context", "append", {to, kTokens, count}), 0);
  }
  std::int64_t new_context(std::uint32_t token_count) {
    const std::int64_t made = call("context", "create", {queue});
    append(made, token_count);
    EXPECT_EQ(context("flush", {made}), 20);
    return made;
  }
  std::int64_t save(std::int64_t of, std::string_view name, std::int64_t flags = 0,
                    std::int64_t ttl_seconds = 0) {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return context("save", {of, host_.put(kName, name), bytes, flags, ttl_seconds});
  }
  std::int64_t begin_open(std::string_view name, std::string_view how = "open") {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return call("context", how, {queue, host_.put(kName, name), bytes});
  }
  // The handle of a new context, or an error.
  std::int64_t open(std::string_view name, std::string_view how = "open") {
    const std::int64_t result = result_of(begin_open(name, how));
    return result < 0 ? result : number_at(kBuffer);
  }
  std::int64_t remove(std::string_view name) {
    const auto bytes = static_cast<std::int64_t>(name.size());
    return context("delete", {host_.put(kName, name), bytes});
  }
  // What may follow the context, as bytes.
  std::string next(std::int64_t of) {
    EXPECT_EQ(context("forward", {of, kEmbed, 1}), 20);
    const std::int64_t bytes =
        result_of(call("output", "get-next-dist", {queue, number_at(kEmbed), 8}));
    return host_.get(kBuffer, static_cast<std::uint32_t>(std::max<std::int64_t>(bytes, 0)));
  }
  std::int32_t number_at(std::uint32_t address) {
    std::int32_t value = 0;
    std::memcpy(&value, host_.memory().data() + address, sizeof value);
    return value;
  }
  const std::string& error() const { return state_.last_error; }

  std::int64_t queue = 0;

 private:
  Harness& harness_;
  SeededRandom random_{1};
  hostcalls::HostParts parts_;
  hostcalls::GuestState state_;
  sandbox::FakeHost host_;
  std::int64_t model_ = 0;
};

class GuestSnapshots : public testing::Test {
 protected:
  void SetUp() override {
    Harness::Options options;
    options.files = &files;
    harness = std::make_unique<Harness>(std::move(options));
    harness->wall_clock.set_unix_ms(1'000'000);
    page_count = harness->free_page_count();
  }
  void TearDown() override {
    harness->run();
    harness->controller->verify();
    EXPECT_TRUE(harness->controller->idle());
    EXPECT_EQ(harness->free_page_count(), page_count);
  }

  store::SimulatedFileSystem files;
  std::unique_ptr<Harness> harness;
  std::uint32_t page_count = 0;
};

TEST_F(GuestSnapshots, WhatIsOpenedGoesOnAsWhatWasSavedInAnotherInstanceToo) {
  std::string expected;
  {
    Guest guest(*harness, TenantId{1});
    const std::int64_t context = guest.new_context(43);
    guest.append(context, 5, 100);
    ASSERT_EQ(guest.save(context, "a name"), 0) << guest.error();
    expected = guest.next(context);
  }
  Guest guest(*harness, TenantId{1});
  const std::int64_t opened = guest.open("a name");
  ASSERT_GT(opened, 0) << guest.error();
  EXPECT_EQ(guest.number_at(kBuffer + 4), 5);  // Still queued.
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 43);
  EXPECT_EQ(guest.next(opened), expected);
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 48);
}

TEST_F(GuestSnapshots, AreOverwrittenOnlyWhenAskedListedTakenAndDeleted) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  EXPECT_EQ(guest.save(context, "one"), 0);
  EXPECT_EQ(guest.save(context, "one"), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(guest.context("rewind", {context, 16}), 20);
  EXPECT_EQ(guest.save(context, "one", kOverwrite), 0);
  EXPECT_EQ(guest.save(context, "two"), 0);
  EXPECT_EQ(guest.context("list", {}), 16 + 2 * (36 + 3));
  EXPECT_EQ(guest.number_at(kBuffer), 2);
  EXPECT_EQ(guest.number_at(kBuffer + 16 + 16), 16);  // Tokens of the first.
  EXPECT_GT(guest.open("one", "take"), 0);
  EXPECT_EQ(guest.open("one", "take"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.remove("two"), 0);
  EXPECT_EQ(guest.remove("two"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.context("list", {}), 16);
}

TEST_F(GuestSnapshots, AreForgottenWhenTheirTimeIsOver) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  ASSERT_EQ(guest.save(context, "brief", 0, 60), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 59'999);
  EXPECT_GT(guest.open("brief"), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 60'000);
  EXPECT_EQ(guest.open("brief"), minus(ErrorCode::NotFound));
}

TEST_F(GuestSnapshots, AreOfTheirTenantAlone) {
  Guest one(*harness, TenantId{1});
  ASSERT_EQ(one.save(one.new_context(20), "mine"), 0);
  Guest other(*harness, TenantId{2});
  EXPECT_EQ(other.open("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.remove("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.context("list", {}), 16);
  EXPECT_GT(one.open("mine"), 0);
}

TEST_F(GuestSnapshots, BadNamesAreInvalidArgumentsAndTheNextCallWorks) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a\\b"), std::string("a\0b", 3), std::string("a\nb"), std::string("\xff"),
        std::string("\xc3\x28"), std::string("\xed\xa0\x80"), std::string(256, 'n'),
        std::string(4096, 'n')}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(guest.save(context, name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name, "take"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.remove(name), minus(ErrorCode::InvalidArgument));
  }
  EXPECT_EQ(guest.context("list", {}), 16);
  for (const std::string& name :
       {std::string("..."), std::string("\xc3\xbc ber"), std::string(255, 'n')}) {
    EXPECT_EQ(guest.save(context, name), 0) << guest.error();
    EXPECT_GT(guest.open(name), 0) << guest.error();
  }
}

// Else the limit would be reached by contexts that no one can name.
TEST_F(GuestSnapshots, AnOpenThatFailedOrWasDroppedLeavesNoContextInTheControlLayer) {
  Guest guest(*harness, TenantId{1}, {.context_count_max = 2});
  const std::int64_t context = guest.new_context(40);
  ASSERT_EQ(guest.save(context, "name"), 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(guest.open("no such name"), minus(ErrorCode::NotFound));
    EXPECT_EQ(guest.open("bad/name"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.call("future", "drop", {guest.begin_open("name")}), 0);
    guest.settle();
  }
  EXPECT_GT(guest.open("name"), 0) << guest.error();
  EXPECT_EQ(guest.open("name"), minus(ErrorCode::QuotaExceeded));
}

TEST_F(GuestSnapshots, AContextSplicedFromItselfOrAnotherComputesAsIfAppended) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t source = guest.new_context(40);
  const std::int64_t spliced = guest.call("context", "create", {guest.queue});
  EXPECT_EQ(guest.context("splice", {spliced, source, 0, 40}), 20);
  EXPECT_EQ(guest.next(spliced), guest.next(source));
  EXPECT_EQ(guest.context("splice", {source, source, 0, 40}), 20);
  EXPECT_EQ(guest.context("flush", {source}), 20);
  EXPECT_EQ(guest.call("context", "seq-len", {source}), 80);
  EXPECT_EQ(guest.context("splice", {source, spliced, 0, 41}), minus(ErrorCode::OutOfRange));
}

}  // namespace
}  // namespace quire::control
