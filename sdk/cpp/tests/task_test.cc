#include "quire/task.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_host.h"
#include "quire/future.h"
#include "quire/main.h"
#include "quire/sampling.h"

namespace quire {
namespace {

using test::host;
using namespace std::chrono_literals;

class TaskTest : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }
};

Task<std::string> wait_for_text(std::int32_t future) {
  std::string text = co_await Future<std::string>(future);
  co_return text + "!";
}

TEST_F(TaskTest, AwaitsAFutureAndGivesItsValueUpTheChain) {
  const std::int32_t future = host.new_future();
  host.on_wait = [&] { return host.complete(future, "hi"), true; };
  const auto outer = [](std::int32_t handle) -> Task<std::string> {
    co_return co_await wait_for_text(handle) + "?";
  };
  EXPECT_EQ(run(outer(future)).value(), "hi!?");
  EXPECT_EQ(host.wait_count, 1u);
}

TEST_F(TaskTest, AnErrorOfAFutureEndsTheTasksThatTryItWithItsMessage) {
  const std::int32_t future = host.new_future();
  host.fail(future, ErrorCode::NoFreePage, "no free KV page: 3 wanted, 0 of 8 free");
  const Result<std::string> outcome = run(wait_for_text(future));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().text(), "no-free-page: no free KV page: 3 wanted, 0 of 8 free");
}

TEST_F(TaskTest, ACallThatIsRefusedAtOnceIsFoundWhereItsFutureIsAwaited) {
  const auto refused = []() -> Task<std::string> {
    co_return co_await Future<std::string>(host.refuse(ErrorCode::QuotaExceeded, "64 futures"));
  };
  EXPECT_EQ(run(refused()).error().text(), "quota-exceeded: 64 futures");
}

TEST_F(TaskTest, ResultsLongerThanTheFirstBufferArriveWhole) {
  const std::string longer(100'000, 'x');
  const std::int32_t future = host.ready_future(longer);
  EXPECT_EQ(run(wait_for_text(future)).value(), longer + "!");
}

TEST_F(TaskTest, WhenAllGivesValuesInOrderWhateverTheOrderOfCompletion) {
  std::vector<std::int32_t> futures;
  for (int i = 0; i < 5; ++i) futures.push_back(host.new_future());
  std::vector<int> order = {3, 0, 4, 2, 1};
  host.on_wait = [&, at = 0u]() mutable {
    host.complete(futures[order[at]], std::to_string(order[at]));
    ++at;
    return true;
  };
  const auto all = [&]() -> Task<std::vector<Result<std::string>>> {
    std::vector<Task<std::string>> tasks;
    for (const std::int32_t each : futures) tasks.push_back(wait_for_text(each));
    co_return co_await when_all(std::move(tasks));
  };
  const auto values = run(all()).value();
  ASSERT_EQ(values.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(values[i].value(), std::to_string(i) + "!");
  EXPECT_EQ(host.wait_count, 5u);
}

TEST_F(TaskTest, WhenAllMixesTypesFuturesAndTasksThatWaitForNothing) {
  const auto number = []() -> Task<int> { co_return 7; };
  const auto nothing = []() -> Task<> { co_return; };
  const auto all = [&]() -> Task<int> {
    auto [a, b, c] =
        co_await when_all(number(), Future<std::string>(host.ready_future("x")), nothing());
    EXPECT_TRUE(c.ok());
    co_return a.value() + static_cast<int>(b.value().size());
  };
  EXPECT_EQ(run(all()).value(), 8);
}

TEST_F(TaskTest, OneWaitServesAllFuturesThatAreReady) {
  std::vector<std::int32_t> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(host.new_future());
  host.on_wait = [&] {
    for (const std::int32_t each : futures) host.complete(each, "x");
    return true;
  };
  const auto all = [&]() -> Task<std::size_t> {
    std::vector<Future<std::string>> list;
    for (const std::int32_t each : futures) list.emplace_back(each);
    co_return (co_await when_all(std::move(list))).size();
  };
  EXPECT_EQ(run(all()).value(), 100u);
  EXPECT_EQ(host.wait_count, 1u);
}

TEST_F(TaskTest, ASpawnedTaskRunsWhileItsStarterWaits) {
  std::vector<std::string> order;
  const auto child = [&]() -> Task<int> {
    order.push_back("child begins");
    co_await sleep(10ms);
    order.push_back("child ends");
    co_return 3;
  };
  const auto parent = [&]() -> Task<int> {
    Task<int> job = co_await spawn(child());
    order.push_back("parent goes on");
    co_await sleep(20ms);
    order.push_back("parent slept");
    co_return co_await std::move(job);
  };
  EXPECT_EQ(run(parent()).value(), 3);
  EXPECT_EQ(order, (std::vector<std::string>{"parent goes on", "child begins", "child ends",
                                             "parent slept"}));
}

// Raises a flag when it is destroyed.
struct Flag {
  bool* raised;
  explicit Flag(bool& flag) : raised(&flag) {}
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() { *raised = true; }
};

TEST_F(TaskTest, DroppingATaskDestroysItsLocalsItsChildrenAndItsFutures) {
  bool inner_gone = false;
  const auto inner = [&]() -> Task<> {
    Flag flag(inner_gone);
    co_await Future<std::string>(host.new_future());
  };
  const auto outer = [&]() -> Task<> { co_await when_all(inner(), inner()); };
  const auto parent = [&]() -> Task<> {
    Task<> job = co_await spawn(outer());
    co_await sleep(1ms);
    EXPECT_FALSE(inner_gone);
    job.drop();
    EXPECT_TRUE(inner_gone);
  };
  EXPECT_TRUE(run(parent()).ok());
}

TEST_F(TaskTest, TasksThatNobodyStartedOrAwaitedLeaveNothing) {
  const auto idle = []() -> Task<> { co_await sleep(1ms); };
  const auto parent = [&]() -> Task<> {
    Task<> never = idle();
    Task<> started = co_await spawn(idle());
    co_await sleep(0ms);
  };
  EXPECT_TRUE(run(parent()).ok());
}

TEST_F(TaskTest, ATimeoutDropsWhatIsLateAndLeavesWhatIsInTime) {
  bool gone = false;
  const auto slow = [&](std::chrono::nanoseconds time) -> Task<int> {
    Flag flag(gone);
    co_await sleep(time);
    co_return 1;
  };
  const auto parent = [&]() -> Task<> {
    const Result<int> late = co_await attempt(with_timeout(slow(50ms), 10ms));
    EXPECT_TRUE(gone);
    EXPECT_EQ(late.error().text(), "timeout: not done after 10 ms");
    const Result<int> early = co_await attempt(with_timeout(slow(5ms), 10ms));
    EXPECT_EQ(early.value(), 1);
    const Result<int> nested = co_await attempt(with_timeout(with_timeout(slow(50ms), 30ms), 10ms));
    EXPECT_EQ(nested.error().code, ErrorCode::Timeout);
    const Result<std::string> future =
        co_await attempt(with_timeout(Future<std::string>(host.new_future()), 10ms));
    EXPECT_EQ(future.error().code, ErrorCode::Timeout);
  };
  EXPECT_TRUE(run(parent()).ok());
  EXPECT_EQ(host.clock_ns, 35'000'000);
}

Task<int> seven() {
  co_return 7;
}
Task<int> fails_after(std::chrono::nanoseconds time, std::string why) {
  co_await sleep(time);
  co_await fail(ErrorCode::Io, std::move(why));
}
Result<int> given(bool ok) {
  if (ok) return 5;
  return Error{ErrorCode::NotFound, "nothing given"};
}

TEST_F(TaskTest, AwaitingATaskAFutureOrAResultGivesTheValue) {
  const auto sum = []() -> Task<int> {
    const std::string text = co_await Future<std::string>(host.ready_future("abc"));
    const Result<int> kept = given(true);
    co_await sleep(0ms);
    co_await Result<void>();
    co_return co_await seven() + co_await given(true) + co_await kept +
        static_cast<int>(text.size());
  };
  EXPECT_EQ(run(sum()).value(), 20);
}

TEST_F(TaskTest, AnErrorThatIsAwaitedEndsTheTaskAtOnceAndItsLocalsAreGone) {
  for (int way = 0; way < 5; ++way) {
    SCOPED_TRACE(way);
    bool gone = false;
    bool went_on = false;
    const auto failing = [&]() -> Task<int> {
      Flag flag(gone);
      const std::string large(1000, 'x');
      if (way == 0) co_await given(false);
      if (way == 1) co_await fail(ErrorCode::NotFound, "nothing given");
      if (way == 2) co_await fail(given(false).error());
      if (way == 3) {
        co_await Future<std::string>(host.refuse(ErrorCode::NotFound, "nothing given"));
      }
      if (way == 4) co_await gather(seven(), []() -> Task<> { co_await given(false); }());
      went_on = true;
      co_return static_cast<int>(large.size());
    };
    const auto outer = [&]() -> Task<int> {
      Task<int> job = co_await spawn(failing());
      while (!job.done()) co_await yield();
      EXPECT_TRUE(gone);  // Although its Task is there.
      co_return co_await std::move(job);
    };
    EXPECT_EQ(run(outer()).error().text(), "not-found: nothing given");
    EXPECT_FALSE(went_on);
  }
}

TEST_F(TaskTest, AttemptGivesTheResultOfWhateverCanBeAwaited) {
  const auto all = []() -> Task<> {
    EXPECT_EQ((co_await attempt(given(false))).error().message, "nothing given");
    EXPECT_EQ((co_await attempt(given(true))).value(), 5);
    EXPECT_EQ((co_await attempt(seven())).value(), 7);
    EXPECT_EQ((co_await attempt(fails_after(1ms, "late"))).error().text(), "io: late");
    EXPECT_TRUE((co_await attempt(sleep(1ms))).ok());
    EXPECT_EQ((co_await attempt(with_timeout(seven(), 1ms))).value(), 7);
    EXPECT_EQ((co_await attempt(with_timeout(given(false), 1ms))).error().code,
              ErrorCode::NotFound);
    const auto [a, b] = (co_await attempt(gather(seven(), given(true)))).value();
    EXPECT_EQ(a + b, 12);
  };
  EXPECT_TRUE(run(all()).ok());
}

TEST_F(TaskTest, GatherGivesTheValuesInOrder) {
  const auto all = []() -> Task<int> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 10; ++i) {
      tasks.push_back([](int number) -> Task<int> {
        co_await sleep(std::chrono::milliseconds(10 - number));
        co_return number;
      }(i));
    }
    const std::vector<int> values = co_await gather(std::move(tasks));
    int sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] == static_cast<int>(i);
    std::vector<Task<>> nothings;
    nothings.push_back([]() -> Task<> { co_await sleep(1ms); }());
    co_await gather(std::move(nothings));
    EXPECT_TRUE((co_await gather(std::vector<Task<int>>())).empty());
    const auto [number, nothing, text] =
        co_await gather(seven(), sleep(1ms), Future<std::string>(host.ready_future("x")));
    co_return sum + number + static_cast<int>(text.size());
  };
  EXPECT_EQ(run(all()).value(), 18);
}

TEST_F(TaskTest, TheFirstErrorOfAGatherDropsTheRestAtOnce) {
  for (const bool as_list : {false, true}) {
    host.reset();
    bool gone = false;
    const auto endless = [&]() -> Task<int> {
      Flag flag(gone);
      co_await Future<std::string>(host.new_future());
      co_return 1;
    };
    const auto parent = [&]() -> Task<> {
      std::vector<Task<int>> tasks;
      tasks.push_back(endless());
      tasks.push_back(fails_after(5ms, "second"));
      tasks.push_back(fails_after(3ms, "third"));
      auto first = endless();
      if (as_list) {
        const auto outcome = co_await attempt(gather(std::move(tasks)));
        EXPECT_EQ(outcome.error().text(), "io: third");
      } else {
        const auto outcome = co_await attempt(gather(std::move(first), fails_after(3ms, "third")));
        EXPECT_EQ(outcome.error().text(), "io: third");
      }
      EXPECT_TRUE(gone);
      EXPECT_EQ(host.clock_ns, 3'000'000);
    };
    EXPECT_TRUE(run(parent()).ok());
    EXPECT_TRUE(host.live_handles().empty());
  }
}

TEST_F(TaskTest, TheFirstToEndOfWhenAnyEndsTheOthers) {
  bool gone = false;
  const auto endless = [&]() -> Task<int> {
    Flag flag(gone);
    co_await Future<std::string>(host.new_future());
    co_return 1;
  };
  const auto parent = [&]() -> Task<> {
    const auto event = co_await when_any(endless(), sleep(2ms), fails_after(5ms, "late"));
    EXPECT_EQ(event.index(), 1u);
    EXPECT_TRUE(gone);
    EXPECT_EQ(host.clock_ns, 2'000'000);
    std::vector<Task<int>> tasks;
    tasks.push_back(endless());
    tasks.push_back(fails_after(3ms, "second"));
    const auto [index, result] = co_await when_any(std::move(tasks));
    EXPECT_EQ(index, 1u);
    EXPECT_EQ(result.error().message, "second") << "an Error is an end too";
    const auto ready = co_await when_any(seven(), endless());
    EXPECT_EQ(std::get<0>(ready).value(), 7);
    const auto none = co_await attempt(when_any(std::vector<Task<int>>()));
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  };
  EXPECT_TRUE(run(parent()).ok());
  EXPECT_TRUE(host.live_handles().empty());
}

TEST_F(TaskTest, FirstOkGivesTheFirstValueAndAnErrorOnlyIfAllFail) {
  const auto after = [](std::chrono::milliseconds time, int value) -> Task<int> {
    co_await sleep(time);
    co_return value;
  };
  const auto parent = [&]() -> Task<> {
    std::vector<Task<int>> tasks;
    tasks.push_back(fails_after(1ms, "first"));
    tasks.push_back(after(9ms, 9));
    tasks.push_back(after(4ms, 4));
    EXPECT_EQ(co_await first_ok(std::move(tasks)), 4);
    EXPECT_EQ(host.clock_ns, 4'000'000);
    tasks.clear();
    tasks.push_back(fails_after(3ms, "first of the list"));
    tasks.push_back(fails_after(1ms, "first in time"));
    const auto outcome = co_await attempt(first_ok(std::move(tasks)));
    EXPECT_EQ(outcome.error().message, "first of the list");
    const auto none = co_await attempt(first_ok(std::vector<Task<int>>()));
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  };
  EXPECT_TRUE(run(parent()).ok());
  EXPECT_TRUE(host.live_handles().empty());
}

TEST_F(TaskTest, AGatherWithALimitNeverHasMoreUnderWay) {
  for (std::size_t at_once = 1; at_once < 12; ++at_once) {
    host.reset();
    std::size_t under_way = 0;
    std::size_t most = 0;
    const auto part = [&](int number) -> Task<int> {
      most = std::max(most, ++under_way);
      co_await sleep(std::chrono::milliseconds(1 + number % 3));
      under_way -= 1;
      co_return number;
    };
    const auto parent = [&]() -> Task<> {
      std::vector<Task<int>> parts;
      for (int i = 0; i < 10; ++i) parts.push_back(part(i));
      const std::vector<int> values = co_await gather(std::move(parts), {.at_once = at_once});
      for (int i = 0; i < 10; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
      std::vector<Task<>> nothings;
      nothings.push_back([]() -> Task<> { co_await sleep(1ms); }());
      co_await gather(std::move(nothings), {.at_once = at_once});
      EXPECT_TRUE((co_await gather(std::vector<Task<int>>(), {.at_once = at_once})).empty());
    };
    EXPECT_TRUE(run(parent()).ok());
    EXPECT_EQ(most, std::min<std::size_t>(at_once, 10));
  }
}

TEST_F(TaskTest, AnErrorOfAGatherWithALimitDropsTheRest) {
  bool has_begun = false;
  const auto never = [&]() -> Task<int> {
    has_begun = true;
    co_return 1;
  };
  const auto parent = [&]() -> Task<> {
    std::vector<Task<int>> parts;
    parts.push_back(fails_after(1ms, "first"));
    parts.push_back(never());
    const auto outcome = co_await attempt(gather(std::move(parts), {.at_once = 1}));
    EXPECT_EQ(outcome.error().text(), "io: first");
    parts.clear();
    const auto none = co_await attempt(gather(std::move(parts), {.at_once = 0}));
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
  };
  EXPECT_TRUE(run(parent()).ok());
  EXPECT_FALSE(has_begun);
  EXPECT_TRUE(host.live_handles().empty());
}

TEST_F(TaskTest, ATimeoutIsForWhateverCanBeAwaited) {
  const auto parent = []() -> Task<> {
    std::vector<Task<int>> tasks;
    tasks.push_back(fails_after(50ms, "late"));
    EXPECT_EQ((co_await attempt(with_timeout(gather(std::move(tasks)), 10ms))).error().code,
              ErrorCode::Timeout);
    const auto [a, b] = co_await with_timeout(when_all(seven(), fails_after(5ms, "in time")), 10ms);
    EXPECT_EQ(a.value(), 7);
    EXPECT_EQ(b.error().message, "in time");
    EXPECT_EQ(co_await with_timeout(given(true), 0ms), 5);
    co_await with_timeout(yield(), 1ms);
  };
  EXPECT_TRUE(run(parent()).ok());
}

TEST_F(TaskTest, AMillionAwaitsDoNotDeepenTheStack) {
  const auto step = []() -> Task<int> { co_return 1; };
  const auto loop = [&]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await step();
    co_return sum;
  };
  EXPECT_EQ(run(loop()).value(), 1'000'000);
}

TEST_F(TaskTest, TasksThatYieldForEverDoNotStarveOneThatWaitsForTheHost) {
  bool done = false;
  const auto busy = [&]() -> Task<> {
    while (!done) co_await yield();
  };
  const std::int32_t future = host.ready_future("x");
  const auto waits = [&]() -> Task<> {
    co_await Future<std::string>(future);
    done = true;
  };
  const auto parent = [&]() -> Task<> { co_await when_all(busy(), waits()); };
  EXPECT_TRUE(run(parent()).ok());
}

// Random trees of tasks that sleep, fail, time out, are spawned, awaited and dropped: every one
// ends, and neither a frame (ASan) nor a handle is left.
Task<std::uint64_t> random_work(std::uint64_t seed, int depth) {
  sampling::Random random(seed);
  std::uint64_t sum = 0;
  const int steps = 1 + static_cast<int>(random.next() % 4);
  std::vector<Task<std::uint64_t>> jobs;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t inner = random.next();
    const auto time = std::chrono::microseconds(random.next() % 300);
    switch (depth == 0 ? 0 : random.next() % 7) {
      case 0:
        co_await sleep(time);
        break;
      case 1:
        sum += co_await random_work(inner, depth - 1);
        break;
      case 2:
        jobs.push_back(co_await spawn(random_work(inner, depth - 1)));
        break;
      case 3: {
        const auto late = co_await attempt(with_timeout(random_work(inner, depth - 1), time));
        sum += late.ok() ? late.value() : 1;
        break;
      }
      case 4: {
        std::vector<Task<std::uint64_t>> all;
        for (std::uint64_t k = 0; k < inner % 4; ++k)
          all.push_back(random_work(inner + k, depth - 1));
        if (inner % 3 == 0) {
          const auto gathered = co_await attempt(gather(std::move(all)));
          sum += gathered.ok() ? gathered.value().size() : 5;
        } else {
          for (auto& each : co_await when_all(std::move(all))) sum += each.ok() ? each.value() : 2;
        }
        break;
      }
      case 5:
        if (!jobs.empty() && inner % 2 == 0) jobs.pop_back();
        co_await yield();
        break;
      default:
        if (inner % 5 == 0) co_await fail(ErrorCode::Cancelled, "by the test");
        break;
    }
  }
  if (!jobs.empty()) sum += (co_await attempt(std::move(jobs.front()))).ok() ? 3 : 4;
  co_return sum + 1;
}

TEST_F(TaskTest, RandomTreesOfTasksEndAndLeaveNothing) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    host.reset();
    const auto first = run(random_work(seed, 4));
    ASSERT_TRUE(host.live_handles().empty());
    host.reset();
    const auto second = run(random_work(seed, 4));
    ASSERT_EQ(first.ok(), second.ok());
    if (first.ok()) {
      ASSERT_EQ(first.value(), second.value());
    }
  }
}

TEST_F(TaskTest, AProgramWhoseTasksAllWaitForOneAnotherIsStopped) {
  EXPECT_DEATH(
      {
        const auto stuck = []() -> Task<> { co_await std::suspend_always{}; };
        (void)run(stuck());
      },
      "");
}

TEST_F(TaskTest, TheErrorOfAProgramIsLoggedAndItsNumberIsTheExitCode) {
  host.arguments = {"a", std::string(1000, 'b')};
  const std::int32_t code = run_program(+[](std::vector<std::string> given) -> Task<> {
    co_await fail(ErrorCode::InvalidArgument, std::to_string(given[1].size()));
  });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(host.logged, std::vector<std::string>{"invalid-argument: 1000"});
}

}  // namespace
}  // namespace quire
