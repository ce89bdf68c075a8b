#include "control/page_program.h"

#include <algorithm>

namespace quire::control {

namespace {

constexpr std::uint32_t kVocabularySize = 512;

// Adaptive in half of all programs.
DispatchPolicy some_policy(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  switch (below(6)) {
    case 0:
      return {.kind = DispatchKind::Eager};
    case 1:
      return {.kind = DispatchKind::KOnly, .command_count = 1 + below(4)};
    case 2:
      return {.kind = DispatchKind::TOnly, .period_ns = 1 + below(10)};
    default:
      return {};
  }
}

// None, more than are ever there, or very few.
std::uint32_t some_tier(std::mt19937_64& random) {
  const std::uint64_t kind = random() % 4;
  if (kind < 3) return kind == 0 ? 0 : 200;
  return 1 + static_cast<std::uint32_t>(random() % 8);
}

}  // namespace

Knobs Knobs::of_seed(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kPageSizes[] = {1, 2, 16, 4, 1, 2, 16, 4, 8, 32};
  constexpr std::uint32_t kPages[] = {1, 2, 3, 7, 12, 20, 64, 64, 64};
  constexpr std::uint32_t kRows[] = {1, 2, 33, 64, 512};
  constexpr std::uint32_t kBits[] = {4, 8, 64};
  Knobs knobs;
  knobs.page_size = kPageSizes[random() % std::size(kPageSizes)];
  knobs.page_count = kPages[random() % std::size(kPages)];
  knobs.row_count_max = kRows[random() % std::size(kRows)];
  knobs.prefill_row_budget = static_cast<std::uint32_t>(random() % 40);
  knobs.dispatch = some_policy(random);
  knobs.sequence_count = random() % 2 == 0 ? 2 : 64;
  knobs.hash_bits = kBits[random() % std::size(kBits)];
  knobs.failure_percent = random() % 5 == 0 ? 10 : 0;
  if (random() % 3 == 0) knobs.tenant_bytes_max = 30'000;
  if (random() % 2 == 0) return knobs;
  constexpr std::uint32_t kTieredPages[] = {1, 3, 7, 7, 7, 12, 12, 12, 20, 20, 64, 64};
  knobs.page_count = kTieredPages[random() % std::size(kTieredPages)];
  knobs.failure_percent = random() % 10 == 0 ? 10 : 0;
  knobs.has_pages_by_hand = random() % 3 == 0;
  knobs.host_page_count = some_tier(random);
  knobs.disk_page_count = some_tier(random);
  if (random() % 3 == 0) knobs.tier_choice = TierChoice::Measured;
  if (knobs.has_tiers() && random() % 2 == 0) knobs.transfer_failure_percent = 20;
  return knobs;
}

Knobs Knobs::with_states(std::uint64_t seed) {
  constexpr std::uint32_t kStates[] = {2, 2, 3, 4, 7, 16, 64};
  Knobs knobs = of_seed(seed);
  knobs.has_pages_by_hand = false;
  knobs.state_count = kStates[seed / 2 % std::size(kStates)];
  return knobs;
}

PageProgram::PageProgram(const Knobs& knobs, std::uint64_t seed) : knobs_(knobs), random_(seed) {
  make_adapters();
  new_machine();
}

void PageProgram::add_coverage(Coverage& coverage) const {
  for (const auto& [what, count] : coverage_) coverage[what] += count;
}

Harness::Options PageProgram::options() {
  Harness::Options options;
  options.device.page_size = knobs_.page_size;
  options.device.page_count = knobs_.page_count;
  options.device.row_count_max = knobs_.row_count_max;
  options.device.sequence_count = knobs_.sequence_count;
  options.device.state_count = knobs_.state_count;
  options.device.fail_pass = failing(knobs_.failure_percent, "a pass that failed");
  add_tiers(options);
  options.files = &files_;
  options.adapters = adapters_;
  options.tenant_bytes_max = knobs_.tenant_bytes_max;
  options.has_second_model = true;
  options.controller.dispatch = knobs_.dispatch;
  options.controller.prefill_row_budget = knobs_.prefill_row_budget;
  options.controller.hash_bits = knobs_.hash_bits;
  options.controller.eviction = static_cast<EvictionPolicyKind>(below(3));
  options.controller.nonce[0] = static_cast<std::uint8_t>(below(256));
  options.controller.nonce[1] = static_cast<std::uint8_t>(below(256));
  return options;
}

void PageProgram::new_machine() {
  has_disk_failed_ = false;
  machine_.emplace(options());
  machine_->wall_clock.set_unix_ms(wall_ms_);
}

void PageProgram::run() {
  for (int step = 0; step < knobs_.step_count && !testing::Test::HasFailure(); ++step) act();
  if (testing::Test::HasFailure()) return;
  end_all();
}

void PageProgram::act() {
  static const std::vector<Operation> kOperations = operations();
  static const std::vector<Operation> kByHand = by_hand();
  static const std::vector<Operation> kMistakes = mistakes();
  const bool is_by_hand = knobs_.has_pages_by_hand && below(3) == 0;
  const std::vector<Operation>& table =
      below(8) == 0 ? kMistakes : (is_by_hand ? kByHand : kOperations);
  std::uint32_t sum = 0;
  for (const Operation& each : table) sum += each.weight;
  std::uint32_t choice = below(sum);
  const Operation* chosen = table.data();
  for (; choice >= chosen->weight; ++chosen) choice -= chosen->weight;
  SCOPED_TRACE(chosen->name);
  if (!chosen->notes_itself) note(chosen->name);
  (this->*chosen->act)(some_guest());
  machine_->verify();
  note_tiers();
}

PageProgram::Guest PageProgram::start_guest(const InstanceLimits& limits) {
  Guest guest;
  guest.tenant = TenantId{1 + below(2)};
  guest.id = machine_->start(guest.tenant, limits);
  guest.queue = machine_->queue(guest.id, Priority{static_cast<std::uint8_t>(below(3))});
  guest.may_export_publicly = limits.may_export_publicly;
  return guest;
}

PageProgram::Guest& PageProgram::some_guest() {
  if (guests_.empty() || (guests_.size() < 4 && below(20) == 0)) {
    Guest guest = start_guest({.export_count_max = kExportsMax,
                               .export_page_count_max = kExportPagesMax,
                               .may_export_publicly = below(4) != 0});
    for (const ObjectId id : machine_->embeds(guest.id, guest.queue, 5)) {
      guest.embeds.push_back({.id = id});
    }
    guests_.push_back(std::move(guest));
  }
  return some(guests_);
}

PageProgram::Chain& PageProgram::some_chain(Guest& guest) {
  if (guest.chains.empty() || (guest.chains.size() < 4 && below(6) == 0)) {
    guest.chains.push_back({.id = machine_->context(guest.id, guest.queue),
                            .content = {.has_states = knobs_.state_count > 0}});
  }
  return some(guest.chains);
}

// Few beginnings, so that prefixes meet; at times a step by one token.
test::Sequence PageProgram::some_tokens() {
  const std::uint32_t count = below(3) == 0 ? 1 : 1 + below(3 * knobs_.page_size);
  const std::uint32_t first = below(2);
  test::Sequence tokens;
  for (std::uint32_t index = 0; index < count; ++index) {
    tokens.push_back(below(12) == 0 ? below(4) : first);
  }
  return tokens;
}

void PageProgram::settle() {
  machine_->run();
  check();
  // Idle guests hold pages that other guests wait for; the wait has an end.
  for (int round = 0; round < 1'000 && !expected_.empty(); ++round) {
    machine_->clock.advance_ns(11'000'000'000);
    machine_->run();
    check();
  }
  ASSERT_TRUE(expected_.empty()) << "a future was never answered";
}

void PageProgram::settle_with(InstanceId owner, FutureId future) {
  settle();
  for (int round = 0; round < 1'000 && !machine_->has(owner, future); ++round) {
    machine_->clock.advance_ns(11'000'000'000);
    settle();
  }
  ASSERT_TRUE(machine_->has(owner, future)) << "a future was never answered";
}

FutureId PageProgram::settled(InstanceId owner, CommandBody body) {
  const FutureId future = machine_->send(owner, std::move(body));
  settle_with(owner, future);
  return future;
}

std::optional<ErrorCode> PageProgram::outcome(InstanceId owner, CommandBody body) {
  const FutureId future = settled(owner, std::move(body));
  if (!machine_->has(owner, future)) return ErrorCode::Internal;
  return machine_->error(owner, future);
}

void PageProgram::check() {
  std::erase_if(expected_, [&](const Expected& each) {
    if (!machine_->has(each.guest, each.future)) return false;
    check_one(each);
    return true;
  });
}

void PageProgram::check_one(const Expected& each) {
  const Result<AnswerBody>& body = machine_->at(each.guest, each.future);
  if (each.kind == Expected::Kind::Refused) {
    ASSERT_FALSE(body.ok());
    if (is_loss(body.error().code())) return note_loss(body.error());
    ASSERT_EQ(body.error().code(), each.code) << body.error().message();
    return;
  }
  if (!body.ok()) {
    ASSERT_TRUE(is_loss(body.error().code())) << body.error().message();
    return note_loss(body.error());
  }
  if (each.kind == Expected::Kind::Done) return;
  if (each.kind == Expected::Kind::Output) {
    ASSERT_EQ(std::get<NextDistribution>(body.value()).tokens,
              test::top_tokens(each.output, kVocabularySize, 8))
        << "tokens differ";
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

void PageProgram::expect(const Guest& guest, FutureId future, const Chain& chain,
                         Expected::Kind kind) {
  expected_.push_back(
      {.guest = guest.id,
       .future = future,
       .kind = kind,
       .content = chain.content,
       .seq_len = kind == Expected::Kind::Edited ? chain.written() : chain.length()});
}

void PageProgram::expect_output(const Guest& guest, FutureId future, std::uint64_t output) {
  expected_.push_back(
      {.guest = guest.id, .future = future, .kind = Expected::Kind::Output, .output = output});
}

void PageProgram::expect_refusal(const Guest& guest, FutureId future, ErrorCode code) {
  expected_.push_back(
      {.guest = guest.id, .future = future, .kind = Expected::Kind::Refused, .code = code});
}

void PageProgram::expect_done(const Guest& guest, FutureId future) {
  expected_.push_back({.guest = guest.id, .future = future, .kind = Expected::Kind::Done});
}

// Everybody goes, and nothing is left.
void PageProgram::end_all() {
  settle();
  for (const Guest& guest : guests_) machine_->controller->end_instance(guest.id);
  guests_.clear();
  unexport_all();
  settle();
  machine_->verify();
  EXPECT_TRUE(machine_->controller->idle());
  EXPECT_EQ(machine_->free_page_count(), 2 * knobs_.page_count) << "of both models";
  note_statistics();
}

void PageProgram::note_statistics() {
  const ControlStatistics statistics = machine_->controller->statistics();
  note("a token found", statistics.found_token_count);
  note("a context suspended", statistics.suspension_count);
  const TierStatistics tiers = machine_->controller->tier_statistics();
  EXPECT_TRUE(may_lose() || tiers.damaged_page_count == 0) << tiers.damaged_page_count;
  if (knobs_.disk_page_count == 0) {
    note("a page restored from host memory", tiers.restored_page_count);
  } else if (knobs_.host_page_count == 0) {
    note("a page restored from disk", tiers.restored_page_count);
  }
  note("a page kept on a tier", tiers.kept_page_count);
  note("a page damaged", tiers.damaged_page_count);
  note("a page lost for want of room", tiers.lost_page_count);
  note("a context swapped", tiers.swap_count);
}

void PageProgram::start_again(const std::function<void()>& edit) {
  end_all();
  if (machine_->controller->tier_statistics().disk_page_count > 0) {
    note("pages on disk forgotten by a restart");
  }
  machine_.reset();
  edit();
  new_machine();
}

}  // namespace quire::control
