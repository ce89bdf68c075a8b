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
      context_(instance_.new_object()) {
  instance_.tell(control::CreateQueue{.queue = queue_});
  instance_.tell(control::ContextCreate{.context = context_, .queue = queue_});
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

void HostGenerator::use(control::ChosenAdaptersRef adapters) {
  instance_.tell(control::ContextUseAdapters{.context = context_, .set = std::move(adapters)});
}

Result<void> HostGenerator::constrain(inference::GrammarKind kind, const std::string& source) {
  grammar_ = TRY(instance_.call<control::CompiledGrammar>(
                     control::CompileGrammar{.model = {}, .kind = kind, .source = source}))
                 .grammar;
  return {};
}

void HostGenerator::start(const DrawRule& rule, std::uint64_t seed, StopOptions stop) {
  QUIRE_CHECK(appended_ > 0, "a reply needs a prompt");
  // The token drawn last is never computed, so a full context still gives one.
  const std::uint32_t room = model_.context_length - appended_ + 1;
  stop.token_count_max = std::min(stop.token_count_max, room);
  token_count_max_ = stop.token_count_max;
  draw_ = {.rule = std::make_shared<const DrawRule>(rule)};
  if (grammar_ != nullptr) {
    if (matcher_ != control::kNoObject) instance_.tell(control::DropMatcher{.matcher = matcher_});
    matcher_ = instance_.new_object();
    instance_.tell(control::CreateMatcher{.matcher = matcher_, .model = {}, .grammar = grammar_});
    control::DrawExtras more;
    more.matchers = {matcher_};
    more.stop_tokens = stop.stop_tokens;
    draw_.more = std::make_shared<const control::DrawExtras>(std::move(more));
  }
  random_ = sampling::Random(seed);
  next_random_.reset();
  stop_.emplace(std::move(stop));
  ids_.clear();
}

void HostGenerator::begin_step() {
  QUIRE_CHECK(!ended(), "a step after the end");
  if (!is_greedy(*draw_.rule) && !next_random_) next_random_ = random_.uniform();
  step_ = instance_.ask(
      control::ContextDraw{.context = context_,
                           .queues_token = true,
                           .draw = draw_,
                           .count_max = token_count_max_ - static_cast<std::uint32_t>(ids_.size()),
                           .random = next_random_.value_or(0.0)});
}

Result<std::string> HostGenerator::finish_step() {
  const control::Draws draws = TRY(instance_.wait_for<control::Draws>(step_));
  counters_ = draws.counters;
  if (draws.random_count > 0) next_random_.reset();
  std::string shown = TRY(take(draws));
  if (!ended() && draws.end == control::DrawEnd::NoTokenAllowed) {
    return Error(ErrorCode::OutOfRange,
                 "no token of the model can continue this text under the grammar");
  }
  if (draws.end == control::DrawEnd::GrammarComplete) stop_->end_of_grammar();
  if (ended()) shown += stop_->finish();
  return shown;
}

// Takes the tokens that the stop rules leave. The rest, and a token that stops, are removed from
// the context.
Result<std::string> HostGenerator::take(const control::Draws& draws) {
  std::string shown;
  std::uint32_t kept = 0;
  for (const control::Drawn& each : draws.all) {
    if (!stop_->accept_token(each.token)) break;
    ids_.push_back(each.token);
    ++kept;
    shown += stop_->accept_bytes(TRY(codec_.decode({inference::TokenId{each.token}}, false)));
    if (ended()) break;
  }
  appended_ += kept;
  const auto left = static_cast<std::uint32_t>(draws.all.size()) - kept;
  if (left == 1) {
    instance_.tell(control::ContextEdit{
        .context = context_, .kind = control::ContextEditKind::Truncate, .count = 1});
  } else if (left > 1) {
    instance_.tell(control::ContextEdit{
        .context = context_, .kind = control::ContextEditKind::Rewind, .count = appended_});
  }
  return shown;
}

}  // namespace quire
