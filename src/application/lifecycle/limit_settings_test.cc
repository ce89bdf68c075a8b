#include "application/lifecycle/limit_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/fake_runtime.h"

namespace quire::lifecycle {
namespace {

TEST(LimitSettings, EachSetsALimitOfItsOwn) {
  InstanceLimits limits;
  std::set<std::string> names;
  for (std::size_t index = 0; index < std::size(kInstanceLimits); ++index) {
    EXPECT_TRUE(names.insert(kInstanceLimits[index].name).second) << kInstanceLimits[index].name;
    set_limit(limits, {index, kInstanceLimits[index].least + index});
  }
  for (std::size_t index = 0; index < std::size(kInstanceLimits); ++index) {
    EXPECT_EQ(limit_value(limits, index), kInstanceLimits[index].least + index)
        << kInstanceLimits[index].name;
  }
}

TEST(LimitSettings, TheDefaultsLieWithinTheirBounds) {
  const InstanceLimits limits;
  for (std::size_t index = 0; index < std::size(kInstanceLimits); ++index) {
    EXPECT_GE(limit_value(limits, index), kInstanceLimits[index].least)
        << kInstanceLimits[index].name;
    EXPECT_LE(limit_value(limits, index), kInstanceLimits[index].most)
        << kInstanceLimits[index].name;
  }
}

// Asks what it may have, and ends.
class CuriousGuest final : public sandbox::FakeGuest {
 public:
  explicit CuriousGuest(std::string& text) : text_(text) {}
  sandbox::FakeAction step(sandbox::FakeHost& host) override {
    const auto length = host.call("runtime", "limits", {0, 16'384}).value;
    text_ = host.get(0, static_cast<std::uint32_t>(length));
    return {sandbox::FakeAction::Kind::Finish, 0, ""};
  }

 private:
  std::string& text_;
};

// The same for every instance.
constexpr const char* kFixed[] = {"cpu_ns_uncut_max", "generation_count_max", "handle_count_max"};

TEST(LimitSettings, AProgramIsToldEveryLimitThatCanBeSetAndThoseThatCannot) {
  ManualClock clock;
  sandbox::FakeRuntime runtime(hostcalls::host_functions(), 4);
  TestEngine engine(runtime, clock);
  std::string text;
  runtime.add_program("curious", [&] { return std::make_unique<CuriousGuest>(text); });
  const ProgramId program =
      engine.manager.load_program(std::as_bytes(std::span(std::string_view("curious")))).value();
  InstanceLimits limits;
  std::map<std::string, std::uint64_t> wanted;
  for (std::size_t index = 0; index < std::size(kInstanceLimits); ++index) {
    const std::uint64_t value = limit_value(limits, index) - 1;  // And so none is its default.
    set_limit(limits, {index, value});
    wanted[kInstanceLimits[index].name] = value;
  }
  engine.launch(program, {}, limits);
  engine.settle();
  std::istringstream lines(text);
  std::set<std::string> fixed(std::begin(kFixed), std::end(kFixed));
  std::set<std::string> of_tenant;
  std::string name, used;
  for (std::uint64_t maximum = 0; lines >> name >> maximum >> used;) {
    EXPECT_TRUE(used == "-" || used.find_first_not_of("0123456789") == std::string::npos) << used;
    if (name.starts_with("tenant.")) {
      EXPECT_TRUE(of_tenant.insert(name).second) << name << " is told twice";
    } else if (fixed.erase(name) == 0) {
      ASSERT_EQ(wanted.count(name), 1u) << name << " is told twice, or cannot be set";
      EXPECT_EQ(maximum, wanted[name]) << name;
      wanted.erase(name);
    }
  }
  EXPECT_TRUE(lines.eof()) << text;
  for (const auto& [each, value] : wanted) ADD_FAILURE() << each << " can be set and is not told";
  EXPECT_EQ(fixed, std::set<std::string>());
  const std::set<std::string> of_queues = {
      "tenant.message_queue_count_max", "tenant.queued_bytes_max",
      "tenant.queued_message_count_max", "tenant.topic_subscription_count_max"};
  EXPECT_EQ(of_tenant, of_queues) << "the others have no bound here";
}

}  // namespace
}  // namespace quire::lifecycle
