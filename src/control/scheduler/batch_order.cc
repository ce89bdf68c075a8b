#include "control/scheduler/batch_order.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/planted_fault.h"
#include "control/scheduler/decode_limits.h"

namespace quire::control {
namespace {

constexpr double kPrefillPerDecode = 1.0 / 3;  // Rows, where both wait for room.
constexpr std::uint32_t kPrefillQuantumMax = 16;
constexpr double kPrefillCreditMax = 4 * kPrefillQuantumMax;  // Owed, or had before its time.
constexpr std::uint64_t kOvertakenPart = 5;  // A prompt may lose a fifth of its rows to short ones.

bool comes_before(const Candidate& left, const Candidate& right) {
  if (is_planted(Fault::PriorityIgnored)) return left.age < right.age;
  if (left.level != right.level) return left.level > right.level;
  if (left.level == kOverdueLevel) {
    return std::tie(left.waiting.since_ns, left.age) < std::tie(right.waiting.since_ns, right.age);
  }
  return std::tie(left.deadline_ns, left.age) < std::tie(right.deadline_ns, right.age);
}

}  // namespace

std::uint8_t BatchOrder::level_of(const Candidate& candidate) const {
  const auto priority = static_cast<std::uint64_t>(candidate.priority);
  if (candidate.waiting.since_ns == kNotSeen || is_planted(Fault::AgingOff)) {
    return static_cast<std::uint8_t>(priority);
  }
  const std::uint64_t waited_ns = now_ns_ - std::min(now_ns_, candidate.waiting.since_ns);
  const std::uint64_t periods = waited_ns / aging_ns_;
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(priority + periods, kOverdueLevel));
}

void BatchOrder::begin_batch(std::uint64_t now_ns, bool by_age_alone) {
  now_ns_ = now_ns;
  by_age_alone_ = by_age_alone;
  shares_.begin_round();
  for (std::uint32_t place = 0; place < tenant_count_; ++place) {
    tenants_[place].decode.clear();
    tenants_[place].prefill.clear();
  }
  tenant_count_ = 0;
  decode_row_count_ = 0;
  prefill_count_ = 0;
  is_ordering_ = false;
}

void BatchOrder::add(const Candidate& candidate) {
  FairShare& share = *candidate.share;
  if (share.order_round != shares_.round()) {
    share.order_round = shares_.round();
    share.order_place = tenant_count_++;
    if (tenants_.size() < tenant_count_) tenants_.emplace_back();
    tenants_[share.order_place].share = &share;
    tenants_[share.order_place].has_turn = false;
    tenants_[share.order_place].decode_cost = 0;
    tenants_[share.order_place].decode_left = kAllDecoding;
    shares_.enter(share);
  }
  Tenant& tenant = tenants_[share.order_place];
  if (candidate.is_prefill) {
    prefill_slot_count_least_ = prefill_count_ == 0
                                    ? candidate.slot_count
                                    : std::min(prefill_slot_count_least_, candidate.slot_count);
    ++prefill_count_;
  } else {
    decode_row_count_ += candidate.row_count;
    tenant.decode_cost += candidate.row_cost * candidate.row_count;
  }
  List& list = candidate.is_prefill && !by_age_alone_ ? tenant.prefill : tenant.decode;
  Candidate& added = list.all.emplace_back(candidate);
  if (added.waiting.overtaken_from == kNotOrdered)
    added.waiting.overtaken_from = share.overtaking_row_count;
  if (added.waiting.since_ns == kNotSeen)
    added.waiting.since_ns = std::max<std::uint64_t>(now_ns_, 1);
  added.level = level_of(added);
  if (is_ordering_ && !tenant.has_turn && list_of(tenant) != nullptr) give_turn(share.order_place);
}

std::uint64_t BatchOrder::limit_decoding(double step_rows, double stretch) {
  std::vector<DecodeWish> wishes;
  for (std::uint32_t place = 0; place < tenant_count_; ++place) {
    const Tenant& tenant = tenants_[place];
    if (tenant.decode_cost > 0) {
      wishes.push_back(
          {.place = place, .weight = tenant.share->weight, .cost = tenant.decode_cost});
    }
  }
  if (!limit_decode_costs(wishes, step_rows, stretch)) return decode_row_count_;
  double part = 0;
  for (const DecodeWish& each : wishes) {
    tenants_[each.place].decode_left = each.limit;
    part += std::min(each.limit, each.cost);
  }
  double all = 0;
  for (const DecodeWish& each : wishes) all += each.cost;
  const auto rows = static_cast<double>(decode_row_count_);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(rows * part / all), 1);
}

void BatchOrder::lift_limits() {
  for (std::uint32_t place = 0; place < tenant_count_; ++place) {
    tenants_[place].decode_left = kAllDecoding;
  }
}

bool BatchOrder::comes_later(std::uint32_t left, std::uint32_t right) const {
  const FairShare& first = *tenants_[left].share;
  const FairShare& second = *tenants_[right].share;
  if (first.time != second.time && !is_planted(Fault::ShareIgnored))
    return first.time > second.time;
  return first.tenant > second.tenant;
}

void BatchOrder::give_turn(std::uint32_t place) {
  tenants_[place].has_turn = true;
  turns_.push_back(place);
  std::push_heap(turns_.begin(), turns_.end(),
                 [this](auto left, auto right) { return comes_later(left, right); });
}

void BatchOrder::begin(Turn turn, std::uint32_t prefill_rows_max) {
  turn_ = turn;
  is_ordering_ = true;
  current_.reset();
  prefill_quantum_ = std::clamp(prefill_rows_max, 1u, kPrefillQuantumMax);
  turns_.clear();
  for (std::uint32_t place = 0; place < tenant_count_; ++place) {
    Tenant& tenant = tenants_[place];
    tenant.has_turn = false;
    for (List* list : {&tenant.decode, &tenant.prefill}) {
      const auto first = list->all.begin() + static_cast<std::ptrdiff_t>(list->next);
      if (!std::is_sorted(first, list->all.end(), comes_before)) {
        std::sort(first, list->all.end(), comes_before);
      }
    }
    if (turn != Turn::Decode) let_short_overtake(tenant.prefill);
    if (list_of(tenant) != nullptr) give_turn(place);
  }
}

// How many rows of short prompts may still go before this one.
std::uint64_t BatchOrder::overtaking_room(const Candidate& candidate) const {
  const std::uint64_t all =
      std::uint64_t{candidate.waiting.computed_row_count} + candidate.row_count;
  const std::uint64_t lost =
      candidate.share->overtaking_row_count - candidate.waiting.overtaken_from;
  const std::uint64_t room = all / kOvertakenPart - std::min(all / kOvertakenPart, lost);
  return std::min<std::uint64_t>(room, candidate.row_count);
}

// Marks the short prompts that go before the first one of their priority. `prompts` are sorted by
// comes_before(). Returns those first ones, by priority; null: no prompt goes before it.
BatchOrder::Overtaken BatchOrder::mark_overtaking(std::span<Candidate> prompts) const {
  Overtaken overtaken{};
  std::array<const Candidate*, kPriorityCount> heads{};
  std::array<std::uint64_t, kPriorityCount> rooms{};  // The least of all that are overtaken.
  for (Candidate& each : prompts) {
    each.overtakes = false;
    if (each.deadline_ns != kNoDeadline) continue;
    const auto priority = static_cast<std::size_t>(each.priority);
    const Candidate*& head = heads[priority];
    std::uint64_t& room = rooms[priority];
    if (head != nullptr && each.row_count <= room) {
      each.overtakes = true;
      each.level = head->level;  // It has the turn of the prompt before which it goes.
      overtaken[priority] = head;
      room -= each.row_count;
      continue;
    }
    const std::uint64_t own_room = overtaking_room(each);
    room = head == nullptr ? own_room : std::min(room, own_room);
    if (head == nullptr) head = &each;
  }
  return overtaken;
}

void BatchOrder::let_short_overtake(List& list) {
  const std::span<Candidate> prompts = std::span(list.all).subspan(list.next);
  const Overtaken overtaken = mark_overtaking(prompts);
  if (overtaken == Overtaken{}) return;
  reordered_.clear();
  for (const Candidate& each : prompts) {
    if (each.overtakes) continue;
    if (overtaken[static_cast<std::size_t>(each.priority)] == &each) {
      const auto begin = static_cast<std::ptrdiff_t>(reordered_.size());
      std::ranges::copy_if(prompts, std::back_inserter(reordered_), [&](const Candidate& other) {
        return other.overtakes && other.priority == each.priority;
      });
      std::sort(reordered_.begin() + begin, reordered_.end(),
                [](const Candidate& left, const Candidate& right) {
                  return std::tie(left.row_count, left.age) < std::tie(right.row_count, right.age);
                });
    }
    reordered_.push_back(each);
  }
  std::ranges::copy(reordered_, prompts.begin());
}

// The list whose turn it is within the tenant; null: it has nothing left.
BatchOrder::List* BatchOrder::list_of(Tenant& tenant) const {
  const bool is_owed = tenant.share->prefill_credit >= prefill_quantum_;
  const bool has_decode =
      !tenant.decode.is_empty() && (turn_ == Turn::Decode || turn_ == Turn::Both);
  const bool has_prefill = !tenant.prefill.is_empty() && turn_ != Turn::Decode;
  if (turn_ == Turn::Owed) {
    const bool is_overdue = has_prefill && tenant.prefill.first().level == kOverdueLevel;
    return is_owed && is_overdue ? &tenant.prefill : nullptr;
  }
  if (has_decode && has_prefill) return is_owed ? &tenant.prefill : &tenant.decode;
  if (has_decode) return &tenant.decode;
  return has_prefill ? &tenant.prefill : nullptr;
}

std::optional<Candidate> BatchOrder::next() {
  if (current_) {
    // The tenant's time has changed since it was taken out; often it is first all the same.
    List* more = list_of(tenants_[*current_]);
    const bool is_first = turns_.empty() || !comes_later(*current_, turns_.front());
    if (more != nullptr && is_first) return more->all[more->next++];
    const std::uint32_t place = *std::exchange(current_, std::nullopt);
    tenants_[place].has_turn = false;
    if (more != nullptr) give_turn(place);
  }
  if (turns_.empty()) return std::nullopt;
  std::pop_heap(turns_.begin(), turns_.end(),
                [this](auto left, auto right) { return comes_later(left, right); });
  current_ = turns_.back();
  turns_.pop_back();
  List& list = *list_of(tenants_[*current_]);
  return list.all[list.next++];
}

void BatchOrder::note_served(const Candidate& candidate, std::uint32_t row_count) {
  if (row_count == 0) return;
  FairShare& share = *candidate.share;
  if (!candidate.is_prefill) {
    tenants_[share.order_place].decode_left -= candidate.row_cost * row_count;
  }
  if (candidate.overtakes) share.overtaking_row_count += row_count;
  const Tenant& tenant = tenants_[share.order_place];
  const bool has_both = !tenant.decode.all.empty() && !tenant.prefill.all.empty();
  const double change = candidate.is_prefill ? -1.0 : kPrefillPerDecode;
  const double credit = has_both ? share.prefill_credit + change * row_count : 0.0;
  share.prefill_credit = std::clamp(credit, -kPrefillCreditMax, kPrefillCreditMax);
}

void BatchOrder::end_batch() {
  double least_waiting = std::numeric_limits<double>::max();
  double most_served = 0;
  bool has_waiting = false;
  for (std::uint32_t place = 0; place < tenant_count_; ++place) {
    const FairShare& share = *tenants_[place].share;
    most_served = std::max(most_served, share.time);
    if (share.waiting_round != shares_.round()) continue;
    has_waiting = true;
    least_waiting = std::min(least_waiting, share.time);
  }
  shares_.end_round(least_waiting, most_served, has_waiting);
}

}  // namespace quire::control
