// Tokens under adapters: what is shared, what is computed, and what snapshots keep. The arithmetic
// is the simulated device's, to which another set is another input.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/seeds.h"
#include "control/harness.h"
#include "control/naive_model.h"
#include "support/small_adapter.h"

namespace quire::control::adapters_test {
namespace {

constexpr std::uint32_t kPageSize = 16;

class Adapters : public testing::Test {
 protected:
  struct Guest {
    InstanceId id{};
    ObjectId queue{};
    ObjectId context{};
    test::Content content{};
  };

  void SetUp() override {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      loaded.push_back(inference::small_adapter(inference::simulated_model(), seed));
    }
    start();
  }
  void start() {
    harness.reset();
    Harness::Options options;
    options.files = &files;
    options.adapters = loaded;
    options.device.page_count = 512;
    harness = std::make_unique<Harness>(std::move(options));
    harness->wall_clock.set_unix_ms(1'000'000);
  }

  ChosenAdapter chosen(std::size_t index, float scale = 1.0f) const {
    return {.name = "adapter " + std::to_string(index), .adapter = loaded[index], .scale = scale};
  }
  static ChosenAdaptersRef set_of(std::vector<ChosenAdapter> all) {
    return make_chosen_adapters(std::move(all)).value();
  }
  Guest new_guest(TenantId tenant = TenantId{1}) {
    Guest guest;
    guest.id = harness->start(tenant);
    guest.queue = harness->queue(guest.id);
    guest.context = harness->context(guest.id, guest.queue);
    return guest;
  }
  void use(Guest& guest, const ChosenAdaptersRef& set) {
    harness->send(guest.id, ContextUseAdapters{guest.context, set}, false);
    guest.content.use(set == nullptr ? 0 : test::digest_of_set(set->set));
  }
  void append(Guest& guest, const std::vector<std::uint32_t>& tokens) {
    harness->send(guest.id, ContextAppend{guest.context, tokens}, false);
    guest.content.tokens.insert(guest.content.tokens.end(), tokens.begin(), tokens.end());
  }
  ContextCounters flush(Guest& guest) {
    const FutureId future = harness->send(guest.id, ContextFlush{guest.context});
    harness->run();
    return harness->get<ContextState>(guest.id, future).counters;
  }
  // Compares the next distribution with that of the naive model.
  void expect_next(Guest& guest) {
    const auto embeds = harness->embeds(guest.id, guest.queue, 1);
    harness->send(guest.id, ContextForward{guest.context, embeds}, false);
    const FutureId next = harness->send(guest.id, GetNextDist{guest.queue, embeds[0], 8});
    harness->run();
    EXPECT_EQ(harness->get<NextDistribution>(guest.id, next).tokens,
              test::top_tokens(test::output_after(guest.content), 512, 8));
  }
  std::string refusal(Guest& guest, CommandBody body, ErrorCode code) {
    const FutureId future = harness->send(guest.id, std::move(body));
    harness->run();
    EXPECT_EQ(harness->error(guest.id, future), code);
    return harness->message(guest.id, future);
  }

  store::SimulatedFileSystem files;
  std::vector<std::shared_ptr<const inference::Adapter>> loaded;
  std::unique_ptr<Harness> harness;
};

TEST_F(Adapters, ChangeWhatFollowsFromTheTokenOnThatIsAppendedUnderThem) {
  Guest guest = new_guest();
  append(guest, count_tokens(20));
  use(guest, set_of({chosen(0)}));
  append(guest, count_tokens(20, 100));
  expect_next(guest);
  use(guest, set_of({chosen(1, 0.5f), chosen(0, 1.5f)}));
  append(guest, count_tokens(7));
  use(guest, nullptr);
  append(guest, count_tokens(30));
  expect_next(guest);
}

TEST_F(Adapters, OfAWrittenTokenGiveItsOutputAlsoWhereOthersAreInForceNow) {
  Guest guest = new_guest();
  use(guest, set_of({chosen(0)}));
  append(guest, count_tokens(21));
  flush(guest);
  use(guest, set_of({chosen(1)}));
  expect_next(guest);
}

TEST_F(Adapters, LeaveThePagesBeforeTheSwitchSharedWithTheBase) {
  Guest base = new_guest();
  append(base, count_tokens(4 * kPageSize));
  flush(base);
  Guest adapted = new_guest();
  append(adapted, count_tokens(3 * kPageSize));
  use(adapted, set_of({chosen(0)}));
  append(adapted, count_tokens(kPageSize, 3 * kPageSize + 1));
  EXPECT_EQ(flush(adapted).found_token_count, 3 * kPageSize);
  expect_next(adapted);
}

TEST_F(Adapters, OfScaleZeroAreTheBaseModel) {
  EXPECT_EQ(set_of({chosen(0, 0.0f), chosen(1, -0.0f)}), nullptr);
  EXPECT_EQ(set_of({chosen(0, 0.0f), chosen(1)})->set, set_of({chosen(1)})->set);
}

TEST_F(Adapters, GivenTwiceOrWithAScaleThatIsNotFiniteAreRefused) {
  const Result<ChosenAdaptersRef> twice = make_chosen_adapters({chosen(0), chosen(0, 0.0f)});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message(), "adapter \"adapter 0\" is given twice");
  ChosenAdapter renamed = chosen(0);
  renamed.name = "other";
  EXPECT_EQ(make_chosen_adapters({chosen(0), renamed}).error().message(),
            "adapters \"adapter 0\" and \"other\" are one adapter under two names");
  EXPECT_EQ(make_chosen_adapters({chosen(0, std::nanf(""))}).error().code(),
            ErrorCode::InvalidArgument);
}

// Two contexts share a page if and only if tokens and sets up to its end are equal.
TEST_F(Adapters, SharePagesExactlyAsFarAsTokensAndSetsAreEqual) {
  const std::vector<ChosenAdaptersRef> sets{nullptr, set_of({chosen(0)}), set_of({chosen(0, 0.5f)}),
                                            set_of({chosen(1), chosen(2)})};
  for (const std::uint64_t seed : campaign_seeds(1'000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    start();
    std::vector<Guest> guests;
    for (int each = 0; each < 3; ++each) {
      Guest guest = new_guest();
      for (std::uint32_t parts = 1 + below(4); parts > 0; --parts) {
        if (below(2) == 0) use(guest, sets[below(2) == 0 ? 1 : below(sets.size())]);
        append(guest, std::vector<std::uint32_t>(1 + below(40), below(8) == 0 ? 2 : 1));
      }
      std::uint32_t shared = 0;
      for (const Guest& other : guests) {
        const std::uint32_t end = std::min(guest.content.length(), other.content.length());
        std::uint32_t same = 0;
        while (same < end && guest.content.tokens[same] == other.content.tokens[same] &&
               guest.content.set_of(same) == other.content.set_of(same)) {
          ++same;
        }
        shared = std::max(shared, same / kPageSize * kPageSize);
      }
      ASSERT_EQ(flush(guest).found_token_count, shared);
      expect_next(guest);
      guests.push_back(std::move(guest));
    }
    harness->verify();
    if (HasFailure()) return;
  }
}

TEST_F(Adapters, ReplacedUnderTheirNameNeverGetTheOldPages) {
  Guest before = new_guest();
  use(before, set_of({{.name = "french", .adapter = loaded[0], .scale = 1.0f}}));
  append(before, count_tokens(40));
  flush(before);
  Guest after = new_guest();
  use(after, set_of({{.name = "french", .adapter = loaded[1], .scale = 1.0f}}));
  append(after, count_tokens(40));
  EXPECT_EQ(flush(after).found_token_count, 0u);
  Guest renamed = new_guest();
  use(renamed, set_of({{.name = "francais", .adapter = loaded[0], .scale = 1.0f}}));
  append(renamed, count_tokens(40));
  EXPECT_EQ(flush(renamed).found_token_count, 32u) << "a name is not what is computed";
}

TEST_F(Adapters, AreKeptByForksAndSnapshotsWithWhatIsToCome) {
  Guest author = new_guest();
  append(author, count_tokens(10));
  use(author, set_of({chosen(0)}));
  append(author, count_tokens(30));
  flush(author);
  append(author, count_tokens(3));  // Queued.
  use(author, set_of({chosen(1), chosen(2, 0.25f)}));
  Guest fork = author;
  fork.context = harness->new_object();
  harness->send(author.id, ContextFork{author.context, fork.context}, false);
  append(fork, count_tokens(2));
  expect_next(fork);
  const FutureId saved =
      harness->send(author.id, ContextSave{.context = author.context, .name = "one"});
  harness->run();
  ASSERT_FALSE(harness->error(author.id, saved)) << harness->message(author.id, saved);
  const test::Content content = author.content;
  start();
  Guest reader = new_guest();
  reader.content = content;
  const FutureId opened = harness->send(
      reader.id, ContextOpen{reader.context = harness->new_object(), reader.queue, "one", false});
  harness->run();
  ASSERT_FALSE(harness->error(reader.id, opened)) << harness->message(reader.id, opened);
  append(reader, count_tokens(2));
  expect_next(reader);
}

TEST_F(Adapters, ThatAreNotLoadedAreNamedWhereASnapshotNeedsThem) {
  Guest author = new_guest();
  use(author, set_of({chosen(2)}));
  append(author, count_tokens(30));
  const FutureId saved =
      harness->send(author.id, ContextSave{.context = author.context, .name = "one"});
  harness->run();
  ASSERT_FALSE(harness->error(author.id, saved));
  const Digest digest = loaded[2]->digest();
  loaded.pop_back();
  start();
  Guest reader = new_guest();
  const ObjectId context = harness->new_object();
  const std::string told =
      refusal(reader, ContextOpen{context, reader.queue, "one", false}, ErrorCode::NotSupported);
  EXPECT_EQ(told, "snapshot \"one\" was written under adapter \"adapter 2\" (digest " +
                      hex(digest) +
                      "), which is not loaded: load the same files, under any name, and open it "
                      "again");
}

TEST_F(Adapters, OfAnotherModelAreRefused) {
  inference::ModelInfo other = inference::simulated_model();
  other.embedding_width += 16;
  Guest guest = new_guest();
  const ChosenAdaptersRef set =
      set_of({{.name = "wide", .adapter = inference::small_adapter(other, 1), .scale = 1.0f}});
  const std::string told =
      refusal(guest, ContextUseAdapters{guest.context, set}, ErrorCode::InvalidArgument);
  EXPECT_EQ(told, "adapter \"wide\" is not of model " + inference::simulated_model().name);
}

TEST_F(Adapters, OfPagesByHandAreThoseOfTheirPasses) {
  Guest guest = new_guest();
  const ChosenAdaptersRef set = set_of({chosen(0)});
  const auto pages = harness->pages(guest.id, guest.queue, 1);
  const auto embeds = harness->embeds(guest.id, guest.queue, 5);
  harness->send(guest.id, EmbedText{guest.queue, embeds, {1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}}, false);
  Forward pass;
  pass.queue = guest.queue;
  pass.input_embeds = embeds;
  pass.output_pages = pages;
  pass.adapters = set;
  harness->send(guest.id, pass, false);
  const ObjectId made = harness->new_object();
  harness->send(guest.id, ContextFromPages{made, guest.queue, pages, {1, 2, 3, 4, 5}}, false);
  Guest built = guest;
  built.context = made;
  built.content.use(test::digest_of_set(set->set));
  built.content.tokens = {1, 2, 3, 4, 5};
  built.content.use(0);
  expect_next(built);
  append(built, count_tokens(3));
  expect_next(built);
}

}  // namespace
}  // namespace quire::control::adapters_test
