// The memory of programs, compared with the simplest model; and what the manager does with it.
#include "application/lifecycle/program_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/lifecycle/scripted_guest.h"
#include "base/seeds.h"

namespace quire::lifecycle::program_memory_test {
namespace {

using control::TenantId;
using sandbox::FakeAction;
using sandbox::FakeHost;

struct ModelInstance {
  InstanceId id{};
  std::uint32_t tenant = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_most = 0;
  std::uint64_t grown_at = 0;
  bool lives = true;
};

// The model is a list of instances: every figure is a sum over it, and each choice a search.
class MemoryProgram {
 public:
  explicit MemoryProgram(std::uint64_t seed) : random_(seed) {
    memory_.set_several(true);
    for (std::uint32_t tenant = 0; tenant < kTenantCount; ++tenant) {
      weights_[tenant] = 1 + random_() % 3;
      memory_.set_weight(TenantId{tenant}, static_cast<std::uint32_t>(weights_[tenant]));
    }
  }

  void run() {
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
      if (instances_.empty() || random_() % 4 == 0) {
        instances_.push_back({InstanceId{++next_id_}, pick(kTenantCount)});
        change(instances_.back(), 1 + random_() % 200, true);
      } else {
        ModelInstance& each = instances_[pick(instances_.size())];
        const auto action = random_() % 6;
        if (action < 4) change(each, random_() % 300, false);
        if (action == 4) end(each);
        if (action == 5) leave(each);
      }
      if (random_() % 2 == 0) enforce();
      compare();
    }
    while (!instances_.empty()) leave(instances_.back());
    compare();
  }

 private:
  static constexpr std::uint32_t kTenantCount = 4;
  static constexpr std::uint64_t kBytesMax = 1000;

  std::uint32_t pick(std::size_t count) { return static_cast<std::uint32_t>(random_() % count); }
  void change(ModelInstance& each, std::uint64_t bytes, bool is_new) {
    memory_.charge(TenantId{each.tenant}, each.id, bytes);
    each.bytes = bytes;
    if (!is_new && bytes <= each.bytes_most) return;
    each.bytes_most = bytes;
    if (each.lives) each.grown_at = ++time_;
  }
  void end(ModelInstance& each) {
    memory_.end(each.id);
    each.lives = false;
  }
  void leave(ModelInstance& each) {
    memory_.leave(each.id);
    std::erase_if(instances_, [id = each.id](const auto& other) { return other.id == id; });
  }
  std::uint64_t sum(std::optional<std::uint32_t> tenant = std::nullopt) const {
    std::uint64_t bytes = 0;
    for (const ModelInstance& each : instances_) {
      if (!tenant || each.tenant == *tenant) bytes += each.bytes;
    }
    return bytes;
  }
  std::optional<InstanceId> loser() const {
    if (sum() <= kBytesMax) return std::nullopt;
    const ModelInstance* found = nullptr;
    const auto load = [&](std::uint32_t tenant) {
      return static_cast<double>(sum(tenant)) / static_cast<double>(weights_.at(tenant));
    };
    for (const ModelInstance& each : instances_) {
      if (!each.lives) continue;
      if (found == nullptr || load(each.tenant) > load(found->tenant) ||
          (load(each.tenant) == load(found->tenant) &&
           (each.tenant < found->tenant ||
            (each.tenant == found->tenant && each.grown_at > found->grown_at)))) {
        found = &each;
      }
    }
    return found == nullptr ? std::nullopt : std::optional(found->id);
  }
  void enforce() {
    while (const auto lost = memory_.loser()) {
      ASSERT_EQ(lost->id, loser());
      const auto found = std::ranges::find(instances_, lost->id, &ModelInstance::id);
      leave(*found);
    }
    EXPECT_EQ(loser(), std::nullopt);
  }
  void compare() {
    memory_.verify();
    EXPECT_EQ(memory_.bytes(), sum());
    EXPECT_EQ(memory_.is_over(), sum() > kBytesMax);
    for (std::uint32_t tenant = 0; tenant < kTenantCount; ++tenant) {
      const std::uint64_t has = sum(tenant);
      EXPECT_EQ(memory_.bytes_of(TenantId{tenant}), has);
      std::uint64_t weights = weights_[tenant];
      for (std::uint32_t other = 0; other < kTenantCount; ++other) {
        if (other != tenant && sum(other) > 0) weights += weights_[other];
      }
      const std::uint64_t others = sum() - has;
      const std::uint64_t half = others >= kBytesMax ? 0 : (kBytesMax - others) / 2;
      const std::uint64_t share =
          std::max(half, std::min(kBytesMax / 2, kBytesMax * weights_[tenant] / weights));
      const std::uint64_t first = random_() % 300;
      EXPECT_EQ(memory_.has_room(TenantId{tenant}, first), has + first <= share);
    }
  }

  std::mt19937_64 random_;
  ProgramMemory memory_{kBytesMax};
  std::map<std::uint32_t, std::uint64_t> weights_;
  std::vector<ModelInstance> instances_;
  std::uint64_t next_id_ = 0;
  std::uint64_t time_ = 0;
};

TEST(ProgramMemory, IsTheSumOfWhatInstancesHaveInRandomPrograms) {
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    SCOPED_TRACE(seed);
    MemoryProgram(seed).run();
    ASSERT_FALSE(HasFailure());
  }
}

// ---- In the manager ----------------------------------------------------------------------------

constexpr std::uint64_t kMebibyte = 1u << 20;

// Guests that grow by a MiB for each message, and end when their input is closed.
class MemoryOfGuests : public testing::Test {
 protected:
  MemoryOfGuests() {
    runtime.add_program(
        "grower",
        [] {
          return std::make_unique<ScriptedGuest>(
              [](FakeHost& host, int turn, std::int64_t& future) -> FakeAction {
                if (turn > 0) {
                  if (host.call("future", "take", {future, kBuffer, 64}).value < 0) return {};
                  host.grow(host.memory_bytes() + kMebibyte);
                }
                future = host.call("session", "receive", {}).value;
                return wait_for(host, future);
              });
        },
        kMebibyte);
    program =
        engine.manager.load_program(std::as_bytes(std::span(std::string_view("grower")))).value();
  }

  Result<InstanceId> launch(std::uint32_t tenant) {
    Result<InstanceId> id = engine.manager.launch(
        {.program = program, .tenant = TenantId{tenant}, .arguments = {}, .limits = {}},
        engine.client);
    engine.settle();
    return id;
  }
  void grow(InstanceId id, int mebibytes) {
    for (int each = 0; each < mebibytes; ++each) {
      if (!engine.manager.send_to(id, "more").ok()) return;
      engine.settle();
    }
  }
  std::size_t queued() const { return engine.manager.usage(0).queued_count; }

  ManualClock clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 64};
  TestEngine engine{runtime, clock, clock, {}, 16 * kMebibyte + 4096};
  ProgramId program{};
};

TEST_F(MemoryOfGuests, ALaunchBeyondTheShareOfItsTenantWaitsUntilAnInstanceEnds) {
  engine.manager.set_several_tenants(true);
  const InstanceId first = launch(1).value();
  grow(first, 7);
  const Result<InstanceId> waits = launch(1);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(queued(), 1u) << "the tenant has half of the memory";
  ASSERT_TRUE(launch(2).ok());
  EXPECT_EQ(queued(), 1u) << "another tenant does not wait";
  ASSERT_TRUE(engine.manager.close_input(first).ok());
  engine.settle();
  EXPECT_EQ(queued(), 0u);
  EXPECT_TRUE(std::ranges::all_of(engine.client.ends,
                                  [](const End& each) { return each.kind == EndKind::Finished; }));
}

TEST_F(MemoryOfGuests, TheTenantThatHasMostLosesTheProgramThatGrewLast) {
  engine.manager.set_several_tenants(true);
  const InstanceId modest = launch(1).value();
  const InstanceId early = launch(2).value();
  const InstanceId late = launch(2).value();
  grow(late, 3);
  grow(early, 4);
  grow(late, 5);
  EXPECT_TRUE(engine.client.ends.empty());
  grow(modest, 3);
  ASSERT_EQ(engine.client.ends.size(), 1u);
  const End& end = engine.client.ends[0];
  EXPECT_EQ(end.kind, EndKind::LimitExceeded);
  EXPECT_EQ(end.limit, "program_memory_bytes_max");
  EXPECT_NE(end.message.find("those of tenant 2 have most for its weight, 14.0 MiB, and this one, "
                             "with 9.0 MiB, grew last"),
            std::string::npos)
      << end.message;
  EXPECT_TRUE(engine.manager.has_ended(late));
  EXPECT_FALSE(engine.manager.has_ended(early));
  EXPECT_FALSE(engine.manager.has_ended(modest));
}

TEST_F(MemoryOfGuests, AProgramThatBeginsWithMoreThanThereIsIsNotStarted) {
  runtime.add_program(
      "large",
      [] { return std::make_unique<ScriptedGuest>([](auto&&...) { return FakeAction{}; }); },
      17 * kMebibyte);
  program =
      engine.manager.load_program(std::as_bytes(std::span(std::string_view("large")))).value();
  ASSERT_TRUE(launch(1).ok());
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::NotStarted);
  EXPECT_EQ(engine.client.ends[0].message,
            "program_memory_bytes_max: the program begins with 17.0 MiB, and the server has 16.0 "
            "MiB for all programs");
}

TEST_F(MemoryOfGuests, MessagesThatNothingTakesCount) {
  const InstanceId id = launch(1).value();
  const std::uint64_t before = engine.manager.usage(0).program_memory_bytes;
  ASSERT_TRUE(engine.manager.send_to(id, std::string(1000, 'x')).ok());
  EXPECT_GE(engine.manager.usage(0).program_memory_bytes, before + 1000);
  ASSERT_TRUE(engine.manager.close_input(id).ok());
  engine.settle();
  EXPECT_EQ(engine.manager.usage(0).program_memory_bytes, 0u);
}

}  // namespace
}  // namespace quire::lifecycle::program_memory_test
