// Instances that launch instances: their messages, their ends, and what they may use.
#include "application/lifecycle/child_programs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/lifecycle/scripted_guest.h"
#include "base/clock.h"

namespace quire::lifecycle {
namespace {

using sandbox::FakeAction;
using sandbox::FakeHost;
using Kind = FakeAction::Kind;

std::int64_t minus(ErrorCode code) {
  return -static_cast<std::int64_t>(code);
}

FakeAction sleep_for_ever(FakeHost& host) {
  return wait_for(host, host.call("session", "receive", {}).value);
}
std::int64_t launch(FakeHost& host, std::string_view name, std::int64_t share) {
  return host
      .call("runtime", "launch",
            {host.put(kName, name), static_cast<std::int64_t>(name.size()), 0, 0, share})
      .value;
}
std::string take(FakeHost& host, std::int64_t future) {
  const std::int64_t bytes = host.call("future", "take", {future, kBuffer, 8192}).value;
  if (bytes < 0) return error_code_name(static_cast<ErrorCode>(-bytes));
  return host.get(kBuffer, static_cast<std::uint32_t>(bytes));
}
std::string last_error(FakeHost& host) {
  const std::int64_t bytes = host.call("runtime", "last-error", {kBuffer, 4096}).value;
  return host.get(kBuffer, static_cast<std::uint32_t>(bytes));
}
std::string limit_line(FakeHost& host, const std::string& name) {
  const std::int64_t bytes = host.call("runtime", "limits", {kBuffer, 4096}).value;
  const std::string all = "\n" + host.get(kBuffer, static_cast<std::uint32_t>(bytes));
  const std::size_t at = all.find("\n" + name + " ");
  if (at == std::string::npos) return "";
  return all.substr(at + 2 + name.size(), all.find('\n', at + 1) - at - 2 - name.size());
}

class Children : public testing::Test {
 protected:
  ProgramId program(const std::string& name, ScriptedGuest::Step step,
                    std::uint64_t memory_bytes_min = 0) {
    runtime.add_program(
        name, [step] { return std::make_unique<ScriptedGuest>(step); }, memory_bytes_min);
    const ProgramId id = engine.manager.load_program(std::as_bytes(std::span(name))).value();
    engine.manager.name_program(name, id);
    return id;
  }

  ManualClock clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 64};
  TestEngine engine{runtime, clock};
};

TEST_F(Children, ParentIsTheClientOfItsChildAndHearsHowItEnded) {
  program("child", [](FakeHost& host, int turn, std::int64_t& received) -> FakeAction {
    if (turn == 0) {
      received = host.call("session", "receive", {}).value;
      return wait_for(host, received);
    }
    send(host, "heard " + take(host, received));
    host.call("runtime", "set-result", {host.put(kBuffer, "the result"), 10});
    host.call("runtime", "log", {1, host.put(kBuffer, "a line"), 6});
    return {Kind::Finish, 7, ""};
  });
  std::string message, end;
  std::int64_t child = 0;
  const ProgramId parent =
      program("parent", [&](FakeHost& host, int turn, std::int64_t& kept) -> FakeAction {
        switch (turn) {
          case 0:
            child = launch(host, "child", 50);
            EXPECT_EQ(
                host.call("runtime", "send-child", {child, host.put(kBuffer, "hello"), 5}).value,
                0);
            kept = host.call("runtime", "receive-child", {child}).value;
            return wait_for(host, kept);
          case 1:
            message = take(host, kept);
            kept = host.call("runtime", "wait-child", {child}).value;
            return wait_for(host, kept);
          default:
            end = take(host, kept);
            EXPECT_EQ(take(host, host.call("runtime", "receive-child", {child}).value),
                      "unavailable");
            EXPECT_EQ(host.call("future", "drop", {child}).value, 0);
            return {};
        }
      });
  engine.launch(parent);
  engine.settle();
  EXPECT_EQ(message, "heard hello");
  std::uint32_t head[4] = {};
  ASSERT_EQ(end.size(), sizeof head + 10);
  std::memcpy(head, end.data(), sizeof head);
  EXPECT_EQ(head[0], 0u);
  EXPECT_EQ(head[1], 7u);
  EXPECT_EQ(end.substr(sizeof head), "the result");
  EXPECT_EQ(engine.manager.live_count(), 0u);
  ASSERT_EQ(engine.client.ends.size(), 1u);
  const std::string number = std::to_string(engine.manager.numbers().of(InstanceId{2}));
  EXPECT_EQ(engine.client.lines, (std::vector<std::string>{"child " + number + ": a line"}));
}

TEST_F(Children, EndWithTheirParentHoweverItEnds) {
  for (const Kind how : {Kind::Finish, Kind::Trap}) {
    program("leaf", [](FakeHost& host, int, std::int64_t&) { return sleep_for_ever(host); });
    program("middle", [](FakeHost& host, int, std::int64_t&) {
      EXPECT_GT(launch(host, "leaf", 50), 0);
      return sleep_for_ever(host);
    });
    const ProgramId root =
        program("root", [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
          if (turn == 0) {
            EXPECT_GT(launch(host, "middle", 50), 0);
            return wait_for(host, host.call("runtime", "sleep", {1000}).value);
          }
          return {how, 0, "trapped"};
        });
    engine.launch(root);
    engine.settle();
    EXPECT_EQ(engine.manager.live_count(), 3u);
    clock.advance_ns(1000);
    engine.settle();
    EXPECT_EQ(engine.manager.live_count(), 0u);
  }
}

TEST_F(Children, TokensOfAChildAndOfItsOwnAreInTheEndOfItsParentApartFromThoseOfTheParent) {
  program("leaf", [](FakeHost& host, int, std::int64_t&) { return sleep_for_ever(host); });
  program("middle", [](FakeHost& host, int, std::int64_t&) -> FakeAction {
    launch(host, "leaf", 50);  // It ends with this one.
    return wait_for(host, host.call("runtime", "sleep", {1000}).value);
  });
  const ProgramId root = program("root", [](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
    if (turn > 0) return {};
    launch(host, "middle", 50);
    launch(host, "leaf", 50);
    return wait_for(host, host.call("runtime", "sleep", {2000}).value);
  });
  std::uint64_t digit =
      1;  // Of the root, of the two that it launched, of the one that one of them did.
  for (std::uint64_t id = 1; id <= 4; ++id, digit *= 10) {
    engine.control.used[InstanceId{id}] = {.asked_token_count = 2 * digit,
                                           .computed_token_count = digit,
                                           .found_token_count = 3 * digit,
                                           .opened_token_count = 4 * digit};
  }
  engine.launch(root);
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 4u);
  for (int turn = 0; turn < 2; ++turn) {
    clock.advance_ns(1000);
    engine.settle();
  }
  ASSERT_EQ(engine.client.ends.size(), 1u);
  const End& end = engine.client.ends.front();
  EXPECT_EQ(end.computed_token_count, 1u);
  EXPECT_EQ(end.opened_token_count, 4u);
  EXPECT_EQ(end.children_asked_token_count, 2220u);
  EXPECT_EQ(end.children_computed_token_count, 1110u);
  EXPECT_EQ(end.children_found_token_count, 3330u);
  EXPECT_EQ(end.children_opened_token_count, 4440u);
}

TEST_F(Children, TreeNeverHasMoreThanItsRoot) {
  std::vector<std::string> seen;
  program("child", [&](FakeHost& host, int, std::int64_t&) {
    seen.push_back(limit_line(host, "page_count_max"));
    seen.push_back(limit_line(host, "token_count_max"));
    seen.push_back(limit_line(host, "child_count_max"));
    return sleep_for_ever(host);
  });
  std::int64_t third = 0;
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t& first) {
    if (turn == 0) {
      first = launch(host, "child", 50);
      EXPECT_GT(first, 0);
      EXPECT_GT(launch(host, "child", 100), 0);
      EXPECT_EQ(limit_line(host, "page_count_max"), "1000 1000");
      third = launch(host, "child", 100);
      EXPECT_EQ(host.call("future", "drop", {first}).value, 0);
      EXPECT_EQ(limit_line(host, "page_count_max"), "1000 500");
      EXPECT_EQ(limit_line(host, "child_count_max"), "4 1");
    }
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.control.page_count_max = 1000;
  limits.control.token_count_max = 100;
  limits.child_count_max = 4;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.settle();
  // A child takes one place, and may take all of the two that are left then.
  EXPECT_EQ(third, minus(ErrorCode::QuotaExceeded)) << "the second has all memory";
  EXPECT_EQ(seen, (std::vector<std::string>{"500 0", "50 0", "2 0"}));
  EXPECT_EQ(engine.control.limits_set.at(id).page_count_max, 500u);
  EXPECT_EQ(engine.control.limits_set.at(id).childrens_page_count, 500u);
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// The parent keeps a hundred of its 1,600 bytes whatever it lends, and `middle` keeps 46 of its
// 750.
TEST_F(Children, ATreeHoldsNoMoreResultsAndArgumentsThanItsRootMay) {
  std::map<std::string, std::string> seen;
  const auto look = [&](FakeHost& host, const std::string& who) {
    seen[who] =
        limit_line(host, "held_result_bytes_max") + ", " + limit_line(host, "pending_bytes_max");
  };
  program("small", [&](FakeHost& host, int, std::int64_t&) {
    look(host, "child of middle");
    return sleep_for_ever(host);
  });
  program("middle", [&](FakeHost& host, int, std::int64_t&) {
    EXPECT_GT(launch(host, "small", 100), 0);
    look(host, "middle");
    return sleep_for_ever(host);
  });
  program("other", [&](FakeHost& host, int, std::int64_t&) {
    look(host, "other");
    return sleep_for_ever(host);
  });
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t& middle) {
    if (turn == 0) {
      middle = launch(host, "middle", 50);
      look(host, "root, one lent");
      EXPECT_GT(launch(host, "other", 100), 0);
      look(host, "root, both lent");
      return wait_for(host, host.call("runtime", "sleep", {1000}).value);
    }
    EXPECT_EQ(host.call("future", "drop", {middle}).value, 0);
    look(host, "root, one back");
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.guest.held_result_bytes_max = 1600;
  limits.guest.pending_bytes_max = 160;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.settle();
  clock.advance_ns(1000);
  engine.settle();
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"root, one lent", "1600 750, 160 75"},
                                                      {"root, both lent", "1600 1500, 160 150"},
                                                      {"middle", "750 704, 75 71"},
                                                      {"child of middle", "704 0, 71 0"},
                                                      {"other", "750 0, 75 0"},
                                                      {"root, one back", "1600 750, 160 75"}}));
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// The message needs room, as one of 4096 bytes would not, and its child has not given any back.
TEST_F(Children, AParentThatLentAllHearsWhatItsChildSays) {
  const std::string said(8000, 'm');
  program("child", [&](FakeHost& host, int, std::int64_t&) {
    send(host, said);
    return sleep_for_ever(host);
  });
  std::string message;
  const ProgramId root =
      program("root", [&](FakeHost& host, int turn, std::int64_t& kept) -> FakeAction {
        if (turn == 0) {
          const std::int64_t child = launch(host, "child", 100);
          kept = host.call("runtime", "receive-child", {child}).value;
          return wait_for(host, kept);
        }
        message = take(host, kept);
        return {};
      });
  InstanceLimits limits;
  limits.guest.held_result_bytes_max = 16u * 8000;
  engine.launch(root, {}, limits);
  engine.settle();
  EXPECT_EQ(message, said);
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// Calls are used up, wherever they are made; exchanges come back.
TEST_F(Children, ATreeSpeaksNoMoreHttpThanItsRootMay) {
  engine.http.respond("http://a.example:80/", {.after_ns = kSecond});
  const auto get = [](FakeHost& host) {
    constexpr std::string_view kUrl = "http://a.example/";
    return host.call("net", "http-get", {host.put(kBuffer, kUrl), kUrl.size(), 0, 0}).value;
  };
  std::vector<std::string> seen;
  program("child", [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
    if (turn > 0) return {};
    for (int i = 0; i < 3; ++i) seen.push_back(get(host) > 0 ? "sent" : "refused");
    seen.push_back(limit_line(host, "http.exchange_count_max"));
    seen.push_back(limit_line(host, "http.call_count_max"));
    return wait_for(host, host.call("runtime", "sleep", {2 * kSecond}).value);
  });
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t& child) {
    if (turn == 0) {
      EXPECT_GT(get(host), 0);
      child = launch(host, "child", 70);
      EXPECT_EQ(limit_line(host, "http.exchange_count_max"), "4 3");
      EXPECT_EQ(limit_line(host, "http.call_count_max"), "10 7");
      EXPECT_GT(get(host), 0);
      EXPECT_EQ(get(host), minus(ErrorCode::QuotaExceeded)) << "the other two are the child's";
      return wait_for(host, host.call("runtime", "wait-child", {child}).value);
    }
    EXPECT_EQ(limit_line(host, "http.exchange_count_max"), "4 0");
    EXPECT_EQ(limit_line(host, "http.call_count_max"), "10 4")
        << "two of its own, two of the child";
    for (int i = 0; i < 4; ++i) EXPECT_GT(get(host), 0);
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.guest.http_grants = {net::parse_http_grant("a.example").value()};
  limits.guest.http.exchange_count_max = 4;
  limits.guest.http.call_count_max = 10;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.settle();
  for (int i = 0; i < 3; ++i) {
    clock.advance_ns(kSecond);
    engine.settle();
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"sent", "sent", "refused", "2 2", "6 2"}));
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.http.live_count(), 0u);
}

TEST_F(Children, ProcessorTimeOfAChildIsItsParentsToo) {
  program("hog", [&](FakeHost&, int, std::int64_t&) -> FakeAction {
    clock.advance_ns(kSecond);
    return {Kind::Yield, 0, ""};
  });
  std::string end;
  const ProgramId root =
      program("root", [&](FakeHost& host, int turn, std::int64_t& kept) -> FakeAction {
        if (turn == 0) {
          kept = host.call("runtime", "wait-child", {launch(host, "hog", 50)}).value;
          return wait_for(host, kept);
        }
        end = take(host, kept);
        return {};
      });
  InstanceLimits limits;
  limits.cpu_ns_max = 20 * kSecond;
  limits.cpu_ns_between_waits_max = 20 * kSecond;
  engine.launch(root, {}, limits);
  engine.settle();
  ASSERT_GT(end.size(), 16u);
  EXPECT_EQ(end[0], 2);  // Beyond a limit.
  EXPECT_NE(end.find("the limit is 10.0 s"), std::string::npos) << end.substr(16);
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::Finished);
}

// One after the other, each for less than a slice and then no more, as long as a burst or shorter.
// Together they get what one does that only computes; and one that wakes each 5 ms is not delayed.
TEST_F(Children, ThatComputeOneAfterTheOtherGetNoMoreOfABusyDevicesTimeThanOneThatComputes) {
  for (const std::uint64_t run_ns : {1'500'000, 700'000}) {
    std::uint64_t computing_ns = 0, late_ns = 0, due_ns = 0;
    const std::string name = "burst " + std::to_string(run_ns);
    program(name, [&](FakeHost&, int, std::int64_t&) -> FakeAction {
      clock.advance_ns(run_ns);
      computing_ns += run_ns;
      return {Kind::Trap, 0, "the stack ended"};
    });
    const ProgramId root =
        program("root of " + name, [&](FakeHost& host, int turn, std::int64_t& kept) -> FakeAction {
          if (turn > 0) host.call("future", "drop", {kept});
          kept = launch(host, name, 50);
          EXPECT_GT(kept, 0);
          return wait_for(host, host.call("runtime", "wait-child", {kept}).value);
        });
    const ProgramId victim =
        program("victim of " + name, [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
          if (turn > 0 && clock.now_ns() > due_ns) {
            late_ns = std::max(late_ns, clock.now_ns() - due_ns);
          }
          clock.advance_ns(50'000);
          due_ns = clock.now_ns() + 5 * kMillisecond;
          return wait_for(host, host.call("runtime", "sleep", {5'000'000}).value);
        });
    engine.control.idle_now = false;
    InstanceLimits limits;
    limits.cpu_ns_max = 100 * kSecond;
    const InstanceId ids[] = {engine.launch(root, {}, limits), engine.launch(victim)};
    const std::uint64_t start_ns = clock.now_ns();
    while (clock.now_ns() - start_ns < 10 * kSecond) {
      if (!engine.loop.step()) clock.advance_ns(kMillisecond / 4);
      engine.manager.verify();
    }
    EXPECT_LE(computing_ns, 1'020 * kMillisecond) << name;
    EXPECT_GT(computing_ns, 800 * kMillisecond) << name << ": they go on";
    EXPECT_LE(late_ns, 2 * kMillisecond) << name;
    for (const InstanceId each : ids) {
      EXPECT_TRUE(engine.manager.kill(each, "the test is over").ok());
    }
    engine.settle();
  }
}

TEST_F(Children, BeginAtOnceWhateverClientsLaunchedOfTheSameProgram) {
  std::uint64_t run_ns = 300 * kMillisecond;
  int run_count = 0;
  const ProgramId worker = program("worker", [&](FakeHost&, int, std::int64_t&) -> FakeAction {
    clock.advance_ns(run_ns);
    ++run_count;
    return {};
  });
  const ProgramId root =
      program("root", [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
        if (turn == 0) {
          EXPECT_GT(launch(host, "worker", 50), 0);
        }
        return sleep_for_ever(host);
      });
  engine.control.idle_now = false;
  engine.launch(worker);
  engine.settle();
  run_ns = 0;
  run_count = 0;
  engine.launch(root);
  engine.loop.step();
  EXPECT_EQ(run_count, 1);
  engine.launch(worker);
  engine.loop.step();
  EXPECT_EQ(run_count, 1) << "clients launched it for longer than a tenth of the time";
  for (int step = 0; step < 10; ++step, clock.advance_ns(kMillisecond)) engine.loop.step();
  EXPECT_EQ(run_count, 2);
}

TEST_F(Children, ChildOfAParentWhoDoesNotListenIsToldSo) {
  std::int64_t refused = 0;
  program("talker", [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
    while (turn < 50) {
      refused = host.call("session", "send", {kBuffer, 1000}).value;
      if (refused < 0) return {};
      return wait_for(host, host.call("runtime", "sleep", {0}).value);
    }
    return {};
  });
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t&) {
    if (turn == 0) {
      EXPECT_GT(launch(host, "talker", 50), 0);
    }
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.guest.inbox_bytes_max = 5000;
  limits.guest.outbox_bytes_max = 5000;
  const InstanceId id = engine.launch(root, {}, limits);
  for (int turn = 0; turn < 60; ++turn) {
    engine.settle();
    clock.advance_ns(1);
  }
  EXPECT_EQ(refused, minus(ErrorCode::QuotaExceeded));
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// One child fills what the parent may hold; the other is heard as soon as the parent asks for it.
TEST_F(Children, AChildThatFoundNoRoomIsHeardWhenItsParentAsksForIt) {
  const auto talker = [](FakeHost& host, int turn, std::int64_t&) {
    if (turn == 0) {
      for (int each = 0; each < 4; ++each) host.call("session", "send", {kBuffer, 1000});
    }
    return sleep_for_ever(host);
  };
  program("first", talker);
  program("second", talker);
  std::vector<std::size_t> heard;
  const ProgramId root =
      program("root", [&](FakeHost& host, int turn, std::int64_t& kept) -> FakeAction {
        if (turn == 0) {
          EXPECT_GT(launch(host, "first", 30), 0);
          kept = launch(host, "second", 30);
          return wait_for(host, host.call("runtime", "sleep", {100}).value);
        }
        if (turn > 1) heard.push_back(take(host, kept >> 32).size());
        if (heard.size() == 4) return {};
        const std::int64_t child = kept & 0x7fffffff;
        const std::int64_t future = host.call("runtime", "receive-child", {child}).value;
        kept = child | (future << 32);
        return wait_for(host, future);
      });
  InstanceLimits limits;
  limits.guest.inbox_bytes_max = 4500;
  engine.launch(root, {}, limits);
  engine.settle();
  clock.advance_ns(100);
  engine.settle();
  EXPECT_EQ(heard, (std::vector<std::size_t>{1000, 1000, 1000, 1000}));
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// One child fills the parent's room for messages; another child, whose end is waited for, has no
// room for its last message.
TEST_F(Children, AChildThatIsWaitedForIsHeardWhenAnotherOneMadeRoom) {
  program("filler", [](FakeHost& host, int turn, std::int64_t&) {
    for (int each = 0; turn == 0 && each < 4; ++each) send(host, "a message");
    return sleep_for_ever(host);
  });
  program("last", [](FakeHost& host, int, std::int64_t&) -> FakeAction {
    send(host, "the last word");
    return {};
  });
  for (const bool is_dropped : {false, true}) {
    SCOPED_TRACE(is_dropped);
    std::string heard;
    std::int64_t filler = 0, last = 0;
    const ProgramId root =
        program("root", [&](FakeHost& host, int turn, std::int64_t& end) -> FakeAction {
          if (turn < 2) {
            (turn == 0 ? filler : last) = launch(host, turn == 0 ? "filler" : "last", 30);
            if (turn == 1) end = host.call("runtime", "wait-child", {last}).value;
            return wait_for(host, host.call("runtime", "sleep", {100}).value);
          }
          if (turn == 2) {
            if (is_dropped) host.call("future", "drop", {filler});
            for (int each = 0; !is_dropped && each < 4; ++each) {
              EXPECT_EQ(take(host, host.call("runtime", "receive-child", {filler}).value),
                        "a message");
            }
            return wait_for(host, end);
          }
          heard = take(host, host.call("runtime", "receive-child", {last}).value);
          return {};
        });
    InstanceLimits limits;
    limits.guest.inbox_message_count_max = 4;
    const InstanceId id = engine.launch(root, {}, limits);
    for (int turn = 0; turn < 3; ++turn) {
      engine.settle();
      clock.advance_ns(100);
    }
    EXPECT_EQ(heard, "the last word");
    (void)engine.manager.kill(id, "done").ok();  // Where it still waits.
    engine.settle();
    EXPECT_EQ(engine.manager.live_count(), 0u);
  }
}

// Each child sends more than its parent's inbox takes and ends; the parent does not read.
TEST_F(Children, AChildThatEndedKeepsItsPlaceUntilItsParentHasHeardIt) {
  program("talker", [](FakeHost& host, int, std::int64_t&) -> FakeAction {
    for (int each = 0; each < 3; ++each) host.call("session", "send", {kBuffer, 1000});
    return {};
  });
  std::vector<std::int64_t> children;
  std::int64_t heard = 0;
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t&) {
    if (turn < 12) {
      const std::int64_t child = launch(host, "talker", 10);
      if (child > 0) children.push_back(child);
      return wait_for(host, host.call("runtime", "sleep", {100}).value);
    }
    if (turn == 12) {
      EXPECT_EQ(limit_line(host, "child_count_max"), "4 4");
      for (const std::int64_t each : children) host.call("future", "drop", {each});
      return wait_for(host, host.call("runtime", "sleep", {100}).value);
    }
    if (turn == 13) {
      EXPECT_EQ(limit_line(host, "child_count_max"), "4 0");
      heard = launch(host, "talker", 10);
    }
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.child_count_max = 4;
  limits.guest.inbox_bytes_max = 2500;
  const InstanceId id = engine.launch(root, {}, limits);
  for (int turn = 0; turn < 14; ++turn) {
    engine.settle();
    engine.manager.verify();
    EXPECT_LE(engine.manager.live_count(), 5u);
    clock.advance_ns(100);
  }
  engine.settle();
  EXPECT_EQ(children.size(), 4u);
  EXPECT_GT(heard, 0);
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// Results, messages to the child and the ends of its own children go when the child ends. Else its
// parent would lend the room for them again, as often as it may have children.
TEST_F(Children, AChildThatEndedUnheardHoldsOnlyWhatItSaid) {
  program("last word", [](FakeHost& host, int, std::int64_t&) -> FakeAction {
    send(host, std::string(3000, 'w'));
    return {};
  });
  program("hoarder", [](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
    if (turn == 0) {
      launch(host, "last word", 10);
      const std::int64_t topic = host.put(kName, "topic");
      const std::int64_t subscription = host.call("messaging", "subscribe", {topic, 5}).value;
      for (int each = 0; each < 8; ++each) {
        if (each % 2 == 0) host.call("messaging", "next-message", {subscription});
        EXPECT_EQ(host.call("messaging", "broadcast", {topic, 5, kBuffer, 5000}).value, 1);
      }
      return wait_for(host, host.call("runtime", "sleep", {100}).value);
    }
    send(host, "not heard");
    return {};
  });
  const ProgramId root = program("root", [](FakeHost& host, int turn, std::int64_t&) {
    if (turn < 3) {
      const std::int64_t child = launch(host, "hoarder", 50);
      EXPECT_GT(child, 0) << turn;
      host.call("runtime", "send-child", {child, kBuffer, 4000});
    }
    return wait_for(host, host.call("runtime", "sleep", {1000}).value);
  });
  InstanceLimits limits;
  limits.guest.inbox_message_count_max = 1;
  const InstanceId id = engine.launch(root, {}, limits);
  for (int turn = 0; turn < 10; ++turn) {
    engine.settle();
    clock.advance_ns(500);
  }
  const Usage usage = engine.manager.usage(100);
  EXPECT_EQ(usage.ended_count, 2u);  // The first one's words were heard.
  for (const InstanceUsage& each : usage.instances) {
    if (each.stage != Stage::Ended) continue;
    for (const hostcalls::LimitUse& figure : each.figures) {
      const bool is_held = figure.name == "held_result_bytes_max" ||
                           figure.name == "inbox_bytes_max" || figure.name == "mailbox_bytes_max";
      EXPECT_FALSE(is_held) << figure.name << " " << figure.used.value_or(0);
    }
  }
  for (const hostcalls::LimitUse& figure : usage.tenants.at(0).figures) {
    if (figure.name != "held_bytes") continue;
    EXPECT_EQ(figure.used, 2 * std::string("not heard").size() + 16);  // And how the first ended.
  }
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

TEST_F(Children, AShareBelowTheFirstMemoryOfTheModuleFailsAtTheLaunchAndLendsNothing) {
  InstanceLimits limits;
  limits.control.page_count_max = 1000;
  limits.child_count_max = 4;
  limits.children_memory_bytes_max = 20u << 20;
  std::int64_t child = 0;
  std::string why;
  program("large", [](FakeHost&, int, std::int64_t&) -> FakeAction { return {}; }, 16u << 20);
  const ProgramId root = program("root", [&](FakeHost& host, int, std::int64_t&) -> FakeAction {
    child = launch(host, "large", 50);
    why = last_error(host);
    EXPECT_EQ(limit_line(host, "page_count_max"), "1000 0");
    EXPECT_EQ(limit_line(host, "child_count_max"), "4 0");
    return {};
  });
  engine.launch(root, {}, limits);
  engine.settle();
  EXPECT_EQ(child, minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(
      why,
      "children_memory_bytes_max: the child's module begins with 16777216 bytes; its share, 50 "
      "percent of the 20971520 bytes that are left of 20971520, is 10485760; give it a larger "
      "share or none, or raise the limit with --limit children_memory_bytes_max=33MiB");
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

// Before its program is compiled nothing knows how much memory it begins with.
TEST_F(Children, OneThatCannotStartLaterIsALineOfItsParentsLogAndAnErrorForWhatAwaitsItsMessage) {
  constexpr std::string_view kLarge = "large";
  const auto bytes = std::as_bytes(std::span(kLarge));
  runtime.add_program(
      std::string(kLarge), [] { return std::make_unique<ScriptedGuest>(nullptr); }, 600u << 20);
  std::atomic<bool> is_launched = false;
  runtime.before_compiling = [&, engine_thread = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != engine_thread) is_launched.wait(false);
  };
  for (const std::int64_t share : {0, 20}) {
    is_launched = false;
    const std::string name = "late " + std::to_string(share);
    Digest digest{};
    digest[0] = static_cast<std::uint8_t>(share);
    std::vector<std::byte> wasm(bytes.begin(), bytes.end());
    engine.manager.name_program(name,
                                engine.manager.request_program(std::move(wasm), digest).value());
    std::string heard, why;
    const ProgramId root = program(
        "root of " + name, [&](FakeHost& host, int turn, std::int64_t& future) -> FakeAction {
          if (turn == 0) {
            const std::int64_t child = launch(host, name, share);
            EXPECT_GT(child, 0);
            is_launched = true;
            is_launched.notify_all();
            future = host.call("runtime", "receive-child", {child}).value;
            return wait_for(host, future);
          }
          heard = take(host, future);
          why = last_error(host);
          return {};
        });
    engine.client.lines.clear();
    engine.launch(root);
    while (engine.manager.live_count() > 0) engine.settle();
    EXPECT_EQ(heard, "unavailable");
    EXPECT_NE(why.find("the child was not started: "), std::string::npos) << why;
    EXPECT_NE(why.find("begins with 629145600 bytes"), std::string::npos) << why;
    ASSERT_EQ(engine.client.lines.size(), 1u);
    EXPECT_NE(engine.client.lines[0].find("was not started: "), std::string::npos);
  }
}

// Sixteen futures of one end, with room for two copies beside what is kept of it.
TEST_F(Children, TheEndOfAChildIsHeldOnceForEachWhoWaitsAsFarAsThereIsRoom) {
  program("child", [](FakeHost& host, int, std::int64_t&) -> FakeAction {
    host.call("runtime", "set-result", {kBuffer, 8000});
    return {};
  });
  int failed = 0;
  std::vector<std::int64_t> futures;
  const ProgramId root =
      program("root", [&](FakeHost& host, int turn, std::int64_t&) -> FakeAction {
        if (turn == 0) {
          const std::int64_t child = launch(host, "child", 50);
          for (int each = 0; each < 16; ++each) {
            futures.push_back(host.call("runtime", "wait-child", {child}).value);
          }
          return wait_for(host, futures.front());
        }
        for (const std::int64_t each : futures) {
          const std::int64_t bytes = host.call("future", "take", {each, kBuffer, 9000}).value;
          if (bytes == minus(ErrorCode::QuotaExceeded)) ++failed;
        }
        return {};
      });
  InstanceLimits limits;
  limits.guest.held_result_bytes_max = 25000;
  engine.launch(root, {}, limits);
  engine.settle();
  EXPECT_EQ(failed, 14);
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

TEST_F(Children, SpawnBombStopsAtItsLimitAndLeavesNothing) {
  int refused = 0;
  const ProgramId bomb = program("bomb", [&](FakeHost& host, int turn, std::int64_t&) {
    if (turn == 0) {
      for (int i = 0; i < 10; ++i) {
        const std::int64_t child = launch(host, "", 50);
        if (child < 0) {
          EXPECT_EQ(child, minus(ErrorCode::QuotaExceeded));
          ++refused;
        }
      }
    }
    return sleep_for_ever(host);
  });
  const InstanceId id = engine.launch(bomb);
  engine.settle();
  EXPECT_GT(refused, 0);
  EXPECT_LE(engine.manager.live_count(), 65u);
  EXPECT_TRUE(engine.manager.kill(id, "done").ok());
  engine.settle();
  EXPECT_EQ(engine.manager.live_count(), 0u);
}

TEST_F(Children, InstanceEndsWhenItsWallTimeIsOver) {
  const ProgramId sleeper =
      program("sleeper", [](FakeHost& host, int, std::int64_t&) { return sleep_for_ever(host); });
  InstanceLimits limits;
  limits.wall_ns_max = 5 * kSecond;
  engine.launch(sleeper, {}, limits);
  engine.settle();
  EXPECT_EQ(engine.manager.next_timer_ns(), 5 * kSecond);
  clock.advance_ns(5 * kSecond);
  engine.settle();
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].kind, EndKind::LimitExceeded);
  EXPECT_EQ(engine.client.ends[0].limit, "wall_ns_max");
  EXPECT_EQ(engine.manager.next_timer_ns(), std::nullopt);
}

TEST(ChildBudget, SharesAddUpToWhatTheParentHas) {
  InstanceLimits parent;
  parent.control.page_count_max = 10;
  parent.control.token_count_max = std::uint64_t{1} << 63;
  Budget left = budget_of(parent);
  std::uint64_t pages = 0;
  std::uint64_t exchanges = 0;
  for (std::uint32_t percent : {1u, 33u, 50u, 99u, 100u, 100u}) {
    Result<ChildBudget> child = child_budget(parent, left, {.share_percent = percent});
    if (!child.ok()) {
      EXPECT_EQ(child.error().code(), ErrorCode::QuotaExceeded);
      continue;
    }
    const ChildBudget& got = child.value();
    pages += got.lent.page_count;
    exchanges += got.limits.guest.http.exchange_count_max;
    EXPECT_EQ(got.limits.memory_bytes_max + got.limits.children_memory_bytes_max,
              got.lent.memory_bytes);
    EXPECT_LE(got.lent.token_count, left.token_count);
    left -= got.lent;
  }
  EXPECT_LE(pages, 10u);
  EXPECT_LE(exchanges, parent.guest.http.exchange_count_max);
  left.child_count = 0;
  EXPECT_EQ(
      child_budget(parent, left, {.share_percent = 50}).error().message(),
      "child_count_max: 0 of 64 are left for another child; wait until one ends, or raise the "
      "limit with --limit child_count_max=128");
}

TEST_F(Children, PagesThatAreToComeBackFromASuspensionAreNotLent) {
  std::string seen;
  program("child", [&](FakeHost& host, int, std::int64_t&) {
    seen = limit_line(host, "page_count_max");
    return sleep_for_ever(host);
  });
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t&) {
    if (turn == 0) {
      EXPECT_EQ(limit_line(host, "page_count_max"), "10 5");
      EXPECT_GT(launch(host, "child", 100), 0);
    }
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.control.page_count_max = 10;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.control.used[id] = {.page_count = 2, .page_count_away = 3};
  engine.settle();
  EXPECT_EQ(seen, "5 0");
  EXPECT_EQ(engine.control.limits_set.at(id).page_count_max, 5u);
}

TEST_F(Children, PagesThatWereLentAreRefusedWhenTheyAreAskedFor) {
  program("child", [](FakeHost& host, int, std::int64_t&) { return sleep_for_ever(host); });
  std::int64_t before = 0, after = 0;
  const ProgramId parent = program("parent", [&](FakeHost& host, int, std::int64_t&) -> FakeAction {
    const std::int64_t model = host.call("models", "get-model", {0, 0}).value;
    const std::int64_t queue = host.call("queue", "create-queue", {model, 1}).value;
    before = host.call("allocate", "alloc-kvpage", {queue, 2, kBuffer}).value;
    launch(host, "child", 100);
    after = host.call("allocate", "alloc-kvpage", {queue, 2, kBuffer}).value;
    return {};
  });
  engine.launch(parent);
  engine.settle();
  EXPECT_EQ(before, 2);
  EXPECT_EQ(after, minus(ErrorCode::QuotaExceeded));
}

}  // namespace
}  // namespace quire::lifecycle
