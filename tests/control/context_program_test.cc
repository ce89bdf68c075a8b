// Random programs over contexts beside the simplest model that could be right: a context is its
// list of tokens, and which slots were dropped after how many of them. What a distribution must be
// comes from a second engine that computes each such list alone, in a large pool, and finds
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "control/harness.h"

namespace quire::control {
namespace {

using Sequence = std::vector<std::uint32_t>;

// Slots [begin, end) were dropped when `written` tokens were written.
struct Drop {
  std::uint32_t written = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  auto operator<=>(const Drop&) const = default;
};

struct Content {
  Sequence tokens;
  std::vector<Drop> drops;  // By rising `written`.
  auto operator<=>(const Content&) const = default;

  // Ends at `length` now; what was dropped stays dropped.
  void cut(std::uint32_t length) {
    tokens.resize(length);
    for (Drop& drop : drops) {
      drop.written = std::min(drop.written, length);
      drop.end = std::min(drop.end, length);
    }
    std::erase_if(drops, [](const Drop& drop) { return drop.begin >= drop.end; });
  }
  // Pages of `page_size` slots among the first `length` that can still be seen.
  std::uint32_t seen_page_count(std::uint32_t page_size, std::uint32_t length) const {
    std::uint32_t count = 0;
    for (std::uint32_t page = 0; page < length / page_size; ++page) {
      for (std::uint32_t slot = page * page_size; slot < (page + 1) * page_size; ++slot) {
        const bool is_gone = std::any_of(drops.begin(), drops.end(), [&](const Drop& drop) {
          return drop.begin <= slot && slot < drop.end;
        });
        if (is_gone) continue;
        ++count;
        break;
      }
    }
    return count;
  }
};

class Oracle {
 public:
  explicit Oracle(std::uint32_t page_size) : harness_(options(page_size)) {}

  const NextDistribution& after(const Content& content) {
    const auto found = known_.find(content);
    if (found != known_.end()) return found->second;
    const InstanceId guest = harness_.start();
    const ObjectId queue = harness_.queue(guest);
    const ObjectId context = harness_.context(guest, queue);
    const auto output = harness_.embeds(guest, queue, 1);
    std::uint32_t written = 0;
    const auto append = [&](std::uint32_t end) {
      harness_.send(
          guest,
          ContextAppend{context, {content.tokens.begin() + written, content.tokens.begin() + end}},
          false);
      written = end;
    };
    const auto length = static_cast<std::uint32_t>(content.tokens.size());
    for (const Drop& drop : content.drops) {
      append(drop.written);
      harness_.send(guest, ContextFlush{context}, false);
      harness_.send(guest, ContextDropRange{context, drop.begin, drop.end}, false);
    }
    append(length);
    harness_.send(guest, ContextForward{context, output}, false);
    const FutureId next = harness_.send(guest, GetNextDist{queue, output[0], 8});
    harness_.run();
    NextDistribution given = harness_.get<NextDistribution>(guest, next);
    harness_.controller->end_instance(guest);
    return known_.emplace(content, std::move(given)).first->second;
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
  std::map<Content, NextDistribution> known_;
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
  std::uint32_t host_page_count = 0;  // In the tiers.
  std::uint32_t disk_page_count = 0;
  std::uint32_t transfer_failure_percent = 0;  // Of loads and saves.
};

class Program {
 public:
  Program(const Knobs& knobs, std::uint64_t seed)
      : knobs_(knobs), random_(seed), oracle_(knobs.page_size), harness_(options()) {}

  std::uint64_t opened_count() const { return opened_count_; }
  TierStatistics tiers() const { return harness_.controller->tier_statistics(); }

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

  std::uint64_t lost_count() const { return lost_count_; }
  std::uint64_t error_count(ErrorCode code) const {
    const auto found = errors_.find(code);
    return found == errors_.end() ? 0 : found->second;
  }

 private:
  struct Chain {
    ObjectId id{};
    Content content;
    std::uint32_t queued = 0;
    bool is_known = true;  // `queued` is certain: nothing failed since.
    std::uint32_t length() const { return static_cast<std::uint32_t>(content.tokens.size()); }
    std::uint32_t written() const { return length() - queued; }
  };
  struct Guest {
    InstanceId id{};
    TenantId tenant{};
    ObjectId queue{};
    std::vector<Chain> chains;
  };
  struct Expected {
    InstanceId guest{};
    FutureId future{};
    Content content;
    std::uint32_t seq_len = 0;
    enum class Kind { Distribution, Computed, Refused, Edited } kind = Kind::Computed;
    ErrorCode code = ErrorCode::OutOfRange;  // Refused.
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
    if (knobs_.transfer_failure_percent > 0) {
      const auto fails = [this](const inference::Batch&, std::size_t) -> std::optional<Error> {
        if (random_() % 100 >= knobs_.transfer_failure_percent) return std::nullopt;
        return Error(ErrorCode::Io, "the device lost a page");
      };
      options.device.fail_load = fails;
      options.device.fail_save = fails;
    }
    constexpr std::uint64_t kSlotBytes = 24;  // Of the simulated device.
    options.controller.host_tier_bytes = kSlotBytes * knobs_.page_size * knobs_.host_page_count;
    options.controller.disk_tier_page_count = knobs_.disk_page_count;
    options.controller.tier_choice = below(3) == 0 ? TierChoice::Measured : TierChoice::Restore;
    options.files = &files_;
    options.controller.prefill_row_budget = knobs_.prefill_row_budget;
    options.controller.hash_bits = knobs_.hash_bits;
    options.controller.eviction = static_cast<EvictionPolicyKind>(below(3));
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
      guest.tenant = TenantId{1 + below(2)};
      guest.id = harness_.start(guest.tenant);
      guest.queue = harness_.queue(guest.id, Priority{static_cast<std::uint8_t>(below(3))});
      guests_.push_back(guest);
    }
    return guests_[below(static_cast<std::uint32_t>(guests_.size()))];
  }

  Chain& some_chain(Guest& guest) {
    if (guest.chains.empty() || (guest.chains.size() < 4 && below(6) == 0)) {
      guest.chains.push_back({.id = harness_.context(guest.id, guest.queue), .content = {}});
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
    } else if (choice < 67) {
      forward(guest, chain);
    } else if (choice < 72) {
      fork(guest, chain);
    } else if (choice < 76) {
      truncate(guest, chain);
    } else if (choice < 80) {
      rewind(guest, chain);
    } else if (choice < 84) {
      drop_range(guest, chain);
    } else if (choice < 86) {
      splice(guest, chain);
    } else if (choice < 87) {
      use_working_pages(guest, chain);
    } else if (choice < 89) {
      save(guest, chain);
    } else if (choice < 90) {
      open(guest);
    } else if (choice < 91) {
      harness_.send(guest.id, ContextDrop{chain.id}, false);
      guest.chains.erase(guest.chains.begin() + (&chain - guest.chains.data()));
    } else if (choice < 92) {
      end(guest);
    } else if (choice < 94) {
      harness_.send(guest.id,
                    ContextHint{chain.id, static_cast<ContextHintKind>(below(5)), below(20)},
                    false);
      harness_.clock.advance_ns(std::uint64_t{below(10)} * 1'000'000'000);
    } else {
      harness_.step();
      check();
    }
  }

  void append(Guest& guest, Chain& chain, const Sequence& tokens) {
    if (chain.length() + tokens.size() > 6u * knobs_.page_size) return;
    harness_.send(guest.id, ContextAppend{chain.id, tokens}, false);
    add(chain, tokens);
  }
  static void add(Chain& chain, const Sequence& tokens) {
    chain.content.tokens.insert(chain.content.tokens.end(), tokens.begin(), tokens.end());
    chain.queued += static_cast<std::uint32_t>(tokens.size());
  }

  void expect(const Guest& guest, const Chain& chain, FutureId future,
              typename Expected::Kind kind) {
    expected_.push_back(
        {.guest = guest.id,
         .future = future,
         .content = chain.content,
         .seq_len = kind == Expected::Kind::Edited ? chain.written() : chain.length(),
         .kind = kind});
  }
  void expect_refusal(const Guest& guest, FutureId future, ErrorCode code) {
    expected_.push_back({.guest = guest.id,
                         .future = future,
                         .content = {},
                         .kind = Expected::Kind::Refused,
                         .code = code});
  }

  void flush(Guest& guest, Chain& chain) {
    expect(guest, chain, harness_.send(guest.id, ContextFlush{chain.id}), Expected::Kind::Computed);
    after_compute(guest, chain);
  }

  void forward(Guest& guest, Chain& chain) {
    if (!chain.is_known || chain.length() == 0) return;
    const std::uint32_t outputs =
        chain.queued == 0 ? 1 : 1 + below(std::min(chain.queued, std::uint32_t{3}));
    const auto embeds = harness_.embeds(guest.id, guest.queue, outputs);
    expect(guest, chain, harness_.send(guest.id, ContextForward{chain.id, embeds}),
           Expected::Kind::Computed);
    for (std::uint32_t index = 0; index < outputs; ++index) {
      Content seen = chain.content;
      seen.tokens.resize(chain.length() - (outputs - 1 - index));
      expected_.push_back(
          {.guest = guest.id,
           .future = harness_.send(guest.id, GetNextDist{guest.queue, embeds[index], 8}),
           .content = std::move(seen),
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
    const FutureId again = harness_.send(owner, ContextEdit{id, ContextEditKind::Truncate, 0});
    settle_with(owner, again);
    if (harness_.error(owner, again)) {
      // What it needed from a tier is lost: nothing but its end is left to do with it.
      ASSERT_GT(knobs_.transfer_failure_percent, 0u) << harness_.message(owner, again);
      ++lost_count_;
      harness_.send(owner, ContextDrop{id}, false);
      std::erase_if(guest.chains, [&](const Chain& each) { return each.id == id; });
      return;
    }
    const ContextCounters counters = harness_.get<ContextState>(owner, again).counters;
    chain.queued = chain.length() - counters.seq_len;
    chain.is_known = true;
  }

  void fork(Guest& guest, Chain& chain) {
    if (guest.chains.size() >= 6) return;
    Chain child = chain;
    child.id = harness_.new_object();
    harness_.send(guest.id, ContextFork{chain.id, child.id}, false);
    guest.chains.push_back(child);
  }

  FutureId edit(const Guest& guest, const Chain& chain, ContextEditKind kind, std::uint32_t count) {
    return harness_.send(guest.id, ContextEdit{chain.id, kind, count});
  }

  void truncate(Guest& guest, Chain& chain) {
    if (!chain.is_known) return;
    const std::uint32_t reach = chain.queued + chain.written() % knobs_.page_size;
    const std::uint32_t count = below(reach + 2);
    const FutureId future = edit(guest, chain, ContextEditKind::Truncate, count);
    if (was_refused_pages(guest, future, count <= reach)) return;
    if (count > reach) return expect_refusal(guest, future, ErrorCode::OutOfRange);
    chain.queued -= std::min(chain.queued, count);
    chain.content.cut(chain.length() - count);
    expect(guest, chain, future, Expected::Kind::Edited);
  }

  void rewind(Guest& guest, Chain& chain) {
    if (!chain.is_known) return;
    const std::uint32_t length = below(chain.length() + 2);
    const FutureId future = edit(guest, chain, ContextEditKind::Rewind, length);
    if (was_refused_pages(guest, future, length <= chain.length())) return;
    if (length > chain.length()) return expect_refusal(guest, future, ErrorCode::OutOfRange);
    chain.queued = length > chain.written() ? length - chain.written() : 0;
    chain.content.cut(length);
    expect(guest, chain, future, Expected::Kind::Edited);
  }

  // A context that was swapped must come back before it changes, and may find no page.
  bool was_refused_pages(const Guest& guest, FutureId future, bool is_right) {
    if (!is_fallible()) return false;
    const InstanceId owner = guest.id;
    settle_with(owner, future);
    return is_right && harness_.error(owner, future).has_value();
  }

  void drop_range(Guest& guest, Chain& chain) {
    if (!chain.is_known) return;
    const std::uint32_t written = chain.written();
    const std::uint32_t begin = below(written + 1);
    const std::uint32_t end = begin + below(2 * knobs_.page_size + 2);
    const FutureId future = harness_.send(guest.id, ContextDropRange{chain.id, begin, end});
    if (is_fallible()) {
      // What was lost to a suspension must come back first, and may find no page.
      const InstanceId owner = guest.id;
      settle_with(owner, future);
      if (end <= written && harness_.error(owner, future)) return;
    }
    if (end > written) return expect_refusal(guest, future, ErrorCode::OutOfRange);
    if (end > begin) {
      chain.content.drops.push_back({.written = written, .begin = begin, .end = end});
    }
    expect(guest, chain, future, Expected::Kind::Edited);
  }

  void splice(Guest& guest, Chain& chain) {
    const Chain& source = guest.chains[below(static_cast<std::uint32_t>(guest.chains.size()))];
    const std::uint32_t begin = below(source.length() + 1);
    const std::uint32_t end = begin + below(source.length() + 2 - begin);
    if (chain.length() + end - begin > 6u * knobs_.page_size) return;
    const FutureId future = harness_.send(guest.id, ContextSplice{chain.id, source.id, begin, end});
    if (end > source.length()) return expect_refusal(guest, future, ErrorCode::OutOfRange);
    const Sequence tokens(source.content.tokens.begin() + begin,
                          source.content.tokens.begin() + end);
    add(chain, tokens);
    if (chain.is_known) expect(guest, chain, future, Expected::Kind::Edited);
  }

  // The published operations on the tail, one after another, in a pool with room.
  void use_working_pages(Guest& guest, Chain& chain) {
    if (is_fallible() || !chain.is_known) return;
    const ObjectId id = chain.id;
    const InstanceId owner = guest.id;
    const auto counters = [&](ContextEditKind kind, std::uint32_t count) {
      const FutureId future = harness_.send(owner, ContextEdit{id, kind, count});
      harness_.run();
      return harness_.get<ContextState>(owner, future).counters;
    };
    const auto refused = [&](ContextEditKind kind, std::uint32_t count) {
      const FutureId future = harness_.send(owner, ContextEdit{id, kind, count});
      harness_.run();
      return harness_.error(owner, future);
    };
    const ContextCounters before = counters(ContextEditKind::ReservePages, 0);
    const std::uint32_t count = below(4);
    const ContextCounters reserved = counters(ContextEditKind::ReservePages, count);
    ASSERT_EQ(reserved.working_page_count, before.working_page_count + count);
    ASSERT_EQ(reserved.seq_len, before.seq_len);
    ASSERT_EQ(counters(ContextEditKind::CommitPages, 0).working_page_count,
              reserved.working_page_count);
    ASSERT_EQ(refused(ContextEditKind::CommitPages, 1), ErrorCode::PageNotFull);
    ASSERT_EQ(refused(ContextEditKind::ReleasePages, reserved.working_page_count + 1),
              ErrorCode::OutOfRange);
    ASSERT_EQ(refused(ContextEditKind::TruncatePageTokens, before.working_page_token_count + 1),
              ErrorCode::OutOfRange);
    if (below(2) == 0) {
      ASSERT_EQ(counters(ContextEditKind::ReleasePages, count).working_page_count,
                before.working_page_count);
    }
    if (chain.queued > 0 || before.working_page_token_count == 0) return;
    const std::uint32_t cut = below(before.working_page_token_count + 1);
    const ContextCounters after = counters(ContextEditKind::TruncatePageTokens, cut);
    ASSERT_EQ(after.seq_len, before.seq_len - cut);
    ASSERT_GE(after.working_page_count, before.working_page_count);
    chain.content.cut(chain.length() - cut);
  }

  void save(Guest& guest, Chain& chain) {
    if (!chain.is_known) return;
    const bool overwrites = below(2) == 0;
    const std::string name = "snapshot " + std::to_string(below(4));
    const TenantId tenant = guest.tenant;
    const Chain saved = chain;
    const bool has_cut = below(3) == 0;
    const FutureId future = harness_.send(
        guest.id, ContextSave{.context = chain.id, .name = name, .overwrites = overwrites});
    const InstanceId owner = guest.id;
    // What happens to the context afterwards is not saved.
    if (has_cut) rewind(guest, chain);
    settle_with(owner, future);
    const bool exists = snapshots_.contains({tenant, name});
    const std::optional<ErrorCode> error = harness_.error(owner, future);
    if (could_not_come_back(error)) return;
    if (exists && !overwrites) {
      ASSERT_EQ(error, ErrorCode::AlreadyExists);
    } else if (!error) {
      snapshots_[{tenant, name}] = saved;
    } else {
      ASSERT_TRUE(is_fallible()) << harness_.message(owner, future);
    }
  }

  void open(Guest& guest) {
    if (guest.chains.size() >= 6) return;
    const std::string name = "snapshot " + std::to_string(below(5));
    const bool takes = below(4) == 0;
    const auto found = snapshots_.find({guest.tenant, name});
    Chain made{.id = harness_.new_object(), .content = {}};
    const FutureId future = harness_.send(guest.id, ContextOpen{made.id, guest.queue, name, takes});
    const InstanceId owner = guest.id;
    const ObjectId id = made.id;
    settle_with(owner, future);
    const std::optional<ErrorCode> error = harness_.error(owner, future);
    if (found == snapshots_.end()) {
      ASSERT_EQ(error, ErrorCode::NotFound);
      harness_.send(owner, ContextDrop{id}, false);
      return;
    }
    if (error) {
      ASSERT_TRUE(is_fallible()) << harness_.message(owner, future);
      harness_.send(owner, ContextDrop{id}, false);
      return;
    }
    ++opened_count_;
    Chain opened = found->second;
    opened.id = id;
    ASSERT_EQ(harness_.get<ContextState>(owner, future).counters.seq_len, opened.written());
    if (takes) {
      harness_.send(owner, ContextKeep{id}, false);
      snapshots_.erase(found);
    }
    guest.chains.push_back(std::move(opened));
  }

  void end(Guest& guest) {
    harness_.controller->end_instance(guest.id);
    std::erase_if(expected_, [&](const Expected& each) { return each.guest == guest.id; });
    guests_.erase(guests_.begin() + (&guest - guests_.data()));
  }

  bool is_fallible() const { return knobs_.page_count < 256 || knobs_.failure_percent > 0; }

  // Whatever was asked: what the context gave up must come back first.
  bool could_not_come_back(std::optional<ErrorCode> error) const {
    return is_fallible() && (error == ErrorCode::NoFreePage ||
                             (error == ErrorCode::Io && knobs_.transfer_failure_percent > 0));
  }

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

  void settle_with(InstanceId owner, FutureId future) {
    settle();
    for (int round = 0; round < 1'000 && !harness_.has(owner, future); ++round) {
      harness_.clock.advance_ns(11'000'000'000);
      settle();
    }
    ASSERT_TRUE(harness_.has(owner, future)) << "a future was never answered";
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
    if (each.kind == Expected::Kind::Refused) {
      ASSERT_FALSE(body.ok());
      if (could_not_come_back(body.error().code())) return;
      EXPECT_EQ(body.error().code(), each.code) << body.error().message();
      ++errors_[each.code];
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
      const NextDistribution& wanted = oracle_.after(each.content);
      const auto describe = [&] {
        std::string text = std::to_string(each.content.tokens.size()) + " tokens of " +
                           std::to_string(knobs_.page_size);
        for (const Drop& drop : each.content.drops) {
          text += ", [" + std::to_string(drop.begin) + ", " + std::to_string(drop.end) + ") at " +
                  std::to_string(drop.written);
        }
        return text;
      };
      ASSERT_EQ(given.tokens, wanted.tokens) << describe();
      ASSERT_EQ(given.probabilities, wanted.probabilities);
      return;
    }
    const ContextCounters& counters = std::get<ContextState>(body.value()).counters;
    if (!is_fallible() || each.kind == Expected::Kind::Edited) {
      ASSERT_EQ(counters.seq_len, each.seq_len);
    }
    ASSERT_EQ(counters.committed_page_count,
              each.content.seen_page_count(knobs_.page_size, counters.seq_len));
    ASSERT_EQ(counters.working_page_token_count, counters.seq_len % knobs_.page_size);
  }

  const Knobs knobs_;
  std::mt19937_64 random_;
  Oracle oracle_;
  store::SimulatedFileSystem files_;
  Harness harness_;
  std::map<std::pair<TenantId, std::string>, Chain> snapshots_;
  std::uint64_t opened_count_ = 0;
  std::vector<Guest> guests_;
  std::vector<Expected> expected_;
  std::map<ErrorCode, std::uint64_t> errors_;
  std::uint64_t lost_count_ = 0;
};

TEST(ContextPrograms, GiveWhatEachListOfTokensGivesAlone) {
  std::uint64_t opened = 0;
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
    Program program(knobs, seed);
    program.run();
    opened += program.opened_count();
    if (HasFailure()) return;
  }
  EXPECT_GT(opened, 0u) << "no snapshot was opened";
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

Knobs tiered_knobs(std::mt19937_64& random) {
  Knobs knobs;
  constexpr std::uint32_t kPages[] = {3, 7, 12, 20};
  constexpr std::uint32_t kPageSizes[] = {2, 8, 16};
  constexpr std::uint32_t kTierPages[] = {0, 3, 10, 200};
  knobs.page_count = kPages[random() % 4];
  knobs.page_size = kPageSizes[random() % 3];
  knobs.host_page_count = kTierPages[random() % 4];
  knobs.disk_page_count = kTierPages[random() % 4];
  if (knobs.host_page_count + knobs.disk_page_count == 0) knobs.disk_page_count = 100;
  return knobs;
}

TEST(ContextPrograms, GiveTheSameWhereverTheirPagesAre) {
  TierStatistics sum;
  for (const std::uint64_t seed : test_seeds(24)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Program program(tiered_knobs(random), seed);
    program.run();
    sum.kept_page_count += program.tiers().kept_page_count;
    sum.restored_page_count += program.tiers().restored_page_count;
    sum.swap_count += program.tiers().swap_count;
    EXPECT_EQ(program.tiers().damaged_page_count, 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(sum.restored_page_count, 0u);
  EXPECT_GT(sum.swap_count, 0u);
  std::cout << sum.kept_page_count << " pages kept, " << sum.restored_page_count << " restored, "
            << sum.swap_count << " contexts swapped\n";
}

TEST(ContextPrograms, SurviveADeviceThatLosesPages) {
  std::uint64_t damaged = 0;
  std::uint64_t lost = 0;
  for (const std::uint64_t seed : test_seeds(16)) {
    SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Knobs knobs = tiered_knobs(random);
    knobs.transfer_failure_percent = 10;
    Program program(knobs, seed);
    program.run();
    damaged += program.tiers().damaged_page_count;
    lost += program.lost_count();
    if (HasFailure()) return;
  }
  EXPECT_GT(damaged, 0u);
  std::cout << damaged << " pages lost, and " << lost << " contexts that needed them\n";
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
