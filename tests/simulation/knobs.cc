#include "simulation/knobs.h"

#include <iterator>

#include "base/check.h"
#include "base/clock.h"
#include "simulation/dice.h"

namespace quire::simulation {
namespace {

// Apart from what else is drawn from a seed.
constexpr std::uint64_t kKnobsStream = 0x6b6e6f6273u;
constexpr std::uint64_t kShortageStream = 0x73686f7274u;
constexpr std::uint64_t kTenantsStream = 0x74656e616e74u;

control::DispatchPolicy some_policy(Dice& dice) {
  using control::DispatchKind;
  switch (dice.below(6)) {
    case 0:
      return {.kind = DispatchKind::Eager};
    case 1:
      return {.kind = DispatchKind::KOnly, .command_count = dice.between(1, 8)};
    case 2:
      return {.kind = DispatchKind::TOnly, .period_ns = dice.between(1, 50) * kMillisecond / 10};
    default:
      return {};
  }
}

void set_limits(lifecycle::InstanceLimits& limits, Dice& dice) {
  limits.cpu_ns_between_waits_max = kSecond;
  limits.cpu_ns_max = 10 * kSecond;
  limits.wall_ns_max = 3'600 * kSecond;
  limits.child_count_max = 6;
  limits.guest.http_grants = {net::parse_http_grant("*.example").value()};
  limits.guest.http.first_byte_ns_max = 5 * kSecond;
  limits.guest.http.idle_ns_max = 5 * kSecond;
  limits.guest.http.total_ns_max = 20 * kSecond;
  limits.guest.file_inbox_bytes_max = 1'000;
  limits.guest.file_outbox_bytes_max = 1'000;
  limits.guest.inbox_message_count_max = dice.between(1, 16);
  limits.guest.outbox_message_count_max = dice.between(1, 16);
  limits.guest.mailbox_message_count_max = dice.between(1, 16);
}

void be_thrifty(Knobs& knobs, Dice& dice) {
  const auto few = [&] { return dice.between(1, 2); };
  lifecycle::InstanceLimits& limits = knobs.limits;
  limits.control.queue_count_max = few();
  limits.control.context_count_max = dice.between(1, 3);
  limits.control.embed_count_max = dice.between(1, 4);
  limits.control.page_count_max = dice.between(2, 8);
  limits.control.pending_command_count_max = dice.between(1, 4);
  limits.control.token_count_max = dice.between(20, 400);
  limits.control.export_count_max = few();
  limits.control.export_page_count_max = few();
  limits.guest.future_count_max = dice.between(1, 4);
  limits.guest.inbox_message_count_max = few();
  limits.guest.outbox_message_count_max = few();
  limits.guest.mailbox_message_count_max = few();
  limits.guest.subscription_count_max = few();
  limits.guest.child_handle_count_max = few();
  limits.guest.queued_token_count_max = dice.between(8, 64);
  limits.guest.http.exchange_count_max = 1;
  limits.guest.pending_bytes_max = dice.between(256, 4096);
  limits.child_count_max = few();
  knobs.instance_slot_count = dice.between(1, 3);
  knobs.waiting_launch_count_max = dice.between(1, 4);
}

// All programs of a tenant have little more than one of them may.
lifecycle::TenantLimits thrifty_tenant(Dice dice) {
  return {.instance_count_max = dice.between(2, 6),
          .memory_bytes_max = dice.between(2, 6) * std::uint64_t{128} << 20,
          .page_count_max = dice.between(4, 16),
          .http_exchange_count_max = dice.between(1, 2)};
}

void be_crowded(Knobs& knobs, Dice& dice) {
  knobs.page_count = dice.between(8, 32);
  knobs.tiers.host_page_count = dice.one_in(2) ? dice.between(1, 16) : 0;
  knobs.tiers.disk_page_count = dice.one_in(2) ? dice.between(1, 16) : 0;
  knobs.control.when_full =
      dice.one_in(5) ? control::WhenFull::FcfsKill : control::WhenFull::Suspend;
  knobs.sequence_count = dice.between(4, 32);
  knobs.embed_slot_count = dice.between(8, 64);
  knobs.row_count_max = dice.between(8, 32);
  knobs.direct_count = dice.between(4, 8);
  if (dice.one_in(2)) knobs.limits.control.page_count_max = dice.between(4, 16);
  if (dice.one_in(4)) knobs.limits.control.token_count_max = dice.between(50, 500);
}

void be_stormy(Knobs& knobs, Dice& dice) {
  if (dice.one_in(2)) be_crowded(knobs, dice);
  knobs.device_error = dice.below(20);
  knobs.nan_logits = dice.below(10);
  knobs.slow_step = dice.below(10);
  knobs.disk_error = dice.below(20);
  knobs.trap = dice.below(10);
  knobs.kill = dice.below(4);
  knobs.trouble.clock_jump = dice.below(3);
  knobs.abandon = dice.below(30);
}

// A fake guest has 64 KiB and a few bytes that are held for it.
void be_short(Knobs& knobs, Dice dice) {
  knobs.trouble.is_short = true;
  knobs.trouble.program_memory_bytes_max = std::uint64_t{dice.between(2, 12)} << 16;
  knobs.trouble.disk_bytes_max = std::uint64_t{dice.between(100, 800)} << 10;
  knobs.trouble.stand_still = dice.below(20);
}

}  // namespace

const char* scenario_name(Scenario scenario) {
  switch (scenario) {
    case Scenario::Peace:
      return "peace";
    case Scenario::Crowd:
      return "crowd";
    case Scenario::Storm:
      return "storm";
    case Scenario::Thrift:
      return "thrift";
    case Scenario::Conversation:
      return "conversation";
  }
  return "unknown";
}

Knobs Knobs::of_seed(std::uint64_t seed) {
  constexpr std::uint32_t kStates[] = {2, 3, 5, 16, 64};
  Knobs knobs = of(static_cast<Scenario>(seed % kScenarioCount), seed);
  if (seed >= kShortageSeeds) {
    be_short(knobs, Dice(seed ^ kShortageStream));
  } else if (seed >= kStateSeeds) {
    knobs.state_count = kStates[seed / kScenarioCount % std::size(kStates)];
  }
  return knobs;
}

Knobs Knobs::of(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed ^ kKnobsStream);
  Knobs knobs;
  knobs.scenario = scenario;
  knobs.model_count = dice.one_in(3) ? 2 : 1;
  knobs.page_size = 4u << dice.below(3);
  knobs.has_disk = !dice.one_in(4);
  knobs.has_helper = !dice.one_in(4);
  knobs.tenant_count = dice.between(1, 3);
  knobs.direct_count = dice.between(2, 6);
  knobs.peer_count = dice.below(4);
  knobs.operation_count_max = dice.between(10, 50);
  knobs.control.dispatch = some_policy(dice);
  knobs.control.prefill_row_budget = dice.between(4, 64);
  knobs.control.page_wait_ns_max = dice.between(1, 1'000) * kMillisecond;
  knobs.control.hash_bits = dice.one_in(4) ? 8 : 64;
  knobs.control.rowless_count_max = dice.one_in(3) ? dice.between(1, 4) : 32;
  knobs.control.answer_bytes_max = dice.one_in(3) ? dice.between(1, 2'000) : 64u << 20;
  knobs.control.miss_count_max = dice.one_in(4) ? 64 : 0;
  knobs.control.eviction = static_cast<control::EvictionPolicyKind>(dice.below(3));
  set_limits(knobs.limits, dice);
  switch (scenario) {
    case Scenario::Peace:
    case Scenario::Conversation:
      break;
    case Scenario::Crowd:
      be_crowded(knobs, dice);
      knobs.abandon = dice.below(10);
      break;
    case Scenario::Storm:
      be_stormy(knobs, dice);
      break;
    case Scenario::Thrift:
      be_thrifty(knobs, dice);
      knobs.tenant_limits = thrifty_tenant(Dice(seed ^ kTenantsStream));
      knobs.abandon = dice.below(10);
      break;
  }
  if (knobs.tiers.disk_page_count > 0) knobs.has_disk = true;
  if (dice.one_in(2)) knobs.control.miss_scope = control::MissScope::OwnDomain;
  return knobs;
}

}  // namespace quire::simulation
