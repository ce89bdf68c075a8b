#include "control/schedule_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "control/objects/fair_shares.h"

namespace quire::control {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::size_t kHandEmbeds = 4;
// While two tenants wait, each one's time stays between what it may have saved up and what it may
// owe, and a batch beyond that.
constexpr double kAheadBatchCount = FairShares::kDebtBatchCount + FairShares::kCreditBatchCount + 1;

std::vector<std::uint32_t> tokens_of(std::mt19937_64& random, std::uint32_t number,
                                     std::uint32_t count) {
  std::vector<std::uint32_t> tokens{number};  // So that no two guests share a page.
  while (tokens.size() < count) tokens.push_back(static_cast<std::uint32_t>(random() % 512));
  return tokens;
}

}  // namespace

ScheduleKnobs ScheduleKnobs::of_seed(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  constexpr std::uint32_t kRows[] = {1, 2, 5, 16, 64};
  constexpr std::uint32_t kWeights[] = {1, 2, 4, 8};
  ScheduleKnobs knobs;
  knobs.row_count_max = kRows[below(std::size(kRows))];
  knobs.prefill_row_budget = below(40);  // 0: measured.
  knobs.weights.resize(1 + below(3));
  for (std::uint32_t& weight : knobs.weights) weight = kWeights[below(std::size(kWeights))];
  knobs.guest_count = 2 + below(24);
  switch (below(8)) {
    case 0:
      knobs.dispatch = {.kind = DispatchKind::Eager};
      break;
    case 1:
      knobs.dispatch = {.kind = DispatchKind::KOnly, .command_count = 1 + below(8)};
      break;
    case 2:
      knobs.dispatch = {.kind = DispatchKind::TOnly, .period_ns = 1 + below(1'000'000)};
      break;
    default:
      break;
  }
  return knobs;
}

ScheduleProgram::ScheduleProgram(const ScheduleKnobs& knobs, std::uint64_t seed)
    : knobs_(knobs),
      seed_(seed),
      random_(seed),
      harness_(options()),
      guests_(new_guests()),
      served_(knobs.weights.size()) {
  for (std::size_t tenant = 0; tenant < knobs_.weights.size(); ++tenant) {
    harness_.controller->set_tenant(TenantId{static_cast<std::uint32_t>(tenant) + 1},
                                    {.weight = knobs_.weights[tenant]});
  }
  for (Guest& guest : guests_) start(harness_, guest);
}

Harness::Options ScheduleProgram::options() const {
  Harness::Options options;
  options.device.page_size = kPageSize;
  options.device.page_count = 1024;
  options.device.row_count_max = knobs_.row_count_max;
  options.controller.prefill_row_budget = knobs_.prefill_row_budget;
  options.controller.aging_ns = knobs_.aging_ns;
  options.controller.dispatch = knobs_.dispatch;
  return options;
}

std::vector<ScheduleProgram::Guest> ScheduleProgram::new_guests() const {
  std::mt19937_64 random(seed_ + 1);
  std::vector<Guest> guests(knobs_.guest_count);
  for (std::size_t index = 0; index < guests.size(); ++index) {
    Guest& guest = guests[index];
    guest.number = static_cast<std::uint32_t>(index);
    const std::uint64_t kind = random() % 8;
    guest.kind = kind == 0 ? Kind::Hand : kind < 3 ? Kind::Prefill : Kind::Decode;
    guest.tenant = static_cast<std::uint32_t>(random() % knobs_.weights.size());
    guest.priority = Priority{static_cast<std::uint8_t>(random() % 3)};
    if (random() % 3 == 0) guest.deadline_ns = 1 + random() % 1'000;
    guest.random.seed(seed_ * 100 + index);
  }
  return guests;
}

void ScheduleProgram::start(Harness& harness, Guest& guest) {
  guest.id = harness.start(TenantId{guest.tenant + 1}, {.deadline_ns = guest.deadline_ns});
  guest.queue = harness.queue(guest.id, guest.priority);
  guest.embeds = harness.embeds(guest.id, guest.queue, kHandEmbeds);
  if (guest.kind == Kind::Hand) guest.page = harness.pages(guest.id, guest.queue, 1).front();
  if (guest.kind == Kind::Decode) guest.context = harness.context(guest.id, guest.queue);
}

void ScheduleProgram::expect(Harness& harness, Guest& guest, CommandBody body) {
  const bool is_barrier = std::holds_alternative<Synchronize>(body);
  guest.asked.push_back({harness.send(guest.id, std::move(body)), is_barrier});
}

void ScheduleProgram::ask_context(Harness& harness, Guest& guest, std::uint32_t token_count) {
  harness.send(guest.id,
               ContextAppend{guest.context, tokens_of(guest.random, guest.number, token_count)},
               false);
  guest.rows_left = token_count;
  expect(harness, guest, ContextForward{guest.context, {guest.embeds[0]}});
  expect(harness, guest, GetNextDist{guest.queue, guest.embeds[0], 4});
}

// A token, a pass over it, a pass over its output and one over the output of that: each waits for
// the batch before.
void ScheduleProgram::ask_by_hand(Harness& harness, Guest& guest) {
  if (guest.position + 3 > kPageSize) {
    harness.send(guest.id, DeallocPages{guest.queue, {guest.page}}, false);
    guest.page = harness.pages(guest.id, guest.queue, 1).front();
    guest.position = 0;
  }
  const auto token = static_cast<std::uint32_t>(guest.random() % 512);
  harness.send(guest.id, EmbedText{guest.queue, {guest.embeds[0]}, {token}, {guest.position}},
               false);
  for (std::size_t pass = 0; pass < 3; ++pass) {
    Forward forward{.queue = guest.queue,
                    .input_pages = {guest.page},
                    .input_embeds = {guest.embeds[pass]},
                    .output_pages = {guest.page},
                    .output_embeds = {guest.embeds[pass + 1]},
                    .mask = {}};
    expect(harness, guest, std::move(forward));
    ++guest.position;
  }
  expect(harness, guest, GetNextDist{guest.queue, guest.embeds[3], 4});
}

void ScheduleProgram::ask(Harness& harness, Guest& guest) {
  switch (guest.kind) {
    case Kind::Decode:
      ask_context(harness, guest, 1);
      break;
    case Kind::Prefill:
      if (guest.context != kNoObject) harness.send(guest.id, ContextDrop{guest.context}, false);
      guest.context = harness.context(guest.id, guest.queue);
      ask_context(harness, guest, 20 + static_cast<std::uint32_t>(guest.random() % 100));
      break;
    case Kind::Hand:
      ask_by_hand(harness, guest);
      break;
  }
  if (guest.random() % 3 == 0) expect(harness, guest, Synchronize{guest.queue});
  guest.is_served = false;
}

void ScheduleProgram::take_answers(Guest& guest) {
  for (std::size_t index = guest.answered_count; index < guest.asked.size(); ++index) {
    if (!harness_.has(guest.id, guest.asked[index].future)) continue;
    const bool is_next = index == guest.answered_count;
    EXPECT_TRUE(is_next || !guest.asked[index].is_barrier)
        << "synchronize was answered before what its queue did";
    if (is_next) ++guest.answered_count;
  }
}

// As of BatchOrder, from what the guest itself knows.
std::uint32_t ScheduleProgram::level(const Guest& guest) const {
  const std::uint64_t since_ns = std::max<std::uint64_t>(*guest.since_ns, 1);
  const std::uint64_t waited_ns =
      harness_.clock.now_ns() - std::min(since_ns, harness_.clock.now_ns());
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      static_cast<std::uint64_t>(guest.priority) + waited_ns / knobs_.aging_ns, kOverdueLevel));
}

void ScheduleProgram::check_order(const std::vector<Guest*>& ready) {
  const auto key = [this](const Guest& guest) {
    const std::uint32_t own = level(guest);
    return std::tuple(kOverdueLevel - own,
                      own == kOverdueLevel ? *guest.since_ns : guest.deadline_ns, guest.order);
  };
  for (const Guest* served : ready) {
    if (!served->is_served) continue;
    for (const Guest* waits : ready) {
      if (waits->is_served || waits->tenant != served->tenant) continue;
      EXPECT_LT(key(*served), key(*waits))
          << "guest " << served->number << " went before guest " << waits->number;
    }
  }
}

// Rows over weight that one tenant is ahead of another, since both had something waiting in batches
// that were full. If there is room, all decoding is served, however much each tenant does of it.
void ScheduleProgram::check_shares() {
  if (harness_.device.next_batch().rows.size() < knobs_.row_count_max) return ahead_.clear();
  const double rows = kAheadBatchCount * knobs_.row_count_max + knobs_.prefill_row_budget;
  std::vector<bool> waiting(knobs_.weights.size());
  for (const Guest& guest : guests_) {
    if (guest.kind != Kind::Hand && guest.rows_left > 0) waiting[guest.tenant] = true;
  }
  for (std::size_t left = 0; left < waiting.size(); ++left) {
    for (std::size_t right = left + 1; right < waiting.size(); ++right) {
      const double ahead =
          served_[left] / knobs_.weights[left] - served_[right] / knobs_.weights[right];
      const bool both = waiting[left] && waiting[right];
      const auto begun = ahead_.find({left, right});
      if (!both) {
        if (begun != ahead_.end()) ahead_.erase(begun);
        continue;
      }
      const double first = ahead_.emplace(std::pair(left, right), ahead).first->second;
      EXPECT_LE(std::abs(ahead - first),
                rows * (1.0 / knobs_.weights[left] + 1.0 / knobs_.weights[right]))
          << "tenants " << left + 1 << " and " << right + 1;
    }
  }
}

// The most batches that the guest waits. Its tenant may owe some full ones to the others. Then
// three quarters of the rows of its share are for decoding, except for rows that prefill was owed
// before. The other guests of its tenant go before it once each.
double ScheduleProgram::wait_bound(const Guest& guest) const {
  constexpr double kOwedPrefillRows = 64;
  const double all = std::accumulate(knobs_.weights.begin(), knobs_.weights.end(), 0.0);
  const double others = knobs_.guest_count / 0.75 + kOwedPrefillRows;
  const double batches = FairShares::kDebtBatchCount + FairShares::kCreditBatchCount + 1 +
                         others / knobs_.row_count_max;
  return batches * all / knobs_.weights[guest.tenant] + 8;
}

void ScheduleProgram::check_waits() {
  for (Guest& guest : guests_) {
    const bool is_overdue = guest.kind == Kind::Decode && !guest.is_served && guest.since_ns &&
                            level(guest) == kOverdueLevel;
    guest.overdue_batch_count = is_overdue ? guest.overdue_batch_count + 1 : 0;
    EXPECT_LE(guest.overdue_batch_count, wait_bound(guest)) << "guest " << guest.number;
  }
}

void ScheduleProgram::dispatch() {
  const bool was_free = harness_.device.inflight_count() == 0;
  const std::uint64_t now_ns = harness_.clock.now_ns();
  std::vector<Guest*> ready;
  for (Guest& guest : guests_) {
    if (guest.kind != Kind::Decode || guest.is_served) continue;
    if (was_free && !guest.since_ns) guest.since_ns = now_ns;
    if (guest.since_ns) ready.push_back(&guest);
  }
  const bool has_built = harness_.controller->dispatch();
  harness_.verify();
  for (Guest& guest : guests_) {
    const std::uint64_t computed = harness_.controller->statistics(guest.id).computed_token_count;
    const std::uint64_t rows = computed - std::exchange(guest.computed_count, computed);
    served_[guest.tenant] += static_cast<double>(rows);
    guest.rows_left -= std::min<std::uint64_t>(rows, guest.rows_left);
    if (rows > 0 && guest.kind == Kind::Decode) guest.is_served = true;
  }
  if (!has_built || !knobs_.is_adaptive()) return;
  check_order(ready);
  check_shares();
  check_waits();
}

void ScheduleProgram::step() {
  harness_.controller->poll();
  for (Guest& guest : guests_) {
    take_answers(guest);
    if (!is_idle(guest)) continue;
    guest.is_served = true;
    guest.since_ns.reset();
    if (random_() % 4 == 0) continue;  // It thinks.
    guest.order = ++order_;
    ask(harness_, guest);
  }
  dispatch();
  harness_.clock.advance_ns(random_() % (knobs_.aging_ns / 2));
  if (harness_.device.inflight_count() > 0 && random_() % 3 != 0) harness_.device.complete_next();
}

void ScheduleProgram::finish() {
  harness_.run();
  for (Guest& guest : guests_) {
    take_answers(guest);
    EXPECT_TRUE(is_idle(guest)) << "guest " << guest.number << " waits for ever";
  }
}

// The same commands, each guest by itself and none before the last one is done.
void ScheduleProgram::compare_with_each_alone() {
  std::vector<Guest> alone = new_guests();
  Harness::Options plain = options();
  plain.controller.dispatch = {};
  Harness harness(plain);
  for (std::size_t index = 0; index < guests_.size(); ++index) {
    Guest& guest = alone[index];
    start(harness, guest);
    while (guest.asked.size() < guests_[index].asked.size()) {
      ask(harness, guest);
      harness.run();
    }
    ASSERT_EQ(guest.asked.size(), guests_[index].asked.size());
    for (std::size_t each = 0; each < guest.asked.size(); ++each) {
      const Result<AnswerBody>& wanted = harness.at(guest.id, guest.asked[each].future);
      const Result<AnswerBody>& given =
          harness_.at(guests_[index].id, guests_[index].asked[each].future);
      ASSERT_EQ(given.ok(), wanted.ok()) << "guest " << guest.number << " answer " << each;
      if (!wanted.ok()) continue;
      const auto* next = std::get_if<NextDistribution>(&wanted.value());
      if (next == nullptr) continue;
      EXPECT_EQ(std::get<NextDistribution>(given.value()).probabilities, next->probabilities)
          << "guest " << guest.number << ", answer " << each << ": tokens differ";
    }
  }
}

void ScheduleProgram::run() {
  for (int each = 0; each < knobs_.step_count && !testing::Test::HasFailure(); ++each) step();
  if (testing::Test::HasFailure()) return;
  finish();
  if (!testing::Test::HasFailure()) compare_with_each_alone();
}

}  // namespace quire::control
