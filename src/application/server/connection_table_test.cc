#include "application/server/connection_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/seeds.h"

namespace quire::server {
namespace {

using Place = ConnectionTable::Place;
using Key = ConnectionTable::Key;

ClientAddress address_of(std::uint8_t number) {
  ClientAddress address{};
  address[0] = number;
  return address;
}

constexpr ConnectionId id_of(std::uint64_t number) {
  return ConnectionId{number};
}

// A table with the steps that tests take often.
class Table : public ConnectionTable {
 public:
  explicit Table(std::uint32_t count_max, bool has_keys = true, std::uint32_t reserve = 2)
      : ConnectionTable({count_max, reserve, has_keys}) {}

  Arrival comes(std::uint64_t id, std::uint8_t address = 0) {
    const Arrival arrival = arrive(id_of(id), address_of(address == 0 ? next_address_++ : address));
    if (arrival.closed) gone(*arrival.closed, false);
    verify();
    return arrival;
  }
  void asks(std::uint64_t id, Key key) {  // And is answered.
    head_read(id_of(id), key);
    request_over(id_of(id));
    verify();
  }
  void works(std::uint64_t id, Key key) {
    head_read(id_of(id), key);
    request_begun(id_of(id));
    verify();
  }
  std::uint64_t shed_count(ShedReason reason) const {
    return shed_counts()[static_cast<std::size_t>(reason)];
  }

 private:
  std::uint8_t next_address_ = 100;
};

TEST(ConnectionTable, AStrangerBetweenRequestsGoesFirstThenOneInItsHeadThenAKeyedOne) {
  Table table(4);
  for (const std::uint64_t id : {1, 2, 3, 4}) table.comes(id);
  table.asks(1, Key::Known);
  table.asks(3, Key::None);
  table.asks(2, Key::None);
  EXPECT_EQ(table.comes(5).closed, id_of(3));
  EXPECT_EQ(table.comes(6).closed, id_of(2));
  EXPECT_EQ(table.comes(7).closed, id_of(4));
  for (const std::uint64_t id : {5, 6, 7}) table.works(id, Key::Known);
  const auto last = table.comes(8);
  EXPECT_EQ(last.closed, id_of(1));
  EXPECT_EQ(last.place, Place::Regular);
  EXPECT_EQ(table.shed_count(ShedReason::StrangerIdle), 2u);
  EXPECT_EQ(table.shed_count(ShedReason::StrangerHead), 1u);
  EXPECT_EQ(table.shed_count(ShedReason::KeyedIdle), 1u);
}

TEST(ConnectionTable, WithRequestsAlonePlacesOfTheReserveAreLeft) {
  Table table(2);
  for (const std::uint64_t id : {1, 2}) {
    table.comes(id);
    table.works(id, Key::Known);
  }
  EXPECT_EQ(table.comes(3).place, Place::Reserve);
  EXPECT_EQ(table.comes(4).place, Place::Reserve);
  EXPECT_FALSE(table.head_read(id_of(3), Key::Known)) << "a key that may not operate";
  table.request_over(id_of(3));
  EXPECT_TRUE(table.head_read(id_of(4), Key::Operates));
  table.request_begun(id_of(4));
  EXPECT_EQ(table.comes(5).closed, id_of(3)) << "which came first";
  EXPECT_TRUE(table.head_read(id_of(5), Key::Operates));
  EXPECT_EQ(table.comes(6).place, Place::None) << "both have work";
  table.request_over(id_of(4));
  EXPECT_EQ(table.comes(7).closed, id_of(4));
  EXPECT_EQ(table.shed_count(ShedReason::Reserve), 2u);
  EXPECT_EQ(table.shed_count(ShedReason::Full), 1u);
  EXPECT_EQ(table.count(), 4u);
}

TEST(ConnectionTable, AnAddressHasAQuarterForStrangersAndClosesItsOwnLongest) {
  Table table(8);
  table.comes(1, 1);
  table.comes(2, 1);
  table.asks(2, Key::None);
  table.comes(3, 2);
  EXPECT_EQ(table.comes(4, 1).closed, id_of(2)) << "between requests";
  EXPECT_EQ(table.comes(5, 1).closed, id_of(1)) << "longest in its head";
  table.works(4, Key::Known);  // No stranger any more.
  EXPECT_EQ(table.comes(6, 1).closed, std::nullopt);
  EXPECT_EQ(table.shed_count(ShedReason::Address), 2u);
}

TEST(ConnectionTable, WithoutKeysAllMayComeFromOneAddressAndTheLongestBetweenRequestsGoes) {
  Table table(3, false);
  for (const std::uint64_t id : {1, 2, 3}) EXPECT_EQ(table.comes(id, 1).closed, std::nullopt);
  table.works(1, Key::None);
  table.works(2, Key::None);
  table.request_over(id_of(2));
  EXPECT_EQ(table.comes(4, 1).closed, id_of(2));
  EXPECT_EQ(table.comes(5, 1).closed, id_of(3));
  table.upgraded(id_of(4));
  table.upgraded(id_of(5));
  EXPECT_EQ(table.comes(6, 1).place, Place::Reserve);
  EXPECT_FALSE(table.head_read(id_of(6), Key::None));
}

// A connection that closes by itself has its place until the engine forgot it; one that was closed for another has not.
TEST(ConnectionTable, APlaceIsTakenUntilTheEngineForgetsTheConnection) {
  Table table(1, false, 0);
  table.comes(1);
  table.works(1, Key::None);
  table.gone(id_of(1), true);
  EXPECT_EQ(table.comes(2).place, Place::None);
  table.forgotten(id_of(1));
  EXPECT_EQ(table.comes(3).place, Place::Regular);
  table.works(3, Key::None);
  table.request_over(id_of(3));
  const auto next = table.arrive(id_of(4), address_of(1));
  EXPECT_EQ(next.place, Place::Regular);
  EXPECT_EQ(next.closed, id_of(3));
  table.gone(id_of(3), true);
  table.works(4, Key::None);
  table.request_over(id_of(4));
  EXPECT_EQ(table.comes(5).place, Place::None)
      << "the engine has as many to forget as there are places";
  table.forgotten(id_of(3));
  EXPECT_EQ(table.comes(6).closed, id_of(4));
  EXPECT_EQ(table.count(), 1u);
}

// ---- Random operations, beside a model that looks at everything each time.

struct Model {
  enum class State : std::uint8_t { Head, Idle, Busy, Socket, Leaving, Shed, Forgetting };
  struct One {
    std::uint64_t id = 0;
    std::uint8_t address = 0;
    State state = State::Head;
    std::uint64_t since = 0;  // In this state, as far as it matters who goes first.
    bool is_known = false;
    bool operates = false;
    bool is_reserve = false;
    bool has_place() const { return state != State::Shed && state != State::Forgetting; }
  };

  ConnectionRules rules;
  std::vector<One> all;
  std::uint64_t now = 0;
  ShedCounts shed{};

  One& find(std::uint64_t id) {
    return *std::find_if(all.begin(), all.end(), [&](const One& each) { return each.id == id; });
  }
  template <typename Wanted>
  std::size_t count(Wanted wanted) const {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), wanted));
  }
  std::size_t places(bool of_reserve) const {
    return count(
        [&](const One& each) { return each.has_place() && each.is_reserve == of_reserve; });
  }
  // Closes the one of these that came to its state first.
  template <typename Wanted>
  std::optional<std::uint64_t> close_longest(Wanted wanted, ShedReason reason) {
    One* longest = nullptr;
    for (One& each : all) {
      if (wanted(each) && (longest == nullptr || each.since < longest->since)) longest = &each;
    }
    if (longest == nullptr) return std::nullopt;
    longest->state = State::Shed;
    ++shed[static_cast<std::size_t>(reason)];
    return longest->id;
  }

  static bool is_stranger(const One& each, State state) {
    return !each.is_reserve && !each.is_known && each.state == state;
  }
  ConnectionTable::Arrival arrive(std::uint64_t id, std::uint8_t address) {
    std::optional<std::uint64_t> closed;
    bool is_reserve = false;
    const auto from_here = [&](State state) {
      return [=](const One& each) { return is_stranger(each, state) && each.address == address; };
    };
    if (rules.has_keys && count(from_here(State::Idle)) + count(from_here(State::Head)) >=
                              (rules.count_max + 3) / 4) {
      closed = close_longest(from_here(State::Idle), ShedReason::Address);
      if (!closed) closed = close_longest(from_here(State::Head), ShedReason::Address);
    }
    const bool may_close =
        count([](const One& each) { return !each.has_place(); }) < rules.count_max;
    const auto stranger = [](State state) {
      return [=](const One& each) { return is_stranger(each, state); };
    };
    const auto idle_keyed = [](bool of_reserve) {
      return [=](const One& each) {
        return each.is_reserve == of_reserve && each.state == State::Idle &&
               (of_reserve ? each.operates : each.is_known);
      };
    };
    if (places(false) >= rules.count_max && may_close) {
      closed = close_longest(stranger(State::Idle), ShedReason::StrangerIdle);
      if (!closed) closed = close_longest(stranger(State::Head), ShedReason::StrangerHead);
      if (!closed) closed = close_longest(idle_keyed(false), ShedReason::KeyedIdle);
    }
    if (places(false) >= rules.count_max) {
      is_reserve = true;
      if (places(true) >= rules.reserve_count_max) {
        closed = close_longest(
            [](const One& each) {
              return each.is_reserve && !each.operates &&
                     (each.state == State::Head || each.state == State::Idle);
            },
            ShedReason::Reserve);
        if (!closed && may_close) closed = close_longest(idle_keyed(true), ShedReason::KeyedIdle);
      }
      if (places(true) >= rules.reserve_count_max) {
        ++shed[static_cast<std::size_t>(ShedReason::Full)];
        return {};
      }
    }
    all.push_back({id, address, State::Head, ++now, false, false, is_reserve});
    return {is_reserve ? Place::Reserve : Place::Regular,
            closed ? std::optional(id_of(*closed)) : std::nullopt};
  }
  void enter(One& one, State state) {
    const bool keeps_turn = one.state == state || (one.is_reserve && !one.operates);
    one.state = state;
    if (!keeps_turn) one.since = ++now;
  }
};

class Pair {
 public:
  explicit Pair(SeededRandom& random)
      : random_(random),
        rules_{1 + below(12), below(4), below(3) != 0},
        table_(rules_),
        model_{rules_, {}, 0, {}} {}

  void step() {
    if (model_.all.empty() || below(3) == 0) {
      arrive();
    } else {
      change(model_.all[below(static_cast<std::uint32_t>(model_.all.size()))].id);
    }
    table_.verify();
    ASSERT_EQ(table_.shed_counts(), model_.shed);
    ASSERT_EQ(table_.count(), model_.places(false) + model_.places(true));
  }

 private:
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(random_.next() % count);
  }
  void arrive() {
    const std::uint64_t id = ++last_id_;
    const auto address = static_cast<std::uint8_t>(below(3));
    const auto made = table_.arrive(id_of(id), address_of(address));
    const auto wanted = model_.arrive(id, address);
    ASSERT_EQ(made.place, wanted.place);
    ASSERT_EQ(made.closed, wanted.closed);
    if (made.closed && below(4) != 0) close(static_cast<std::uint64_t>(*made.closed));
  }
  void close(std::uint64_t id) {
    Model::One& one = model_.find(id);
    // Strangers of a server with keys are unknown to the engine, as is one of the reserve that may not stay.
    const bool may_be_known = one.is_reserve ? one.operates : one.is_known || !rules_.has_keys;
    const bool is_known = may_be_known && below(2) == 0;
    table_.gone(id_of(id), is_known);
    if (is_known) {
      one.state = one.has_place() ? Model::State::Leaving : Model::State::Forgetting;
    } else {
      forget(id);
    }
  }
  void forget(std::uint64_t id) {
    std::erase_if(model_.all, [&](const Model::One& each) { return each.id == id; });
  }
  void change(std::uint64_t id) {
    Model::One& one = model_.find(id);
    switch (one.state) {
      case Model::State::Leaving:
      case Model::State::Forgetting:
        table_.forgotten(id_of(id));
        return forget(id);
      case Model::State::Shed:
      case Model::State::Socket:
        return close(id);
      case Model::State::Head:
        return below(4) == 0 ? close(id) : read_head(one);
      case Model::State::Idle:
        if (below(4) == 0) return close(id);
        table_.head_begun(id_of(id));
        return model_.enter(one, Model::State::Head);
      case Model::State::Busy:
        if (below(4) == 0) return close(id);
        table_.request_over(id_of(id));
        return model_.enter(one, Model::State::Idle);
    }
  }
  void read_head(Model::One& one) {
    const ConnectionId id = id_of(one.id);
    const Key key = rules_.has_keys ? static_cast<Key>(below(3)) : Key::None;
    one.is_known |= key != Key::None;
    one.operates |= key == Key::Operates;
    const bool stays = !one.is_reserve || one.operates;
    if (!stays) ++model_.shed[static_cast<std::size_t>(ShedReason::Reserve)];
    ASSERT_EQ(table_.head_read(id, key), stays);
    // With keys, only a connection that has shown one gets to the engine.
    const bool may_work = stays && (one.is_known || !rules_.has_keys);
    const std::uint32_t next = may_work ? below(3) : 0;
    if (next == 0) {
      table_.request_over(id);
      model_.enter(one, Model::State::Idle);
    } else if (next == 1) {
      table_.request_begun(id);
      model_.enter(one, Model::State::Busy);
    } else {
      table_.upgraded(id);
      model_.enter(one, Model::State::Socket);
    }
  }

  SeededRandom& random_;
  const ConnectionRules rules_;
  ConnectionTable table_;
  Model model_;
  std::uint64_t last_id_ = 0;
};

TEST(ConnectionTable, ClosesWhatASimpleModelCloses) {
  for (const std::uint64_t seed : campaign_seeds(400)) {
    SeededRandom random(seed);
    Pair pair(random);
    for (int i = 0; i < 300; ++i) {
      pair.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
  }
}

TEST(ConnectionTableDeathTest, AnUnknownConnectionIsABug) {
  Table table(1);
  EXPECT_DEATH(table.request_over(id_of(7)), "has an entry");
}

}  // namespace
}  // namespace quire::server
