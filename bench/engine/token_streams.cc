#include "bench/engine/token_streams.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quire/draw_rule.h"

namespace quire {
namespace {

constexpr std::uint64_t kPauseNsMax = 100'000'000;
// Every stream is an instance of its own and has one of each.
constexpr control::ObjectId kStreamQueue{1};
constexpr control::ObjectId kStreamContext{2};
constexpr control::ObjectId kStreamOutput{3};
constexpr control::ObjectId kMatcher{4};

control::DrawSpec draw_under(bool has_grammar) {
  control::DrawExtras more;
  more.forces_tokens = false;
  if (has_grammar) more.matchers = {kMatcher};
  return {.rule = std::make_shared<const DrawRule>(),
          .more = std::make_shared<const control::DrawExtras>(std::move(more))};
}

}  // namespace

void TokenStreams::ask(Stream& stream) {
  if (stream.plan->is_drawn) {
    control_.submit({stream.instance, control::FutureId{++stream.future},
                     control::ContextDraw{.context = kStreamContext,
                                          .queues_token = true,
                                          .draw = stream.draw,
                                          .count_max = 1}});
    return;
  }
  control_.submit(
      {stream.instance, control::kNoFuture,
       control::ContextForward{.context = kStreamContext, .output_embeds = {kStreamOutput}}});
  control_.submit(
      {stream.instance, control::FutureId{++stream.future},
       control::GetNextDist{.queue = kStreamQueue, .embed = kStreamOutput, .top_k = 1}});
}

void TokenStreams::end(Stream& stream) {
  control_.end_instance(stream.instance);
  by_instance_.erase(static_cast<std::uint64_t>(stream.instance));
  stream.is_running = false;
  --running_count_;
}

// Starts the streams whose time has come. Returns whether there was one.
bool TokenStreams::arrive() {
  bool has_any = false;
  while (!to_come_.empty() && ns_until_arrival() == 0) {
    Stream& stream = streams_[to_come_.back()];
    stream.instance = control::InstanceId{++instances_};
    stream.is_running = has_any = true;
    stream.times.arrived_ns = clock_.now_ns();
    by_instance_.emplace(instances_, to_come_.back());
    ++running_count_;
    to_come_.pop_back();
    control_.start_instance(stream.instance, stream.plan->tenant, {});
    const auto tell = [&](control::CommandBody body) {
      control_.submit({stream.instance, control::kNoFuture, std::move(body)});
    };
    tell(control::CreateQueue{.queue = kStreamQueue});
    tell(control::ContextCreate{.context = kStreamContext, .queue = kStreamQueue});
    tell(control::AllocEmbeds{.queue = kStreamQueue, .embeds = {kStreamOutput}});
    tell(control::ContextAppend{.context = kStreamContext, .tokens = stream.plan->prompt});
    stream.draw = draw_under(stream.plan->grammar != nullptr);
    if (stream.plan->grammar != nullptr) {
      tell(control::CreateMatcher{
          .matcher = kMatcher, .model = {}, .grammar = stream.plan->grammar});
    }
    ask(stream);
  }
  return has_any;
}

std::uint64_t TokenStreams::ns_until_arrival() const {
  if (to_come_.empty()) return kPauseNsMax;
  const StreamPlan& next = *streams_[to_come_.back()].plan;
  if (next.arrives_at_token) {
    return token_count_ >= *next.arrives_at_token || running_count_ == 0 ? 0 : kPauseNsMax;
  }
  const std::uint64_t passed_ns = clock_.now_ns() - begin_ns_;
  return next.arrives_ns > passed_ns ? next.arrives_ns - passed_ns : 0;
}

Result<bool> TokenStreams::take_answers() {
  bool has_any = false;
  for (control::Answer& answer : answers_.take()) {
    const auto found = by_instance_.find(static_cast<std::uint64_t>(answer.instance));
    if (found == by_instance_.end()) continue;  // It ended for another's error.
    has_any |= TRY(take(found->second, std::move(answer.body)));
  }
  return has_any;
}

// True if a token came.
Result<bool> TokenStreams::take(std::size_t index, Result<control::AnswerBody> answered) {
  Stream& stream = streams_[index];
  if (!answered.ok() && stream.plan->grammar != nullptr) {
    stream.times.error.emplace(std::move(answered).take_error());
    end(stream);
    return true;
  }
  const control::AnswerBody body = TRY(std::move(answered));
  const auto* draws = std::get_if<control::Draws>(&body);
  if (draws != nullptr && draws->all.empty()) {  // The grammar's text is complete.
    end(stream);
    return true;
  }
  const std::uint32_t token = draws != nullptr
                                  ? draws->all.front().token
                                  : std::get<control::NextDistribution>(body).tokens.front();
  ++token_count_;
  stream.times.token_ns.push_back(clock_.now_ns());
  stream.times.tokens.push_back(token);
  if (stream.times.tokens.size() == stream.plan->token_count) {
    for (Stream& each : streams_) {
      if (each.is_running && each.plan->ends_with == index) end(each);
    }
    end(stream);
    return true;
  }
  if (draws == nullptr) {  // A draw queues it itself.
    control_.submit({stream.instance, control::kNoFuture,
                     control::ContextAppend{.context = kStreamContext, .tokens = {token}}});
  }
  ask(stream);
  return true;
}

Result<std::vector<StreamTimes>> TokenStreams::run(const std::vector<StreamPlan>& plans) {
  streams_.clear();
  streams_.resize(plans.size());
  for (std::size_t index = 0; index < plans.size(); ++index) streams_[index].plan = &plans[index];
  to_come_.resize(plans.size());
  std::iota(to_come_.rbegin(), to_come_.rend(), std::size_t{0});
  begin_ns_ = clock_.now_ns();
  token_count_ = 0;
  while (running_count_ > 0 || !to_come_.empty()) {
    bool has_any = arrive();
    has_any |= control_.poll();
    Result<bool> answered = take_answers();
    if (!answered.ok()) {
      for (Stream& stream : streams_) {
        if (stream.is_running) end(stream);
      }
      return std::move(answered).take_error();
    }
    has_any |= answered.value();
    if (has_any && ns_until_arrival() == 0) continue;  // Who arrives now shares the batch.
    has_any |= control_.dispatch();
    if (has_any) continue;
    pause_(std::min(
        {ns_until_arrival(), control_.next_dispatch_in_ns().value_or(kPauseNsMax), kPauseNsMax}));
  }
  std::vector<StreamTimes> times;
  for (Stream& stream : streams_) times.push_back(std::move(stream.times));
  return times;
}

}  // namespace quire
