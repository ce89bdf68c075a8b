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

Task<Result<std::string>> wait_for_text(std::int32_t future) {
  std::string text = CO_TRY(co_await Future<std::string>(future));
  co_return text + "!";
}

TEST_F(TaskTest, AwaitsAFutureAndGivesItsValueUpTheChain) {
  const std::int32_t future = host.new_future();
  host.on_wait = [&] { return host.complete(future, "hi"), true; };
  const auto outer = [](std::int32_t handle) -> Task<Result<std::string>> {
    co_return CO_TRY(co_await wait_for_text(handle)) + "?";
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
  const auto refused = []() -> Task<Result<std::string>> {
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
    std::vector<Task<Result<std::string>>> tasks;
    for (const std::int32_t each : futures) tasks.push_back(wait_for_text(each));
    co_return co_await when_all(std::move(tasks));
  };
  const auto values = run(all());
  ASSERT_EQ(values.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(values[i].value(), std::to_string(i) + "!");
  EXPECT_EQ(host.wait_count, 5u);
}

TEST_F(TaskTest, WhenAllMixesTypesFuturesAndTasksThatWaitForNothing) {
  const auto number = []() -> Task<int> { co_return 7; };
  const auto nothing = []() -> Task<void> { co_return; };
  const auto all = [&]() -> Task<int> {
    auto [a, b, c] =
        co_await when_all(number(), Future<std::string>(host.ready_future("x")), nothing());
    co_return a + static_cast<int>(b.value().size());
  };
  EXPECT_EQ(run(all()), 8);
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
  EXPECT_EQ(run(all()), 100u);
  EXPECT_EQ(host.wait_count, 1u);
}

TEST_F(TaskTest, ASpawnedTaskRunsWhileItsStarterWaits) {
  std::vector<std::string> order;
  const auto child = [&]() -> Task<int> {
    order.push_back("child begins");
    (void)co_await sleep(10ms);
    order.push_back("child ends");
    co_return 3;
  };
  const auto parent = [&]() -> Task<int> {
    Task<int> job = co_await spawn(child());
    order.push_back("parent goes on");
    (void)co_await sleep(20ms);
    order.push_back("parent slept");
    co_return co_await std::move(job);
  };
  EXPECT_EQ(run(parent()), 3);
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
  const auto inner = [&]() -> Task<void> {
    Flag flag(inner_gone);
    (void)co_await Future<std::string>(host.new_future());
  };
  const auto outer = [&]() -> Task<void> { co_await when_all(inner(), inner()); };
  const auto parent = [&]() -> Task<void> {
    Task<void> job = co_await spawn(outer());
    (void)co_await sleep(1ms);
    EXPECT_FALSE(inner_gone);
    job.drop();
    EXPECT_TRUE(inner_gone);
  };
  run(parent());
}

TEST_F(TaskTest, TasksThatNobodyStartedOrAwaitedLeaveNothing) {
  const auto idle = []() -> Task<void> { (void)co_await sleep(1ms); };
  const auto parent = [&]() -> Task<void> {
    Task<void> never = idle();
    Task<void> started = co_await spawn(idle());
    (void)co_await sleep(0ms);
  };
  run(parent());
}

TEST_F(TaskTest, ATimeoutDropsWhatIsLateAndLeavesWhatIsInTime) {
  bool gone = false;
  const auto slow = [&](std::chrono::nanoseconds time) -> Task<Result<int>> {
    Flag flag(gone);
    CO_TRY(co_await sleep(time));
    co_return 1;
  };
  const auto parent = [&]() -> Task<void> {
    const Result<int> late = co_await with_timeout(slow(50ms), 10ms);
    EXPECT_TRUE(gone);
    EXPECT_EQ(late.error().text(), "timeout: not done after 10 ms");
    const Result<int> early = co_await with_timeout(slow(5ms), 10ms);
    EXPECT_EQ(early.value(), 1);
    const Result<int> nested = co_await with_timeout(with_timeout(slow(50ms), 30ms), 10ms);
    EXPECT_EQ(nested.error().code, ErrorCode::Timeout);
    const Result<std::string> future =
        co_await with_timeout(Future<std::string>(host.new_future()), 10ms);
    EXPECT_EQ(future.error().code, ErrorCode::Timeout);
  };
  run(parent());
  EXPECT_EQ(host.clock_ns, 35'000'000);
}

TEST_F(TaskTest, AMillionAwaitsDoNotDeepenTheStack) {
  const auto step = []() -> Task<int> { co_return 1; };
  const auto loop = [&]() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await step();
    co_return sum;
  };
  EXPECT_EQ(run(loop()), 1'000'000);
}

TEST_F(TaskTest, TasksThatYieldForEverDoNotStarveOneThatWaitsForTheHost) {
  bool done = false;
  const auto busy = [&]() -> Task<void> {
    while (!done) co_await yield();
  };
  const std::int32_t future = host.ready_future("x");
  const auto waits = [&]() -> Task<void> {
    (void)co_await Future<std::string>(future);
    done = true;
  };
  const auto parent = [&]() -> Task<void> { co_await when_all(busy(), waits()); };
  run(parent());
}

// Random trees of tasks that sleep, fail, time out, are spawned, awaited and dropped: every one
// ends, and neither a frame (ASan) nor a handle is left.
Task<Result<std::uint64_t>> random_work(std::uint64_t seed, int depth) {
  sampling::Random random(seed);
  std::uint64_t sum = 0;
  const int steps = 1 + static_cast<int>(random.next() % 4);
  std::vector<Task<Result<std::uint64_t>>> jobs;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t inner = random.next();
    const auto time = std::chrono::microseconds(random.next() % 300);
    switch (depth == 0 ? 0 : random.next() % 7) {
      case 0:
        CO_TRY(co_await sleep(time));
        break;
      case 1:
        sum += CO_TRY(co_await random_work(inner, depth - 1));
        break;
      case 2:
        jobs.push_back(co_await spawn(random_work(inner, depth - 1)));
        break;
      case 3: {
        const auto late = co_await with_timeout(random_work(inner, depth - 1), time);
        sum += late.ok() ? late.value() : 1;
        break;
      }
      case 4: {
        std::vector<Task<Result<std::uint64_t>>> all;
        for (std::uint64_t k = 0; k < inner % 4; ++k)
          all.push_back(random_work(inner + k, depth - 1));
        for (auto& each : co_await when_all(std::move(all))) sum += each.ok() ? each.value() : 2;
        break;
      }
      case 5:
        if (!jobs.empty() && inner % 2 == 0) jobs.pop_back();
        co_await yield();
        break;
      default:
        if (inner % 5 == 0) co_return Error{ErrorCode::Cancelled, "by the test"};
        break;
    }
  }
  if (!jobs.empty()) sum += (co_await std::move(jobs.front())).ok() ? 3 : 4;
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
        const auto stuck = []() -> Task<void> { co_await std::suspend_always{}; };
        run(stuck());
      },
      "");
}

TEST_F(TaskTest, TheErrorOfAProgramIsLoggedAndItsNumberIsTheExitCode) {
  host.arguments = {"a", std::string(1000, 'b')};
  const std::int32_t code = run_program(+[](std::vector<std::string> given) -> Task<Result<void>> {
    co_return Error{ErrorCode::InvalidArgument, std::to_string(given[1].size())};
  });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(host.logged, std::vector<std::string>{"invalid-argument: 1000"});
}

}  // namespace
}  // namespace quire
