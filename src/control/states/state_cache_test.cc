#include "control/states/state_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/seeds.h"

namespace quire::control::state_cache_test {
namespace {

constexpr Importance kOld{.below_high = 0, .instance_order = 1, .age = 1};
constexpr Importance kNew{.below_high = 0, .instance_order = 2, .age = 2};
constexpr TenantId kTenant{1};

// A state, cold, that one context remembers.
StateRef cold_state(StateCache& states) {
  const StateSlot slot = *states.take(kNew);
  states.note_written(slot, kTenant);
  states.release(slot);
  return states.ref(slot);
}

StateRef kept_state(StateCache& states, NodeId node, StateKind kind, std::uint32_t length) {
  const StateRef ref = cold_state(states);
  states.keep(node, ref.slot, kind, length);
  return ref;
}

TEST(StateCache, AColdStateIsThereUntilItsSlotIsTaken) {
  StateCache states(1);
  const StateRef first = cold_state(states);
  EXPECT_TRUE(states.is_there(first));
  const StateRef second = cold_state(states);
  EXPECT_EQ(first.slot, second.slot);
  EXPECT_FALSE(states.is_there(first));
  EXPECT_TRUE(states.is_there(second));
  states.verify();
}

TEST(StateCache, OnlyItsOneContextChangesAStateInPlace) {
  StateCache states(2);
  const StateRef own = cold_state(states);
  states.hold(own);
  EXPECT_TRUE(states.may_change(own.slot));
  states.hold(own);
  EXPECT_FALSE(states.may_change(own.slot)) << "two hold it";
  states.release(own.slot);
  states.seal(own);
  EXPECT_FALSE(states.may_change(own.slot)) << "a fork remembers it";
  states.release(own.slot);
  const StateRef kept = kept_state(states, NodeId{7}, StateKind::Turn, 16);
  states.hold(kept);
  EXPECT_FALSE(states.may_change(kept.slot)) << "others find it";
}

TEST(StateCache, AKeptStateGoesWithItsPage) {
  StateCache states(2);
  const StateRef kept = kept_state(states, NodeId{7}, StateKind::Turn, 16);
  EXPECT_EQ(states.find(NodeId{7})->slot, kept.slot);
  states.page_gone(NodeId{7});
  EXPECT_FALSE(states.find(NodeId{7}).has_value());
  EXPECT_FALSE(states.is_there(kept));
  states.verify();
}

TEST(StateCache, AHintForAPageIsOneForItsState) {
  StateCache states(5);
  for (const std::uint32_t node : {1u, 2u, 3u, 4u, 5u}) {
    kept_state(states, NodeId{node}, StateKind::Turn, 16 * node);
  }
  states.note_hint(NodeId{1}, {.hint = EvictionHint::Keep, .keep_seconds = 60});
  states.note_hint(NodeId{2}, {.hint = EvictionHint::WillResume});
  states.note_hint(NodeId{5}, {.hint = EvictionHint::Done});
  for (const std::uint32_t gone : {5u, 3u, 4u, 2u, 1u}) {
    EXPECT_TRUE(states.find(NodeId{gone}).has_value());
    ASSERT_TRUE(states.take(kOld).has_value());
    EXPECT_FALSE(states.find(NodeId{gone}).has_value()) << gone;
    states.verify();
  }
}

TEST(StateCache, AHintHoldsUntilTheNextUseAndAMarkUntilALaterState) {
  StateCache states(3);
  const StateRef done = kept_state(states, NodeId{1}, StateKind::Turn, 16);
  const StateRef marked = kept_state(states, NodeId{2}, StateKind::Marked, 32);
  kept_state(states, NodeId{3}, StateKind::Turn, 48);
  states.note_hint(NodeId{1}, {.hint = EvictionHint::Done});
  states.hold(done);
  states.release(done.slot);
  states.supersede(marked);
  for (const std::uint32_t gone : {3u, 1u, 2u}) {
    ASSERT_TRUE(states.take(kOld).has_value());
    EXPECT_FALSE(states.find(NodeId{gone}).has_value()) << gone;
  }
}

TEST(StateCache, UnusedMultiplesOfFewZerosGoFirstAndMarkedOnesLast) {
  StateCache states(5);
  kept_state(states, NodeId{1}, StateKind::Marked, 16);
  kept_state(states, NodeId{2}, StateKind::Turn, 32);
  kept_state(states, NodeId{3}, StateKind::Multiple, 4 * kStateMultiple);
  kept_state(states, NodeId{4}, StateKind::Multiple, 3 * kStateMultiple);
  const StateRef used = kept_state(states, NodeId{5}, StateKind::Multiple, kStateMultiple);
  states.hold(used);
  states.note_used(used.slot);
  states.release(used.slot);
  for (const std::uint32_t gone : {4u, 3u, 2u, 5u, 1u}) {
    EXPECT_TRUE(states.find(NodeId{gone}).has_value());
    ASSERT_TRUE(states.take(kOld).has_value());
    EXPECT_FALSE(states.find(NodeId{gone}).has_value()) << gone;
    states.verify();
  }
  EXPECT_FALSE(states.take(kOld).has_value());
}

TEST(StateCache, ASupersededStateGoesBeforeOlderOnesUntilItIsUsedAgain) {
  StateCache states(3);
  kept_state(states, NodeId{1}, StateKind::Turn, 16);
  const StateRef second = kept_state(states, NodeId{2}, StateKind::Turn, 32);
  const StateRef third = kept_state(states, NodeId{3}, StateKind::Turn, 48);
  states.supersede(second);
  states.supersede(third);
  states.verify();
  states.hold(third);
  states.note_used(third.slot);
  states.release(third.slot);
  for (const std::uint32_t gone : {2u, 1u, 3u}) {
    ASSERT_TRUE(states.take(kOld).has_value());
    EXPECT_FALSE(states.find(NodeId{gone}).has_value()) << gone;
  }
}

TEST(StateCache, AReservedStateGivesWayToAMoreImportantOperationAlone) {
  StateCache states(1);
  const StateRef own = cold_state(states);
  states.hold(own);
  states.reserve(own.slot, kOld);
  states.release(own.slot);
  states.verify();
  EXPECT_FALSE(states.take(kNew).has_value());
  states.end_reserve(own, kOld);
  states.hold(own);
  states.reserve(own.slot, kNew);
  states.release(own.slot);
  EXPECT_TRUE(states.take(kOld).has_value());
}

TEST(StateCache, AStateStaysReservedWhenOthersHeldAndReservedIt) {
  StateCache states(1);
  const StateRef shared = cold_state(states);
  for (const Importance& each : {kOld, kNew}) {
    states.hold(shared);
    states.reserve(shared.slot, each);
    states.release(shared.slot);
  }
  states.hold(shared);
  states.release(shared.slot);
  states.end_reserve(shared, kNew);
  states.verify();
  EXPECT_FALSE(states.take(kNew).has_value()) << "the older operation goes on from it";
  states.end_reserve(shared, kOld);
  EXPECT_TRUE(states.take(kNew).has_value());
}

TEST(StateCache, ASlotLaidBackUnderABatchIsFreeForAnother) {
  StateCache states(1);
  const StateRef own = cold_state(states);
  states.open_batch(inference::BatchId{1});
  states.hold(own);
  states.lay_back(own.slot);
  EXPECT_TRUE(states.take(kOld).has_value()) << "no pass of the batch reads it";
  states.verify();
}

// Random use beside the simplest thing that could be right: a number for the content of each slot.
class RandomUse {
 public:
  explicit RandomUse(std::uint64_t seed)
      : random_(seed), states_(static_cast<std::uint32_t>(2 + below(6))) {}

  void step() {
    State* one = known_.empty() ? nullptr : &known_[below(known_.size())];
    switch (below(8)) {
      case 0:
        return take();
      case 1:
        return one == nullptr ? void() : hold(*one);
      case 2:
      case 3:
        return one == nullptr ? void() : release(*one);
      case 4:
        return one == nullptr ? void() : keep(*one);
      case 5:
        return states_.page_gone(NodeId{some_node()});
      case 6:
        if (one == nullptr) return;
        if (below(2) == 0) states_.discard(one->ref);
        if (below(2) == 0) states_.supersede(one->ref);
        return states_.end_reserve(one->ref, somebody());
      default:
        return batch();
    }
  }

  void check() {
    states_.verify();
    for (const State& each : known_) {
      ASSERT_TRUE(each.hold_count == 0 || states_.is_there(each.ref)) << "a held state went";
      if (!states_.is_there(each.ref)) continue;
      ASSERT_EQ(content_of_slot_[each.ref.slot], each.content);
    }
    for (std::uint32_t node = 0; node < kNodeCount; ++node) {
      const auto found = states_.find(NodeId{node});
      if (!found) continue;
      ASSERT_TRUE(states_.is_there(*found));
      ASSERT_EQ(content_of_slot_[found->slot], content_of_node_[node]) << "not the one kept";
    }
  }

 private:
  static constexpr std::uint32_t kNodeCount = 5;
  struct State {
    StateRef ref{};
    std::uint32_t hold_count = 0;
    std::uint64_t content = 0;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint32_t some_node() { return static_cast<std::uint32_t>(below(kNodeCount)); }
  Importance somebody() { return below(2) == 0 ? kOld : kNew; }

  void take() {
    const auto slot = states_.take(somebody());
    if (!slot) return;
    for (const State& each : known_) {
      ASSERT_TRUE(each.hold_count == 0 || each.ref.slot != *slot) << "a held slot was taken";
    }
    states_.note_written(*slot, TenantId{static_cast<std::uint32_t>(below(2))});
    content_of_slot_[*slot] = ++content_count_;
    known_.push_back({states_.ref(*slot), 1, content_count_});
  }
  void hold(State& one) {
    if (!states_.is_there(one.ref)) return;
    states_.hold(one.ref);
    ++one.hold_count;
  }
  void release(State& one) {
    if (one.hold_count == 0) return;
    if (below(3) == 0) states_.reserve(one.ref.slot, somebody());
    states_.release(one.ref.slot);
    --one.hold_count;
  }
  void keep(const State& one) {
    if (!states_.is_there(one.ref)) return;
    for (std::uint32_t node = 0; node < kNodeCount; ++node) {
      const auto found = states_.find(NodeId{node});
      if (found && found->slot == one.ref.slot) return;
    }
    const std::uint32_t node = some_node();
    if (!states_.find(NodeId{node})) content_of_node_[node] = one.content;
    const auto length = static_cast<std::uint32_t>(1 + below(8)) * kStateMultiple;
    states_.keep(NodeId{node}, one.ref.slot, static_cast<StateKind>(below(4)), length);
  }
  void batch() {
    if (!is_batch_open_) {
      states_.open_batch(inference::BatchId{++batch_});
    } else {
      states_.complete_batch(inference::BatchId{batch_});
    }
    is_batch_open_ = !is_batch_open_;
  }

  std::mt19937_64 random_;
  StateCache states_;
  std::vector<State> known_;
  std::map<StateSlot, std::uint64_t> content_of_slot_;
  std::map<std::uint32_t, std::uint64_t> content_of_node_;
  std::uint64_t content_count_ = 0;
  std::uint64_t batch_ = 0;
  bool is_batch_open_ = false;
};

TEST(StateCache, AgreesWithItsModelUnderRandomUse) {
  for (const std::uint64_t seed : campaign_seeds(400)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomUse use(seed);
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      use.step();
      use.check();
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace quire::control::state_cache_test
