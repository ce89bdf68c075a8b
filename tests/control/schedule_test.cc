// Tests of the order of work, and of each tenant's part of the device, on the simulated device and
// clock.
#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "base/seeds.h"
#include "control/conversation.h"
#include "control/schedule_program.h"
#include "support/small_adapter.h"

namespace quire::control {
namespace {

TEST(SchedulePrograms, KeepOrderSharesAndAnswers) {
  for (const std::uint64_t seed : campaign_seeds(1'000)) {
    SCOPED_TRACE(seed);
    ScheduleProgram(ScheduleKnobs::of_seed(seed), seed).run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// ---- A load that never ends --------------------------------------------------------------------

// Guests of one tenant that always want a token more, or bring prompt after prompt.
struct LoadGuest {
  InstanceId id{};
  ObjectId queue{};
  ObjectId context{};
  ObjectId output{};
  FutureId next = kNoFuture;
  std::uint32_t prompt_tokens = 0;  // 0: it decodes.
  std::uint64_t row_count = 0;      // Of instances before this one.
  ChosenAdaptersRef adapters = nullptr;
};

class Load {
 public:
  explicit Load(const Harness::Options& options) : harness(options) { harness.verifies = false; }

  // Numbers of guests, to ask for their rows.
  std::size_t add(TenantId tenant, Priority priority, std::uint32_t prompt_tokens,
                  std::uint64_t deadline_ns = kNoDeadline, ChosenAdaptersRef adapters = nullptr) {
    LoadGuest guest{.prompt_tokens = prompt_tokens, .adapters = std::move(adapters)};
    guest.id = harness.start(tenant, {.deadline_ns = deadline_ns});
    guest.queue = harness.queue(guest.id, priority);
    begin_context(guest);
    guest.output = harness.embeds(guest.id, guest.queue, 1).front();
    guests.push_back(guest);
    ask(guests.back());
    return guests.size() - 1;
  }
  void run(int step_count, std::uint64_t step_ns) {
    for (int step = 0; step < step_count; ++step) {
      harness.controller->poll();
      for (LoadGuest& guest : guests) {
        if (harness.has(guest.id, guest.next)) ask(guest);
      }
      harness.controller->dispatch();
      harness.clock.advance_ns(step_ns);
      if (harness.device.inflight_count() > 0) harness.device.complete_next();
    }
    harness.controller->poll();
  }
  std::uint64_t row_count(std::size_t guest) const {
    return harness.controller->statistics(guests[guest].id).computed_token_count;
  }
  std::uint64_t row_count_of(const std::vector<std::size_t>& some) const {
    std::uint64_t sum = 0;
    for (const std::size_t guest : some) sum += row_count(guest);
    return sum;
  }

  Harness harness;
  std::vector<LoadGuest> guests;

 private:
  void ask(LoadGuest& guest) {
    std::vector<std::uint32_t> tokens(std::max(guest.prompt_tokens, 1u));
    for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random_() % 512);
    if (guest.prompt_tokens > 0 || ++asked_count_ % 1000 == 0) {
      harness.send(guest.id, ContextDrop{guest.context}, false);
      begin_context(guest);
    }
    harness.send(guest.id, ContextAppend{guest.context, std::move(tokens)}, false);
    harness.send(guest.id, ContextForward{guest.context, {guest.output}}, false);
    guest.next = harness.send(guest.id, GetNextDist{guest.queue, guest.output, 1});
  }
  void begin_context(LoadGuest& guest) {
    guest.context = harness.context(guest.id, guest.queue);
    if (guest.adapters == nullptr) return;
    harness.send(guest.id, ContextUseAdapters{guest.context, guest.adapters}, false);
  }
  std::mt19937_64 random_{1};
  std::uint64_t asked_count_ = 0;
};

Harness::Options device_of(std::uint32_t row_count_max, std::uint32_t prefill_row_budget = 256) {
  Harness::Options options;
  options.device.row_count_max = row_count_max;
  options.device.page_count = 8192;
  options.device.sequence_count = 1024;
  options.device.embed_slot_count = 4096;
  options.controller.prefill_row_budget = prefill_row_budget;
  return options;
}

struct TenantLoad {
  std::uint32_t weight = 1;
  int decode_count = 0;
  int prefill_count = 0;
  std::uint32_t prompt_tokens = 100;
};

// Rows of each tenant over its fair share of all rows.
std::vector<double> shares_of(const std::vector<TenantLoad>& tenants,
                              const Harness::Options& options, int step_count) {
  Load load(options);
  std::vector<std::vector<std::size_t>> guests(tenants.size());
  double weights = 0;
  for (std::size_t index = 0; index < tenants.size(); ++index) {
    const TenantId tenant{static_cast<std::uint32_t>(index) + 1};
    load.harness.controller->set_tenant(tenant, {.weight = tenants[index].weight});
    weights += tenants[index].weight;
    for (int each = 0; each < tenants[index].decode_count; ++each) {
      guests[index].push_back(load.add(tenant, Priority::Normal, 0));
    }
    for (int each = 0; each < tenants[index].prefill_count; ++each) {
      guests[index].push_back(load.add(tenant, Priority::Normal, tenants[index].prompt_tokens));
    }
  }
  load.run(step_count, kMillisecond);
  double all = 0;
  for (const auto& each : guests) all += static_cast<double>(load.row_count_of(each));
  std::vector<double> shares;
  for (std::size_t index = 0; index < tenants.size(); ++index) {
    shares.push_back(static_cast<double>(load.row_count_of(guests[index])) /
                     (all * tenants[index].weight / weights));
  }
  return shares;
}

void expect_fair(const std::vector<double>& shares) {
  for (std::size_t index = 0; index < shares.size(); ++index) {
    EXPECT_NEAR(shares[index], 1.0, 0.1) << "tenant " << index + 1;
  }
}

TEST(FairShare, TwoTenantsThatDecodeGetRowsByWeight) {
  expect_fair(shares_of({{.weight = 1, .decode_count = 40}, {.weight = 3, .decode_count = 40}},
                        device_of(16), 2000));
}

TEST(FairShare, HowManyProgramsATenantRunsChangesNothing) {
  expect_fair(shares_of({{.decode_count = 17}, {.decode_count = 170}}, device_of(16), 2000));
}

TEST(FairShare, TwoTenantsWithPromptsOfDifferentLengthsGetRowsByWeight) {
  expect_fair(shares_of({{.weight = 2, .prefill_count = 3, .prompt_tokens = 40},
                         {.weight = 1, .prefill_count = 3, .prompt_tokens = 700}},
                        device_of(64), 2000));
}

TEST(FairShare, OneThatDecodesAndOneWithPromptsGetRowsByWeightWhereTheDeviceIsFull) {
  for (const std::uint32_t weight : {1u, 2u, 4u}) {
    SCOPED_TRACE(weight);
    expect_fair(
        shares_of({{.weight = 2, .decode_count = 60}, {.weight = weight, .prefill_count = 4}},
                  device_of(32, 32), 1000));
  }
}

TEST(FairShare, FiveTenantsWithMixturesGetRowsByWeight) {
  expect_fair(shares_of({{.weight = 2, .decode_count = 30},
                         {.weight = 4, .decode_count = 30, .prefill_count = 2},
                         {.weight = 8, .decode_count = 60, .prefill_count = 1},
                         {.weight = 2, .prefill_count = 3, .prompt_tokens = 300},
                         {.weight = 1, .decode_count = 10, .prefill_count = 2}},
                        device_of(24, 16), 4000));
}

TEST(FairShare, APolicyThatCountsCommandsIsFairToo) {
  for (const DispatchPolicy& policy :
       {DispatchPolicy{.kind = DispatchKind::Eager},
        DispatchPolicy{.kind = DispatchKind::KOnly, .command_count = 4}}) {
    Harness::Options options = device_of(16);
    options.controller.dispatch = policy;
    expect_fair(shares_of({{.weight = 1, .decode_count = 20}, {.weight = 3, .decode_count = 20}},
                          options, 8000));
  }
}

// Rows that one tenant leaves may be taken, and are not held against the tenant that takes them.
TEST(FairShare, WhoWantsLittleGetsItAndTheOthersGetTheRest) {
  Load load(device_of(16));
  const std::size_t one = load.add(TenantId{1}, Priority::Normal, 0);
  std::vector<std::size_t> many;
  for (int each = 0; each < 40; ++each) many.push_back(load.add(TenantId{2}, Priority::Normal, 0));
  load.run(1000, kMillisecond);
  EXPECT_GE(load.row_count(one), 990u) << "a row in every batch";
  EXPECT_GE(load.row_count_of(many), 14'900u);
  std::vector<std::size_t> more;
  for (int each = 0; each < 40; ++each) more.push_back(load.add(TenantId{1}, Priority::Normal, 0));
  const std::uint64_t before = load.row_count_of(many);
  load.run(100, kMillisecond);
  EXPECT_NEAR(static_cast<double>(load.row_count_of(many) - before), 800, 80)
      << "half of what there is, from the first batch on";
}

// Each row of the second tenant takes the device as long as five of the model alone.
TEST(FairShare, RowsUnderAnAdapterCountForWhatTheAdapterCosts) {
  using inference::Projection;
  constexpr std::uint32_t kRank = 384;
  const inference::AdapterBase base = inference::adapter_base_of(inference::simulated_model());
  std::vector<inference::AdapterPart> parts;
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    parts.push_back(inference::part_of(base, layer, Projection::Query, kRank, 1.0f));
  }
  const ChosenAdaptersRef adapters =
      make_chosen_adapters(
          {{.name = "large",
            .adapter = inference::Adapter::create(base, std::move(parts)).value()}})
          .value();
  const double row_cost = 1 + adapter_cost(adapters, 12 * 2 * 64 * 64);  // Numbers of the model.
  EXPECT_NEAR(row_cost, 5, 0.5);
  for (const std::uint32_t prompt_tokens : {0u, 100u}) {
    SCOPED_TRACE(prompt_tokens);
    Load load(device_of(16, 16));
    std::vector<std::size_t> plain, adapted;
    for (int each = 0; each < 40; ++each) {
      plain.push_back(load.add(TenantId{1}, Priority::Normal, prompt_tokens));
      adapted.push_back(
          load.add(TenantId{2}, Priority::Normal, prompt_tokens, kNoDeadline, adapters));
    }
    load.run(2000, kMillisecond);
    const auto rows = [&](const std::vector<std::size_t>& guests) {
      return static_cast<double>(load.row_count_of(guests));
    };
    EXPECT_GT(rows(plain) + rows(adapted), 31'000) << "all that a batch takes";
    EXPECT_NEAR(rows(plain) / (rows(adapted) * row_cost), 1.0, 0.1);
  }
}

// A step with all that two crowds decode would take forty times as long as that of the stream.
TEST(FairShare, AStreamBesideTwoCrowdsWaitsThreeTimesAsLongForAToken) {
  Harness::Options options = device_of(512, 0);
  options.device.duration_ns = [](const inference::Batch& batch) -> std::uint64_t {
    return 4'000 + 1'000 * batch.rows.size();
  };
  Load load(options);
  const std::size_t stream = load.add(TenantId{1}, Priority::Normal, 0);
  std::vector<std::size_t> crowd;
  for (const std::uint32_t tenant : {2u, 3u}) {
    for (int each = 0; each < 100; ++each) {
      crowd.push_back(load.add(TenantId{tenant}, Priority::Normal, 0));
    }
  }
  load.run(1000, kMillisecond);
  EXPECT_GE(load.row_count(stream), 990u) << "a row in every batch";
  const ControlStatistics all = load.harness.controller->statistics();
  const double rows_of_batch =
      static_cast<double>(all.row_count) / static_cast<double>(all.batch_count);
  // 1 + 5 + 5, and all 201 in each 64th, which measures such a step.
  EXPECT_NEAR(rows_of_batch, 11 + 190.0 / 64, 2);
  const double mean = static_cast<double>(load.row_count_of(crowd)) / 200;
  for (const std::size_t each : crowd) {
    EXPECT_NEAR(static_cast<double>(load.row_count(each)), mean, 0.2 * mean) << each;
  }
}

TEST(FairShare, AWeightThatChangesHoldsFromTheNextBatchOn) {
  Load load(device_of(16));
  std::vector<std::size_t> first, second;
  for (int each = 0; each < 40; ++each) {
    first.push_back(load.add(TenantId{1}, Priority::Normal, 0));
    second.push_back(load.add(TenantId{2}, Priority::Normal, 0));
  }
  load.run(100, kMillisecond);
  EXPECT_NEAR(static_cast<double>(load.row_count_of(first)), 800, 16);
  load.harness.controller->set_tenant(TenantId{1}, {.weight = 3});
  const std::uint64_t before = load.row_count_of(first);
  load.run(100, kMillisecond);
  EXPECT_NEAR(static_cast<double>(load.row_count_of(first) - before), 1200, 60);
}

// ---- Within a tenant ----------------------------------------------------------------------------

TEST(Schedule, HigherPriorityGoesFirstWithinATenantOnly) {
  Load load(device_of(4));
  std::vector<std::size_t> high, normal, others;
  for (int each = 0; each < 4; ++each) {
    normal.push_back(load.add(TenantId{1}, Priority::Normal, 0));
    high.push_back(load.add(TenantId{1}, Priority::High, 0));
    others.push_back(load.add(TenantId{2}, Priority::Low, 0));
  }
  load.run(500, 1);  // No time to age.
  EXPECT_EQ(load.row_count_of(high), 1000u);
  EXPECT_EQ(load.row_count_of(others), 1000u);
  EXPECT_EQ(load.row_count_of(normal), 0u);
}

TEST(Schedule, EarlierDeadlineGoesFirstAmongEqualPriorities) {
  Load load(device_of(2));
  const std::size_t none = load.add(TenantId{1}, Priority::Normal, 0);
  const std::size_t late = load.add(TenantId{1}, Priority::Normal, 0, 2 * kMillisecond);
  const std::size_t early = load.add(TenantId{1}, Priority::Normal, 0, 1 * kMillisecond);
  load.run(100, 1);
  EXPECT_EQ(load.row_count(early), 100u);
  EXPECT_EQ(load.row_count(late), 100u);
  EXPECT_EQ(load.row_count(none), 0u);
}

TEST(Schedule, APriorityThatChangesCountsForWhatIsReady) {
  Load load(device_of(1));
  const std::size_t first = load.add(TenantId{1}, Priority::Normal, 0);
  const std::size_t second = load.add(TenantId{1}, Priority::Normal, 0);
  load.harness.send(load.guests[second].id,
                    SetQueuePriority{load.guests[second].queue, Priority::High}, false);
  load.run(10, 1);
  EXPECT_EQ(load.row_count(second), 10u);
  EXPECT_EQ(load.row_count(first), 0u);
}

// W of docs/internals/scheduling.md: three aging periods for a Low one, and then whatever was
// overdue before.
TEST(Schedule, NobodyWaitsLongerThanTheBound) {
  constexpr std::uint64_t kAging = 10 * kMillisecond;
  for (const Priority priority : {Priority::Low, Priority::Normal, Priority::High}) {
    for (const std::uint32_t prompt_tokens : {0u, 60u}) {
      SCOPED_TRACE(testing::Message()
                   << "priority " << static_cast<int>(priority) << ", prompt " << prompt_tokens);
      Harness::Options options = device_of(8, 8);
      options.controller.aging_ns = kAging;
      Load load(options);
      for (int each = 0; each < 12; ++each) {
        load.add(TenantId{1}, Priority::High, each < 8 ? 0 : 60,
                 1 + static_cast<std::uint64_t>(each));
        load.add(TenantId{2}, Priority::High, each < 8 ? 0 : 60);
      }
      load.run(100, kMillisecond);
      const std::size_t waits = load.add(TenantId{1}, priority, prompt_tokens);
      const int periods = kOverdueLevel - static_cast<int>(priority);
      std::uint64_t longest_ms = 0;
      std::uint64_t waited_ms = 0;
      for (int step = 0; step < 1000; ++step) {
        const std::uint64_t before = load.row_count(waits);
        load.run(1, kMillisecond);
        waited_ms = load.row_count(waits) > before ? 0 : waited_ms + 1;
        longest_ms = std::max(longest_ms, waited_ms);
      }
      // The tenant has 4 rows a batch, 3 of them for decoding. It has 8 more guests that decode and
      // 4 with prompts. Each goes before it once at most, the latter with 8 rows.
      const std::uint64_t overdue_ms = prompt_tokens == 0 ? 8 / 3 + 3 : 4 * 8 + 8 + 3;
      EXPECT_LE(longest_ms, static_cast<std::uint64_t>(periods) * 10 + overdue_ms);
    }
  }
}

TEST(Schedule, PromptsGoOnWhereDecodingAloneWouldFillTheDevice) {
  Load load(device_of(16, 8));
  std::vector<std::size_t> decoders;
  for (int each = 0; each < 64; ++each)
    decoders.push_back(load.add(TenantId{1}, Priority::Normal, 0));
  const std::size_t prompts = load.add(TenantId{1}, Priority::Normal, 200);
  load.run(500, 1);
  const auto all = static_cast<double>(load.row_count_of(decoders) + load.row_count(prompts));
  EXPECT_NEAR(static_cast<double>(load.row_count(prompts)) / all, 0.25, 0.03);
}

// The first tenant has more than its share by decoding alone, and the other tenant's prompts never
// end.
TEST(Schedule, APromptOfATenantThatDecodesMoreThanItsShareGoesOnToo) {
  Harness::Options options = device_of(64, 4);
  options.controller.aging_ns = kMillisecond;
  Load load(options);
  load.harness.controller->set_tenant(TenantId{2}, {.weight = 100});
  for (int each = 0; each < 12; ++each) load.add(TenantId{1}, Priority::Normal, 0);
  load.add(TenantId{2}, Priority::Normal, 500);
  const std::size_t prompts = load.add(TenantId{1}, Priority::Low, 40);
  load.run(200, kMillisecond);
  EXPECT_GE(load.row_count(prompts), 190u * 12 / 3 / 2)
      << "a third of what it decodes, when overdue";
  EXPECT_LE(load.row_count(prompts), 200u * 12 / 3 + 100) << "and no more";
}

TEST(Schedule, AWarmPromptIsFoundWhileTheDeviceWorksAndWaitsForNoBudget) {
  Harness harness(device_of(64, 16));
  std::vector<Conversation> talks;
  talks.push_back(begin(harness, 1, 400, 2));
  converse(harness, talks, {.ends = false});
  // An unknown prompt fills the budget for many batches; the known one comes after it.
  Conversation cold = begin(harness, 7, 900, 1);
  Conversation decoding = begin(harness, 9, 3, 1);
  Conversation warm = begin(harness, 1, 400, 1);
  ask(harness, cold);
  ask(harness, decoding);
  ask(harness, warm);
  int batches = 0;
  for (; !harness.has(warm.guest, warm.next) && batches < 100; ++batches) harness.step();
  EXPECT_LE(batches, 2);
  EXPECT_FALSE(harness.has(cold.guest, cold.next));
}

// Two that waited for pages are all that the policy lets in: the pass that goes first waits too.
TEST(Schedule, KCommandsAreKAlsoWhereWaitersAndOneThatGoesFirstComeTogether) {
  Harness::Options options;
  options.device.page_count = 6;
  options.device.row_count_max = 16;
  options.controller.dispatch = {.kind = DispatchKind::KOnly, .command_count = 2};
  Harness harness(options);
  const InstanceId holder = harness.start();
  const ObjectId queue = harness.queue(holder);
  const auto pages = harness.pages(holder, queue, 6);
  const InstanceId guest = harness.start();
  const ObjectId its_queue = harness.queue(guest);
  for (int each = 0; each < 2; ++each) {
    const ObjectId context = harness.context(guest, its_queue);
    harness.send(guest, ContextAppend{context, {1u + static_cast<std::uint32_t>(each)}}, false);
    harness.send(guest, ContextFlush{context});
  }
  // With a mask, so that its rows stay together.
  const auto pass = [&](ObjectId page, std::uint32_t count) {
    const auto inputs = harness.embeds(holder, queue, count);
    const std::vector<std::uint32_t> positions(count, 0);
    harness.send(holder, EmbedText{queue, inputs, count_tokens(count), positions}, false);
    const std::vector<std::uint8_t> mask(std::size_t{count} * 16, 1);
    harness.send(holder, Forward{queue, {page}, inputs, {}, {}, mask, false});
  };
  pass(pages[0], 10);
  pass(pages[1], 10);
  harness.begin_step();
  EXPECT_EQ(harness.controller->statistics().pass_count, 1u);
  harness.send(holder, DeallocPages{queue, {pages[4], pages[5]}}, false);
  pass(pages[2], 1);
  pass(pages[3], 1);
  harness.complete_next();
  harness.begin_step();
  EXPECT_EQ(harness.controller->statistics().pass_count, 3u);
  harness.run();
  EXPECT_EQ(harness.controller->statistics().pass_count, 6u);
}

// ---- Short prompts beside long ones -------------------------------------------------------------

// Prompts of one tenant on a device that takes 25 ms for each row, and so long for a step that all
// that waits for one is overdue.
class PromptRace {
 public:
  explicit PromptRace(std::uint32_t prefill_row_budget = 0)
      : harness_(device_with_long_context(prefill_row_budget)) {
    harness_.verifies = false;
  }
  // A prompt that nothing of is found; its number.
  std::size_t ask(std::uint32_t token_count, Priority priority = Priority::Normal) {
    Runner runner{.id = harness_.start()};
    const ObjectId queue = harness_.queue(runner.id, priority);
    const ObjectId context = harness_.context(runner.id, queue);
    const ObjectId output = harness_.embeds(runner.id, queue, 1).front();
    std::vector<std::uint32_t> tokens(token_count);
    for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random_() % 512);
    harness_.send(runner.id, ContextAppend{context, std::move(tokens)}, false);
    harness_.send(runner.id, ContextForward{context, {output}}, false);
    runner.answer = harness_.send(runner.id, GetNextDist{queue, output, 1});
    runner.begin_ns = harness_.clock.now_ns();
    runners_.push_back(runner);
    return runners_.size() - 1;
  }
  void step() {
    harness_.controller->poll();
    harness_.controller->dispatch();
    const std::uint64_t rows = harness_.controller->statistics().row_count;
    harness_.clock.advance_ns((rows - row_count_) * 25 * kMillisecond + kMillisecond);
    row_count_ = rows;
    if (harness_.device.inflight_count() > 0) harness_.device.complete_next();
    harness_.controller->poll();
    for (Runner& each : runners_) {
      if (each.end_ns == 0 && harness_.has(each.id, each.answer)) {
        each.end_ns = harness_.clock.now_ns();
      }
    }
  }
  void run() {
    const auto is_running = [](const Runner& each) { return each.end_ns == 0; };
    for (int steps = 0; std::ranges::any_of(runners_, is_running) && steps < 2'000; ++steps) step();
  }
  bool has_ended(std::size_t runner) const { return runners_[runner].end_ns != 0; }
  // From the question to the first distribution, in rows of the device.
  double rows(std::size_t runner) const {
    const Runner& each = runners_[runner];
    return each.end_ns == 0
               ? 1e9
               : static_cast<double>(each.end_ns - each.begin_ns) / (25.0 * kMillisecond);
  }

 private:
  static Harness::Options device_with_long_context(std::uint32_t prefill_row_budget) {
    Harness::Options options = device_of(512, prefill_row_budget);
    options.device.model = inference::simulated_model();
    options.device.model.context_length = 32'768;
    return options;
  }
  struct Runner {
    InstanceId id{};
    FutureId answer = kNoFuture;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };
  Harness harness_;
  std::vector<Runner> runners_;
  std::uint64_t row_count_ = 0;
  std::mt19937_64 random_{1};
};

constexpr double kSlice = 512;  // Rows of a step without decoding.

TEST(Schedule, AShortPromptWaitsForASliceOfALongOneWhichLosesLittle) {
  PromptRace race;
  const std::size_t longer = race.ask(8'000);
  const std::size_t longest = race.ask(14'000);
  for (int steps = 0; steps < 3; ++steps) race.step();
  const std::size_t title = race.ask(553);
  race.run();
  EXPECT_LE(race.rows(title), 2 * 553 + kSlice);
  EXPECT_LE(race.rows(longest), 1.01 * (8'000 + 14'000 + 553));
  PromptRace alone;
  const std::size_t one = alone.ask(8'000);
  alone.step();
  alone.ask(500);
  alone.run();
  EXPECT_LE(alone.rows(one), 1.2 * 8'000);
  EXPECT_GE(alone.rows(one), 8'000 + 500) << "the short one went first";
  EXPECT_LT(race.rows(longer), race.rows(longest));
}

// Short prompts without end, which want two fifths of the device.
TEST(Schedule, ALongPromptLosesAFifthOfItsRowsToShortOnesWhichThenTakeTurns) {
  constexpr std::uint32_t kLong = 8'000, kShort = 400;
  PromptRace race;
  const std::size_t longer = race.ask(kLong);
  std::vector<std::size_t> shorts;
  for (int steps = 0; steps < 200 && !race.has_ended(longer); ++steps) {
    if (steps % 2 == 1) shorts.push_back(race.ask(kShort));
    race.step();
  }
  std::size_t fast_count = 0;
  for (const std::size_t each : shorts) fast_count += race.rows(each) <= kShort + kSlice ? 1 : 0;
  EXPECT_GE(fast_count, kLong / 5 / kShort - 1) << "so many go before it at once";
  EXPECT_LE(fast_count, kLong / 5 / kShort + 1);
  EXPECT_LE(race.rows(longer), kLong / 0.6 + 2 * kSlice) << "it never waits for more than its turn";
}

TEST(Schedule, ShortPromptsGoInTheOrderOfTheirRemainingRows) {
  PromptRace race;
  race.ask(20'000);
  race.step();
  const std::size_t third = race.ask(1'500);
  const std::size_t second = race.ask(900);
  const std::size_t first = race.ask(600);
  race.run();
  EXPECT_LT(race.rows(first), race.rows(second));
  EXPECT_LT(race.rows(second), race.rows(third));
  EXPECT_LE(race.rows(third), 600 + 900 + 1'500 + kSlice);
}

TEST(Schedule, AShortPromptOfALowerPriorityOvertakesNone) {
  PromptRace race;
  const std::size_t longer = race.ask(3'000);
  race.step();
  const std::size_t low = race.ask(500, Priority::Low);
  race.run();
  EXPECT_GE(race.rows(low), 2 * kSlice) << "it becomes overdue, and takes turns";
  EXPECT_LE(race.rows(longer), 3'000 + 500 + kSlice);
}

}  // namespace
}  // namespace quire::control
