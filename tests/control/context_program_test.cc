// Random programs over contexts beside the simplest model that could be right: a context is its
// list of tokens. What a distribution must be comes from a second engine that computes each list at
// once, alone, in a large pool, and finds nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "control/harness.h"

namespace quire::control {
namespace {

using Sequence = std::vector<std::uint32_t>;

class Oracle {
 public:
  explicit Oracle(std::uint32_t page_size) : harness_(options(page_size)) {}

  const NextDistribution& after(const Sequence& tokens) {
    const auto found = known_.find(tokens);
    if (found != known_.end()) return found->second;
    const InstanceId guest = harness_.start();
    const ObjectId queue = harness_.queue(guest);
    const ObjectId context = harness_.context(guest, queue);
    const auto output = harness_.embeds(guest, queue, 1);
    harness_.send(guest, ContextAppend{context, tokens}, false);
    harness_.send(guest, ContextForward{context, output}, false);
    const FutureId next = harness_.send(guest, GetNextDist{queue, output[0], 8});
    harness_.run();
    NextDistribution given = harness_.get<NextDistribution>(guest, next);
    harness_.controller->end_instance(guest);
    return known_.emplace(tokens, std::move(given)).first->second;
  }

 private:
  static Harness::Options options(std::uint32_t page_size) {
    Harness::Options options;
    options.device.page_size = page_size;
    options.device.page_count = 4096;
    options.device.row_count_max = 4096;
    options.controller.shares_prefixes = false;
    return options;
  }
  Harness harness_;
  std::map<Sequence, NextDistribution> known_;
};

struct Knobs {
  std::uint32_t page_size = 16;
  std::uint32_t page_count = 512;
  std::uint32_t row_count_max = 64;
  std::uint32_t prefill_row_budget = 16;
  std::uint32_t sequence_count = 64;
  std::uint32_t hash_bits = 64;
  int step_count = 300;
  std::uint32_t failure_percent = 0;  // Of passes.
};

class Program {
 public:
  Program(const Knobs& knobs, std::uint64_t seed)
      : knobs_(knobs), random_(seed), oracle_(knobs.page_size), harness_(options()) {}

  void run() {
    for (int step = 0; step < knobs_.step_count && !testing::Test::HasFatalFailure(); ++step) act();
    settle();
    check();
    for (const Guest& guest : guests_) harness_.controller->end_instance(guest.id);
    settle();
    harness_.controller->verify();
    EXPECT_TRUE(harness_.controller->idle());
    EXPECT_EQ(harness_.free_page_count(), knobs_.page_count);
  }

  std::uint64_t error_count(ErrorCode code) const {
    const auto found = errors_.find(code);
    return found == errors_.end() ? 0 : found->second;
  }

 private:
  struct Chain {
    ObjectId id{};
    Sequence tokens;
    std::uint32_t queued = 0;
    bool is_known = true;  // `queued` is certain: nothing failed since.
  };
  struct Guest {
    InstanceId id{};
    ObjectId queue{};
    std::vector<Chain> chains;
  };
  struct Expected {
    InstanceId guest{};
    FutureId future{};
    Sequence tokens;
    std::uint32_t seq_len = 0;
    enum class Kind { Distribution, Counters, OutOfRange, Truncated } kind = Kind::Counters;
  };

  Harness::Options options() {
    Harness::Options options;
    options.device.page_size = knobs_.page_size;
    options.device.page_count = knobs_.page_count;
    options.device.row_count_max = knobs_.row_count_max;
    options.device.sequence_count = knobs_.sequence_count;
    if (knobs_.failure_percent > 0) {
      options.device.fail_pass = [this](const inference::Batch&,
                                        std::size_t) -> std::optional<Error> {
        if (random_() % 100 >= knobs_.failure_percent) return std::nullopt;
        return Error(ErrorCode::Io, "the device lost a pass");
      };
    }
    options.controller.prefill_row_budget = knobs_.prefill_row_budget;
    options.controller.hash_bits = knobs_.hash_bits;
    return options;
  }

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  // Few beginnings, so that prefixes meet; at times a step by one token.
  Sequence some_tokens() {
    const std::uint32_t count = below(3) == 0 ? 1 : 1 + below(3 * knobs_.page_size);
    const std::uint32_t first = below(2);
    Sequence tokens;
    for (std::uint32_t index = 0; index < count; ++index) {
      tokens.push_back(below(12) == 0 ? below(4) : first);
    }
    return tokens;
  }

  Guest& some_guest() {
    if (guests_.empty() || (guests_.size() < 4 && below(20) == 0)) {
      Guest guest;
      guest.id = harness_.start(TenantId{1 + below(2)});
      guest.queue = harness_.queue(guest.id, Priority{static_cast<std::uint8_t>(below(3))});
      guests_.push_back(guest);
    }
    return guests_[below(static_cast<std::uint32_t>(guests_.size()))];
  }

  Chain& some_chain(Guest& guest) {
    if (guest.chains.empty() || (guest.chains.size() < 4 && below(6) == 0)) {
      guest.chains.push_back({.id = harness_.context(guest.id, guest.queue), .tokens = {}});
    }
    return guest.chains[below(static_cast<std::uint32_t>(guest.chains.size()))];
  }

  void act() {
    Guest& guest = some_guest();
    Chain& chain = some_chain(guest);
    const std::uint32_t choice = below(100);
    if (choice < 30) {
      append(guest, chain, some_tokens());
    } else if (choice < 45) {
      flush(guest, chain);
    } else if (choice < 70) {
      forward(guest, chain);
    } else if (choice < 76) {
      fork(guest, chain);
    } else if (choice < 82) {
      truncate(guest, chain);
    } else if (choice < 86) {
      harness_.send(guest.id, ContextDrop{chain.id}, false);
      guest.chains.erase(guest.chains.begin() + (&chain - guest.chains.data()));
    } else if (choice < 87) {
      end(guest);
    } else {
      harness_.step();
      check();
    }
  }

  void append(Guest& guest, Chain& chain, const Sequence& tokens) {
    if (chain.tokens.size() + tokens.size() > 6u * knobs_.page_size) return;
    harness_.send(guest.id, ContextAppend{chain.id, tokens}, false);
    chain.tokens.insert(chain.tokens.end(), tokens.begin(), tokens.end());
    chain.queued += static_cast<std::uint32_t>(tokens.size());
  }

  void flush(Guest& guest, Chain& chain) {
    expected_.push_back({.guest = guest.id,
                         .future = harness_.send(guest.id, ContextFlush{chain.id}),
                         .tokens = {},
                         .seq_len = static_cast<std::uint32_t>(chain.tokens.size()),
                         .kind = Expected::Kind::Counters});
    after_compute(guest, chain);
  }

  void forward(Guest& guest, Chain& chain) {
    if (!chain.is_known || chain.tokens.empty()) return;
    const std::uint32_t outputs =
        chain.queued == 0 ? 1 : 1 + below(std::min(chain.queued, std::uint32_t{3}));
    const auto embeds = harness_.embeds(guest.id, guest.queue, outputs);
    const FutureId done = harness_.send(guest.id, ContextForward{chain.id, embeds});
    expected_.push_back({.guest = guest.id,
                         .future = done,
                         .tokens = {},
                         .seq_len = static_cast<std::uint32_t>(chain.tokens.size()),
                         .kind = Expected::Kind::Counters});
    for (std::uint32_t index = 0; index < outputs; ++index) {
      const Sequence seen(chain.tokens.begin(), chain.tokens.end() - (outputs - 1 - index));
      expected_.push_back(
          {.guest = guest.id,
           .future = harness_.send(guest.id, GetNextDist{guest.queue, embeds[index], 8}),
           .tokens = seen,
           .kind = Expected::Kind::Distribution});
    }
    harness_.send(guest.id, DeallocEmbeds{guest.queue, embeds}, false);
    after_compute(guest, chain);
  }

  // In a pool that may run out, or on a device that fails, it is known only afterwards what
  // happened.
  void after_compute(Guest& guest, Chain& chain) {
    chain.queued = 0;
    if (!is_fallible()) return;
    chain.is_known = false;
    if (below(3) == 0) return;
    const ObjectId id = chain.id;
    const InstanceId owner = guest.id;
    settle();
    const FutureId again = harness_.send(owner, ContextTruncate{id, 0});
    harness_.run();
    const ContextCounters counters = harness_.get<ContextState>(owner, again).counters;
    chain.queued = static_cast<std::uint32_t>(chain.tokens.size()) - counters.seq_len;
    chain.is_known = true;
  }

  void fork(Guest& guest, Chain& chain) {
    if (guest.chains.size() >= 6) return;
    Chain child = chain;
    child.id = harness_.new_object();
    harness_.send(guest.id, ContextFork{chain.id, child.id}, false);
    guest.chains.push_back(child);
  }

  void truncate(Guest& guest, Chain& chain) {
    if (!chain.is_known) return;
    const auto written = static_cast<std::uint32_t>(chain.tokens.size()) - chain.queued;
    const std::uint32_t reach = chain.queued + written % knobs_.page_size;
    const std::uint32_t count = below(reach + 2);
    const FutureId future = harness_.send(guest.id, ContextTruncate{chain.id, count});
    if (count > reach) {
      expected_.push_back(
          {.guest = guest.id, .future = future, .tokens = {}, .kind = Expected::Kind::OutOfRange});
      return;
    }
    chain.tokens.resize(chain.tokens.size() - count);
    chain.queued -= std::min(chain.queued, count);
    expected_.push_back({.guest = guest.id,
                         .future = future,
                         .tokens = {},
                         .seq_len = static_cast<std::uint32_t>(chain.tokens.size()) - chain.queued,
                         .kind = Expected::Kind::Truncated});
  }

  void end(Guest& guest) {
    harness_.controller->end_instance(guest.id);
    std::erase_if(expected_, [&](const Expected& each) { return each.guest == guest.id; });
    guests_.erase(guests_.begin() + (&guest - guests_.data()));
  }

  bool is_fallible() const { return knobs_.page_count < 256 || knobs_.failure_percent > 0; }

  void settle() {
    harness_.run();
    check();
    // Idle guests hold pages that others wait for; the wait has an end.
    for (int round = 0; round < 1'000 && !expected_.empty(); ++round) {
      harness_.clock.advance_ns(11'000'000'000);
      harness_.run();
      check();
    }
    ASSERT_TRUE(expected_.empty()) << "a future was never answered";
  }

  void check() {
    std::erase_if(expected_, [&](const Expected& each) {
      if (!harness_.has(each.guest, each.future)) return false;
      check_one(each);
      return true;
    });
  }

  void check_one(const Expected& each) {
    const Result<AnswerBody>& body = harness_.at(each.guest, each.future);
    if (each.kind == Expected::Kind::OutOfRange) {
      ASSERT_FALSE(body.ok());
      EXPECT_EQ(body.error().code(), ErrorCode::OutOfRange);
      return;
    }
    if (!body.ok()) {
      ++errors_[body.error().code()];
      ASSERT_TRUE(is_fallible()) << body.error().message();
      ASSERT_TRUE(body.error().code() == ErrorCode::NoFreePage ||
                  body.error().code() == ErrorCode::Io)
          << body.error().message();
      return;
    }
    if (each.kind == Expected::Kind::Distribution) {
      const auto& given = std::get<NextDistribution>(body.value());
      const NextDistribution& wanted = oracle_.after(each.tokens);
      ASSERT_EQ(given.tokens, wanted.tokens) << each.tokens.size() << " tokens";
      ASSERT_EQ(given.probabilities, wanted.probabilities);
      return;
    }
    const ContextCounters& counters = std::get<ContextState>(body.value()).counters;
    if (!is_fallible() || each.kind == Expected::Kind::Truncated) {
      ASSERT_EQ(counters.seq_len, each.seq_len);
    }
    ASSERT_EQ(counters.committed_page_count, counters.seq_len / knobs_.page_size);
    ASSERT_EQ(counters.working_page_token_count, counters.seq_len % knobs_.page_size);
  }

  const Knobs knobs_;
  std::mt19937_64 random_;
  Oracle oracle_;
  Harness harness_;
  std::vector<Guest> guests_;
  std::vector<Expected> expected_;
  std::map<ErrorCode, std::uint64_t> errors_;
};

TEST(ContextPrograms, GiveWhatEachListOfTokensGivesAlone) {
  for (const std::uint64_t seed : test_seeds(12)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Knobs knobs;
    constexpr std::uint32_t kPageSizes[] = {1, 2, 8, 16, 32};
    constexpr std::uint32_t kRows[] = {1, 2, 33, 64, 512};
    constexpr std::uint32_t kBits[] = {4, 8, 64};
    knobs.page_size = kPageSizes[random() % 5];
    knobs.row_count_max = kRows[random() % 5];
    knobs.prefill_row_budget = 1 + static_cast<std::uint32_t>(random() % 40);
    knobs.hash_bits = kBits[random() % 3];
    knobs.sequence_count = random() % 2 == 0 ? 2 : 64;
    Program(knobs, seed).run();
    if (HasFailure()) return;
  }
}

TEST(ContextPrograms, KeepTheirPromisesInTinyPools) {
  std::uint64_t refused = 0;
  for (const std::uint64_t seed : test_seeds(12)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Knobs knobs;
    constexpr std::uint32_t kPages[] = {1, 2, 3, 7, 20};
    constexpr std::uint32_t kPageSizes[] = {2, 8, 16};
    knobs.page_count = kPages[random() % 5];
    knobs.page_size = kPageSizes[random() % 3];
    knobs.hash_bits = random() % 2 == 0 ? 8 : 64;
    Program program(knobs, seed);
    program.run();
    refused += program.error_count(ErrorCode::NoFreePage);
    if (HasFailure()) return;
  }
  std::cout << refused << " answers were no-free-page\n";
}

TEST(ContextPrograms, SurviveADeviceThatLosesPasses) {
  std::uint64_t lost = 0;
  for (const std::uint64_t seed : test_seeds(8)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    Knobs knobs;
    knobs.failure_percent = 10;
    Program program(knobs, seed);
    program.run();
    lost += program.error_count(ErrorCode::Io);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0u);
}

}  // namespace
}  // namespace quire::control
