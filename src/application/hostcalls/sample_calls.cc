// sample: tokens drawn by the device, and the loop in the host.
#include <cstdio>
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"
#include "quire/sampling.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kQueuesToken = 1;
constexpr std::uint32_t kStopTokenCountMax = 1024;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

struct RuleArguments {
  double temperature, top_p, min_p, random;
  std::uint32_t top_k;
};

Result<control::DrawRule> read_rule(const RuleArguments& given) {
  const auto wrong = sampling::out_of_range(
      {.temperature = given.temperature, .top_p = given.top_p, .min_p = given.min_p});
  if (wrong) {
    return Error(ErrorCode::InvalidArgument, std::string(wrong->name) + " must be " + wrong->range +
                                                 ", not " + number_text(wrong->value));
  }
  if (!(given.random >= 0.0 && given.random < 1.0)) {
    return Error(ErrorCode::InvalidArgument,
                 "random must be from 0 up to, not including, 1, not " + number_text(given.random));
  }
  return control::DrawRule{.temperature = given.temperature,
                           .top_k = given.top_k,
                           .top_p = given.top_p,
                           .min_p = given.min_p,
                           .random = given.random};
}

}  // namespace

Result<std::int32_t> sample_forward_sample(HostCall& call, GuestHandle context, double temperature,
                                           std::uint32_t top_k, double top_p, double min_p,
                                           double random, std::uint32_t flags) {
  TRY(find_changing_context(call, context));
  if ((flags & ~kQueuesToken) != 0) {
    return Error(ErrorCode::InvalidArgument, "flags: " + std::to_string(flags) + " beyond 1");
  }
  const control::DrawRule rule = TRY(read_rule({temperature, top_p, min_p, random, top_k}));
  TRY(call.guest.check_step());
  const bool queues_token = (flags & kQueuesToken) != 0;
  FutureRecord& future =
      call.guest.submit(control::ContextSample{object(context), rule, queues_token}, 0);
  call.guest.note_sample(context, future, queues_token);
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> sample_draw_token(HostCall& call, GuestHandle queue, GuestHandle embed,
                                       double temperature, std::uint32_t top_k, double top_p,
                                       double min_p, double random) {
  TRY(check_output(call, queue, embed));
  const control::DrawRule rule = TRY(read_rule({temperature, top_p, min_p, random, top_k}));
  return submit_output(call, control::DrawToken{object(queue), object(embed), rule});
}

Result<std::int32_t> sample_generate(HostCall& call, GuestHandle context, double temperature,
                                     std::uint32_t top_k, double top_p, double min_p,
                                     std::uint64_t seed, std::uint32_t token_count_max,
                                     GuestList<std::uint32_t> stop_tokens) {
  const ContextView view = TRY(find_changing_context(call, context));
  GenerateOptions options;
  options.seed = seed;
  options.token_count_max = token_count_max;
  options.rule = TRY(read_rule({temperature, top_p, min_p, 0.0, top_k}));
  if (stop_tokens.count > kStopTokenCountMax) {
    return Error(ErrorCode::TooLarge, std::to_string(stop_tokens.count) + " stop tokens; at most " +
                                          std::to_string(kStopTokenCountMax) + " are allowed");
  }
  options.stop_tokens = TRY(call.memory.read(stop_tokens, "stop_tokens"));
  TRY(check_tokens(options.stop_tokens, view.model));
  return static_cast<std::int32_t>(TRY(call.guest.generations.start(context, std::move(options))));
}

Result<std::int32_t> sample_next_tokens(HostCall& call, GuestHandle generation,
                                        std::uint32_t count_min) {
  return static_cast<std::int32_t>(TRY(call.guest.generations.read(generation, count_min)));
}

Result<std::int32_t> sample_stop_generation(HostCall& call, GuestHandle generation) {
  return static_cast<std::int32_t>(TRY(call.guest.generations.stop(generation)));
}

}  // namespace quire::hostcalls
