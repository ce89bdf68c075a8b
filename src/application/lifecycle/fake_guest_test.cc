// The lifecycle around guests that are C++ state machines: on a clock that the test moves, and
// under ThreadSanitizer.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/lifecycle/output_shares.h"
#include "application/lifecycle/scripted_guest.h"
#include "base/clock.h"
#include "base/seeds.h"

namespace quire::lifecycle {
namespace {

using sandbox::FakeAction;
using sandbox::FakeGuest;
using sandbox::FakeHost;
using Kind = FakeAction::Kind;

class CountingClient final : public Listener {
 public:
  bool heard(InstanceId, const service::Said& said) override {
    const auto* message = std::get_if<service::Message>(&said);
    count += message != nullptr;
    bytes += message == nullptr ? 0 : message->bytes.size();
    return true;
  }
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

class FakeGuests : public testing::Test {
 protected:
  ProgramId program(const std::string& name, std::function<FakeAction(FakeHost&, int)> step) {
    runtime.add_program(name, [step] {
      return std::make_unique<ScriptedGuest>(
          [step](FakeHost& host, int turn, std::int64_t&) { return step(host, turn); });
    });
    return engine.manager.load_program(std::as_bytes(std::span(name))).value();
  }

  ManualClock clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 16};
  TestEngine engine{runtime, clock};
};

TEST_F(FakeGuests, SleepersWakeInTheOrderOfTheirTimes) {
  const ProgramId sleeper = program("sleeper", [](FakeHost& host, int turn) -> FakeAction {
    if (turn > 0) {
      send(host, host.get(2048, 1));
      return {};
    }
    host.call("runtime", "get-arg", {0, 2048, 1});
    const int order = host.get(2048, 1)[0] - '0';
    return wait_for(host, host.call("runtime", "sleep", {order * 1000}).value);
  });
  for (const char* order : {"3", "1", "2"}) engine.launch(sleeper, {order});
  engine.settle();
  EXPECT_EQ(engine.manager.next_timer_ns(), 1000u);
  for (int i = 0; i < 3; ++i) {
    clock.advance_ns(1000);
    engine.settle();
  }
  EXPECT_EQ(engine.client.messages, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

void log(FakeHost& host, hostcalls::LogLevel level, std::string_view text) {
  host.call("runtime", "log",
            {static_cast<std::int64_t>(level), host.put(kBuffer, text),
             static_cast<std::int64_t>(text.size())});
}

// A guest has an exit code alone to say that it failed; this is how its reason reaches the client.
TEST_F(FakeGuests, TheLastErrorInTheLogIsTheReasonOfAnExitCodeThatIsNotZero) {
  const ProgramId failing = program("failing", [](FakeHost& host, int) -> FakeAction {
    log(host, LogLevel::Error, "tried once");
    log(host, LogLevel::Error, "invalid-argument: two\nlines\x1b[2J\n");
    log(host, LogLevel::Info, "cleaning up");
    return {Kind::Finish, 7, ""};
  });
  const ProgramId well = program("well", [](FakeHost& host, int) -> FakeAction {
    log(host, LogLevel::Error, "tried once");
    return {Kind::Finish, 0, ""};
  });
  const ProgramId silent =
      program("silent", [](FakeHost&, int) -> FakeAction { return {Kind::Finish, 3, ""}; });
  for (const ProgramId each : {failing, well, silent}) engine.launch(each);
  engine.settle();
  ASSERT_EQ(engine.client.ends.size(), 3u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::Finished);
  EXPECT_EQ(engine.client.ends[0].exit_code, 7);
  EXPECT_EQ(engine.client.ends[0].message, "invalid-argument: two\nlines\\x1b[2J");
  EXPECT_EQ(engine.client.ends[1].message, "");
  EXPECT_EQ(engine.client.ends[2].message, "");
}

TEST_F(FakeGuests, AReasonIsKnownAlthoughTheLogHasNoRoomForIt) {
  const ProgramId failing = program("failing", [](FakeHost& host, int) -> FakeAction {
    log(host, LogLevel::Error, "there is no such file");
    return {Kind::Finish, 7, ""};
  });
  InstanceLimits limits;
  limits.guest.log_bytes_max = 1;
  engine.launch(failing, {}, limits);
  engine.settle();
  EXPECT_TRUE(engine.client.lines.empty());
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].message, "there is no such file");
}

// Other processes have the machine, or it stands still, while a program runs.
TEST(FakeGuestsOfABusyMachine, AProgramIsChargedProcessorTimeAlone) {
  ManualClock clock;
  ManualClock cpu_clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 16};
  TestEngine engine{runtime, clock, cpu_clock};
  runtime.add_program("program", [&] {
    return std::make_unique<ScriptedGuest>([&](FakeHost&, int turn, std::int64_t&) -> FakeAction {
      clock.advance_ns(11 * kSecond);
      cpu_clock.advance_ns(kMillisecond);
      return {turn < 2 ? Kind::Yield : Kind::Finish, 0, ""};
    });
  });
  const std::string name = "program";
  engine.launch(engine.manager.load_program(std::as_bytes(std::span(name))).value());
  engine.settle();
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::Finished) << engine.client.ends[0].message;
  EXPECT_EQ(engine.client.ends[0].cpu_ns, 3 * kMillisecond);
  EXPECT_EQ(engine.client.ends[0].duration_ns, 33 * kSecond);
}

TEST_F(FakeGuests, LoopSleepsNoLongerThanUntilABatchIsDue) {
  const ProgramId sleeper = program("sleeper", [](FakeHost& host, int turn) -> FakeAction {
    if (turn > 0) return {};
    return wait_for(host, host.call("runtime", "sleep", {9000}).value);
  });
  engine.launch(sleeper);
  engine.settle();
  EXPECT_EQ(engine.loop.sleep_ns(), 9000u);
  engine.control.dispatch_in_ns = 700;
  EXPECT_EQ(engine.loop.sleep_ns(), 700u);
  engine.control.dispatch_in_ns = 30'000;
  EXPECT_EQ(engine.loop.sleep_ns(), 9000u);
}

TEST_F(FakeGuests, GuestThatUsesUpItsSliceGetsATenthOfABusyDevicesTime) {
  std::uint64_t used_ns = 0;
  const ProgramId hog = program("hog", [&](FakeHost&, int) -> FakeAction {
    clock.advance_ns(kMillisecond);
    used_ns += kMillisecond;
    return {Kind::Yield, 0, ""};
  });
  engine.launch(hog);
  engine.loop.step();
  engine.control.idle_now = false;
  used_ns = 0;
  const std::uint64_t start_ns = clock.now_ns();
  while (clock.now_ns() - start_ns < 1000 * kMillisecond) {
    if (!engine.loop.step()) clock.advance_ns(kMillisecond / 4);
  }
  EXPECT_GT(used_ns, 80 * kMillisecond);
  EXPECT_LE(used_ns, 100 * kMillisecond + kMillisecond);
  engine.control.idle_now = true;
  used_ns = 0;
  for (int i = 0; i < 10; ++i) engine.loop.step();
  EXPECT_EQ(used_ns, 10 * kMillisecond);
}

// The nappers compute for nearly a slice, then wait for a nanosecond, over and over. Alongside
// them, one guest wakes each 5 ms for a moment, and one only computes.
TEST_F(FakeGuests, ManyWhoNapDelayNobodyWhoWaitsAndStarveNobodyWhoComputes) {
  std::uint64_t napping_ns = 0, computing_ns = 0, late_ns = 0, due_ns = 0;
  const ProgramId napper = program("napper", [&](FakeHost& host, int) -> FakeAction {
    clock.advance_ns(900'000);
    napping_ns += 900'000;
    return wait_for(host, host.call("session", "receive", {}).value, 1);
  });
  const ProgramId hog = program("hog", [&](FakeHost&, int) -> FakeAction {
    clock.advance_ns(kMillisecond);
    computing_ns += kMillisecond;
    return {Kind::Yield, 0, ""};
  });
  int wake_count = 0;
  const ProgramId victim = program("victim", [&](FakeHost& host, int turn) -> FakeAction {
    if (turn > 0 && clock.now_ns() > due_ns) late_ns = std::max(late_ns, clock.now_ns() - due_ns);
    ++wake_count;
    clock.advance_ns(50'000);
    due_ns = clock.now_ns() + 5 * kMillisecond;
    return wait_for(host, host.call("runtime", "sleep", {5'000'000}).value);
  });
  engine.control.idle_now = false;
  engine.launch(victim);
  engine.launch(hog);
  for (int each = 0; each < 64; ++each) engine.launch(napper);
  for (int step = 0; step < 500; ++step) engine.loop.step();  // They show what they are.
  napping_ns = computing_ns = late_ns = 0;
  wake_count = 0;
  const std::uint64_t start_ns = clock.now_ns();
  while (clock.now_ns() - start_ns < 10'000 * kMillisecond) {
    if (!engine.loop.step()) clock.advance_ns(kMillisecond / 4);
  }
  engine.manager.verify();
  EXPECT_LE(late_ns, 2 * kMillisecond);
  EXPECT_GT(wake_count, 1800);
  EXPECT_GT(computing_ns, 10 * kMillisecond);
  EXPECT_LE(napping_ns + computing_ns, 1020 * kMillisecond) << "a tenth of a busy device's time";
}

// A client launches it again whenever it has ended, each time for less than a slice. Launches of
// another tenant, and of another program, go on at once as before.
TEST_F(FakeGuests, LaunchesOfWhatComputesAtFirstGetAFifthOfABusyDevicesTime) {
  std::uint64_t run_ns = 0, computing_ns = 0;
  const auto compute = [&](FakeHost&, int) -> FakeAction {
    clock.advance_ns(run_ns);
    computing_ns += run_ns;
    return {Kind::Finish, 0, ""};
  };
  const auto launch = [&](ProgramId id, std::uint32_t tenant) {
    return engine.manager
        .launch({.program = id, .tenant = control::TenantId{tenant}, .arguments = {}, .limits = {}},
                engine.client)
        .value();
  };
  for (const std::uint64_t each_ns : {1'500'000, 400'000}) {
    const std::string name = "runs " + std::to_string(each_ns);
    const ProgramId attacker = program(name, compute);
    run_ns = kSecond;  // It is not charged while the device does nothing.
    engine.control.idle_now = true;
    launch(attacker, 0);
    engine.settle();
    engine.control.idle_now = false;
    run_ns = each_ns;
    computing_ns = 0;
    launch(attacker, 0);
    const std::uint64_t start_ns = clock.now_ns();
    std::size_t end_count = engine.client.ends.size();
    while (clock.now_ns() - start_ns < 10'000 * kMillisecond) {
      if (!engine.loop.step()) clock.advance_ns(kMillisecond / 4);
      if (engine.client.ends.size() == end_count) continue;
      end_count = engine.client.ends.size();
      launch(attacker, 0);
    }
    // A tenth at once, a tenth in the background, and what was saved up.
    EXPECT_LE(computing_ns, 2'130 * kMillisecond) << name;
    EXPECT_GT(computing_ns, 1'000 * kMillisecond) << name << ": they go on";
    run_ns = 0;
    const ProgramId other = program("not " + name, compute);
    for (const auto& [id, tenant] : {std::pair(attacker, 1u), std::pair(other, 0u)}) {
      const std::size_t before = engine.client.ends.size();
      launch(id, tenant);
      engine.loop.step();
      EXPECT_GT(engine.client.ends.size(), before) << name << " " << tenant;
    }
    while (engine.manager.live_count() > 0) {
      if (!engine.loop.step()) clock.advance_ns(kMillisecond);
    }
  }
  engine.manager.verify();
}

TEST_F(FakeGuests, CpuLimitsNameThemselves) {
  const ProgramId hog = program("hog", [&](FakeHost& host, int turn) -> FakeAction {
    clock.advance_ns(kMillisecond);
    if (turn % 2 == 0) return {Kind::Yield, 0, ""};
    return wait_for(host, host.call("runtime", "sleep", {1000}).value);
  });
  InstanceLimits limits;
  limits.cpu_ns_max = 5 * kMillisecond;
  engine.launch(hog, {}, limits);
  for (int i = 0; i < 20; ++i) {
    engine.settle();
    clock.advance_ns(1000);
  }
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].limit, "cpu_ns_max");
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::LimitExceeded);
}

TEST_F(FakeGuests, KillWorksInEveryStage) {
  const ProgramId waits = program("waits", [](FakeHost& host, int) {
    return wait_for(host, host.call("session", "receive", {}).value);
  });
  const ProgramId yields =
      program("yields", [](FakeHost&, int) { return FakeAction{Kind::Yield, 0, ""}; });
  std::vector<InstanceId> ids;
  for (int i = 0; i < 15; ++i) ids.push_back(engine.launch(waits));
  ids.push_back(engine.launch(yields));
  ids.push_back(engine.launch(waits));  // No slot: queued.
  for (int i = 0; i < 17; ++i) engine.loop.step();
  engine.manager.verify();
  const InstanceId ready = ids[0];
  ASSERT_TRUE(engine.manager.send_to(ready, "wakes it").ok());
  for (const InstanceId id : {ids[16], ids[15], ready, ids[1]}) {
    EXPECT_TRUE(engine.manager.kill(id, "enough").ok());
    engine.manager.verify();
  }
  engine.settle();
  EXPECT_EQ(engine.client.ends.size(), 4u);
  for (const End& end : engine.client.ends) {
    EXPECT_EQ(end.kind, EndKind::Killed);
    EXPECT_EQ(end.message, "enough");
  }
  EXPECT_EQ(engine.manager.live_count(), 13u);
}

TEST_F(FakeGuests, OneThatLostItsPagesEndsAndTheOthersGoOn) {
  const ProgramId waits = program("waits", [](FakeHost& host, int) {
    return wait_for(host, host.call("session", "receive", {}).value);
  });
  const InstanceId first = engine.launch(waits);
  const InstanceId second = engine.launch(waits);
  engine.settle();
  engine.answers.lost(second, Error(ErrorCode::NoFreePage, "none is left"));
  engine.answers.lost(InstanceId{999}, Error(ErrorCode::NoFreePage, "nobody's"));
  engine.settle();
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::Killed);
  EXPECT_EQ(engine.client.ends[0].message, "none is left");
  EXPECT_EQ(engine.client.ends[0].limit, "no-free-page");
  EXPECT_FALSE(engine.control.live[second]);
  EXPECT_TRUE(engine.control.live[first]);
  EXPECT_EQ(engine.manager.live_count(), 1u);
}

TEST_F(FakeGuests, SlowClientBoundsTheGuestAndGetsEverythingLater) {
  std::int64_t last = 0;
  const ProgramId chatty = program("chatty", [&](FakeHost& host, int) -> FakeAction {
    for (int i = 0; i < 5; ++i) last = host.call("session", "send", {0, 1}).value;
    return {};
  });
  InstanceLimits limits;
  limits.guest.outbox_message_count_max = 4;
  engine.let_client_take(false);
  engine.launch(chatty, {}, limits);
  engine.settle();
  EXPECT_EQ(last, -static_cast<int>(ErrorCode::QuotaExceeded));
  EXPECT_TRUE(engine.client.ends.empty());
  const std::uint64_t offer_count = engine.client.offer_count;
  EXPECT_FALSE(engine.loop.step());
  EXPECT_EQ(engine.client.offer_count, offer_count) << "nobody is asked before he is ready";
  engine.let_client_take(true);
  engine.settle();
  EXPECT_EQ(engine.client.messages.size(), 4u);
  EXPECT_EQ(engine.client.ends.size(), 1u);
}

// While the device works, tenants that put out much share a rate, and those that say little do not wait.
TEST_F(FakeGuests, AFloodOfOneTenantGoesOutAtARateWhileTheDeviceWorksForOthers) {
  const ProgramId flood = program("flood", [](FakeHost& host, int) -> FakeAction {
    while (host.call("session", "send", {0, 64 << 10}).value == 0) continue;
    return wait_for(host, host.call("runtime", "sleep", {1'000'000}).value);
  });
  std::uint64_t asleep_ns = 0;
  const ProgramId victim = program("victim", [&](FakeHost& host, int) -> FakeAction {
    asleep_ns = clock.now_ns();
    send(host, "token");
    return wait_for(host, host.call("runtime", "sleep", {5'000'000}).value);
  });
  CountingClient floods[2], tokens;
  InstanceLimits limits;
  limits.guest.output_bytes_max = std::uint64_t{1} << 40;
  const auto launch = [&](ProgramId which, std::uint32_t tenant, CountingClient& client) {
    const control::TenantId of{tenant};
    ASSERT_TRUE(
        engine.manager
            .launch({.program = which, .tenant = of, .arguments = {}, .limits = limits}, client)
            .ok());
  };
  const auto flooded_bytes = [&](std::uint64_t ns) {
    floods[0].bytes = floods[1].bytes = tokens.count = 0;
    const std::uint64_t end_ns = clock.now_ns() + ns;
    while (clock.now_ns() < end_ns) {
      engine.loop.step();
      engine.manager.verify();
      clock.advance_ns(100'000);
    }
    return floods[0].bytes + floods[1].bytes;
  };
  engine.control.idle_now = false;
  launch(flood, 2, floods[0]);
  launch(flood, 2, floods[1]);
  const std::uint64_t ns = 500 * kMillisecond;
  const std::uint64_t shared_bytes = OutputShares::kBytesPerSecond / 2;
  EXPECT_GT(flooded_bytes(ns / 5), 2 * shared_bytes) << "one tenant has nobody to share with";
  launch(victim, 1, tokens);
  flooded_bytes(10 * kMillisecond);
  const std::uint64_t bytes = flooded_bytes(ns);
  EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(shared_bytes), shared_bytes / 10.0);
  EXPECT_GT(floods[0].bytes, bytes / 3) << "its programs take turns";
  EXPECT_GT(floods[1].bytes, bytes / 3);
  EXPECT_GE(tokens.count, 95u);
  EXPECT_LE(engine.loop.sleep_ns(), 5 * kMillisecond);
  engine.control.idle_now = true;
  EXPECT_GT(flooded_bytes(ns / 5), 2 * shared_bytes) << "nobody waits for the device";
}

TEST_F(FakeGuests, LinesThatNobodyTakesAreBoundedAndTheGuestIsToldSo) {
  std::int64_t taken = 0;
  std::string error;
  const ProgramId chatty = program("chatty", [&](FakeHost& host, int) -> FakeAction {
    for (int i = 0; i < 100; ++i) {
      if (host.call("runtime", "log", {1, host.put(kBuffer, "x"), 1}).value == 0) ++taken;
    }
    const std::int64_t bytes = host.call("runtime", "last-error", {kBuffer, 256}).value;
    error = host.get(kBuffer, static_cast<std::uint32_t>(bytes));
    return {};
  });
  InstanceLimits limits;
  limits.guest.log_pending_bytes_max = 650;  // Ten lines of a byte, each charged with 65.
  engine.let_client_take(false);
  engine.launch(chatty, {}, limits);
  engine.settle();
  EXPECT_EQ(taken, 9);
  EXPECT_EQ(error.substr(0, 22), "log_pending_bytes_max:");
  engine.let_client_take(true);
  engine.settle();
  EXPECT_EQ(engine.client.lines.size(), 9u);
  EXPECT_EQ(engine.client.ends.size(), 1u);
}

// A line that a program logs after a message is heard after it, also if the client was away for both.
TEST_F(FakeGuests, MessagesLinesAndFilesAreHeardInTheOrderInWhichTheProgramSaidThem) {
  const ProgramId speaker = program("speaker", [](FakeHost& host, int) -> FakeAction {
    send(host, "step 1");
    log(host, hostcalls::LogLevel::Info, "step 2");
    const std::int64_t file =
        host.call("session", "send-file",
                  {host.put(kBuffer, "a"), 1, host.put(kBuffer + 8, "text/plain"), 10, 6})
            .value;
    host.call("session", "write-file", {file, host.put(kBuffer, "step 3"), 6});
    send(host, "step 4");
    log(host, hostcalls::LogLevel::Error, "step 5");
    send(host, "step 6");
    return {};
  });
  const std::vector<std::string> said = {"message step 1", "line step 2", "part step 3",
                                         "message step 4", "line step 5", "message step 6",
                                         "ended"};
  engine.launch(speaker);
  engine.settle();
  EXPECT_EQ(engine.client.order, said);
  engine.client.order.clear();
  engine.let_client_take(false);
  engine.launch(speaker);
  engine.settle();
  EXPECT_TRUE(engine.client.order.empty());
  engine.let_client_take(true);
  engine.settle();
  EXPECT_EQ(engine.client.order, said);
}

// All of them in one turn would keep everybody else waiting for milliseconds.
TEST_F(FakeGuests, LinesOfAnInstanceGoOutAFewATurnAndItsMessagesAndEndBehindThem) {
  const ProgramId chatty = program("chatty", [&](FakeHost& host, int) -> FakeAction {
    for (int each = 0; each < 1000; ++each) {
      const std::string text = std::to_string(each);
      host.call("runtime", "log",
                {1, host.put(kBuffer, text), static_cast<std::int64_t>(text.size())});
    }
    send(host, "and a message");
    return {};
  });
  engine.launch(chatty);
  std::size_t turn_count = 0;
  for (std::size_t before = 0; engine.client.ends.empty(); ++turn_count) {
    ASSERT_TRUE(engine.loop.step()) << "there is more to deliver";
    engine.manager.verify();
    ASSERT_LE(engine.client.lines.size(), before + 256);
    before = engine.client.lines.size();
    EXPECT_TRUE(before == 1000 || engine.client.messages.empty());
  }
  EXPECT_GE(turn_count, 4u);
  ASSERT_EQ(engine.client.lines.size(), 1000u);
  for (std::size_t each = 0; each < 1000; ++each) {
    ASSERT_EQ(engine.client.lines[each], std::to_string(each));
  }
  EXPECT_EQ(engine.client.messages, (std::vector<std::string>{"and a message"}));
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

TEST_F(FakeGuests, ReceiveIsToldThatTheClientIsGoneAndWaitsAgainWhenOneIsBack) {
  std::int64_t future = 0;
  const ProgramId listener = program("listener", [&](FakeHost& host, int) -> FakeAction {
    if (future != 0) {
      const std::int64_t taken = host.call("future", "take", {future, kBuffer, 64}).value;
      if (taken < 0) {
        const std::int64_t bytes = host.call("runtime", "last-error", {kBuffer, 256}).value;
        send(host, host.get(kBuffer, static_cast<std::uint32_t>(bytes)));
      } else {
        send(host, "heard " + host.get(kBuffer, static_cast<std::uint32_t>(taken)));
      }
    }
    future = host.call("session", "receive", {}).value;
    return wait_for(host, future);
  });
  const InstanceId id = engine.launch(listener);
  engine.settle();
  ASSERT_TRUE(engine.manager.send_to(id, "one").ok());
  ASSERT_TRUE(engine.manager.client_left(id, "nobody is there").ok());
  for (int i = 0; i < 3; ++i) engine.loop.step();  // Each call gets the error once.
  ASSERT_TRUE(engine.manager.client_back(id).ok());
  engine.settle();
  ASSERT_TRUE(engine.manager.send_to(id, "two").ok());
  engine.settle();
  ASSERT_GE(engine.client.messages.size(), 3u);
  EXPECT_EQ(engine.client.messages.front(), "heard one");
  EXPECT_EQ(engine.client.messages[1], "nobody is there");
  EXPECT_EQ(engine.client.messages.back(), "heard two");
  ASSERT_TRUE(engine.manager.kill(id, "enough").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.client_left(id, "").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(engine.manager.client_back(id).error().code(), ErrorCode::NotFound);
  engine.manager.client_ready(id);
  engine.settle();
}

TEST_F(FakeGuests, ATurnBeginsAndEndsAtTheFrontDoor) {
  struct Door final : FrontDoor {
    bool take_requests() override {
      ++taken;
      return std::exchange(has_request, false);
    }
    void hand_out() override { ++handed_out; }
    std::optional<std::uint64_t> next_timer_ns() const override { return std::nullopt; }
    bool has_request = true;
    int taken = 0;
    int handed_out = 0;
  } door;
  engine.loop.set_door(&door);
  EXPECT_TRUE(engine.loop.step());
  EXPECT_FALSE(engine.loop.step());
  EXPECT_EQ(door.taken, 2);
  EXPECT_EQ(door.handed_out, 2);
}

TEST_F(FakeGuests, WalkPassesLifecycleSandboxAndHostCallsInOrder) {
  struct Walk final : WalkSink {
    void reached(WalkStop stop) override { stops.push_back(stop); }
    std::vector<WalkStop> stops;
  } walk;
  AnswerInbox answers;
  hostcalls::RecordingControl control(&answers);
  RecordingClient client;
  InstanceManager manager({.runtime = runtime,
                           .control = control,
                           .answers = answers,
                           .clock = clock,
                           .cpu_clock = clock,
                           .wall_clock = engine.wall_clock,
                           .random = engine.random,
                           .wakeup = engine.wakeup,
                           .wall_offset_ns = 0,
                           .walk = &walk});
  EngineLoop loop(manager, control, clock, engine.wakeup);
  program("asks", [](FakeHost& host, int) -> FakeAction {
    const std::int64_t model = host.call("models", "get-model", {0, 0}).value;
    host.call("queue", "create-queue", {model, 1});
    return {};
  });
  const std::string name = "asks";
  const ProgramId id = manager.load_program(std::as_bytes(std::span(name))).value();
  ASSERT_TRUE(manager.launch({.program = id, .arguments = {}, .limits = {}}, client).ok());
  while (loop.step()) {
  }
  EXPECT_EQ(walk.stops,
            (std::vector<WalkStop>{WalkStop::Lifecycle, WalkStop::Sandbox, WalkStop::HostCalls}));
}

// Guests that sleep, ask, receive, send, yield, trap and end at random, beside a client and a
// device that act at random: the same seed gives the same trace, and every invariant holds
// throughout.
class WildGuest final : public FakeGuest {
 public:
  explicit WildGuest(std::uint64_t seed) : random_(seed) {}

  FakeAction step(FakeHost& host) override {
    if (host.wait_result) note(host, "woke " + std::to_string(*host.wait_result));
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t draw = random_.next() % 100;
      if (draw < 2) return {Kind::Finish, static_cast<std::int32_t>(draw), ""};
      if (draw < 3) return {Kind::Trap, 0, "wild"};
      if (draw < 10) return {Kind::Yield, 0, ""};
      const std::int64_t future = ask(host, draw);
      if (future > 0 && draw % 2 == 0) {
        const FakeAction action =
            wait_for(host, future, static_cast<std::int64_t>(random_.next() % 5000));
        if (action.kind == Kind::Wait) return action;
        note(host, "ready " + std::to_string(*host.wait_result));
        host.wait_result.reset();
      }
      if (future > 0) host.call("future", "take", {future, kBuffer, 64});
    }
    return {Kind::Yield, 0, ""};
  }

 private:
  std::int64_t ask(FakeHost& host, std::uint64_t draw) {
    if (draw < 40) {
      return host.call("runtime", "sleep", {static_cast<std::int64_t>(random_.next() % 4000)})
          .value;
    }
    if (draw < 60) return host.call("session", "receive", {}).value;
    const std::int64_t model = host.call("models", "get-model", {0, 0}).value;
    const std::int64_t future = host.call("tokenize", "tokenize", {model, 0, 0, 0}).value;
    host.call("future", "drop", {model});
    return future;
  }
  static void note(FakeHost& host, const std::string& text) { send(host, text); }

  SeededRandom random_;
};

std::string trace_of(std::uint64_t seed) {
  ManualClock clock;
  SeededRandom random(seed);
  sandbox::FakeRuntime runtime(hostcalls::host_functions(), 8);
  TestEngine engine(runtime, clock);
  std::uint64_t guest_seed = seed * 1000;
  runtime.add_program("wild", [&] { return std::make_unique<WildGuest>(guest_seed++); });
  const std::string name = "wild";
  const ProgramId id = engine.manager.load_program(std::as_bytes(std::span(name))).value();
  std::vector<InstanceId> ids;
  for (int i = 0; i < 400 || engine.manager.live_count() > 0; ++i) {
    if (i < 400 && random.next() % 8 == 0) ids.push_back(engine.launch(id));
    if (!ids.empty()) {
      const InstanceId some = ids[random.next() % ids.size()];
      if (random.next() % 8 == 0) (void)engine.manager.send_to(some, "hello");
      if (random.next() % 64 == 0) (void)engine.manager.kill(some, "by chance");
      if (random.next() % 64 == 0) (void)engine.manager.close_input(some);
      if (random.next() % 64 == 0) (void)engine.manager.client_left(some, "by chance");
      if (random.next() % 16 == 0) (void)engine.manager.client_back(some);
    }
    engine.control.idle_now = random.next() % 2 == 0;
    engine.let_client_take(random.next() % 4 != 0);
    engine.loop.step();
    engine.manager.verify();
    clock.advance_ns(random.next() % 1000);
    while (random.next() % 2 == 0 && engine.control.waits()) {
      engine.control.answer_next(control::AnswerBody(control::Tokens{{1}}));
    }
    if (i > 100'000) return "never ended";
  }
  std::string trace;
  for (const std::string& message : engine.client.messages) trace += message + ";";
  for (const End& end : engine.client.ends) {
    trace += end_kind_name(end.kind) + std::to_string(end.exit_code) + ";";
  }
  return trace;
}

TEST(WildGuests, OneSeedGivesOneTraceAndNobodyIsForgotten) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SCOPED_TRACE(seed);
    const std::string trace = trace_of(seed);
    EXPECT_GT(trace.size(), 100u);
    EXPECT_NE(trace, "never ended");
    EXPECT_EQ(trace, trace_of(seed));
  }
}

// The engine on a thread of its own, compiling on the helper's, stopped from here.
TEST(EngineThread, StopsAndCompilesAcrossThreads) {
  SteadyClock clock;
  sandbox::FakeRuntime runtime(hostcalls::host_functions(), 64);
  for (int i = 0; i < 32; ++i) {
    runtime.add_program("program" + std::to_string(i), [] {
      return std::make_unique<ScriptedGuest>(
          [](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
            if (turn == 3) return {};
            return wait_for(host, host.call("runtime", "sleep", {100'000}).value);
          });
    });
  }
  TestEngine engine(runtime, clock);
  std::promise<std::size_t> finished;
  std::thread thread([&] {
    for (int i = 0; i < 32; ++i) {
      const std::string name = "program" + std::to_string(i);
      const auto bytes = std::as_bytes(std::span(name));
      engine.launch(
          engine.manager.request_program({bytes.begin(), bytes.end()}, sha256(bytes)).value());
    }
    engine.loop.run_until_idle();
    finished.set_value(engine.client.ends.size());
    engine.loop.run();
  });
  EXPECT_EQ(finished.get_future().get(), 32u);
  engine.loop.stop();
  thread.join();
}

// A guest that gets a URL, and then does as its argument says.
FakeAction fetch(FakeHost& host, int turn) {
  constexpr std::string_view kUrl = "http://a.example/";
  if (turn == 0) {
    host.call("runtime", "get-arg", {0, 2048, 1});
    const char what = host.get(2048, 1)[0];
    const auto future = host.call("net", "http-get", {host.put(kBuffer, kUrl), kUrl.size(), 0, 0});
    std::memcpy(host.memory().data() + 2056, &future.value, sizeof future.value);
    if (what == 't') return {Kind::Trap, 0, "by itself"};
    if (what == 'e') return {};
    return wait_for(host, future.value);
  }
  std::int64_t future = 0;
  std::memcpy(&future, host.memory().data() + 2056, sizeof future);
  const auto bytes = host.call("future", "take", {future, 4096, 1024});
  send(host, host.get(4096, static_cast<std::uint32_t>(bytes.value)).substr(8));
  return {};
}

TEST_F(FakeGuests, AResponseWakesItsGuestAndAnEndCancelsWhatWasAsked) {
  engine.http.respond("http://a.example:80/", {.after_ns = kMillisecond, .body = {{0, "answer"}}});
  InstanceLimits limits;
  limits.guest.http_grants = {net::parse_http_grant("a.example").value()};
  const ProgramId fetcher = program("fetcher", fetch);
  engine.launch(fetcher, {"w"}, limits);
  const InstanceId killed = engine.launch(fetcher, {"w"}, limits);
  engine.launch(fetcher, {"t"}, limits);
  engine.launch(fetcher, {"e"}, limits);
  engine.settle();
  EXPECT_EQ(engine.client.ends.size(), 2u);
  EXPECT_EQ(engine.http.live_count(), 2u);
  ASSERT_TRUE(engine.manager.kill(killed, "enough").ok());
  EXPECT_EQ(engine.http.live_count(), 1u) << "at once, and not when its end is told";
  engine.settle();
  clock.advance_ns(kMillisecond);
  engine.settle();
  EXPECT_EQ(engine.client.messages, std::vector<std::string>{"answer"});
  EXPECT_EQ(engine.client.ends.size(), 4u);
  EXPECT_EQ(engine.http.live_count(), 0u);
}

}  // namespace
}  // namespace quire::lifecycle
