#include "main/machine/host_generator.h"

#include <algorithm>

#include "base/check.h"

namespace quire {

HostGenerator::HostGenerator(HostLoop& loop, const inference::TextCodec& codec,
                             const control::ModelDescription& model)
    : codec_(codec),
      model_(model),
      instance_(loop),
      queue_(instance_.new_object()),
      context_(instance_.new_object()),
      output_(instance_.new_object()) {
  instance_.tell(control::CreateQueue{.queue = queue_});
  instance_.tell(control::ContextCreate{.context = context_, .queue = queue_});
  instance_.tell(control::AllocEmbeds{.queue = queue_, .embeds = {output_}});
}

Result<void> HostGenerator::append(const std::vector<std::uint32_t>& tokens) {
  const std::uint64_t wanted = std::uint64_t{appended_} + tokens.size();
  if (wanted > model_.context_length) {
    return Error(ErrorCode::OutOfRange,
                 std::to_string(wanted) + " tokens do not fit the context of " + model_.name +
                     ", which holds " + std::to_string(model_.context_length));
  }
  const std::uint64_t pages = (wanted + model_.page_size - 1) / model_.page_size;
  if (pages > model_.page_count) {
    return Error(ErrorCode::NoFreePage,
                 std::to_string(wanted) + " tokens need " + std::to_string(pages) + " pages of " +
                     std::to_string(model_.page_size) + "; the pool has " +
                     std::to_string(model_.page_count) + " (see --kv-pages, --kv-memory)");
  }
  instance_.tell(control::ContextAppend{.context = context_, .tokens = tokens});
  appended_ = static_cast<std::uint32_t>(wanted);
  return {};
}

void HostGenerator::start(const SamplerOptions& sampling, StopOptions stop) {
  QUIRE_CHECK(appended_ > 0, "a reply needs a prompt");
  // The token sampled last is never computed, so a full context still gives one.
  const std::uint32_t room = model_.context_length - appended_ + 1;
  stop.token_count_max = std::min(stop.token_count_max, room);
  sampler_.emplace(sampling);
  stop_.emplace(std::move(stop));
  ids_.clear();
  unappended_.reset();
}

void HostGenerator::begin_step() {
  QUIRE_CHECK(!ended(), "a step behind the end");
  if (unappended_) {
    instance_.tell(control::ContextAppend{.context = context_, .tokens = {*unappended_}});
    appended_ += 1;
    unappended_.reset();
  }
  forward_ =
      instance_.ask(control::ContextForward{.context = context_, .output_embeds = {output_}});
  distribution_ = instance_.ask(
      control::GetNextDist{.queue = queue_,
                           .embed = output_,
                           .top_k = std::min(sampler_->top_k_wanted(), model_.vocabulary_size)});
}

Result<std::string> HostGenerator::finish_step() {
  // The pass failed first: its error says more than the distribution's.
  const control::ContextState state = TRY(instance_.wait_for<control::ContextState>(forward_));
  counters_ = state.counters;
  const control::NextDistribution next =
      TRY(instance_.wait_for<control::NextDistribution>(distribution_));
  const std::uint32_t token = sampler_->draw(next.tokens, next.probabilities);
  if (!stop_->accept_token(token)) return stop_->finish();
  ids_.push_back(token);
  unappended_ = token;
  const std::string bytes = TRY(codec_.decode({inference::TokenId{token}}, false));
  std::string shown = stop_->accept_bytes(bytes);
  if (ended()) shown += stop_->finish();
  return shown;
}

}  // namespace quire
