#include "control/steps/token_counts.h"

#include <algorithm>
#include <utility>

namespace quire::control {
namespace {

void count_reused(Replica& replica, Operation& operation, std::uint32_t count) {
  replica.counts.found_token_count += count;
  InstanceStatistics& statistics = operation.instance->statistics;
  statistics.found_token_count += count;
  const std::uint32_t of_prompt = std::min(count, operation.finding.prompt_left_count);
  operation.finding.prompt_left_count -= of_prompt;
  replica.counts.found_prompt_token_count += of_prompt;
  statistics.found_prompt_token_count += of_prompt;
  if (operation.finding.has_waited) statistics.waited_token_count += count;
}

}  // namespace

std::uint32_t output_count_of(const Operation& operation) {
  if (is<ContextDraw>(operation)) return 1;
  return static_cast<std::uint32_t>(operation.output_embeds.size());
}

void count_asked(Replica& replica, Operation& operation, std::uint32_t own) {
  const bool wants_output = output_count_of(operation) > 0;
  const std::uint32_t prompt = operation.context->drawn().take_prompt(own, wants_output);
  operation.finding.prompt_left_count = prompt;
  InstanceStatistics& statistics = operation.instance->statistics;
  statistics.asked_token_count += own;
  statistics.prompt_token_count += prompt;
  replica.counts.prompt_token_count += prompt;
}

void count_found(Replica& replica, Operation& operation, const FindResult& found) {
  if (found.token_count == 0) return;
  count_reused(replica, operation, found.reused_count);
  operation.finding.replayed_count += found.token_count - found.reused_count;
  operation.context->note_miss(0);
}

void count_found_late(Replica& replica, Operation& operation) {
  const std::uint32_t count = std::exchange(operation.finding.replayed_count, 0);
  if (count == 0) return;
  const std::uint32_t late = count - std::min(count, operation.context->parts().replay_count());
  operation.context->add_found(late);
  count_reused(replica, operation, late);
}

void count_generated(Replica& replica, Operation& operation, std::size_t count) {
  if (count == 0) return;
  replica.counts.generated_token_count += count;
  operation.instance->statistics.generated_token_count += count;
  if (!is<ContextDraw>(operation)) return;
  const std::uint64_t before_ns = operation.context->drawn().note_drawn(replica.completed_at_ns);
  if (before_ns > 0) {
    replica.histograms.inter_token_ns.observe((replica.completed_at_ns - before_ns) / count, count);
  }
}

}  // namespace quire::control
