// sample: tokens drawn by the device, and the loop in the host.
#include <cmath>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

constexpr double kTemperatureMax = 1e6;
constexpr std::uint32_t kQueuesToken = 1;
constexpr std::uint32_t kStopTokenCountMax = 1024;

Result<void> check_number(const char* what, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return Error(ErrorCode::InvalidArgument, std::string(what) + ": " + std::to_string(value) +
                                               " is not from " + std::to_string(least) + " to " +
                                               std::to_string(most));
}

struct RuleArguments {
  double temperature, top_p, min_p, random;
  std::uint32_t top_k;
};

Result<control::DrawRule> read_rule(const RuleArguments& given) {
  TRY(check_number("temperature", given.temperature, 0.0, kTemperatureMax));
  TRY(check_number("top_p", given.top_p, 0.0, 1.0));
  TRY(check_number("min_p", given.min_p, 0.0, 1.0));
  TRY(check_number("random", given.random, 0.0, std::nextafter(1.0, 0.0)));
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
