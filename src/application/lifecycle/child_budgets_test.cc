// Children that draw on their parent's budget: what each may have, and that a tree never has more
// than its root may.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/lifecycle/scripted_guest.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/seeds.h"

namespace quire::lifecycle {
namespace child_budgets_test {

using sandbox::FakeAction;
using sandbox::FakeHost;
using Kind = FakeAction::Kind;

constexpr std::uint64_t kFirstMemoryBytes = 6u << 20;

FakeAction sleep_for_ever(FakeHost& host) {
  return wait_for(host, host.call("session", "receive", {}).value);
}
std::int64_t launch(FakeHost& host, std::string_view name, std::int64_t share) {
  return host
      .call("runtime", "launch",
            {host.put(kName, name), static_cast<std::int64_t>(name.size()), 0, 0, share})
      .value;
}
std::string last_error(FakeHost& host) {
  const std::int64_t bytes = host.call("runtime", "last-error", {kBuffer, 4096}).value;
  return host.get(kBuffer, static_cast<std::uint32_t>(bytes));
}
std::int64_t http_get(FakeHost& host) {
  constexpr std::string_view kUrl = "http://a.example/";
  return host.call("net", "http-get", {host.put(kBuffer, kUrl), kUrl.size(), 0, 0}).value;
}

class DrawingChildren : public testing::Test {
 protected:
  ProgramId program(const std::string& name, ScriptedGuest::Step step) {
    runtime.add_program(
        name, [step] { return std::make_unique<ScriptedGuest>(step); }, kFirstMemoryBytes);
    const ProgramId id = engine.manager.load_program(std::as_bytes(std::span(name))).value();
    engine.manager.name_program(name, id);
    return id;
  }

  ManualClock clock;
  sandbox::FakeRuntime runtime{hostcalls::host_functions(), 1024};
  TestEngine engine{runtime, clock};
};

TEST_F(DrawingChildren, ACrowdOfFiftyRunsUnderTheDefaultLimitsAndAnyOfThemMayGrow) {
  std::uint32_t grown_count = 0;
  program("child", [&](FakeHost& host, int, std::int64_t&) {
    if (host.grow(grown_count == 0 ? 100u << 20 : 7u << 20)) ++grown_count;
    return sleep_for_ever(host);
  });
  std::string why;
  const ProgramId root = program("root", [&](FakeHost& host, int turn, std::int64_t&) {
    for (int each = 0; turn == 0 && each < 65; ++each) {
      if (launch(host, "child", 0) < 0) why = last_error(host);
      EXPECT_TRUE(why.empty() || each >= 50) << each << ": " << why;
    }
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.control.page_count_max = 6500;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.settle();
  EXPECT_EQ(
      why,
      "child_count_max: 0 of 64 are left for another child; wait until one ends, or raise the "
      "limit with --limit child_count_max=128");
  EXPECT_EQ(engine.manager.live_count(), 65u);
  EXPECT_EQ(grown_count, 35u) << "(512 - 64 * 6 - 94) MiB are left for those that grow by one";
  for (std::uint64_t child = 2; child <= 65; ++child) {
    EXPECT_EQ(engine.control.limits_set.at(InstanceId{child}).page_count_max, 100u);
  }
  EXPECT_EQ(engine.control.limits_set.at(id).page_count_max, 100u);
}

TEST_F(DrawingChildren, AnInstanceThatUsedHalfOfItsPartGetsMoreOfWhatIsUnused) {
  program("child", [](FakeHost& host, int, std::int64_t&) {
    return wait_for(host, host.call("runtime", "sleep", {100}).value);
  });
  const ProgramId root = program("root", [](FakeHost& host, int turn, std::int64_t&) {
    for (int each = 0; turn == 0 && each < 3; ++each) EXPECT_GT(launch(host, "child", 0), 0);
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.control.page_count_max = 400;
  const InstanceId id = engine.launch(root, {}, limits);
  engine.settle();
  const InstanceId hungry{2};
  std::vector<std::uint32_t> had;
  for (int turn = 0; turn < 5; ++turn) {
    had.push_back(engine.control.limits_set.at(hungry).page_count_max);
    engine.control.used[hungry].page_count = had.back();
    clock.advance_ns(100);
    engine.settle();
  }
  EXPECT_EQ(had, (std::vector<std::uint32_t>{100, 175, 231, 273, 304}));
  EXPECT_TRUE(engine.manager.kill(hungry, "done").ok());
  engine.settle();
  EXPECT_GT(engine.control.limits_set.at(id).page_count_max, 300u) << "the parent has it back";
}

TEST_F(DrawingChildren, ThatDrawOnOneLimitOfHttpAreToldWhoHasTheRest) {
  engine.http.respond("http://a.example:80/", {.after_ns = kSecond});
  int sent_count = 0;
  std::string why;
  program("child", [&](FakeHost& host, int, std::int64_t&) {
    for (int each = 0; each < 3; ++each) {
      if (http_get(host) > 0) {
        ++sent_count;
      } else {
        why = last_error(host);
      }
    }
    return sleep_for_ever(host);
  });
  const ProgramId root = program("root", [](FakeHost& host, int turn, std::int64_t&) {
    for (int each = 0; turn == 0 && each < 3; ++each) EXPECT_GT(launch(host, "child", 0), 0);
    return sleep_for_ever(host);
  });
  InstanceLimits limits;
  limits.guest.http_grants = {net::parse_http_grant("a.example").value()};
  limits.guest.http.exchange_count_max = 8;
  engine.launch(root, {}, limits);
  engine.settle();
  EXPECT_EQ(sent_count, 8);
  EXPECT_EQ(why,
            "http.exchange_count_max: 2 of 8 exchanges are open, 6 are its parent's and that one's "
            "other children's; wait for one, or drop one");
}

// The simplest model: what each instance has, from which all that is left is summed anew.
struct Node {
  std::uint64_t parent = 0;  // 0: none.
  bool is_drawing = false;
  bool lives = true;
  bool has_place = false;  // It has ended, and its parent has not heard of it.
  std::uint64_t memory_bytes = kFirstMemoryBytes;
  std::uint64_t lent_bytes = 0;  // To one with a share.
  std::uint64_t children_bytes_max = 0;
  std::uint32_t child_count_max = 0;
  std::uint32_t call_count = 0;
  std::int64_t handle = 0;
};

class Tree {
 public:
  explicit Tree(const InstanceLimits& limits) {
    nodes[1] = {.children_bytes_max = limits.children_memory_bytes_max,
                .child_count_max = limits.child_count_max};
  }
  std::uint64_t charged_bytes(std::uint64_t id) const {
    const Node& node = nodes.at(id);
    return node.is_drawing ? node.memory_bytes + lent_bytes(id) : node.lent_bytes;
  }
  std::uint64_t lent_bytes(std::uint64_t id) const {
    std::uint64_t sum = 0;
    for (const auto& [child, node] : nodes) {
      if (node.parent == id && node.lives) sum += charged_bytes(child);
    }
    return sum;
  }
  std::uint64_t left_bytes(std::uint64_t id) const {
    const Node& node = nodes.at(id);
    const std::uint64_t own = node.children_bytes_max - lent_bytes(id);
    return node.is_drawing ? std::min(own, left_bytes(node.parent)) : own;
  }
  std::uint32_t descendant_count(std::uint64_t id) const {
    std::uint32_t sum = 0;
    for (const auto& [child, node] : nodes) {
      if (node.parent == id && node.lives) sum += 1 + descendant_count(child);
      if (node.parent == id && node.has_place) sum += 1;
    }
    return sum;
  }
  std::uint32_t left_places(std::uint64_t id) const {
    const Node& node = nodes.at(id);
    const std::uint32_t own = node.child_count_max - descendant_count(id);
    return node.parent == 0 ? own : std::min(own, left_places(node.parent));
  }
  void end(std::uint64_t id) {
    nodes.at(id).lives = nodes.at(id).has_place = false;
    for (auto& [child, node] : nodes) {
      if (node.parent == id && node.lives) end(child);
    }
  }
  std::map<std::uint64_t, Node> nodes;  // By their ids, which count launches.
};

class RandomFamily {
 public:
  RandomFamily(std::uint64_t seed, const InstanceLimits& limits)
      : random_(seed), limits_(limits), tree_(limits) {
    engine_.http.respond("http://a.example:80/", {.after_ns = 1'000'000 * kSecond});
    // A program that is compiled starts with its launch, so its guests are made in that order.
    runtime_.add_program(
        "any",
        [this] {
          const std::uint64_t id = ++made_count_;
          return std::make_unique<ScriptedGuest>(
              [this, id](FakeHost& host, int, std::int64_t&) { return act(host, id); });
        },
        kFirstMemoryBytes);
    const ProgramId program =
        engine_.manager.load_program(std::as_bytes(std::span(std::string_view("any")))).value();
    engine_.launch(program, {}, limits);
  }
  void step() {
    while (engine_.loop.step()) {
      engine_.manager.verify();
      for (auto& [id, node] : tree_.nodes) node.has_place = false;
    }
    check();
    clock_.advance_ns(100);
  }
  std::uint64_t launched_count() const { return tree_.nodes.size(); }
  std::uint64_t refused_count() const { return refused_count_; }

 private:
  std::uint64_t below(std::uint64_t count) { return random_.next() % count; }
  const control::InstanceLimits& limits_of(std::uint64_t id) {
    const auto found = engine_.control.limits_set.find(InstanceId{id});
    if (found != engine_.control.limits_set.end()) return found->second;
    return engine_.control.limits_started.at(id - 1);
  }

  FakeAction act(FakeHost& host, std::uint64_t id) {
    for (std::uint64_t left = 1 + below(4); left > 0; --left) {
      switch (below(6)) {
        case 0:
          launch_child(host, id);
          break;
        case 1:
          grow(host, id);
          break;
        case 2:
          use(id);
          break;
        case 3:
          tree_.nodes.at(id).call_count += http_get(host) > 0 ? 1 : 0;
          break;
        case 4:
          drop(host, id);
          break;
        default:
          if (id == 1 || below(6) > 0) break;
          tree_.end(id);
          tree_.nodes.at(id).has_place = true;
          return {};
      }
    }
    return wait_for(
        host, host.call("runtime", "sleep", {static_cast<std::int64_t>(1 + below(400))}).value);
  }

  void launch_child(FakeHost& host, std::uint64_t id) {
    const std::uint32_t percent = below(3) > 0 ? 0 : static_cast<std::uint32_t>(1 + below(40));
    const std::uint64_t left = tree_.left_bytes(id);
    const std::uint32_t places = tree_.left_places(id);
    const std::uint64_t share =
        percent == 0 ? left : left / 100 * percent + left % 100 * percent / 100;
    const std::uint64_t own_max =
        percent == 0 ? limits_.memory_bytes_max : std::min(limits_.memory_bytes_max, share);
    const bool is_expected = places > 0 && share >= kFirstMemoryBytes;
    const std::int64_t handle = launch(host, "", percent);
    ASSERT_EQ(handle > 0, is_expected) << last_error(host) << ", " << percent << " percent of "
                                       << left << " bytes, " << places << " places";
    if (handle < 0) {
      ++refused_count_;
      return;
    }
    Node node{.parent = id, .is_drawing = percent == 0, .handle = handle};
    if (percent == 0) {
      node.children_bytes_max = tree_.nodes.at(id).children_bytes_max;
      node.child_count_max = tree_.nodes.at(id).child_count_max;
    } else {
      node.lent_bytes = share;
      node.children_bytes_max = share - own_max;
      node.child_count_max = (places - 1) * percent / 100;
    }
    tree_.nodes[made_count_] = node;
  }

  void grow(FakeHost& host, std::uint64_t id) {
    Node& node = tree_.nodes.at(id);
    const std::uint64_t wanted = node.memory_bytes + below(12u << 20);
    const bool grew = host.grow(wanted);
    if (node.is_drawing) {
      const std::uint64_t left = tree_.left_bytes(node.parent);
      ASSERT_EQ(grew, wanted - node.memory_bytes <= left && wanted <= limits_.memory_bytes_max);
    }
    if (grew) node.memory_bytes = wanted;
  }

  void use(std::uint64_t id) {
    control::InstanceStatistics& used = engine_.control.used[InstanceId{id}];
    const control::InstanceLimits& limits = limits_of(id);
    used.page_count = static_cast<std::uint32_t>(below(std::uint64_t{limits.page_count_max} + 1));
    const std::uint64_t left = limits.token_count_max - used.metered_token_count;
    used.metered_token_count += below(std::min<std::uint64_t>(left, 500) + 1);
  }

  void drop(FakeHost& host, std::uint64_t id) {
    std::vector<std::uint64_t> children;
    for (const auto& [child, node] : tree_.nodes) {
      if (node.parent == id && node.handle > 0) children.push_back(child);
    }
    if (children.empty()) return;
    const std::uint64_t child = children[below(children.size())];
    ASSERT_EQ(host.call("future", "drop", {tree_.nodes.at(child).handle}).value, 0);
    tree_.nodes.at(child).handle = 0;
    tree_.end(child);
  }

  // A tree never has more than its root may.
  void check() {
    std::uint64_t pages = 0, tokens = 0, calls = 0, open = 0, memory = 0, live = 0;
    for (const auto& [id, node] : tree_.nodes) {
      const control::InstanceStatistics used = engine_.control.used[InstanceId{id}];
      tokens += used.metered_token_count;
      calls += node.call_count;
      if (!node.lives) continue;
      pages += used.page_count;
      open += node.call_count;
      memory += id == 1 ? 0 : node.memory_bytes;
      live += 1;
      ASSERT_LE(used.page_count, limits_of(id).page_count_max);
    }
    ASSERT_LE(pages, limits_.control.page_count_max);
    ASSERT_LE(tokens, limits_.control.token_count_max);
    ASSERT_LE(calls, limits_.guest.http.call_count_max);
    ASSERT_LE(open, limits_.guest.http.exchange_count_max);
    ASSERT_LE(memory, limits_.children_memory_bytes_max);
    ASSERT_LE(live, 1u + limits_.child_count_max);
    ASSERT_EQ(live, engine_.manager.live_count());
  }

  SeededRandom random_;
  const InstanceLimits limits_;
  Tree tree_;
  std::uint64_t made_count_ = 0;
  std::uint64_t refused_count_ = 0;
  ManualClock clock_;
  sandbox::FakeRuntime runtime_{hostcalls::host_functions(), 1024};
  TestEngine engine_{runtime_, clock_};
};

TEST(RandomFamilies, HaveWhatTheModelHasAndNeverMoreThanTheirRootMay) {
  std::uint64_t launched_count = 0;
  std::uint64_t refused_count = 0;
  for (const std::uint64_t seed : campaign_seeds(160)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    InstanceLimits limits;
    limits.control.page_count_max = 300;
    limits.control.token_count_max = 20'000;
    limits.children_memory_bytes_max = 200u << 20;
    limits.memory_bytes_max = 40u << 20;
    limits.child_count_max = 12;
    limits.guest.http_grants = {net::parse_http_grant("a.example").value()};
    limits.guest.http.exchange_count_max = 20;
    limits.guest.http.call_count_max = 60;
    RandomFamily family(seed, limits);
    for (int step = 0; step < 150 && !testing::Test::HasFatalFailure(); ++step) family.step();
    launched_count += family.launched_count();
    refused_count += family.refused_count();
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(launched_count, 200u);
  EXPECT_GT(refused_count, 50u);
}

}  // namespace child_budgets_test
}  // namespace quire::lifecycle
