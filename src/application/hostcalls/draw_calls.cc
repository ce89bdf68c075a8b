// draw: rules, tokens drawn by the device, drafts verified, and the loop in the host.
#include <memory>
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"
#include "application/hostcalls/draw_arguments.h"
#include "base/draw_options.h"
#include "quire/draw_rule.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kDraftCountMax = 64;
constexpr std::uint32_t kRuleBytesMax = 1u
                                        << 16;  // All options at their longest are a sixth of it.

// A draw from a context; its token counts, and its matchers are used, from now on.
Result<std::int32_t> submit_draw(HostCall& call, GuestHandle context, control::ContextDraw body,
                                 std::uint64_t bytes) {
  TRY(call.guest.check_step(bytes));
  const bool queues_token = body.queues_token;
  std::shared_ptr<const control::DrawExtras> extras = body.draw.more;
  FutureRecord& future = call.guest.submit(std::move(body), bytes);
  call.guest.note_draw(context, future, queues_token);
  call.guest.use_matchers(future, std::move(extras));
  return static_cast<std::int32_t>(future.handle);
}

}  // namespace

Result<std::int32_t> draw_create_rule(HostCall& call, GuestHandle handle,
                                      GuestList<std::uint8_t> list) {
  const ModelView model = TRY(find_model(call, handle, "output_text"));
  if (list.count > kRuleBytesMax) {
    return Error(ErrorCode::TooLarge, "options: " + std::to_string(list.count) +
                                          " bytes; a rule has at most " +
                                          std::to_string(kRuleBytesMax));
  }
  const std::vector<std::uint8_t> options = TRY(call.memory.read(list, "options"));
  DrawRule rule = TRY(parse_draw_options(options, model.description.vocabulary_size));
  return static_cast<std::int32_t>(TRY(call.guest.draws.add_rule(
      static_cast<std::uint8_t>(model.index), std::make_shared<const DrawRule>(std::move(rule)))));
}

Result<std::int32_t> draw_forward_draw(HostCall& call, GuestHandle context, GuestHandle rule,
                                       GuestList<std::int32_t> matchers,
                                       GuestList<std::uint32_t> mask, double random,
                                       std::uint32_t top_count, std::uint32_t flags) {
  const ContextView view = TRY(find_changing_context(call, context));
  TRY(check_draw_flags(flags, kQueuesToken | kForcesNone));
  control::DrawSpec draw = TRY(read_draw(
      call, view.model,
      {.rule = rule, .matchers = matchers, .mask = mask, .top_count = top_count, .flags = flags}));
  TRY(check_random(random, "random"));
  const std::uint64_t bytes = argument_bytes(draw);
  return submit_draw(call, context,
                     {.context = object(context),
                      .queues_token = (flags & kQueuesToken) != 0,
                      .draw = std::move(draw),
                      .random = random},
                     bytes);
}

Result<std::int32_t> draw_draw_tokens(HostCall& call, GuestHandle queue,
                                      GuestList<std::int32_t> list, GuestHandle rule,
                                      GuestList<std::int32_t> matchers,
                                      GuestList<std::uint32_t> mask, GuestList<double> randoms,
                                      std::uint32_t top_count) {
  const ModelView model = TRY(find_queue(call, queue, "output_text"));
  control::DrawTokens body{.queue = object(queue), .embeds = {}, .randoms = {}};
  body.embeds = TRY(read_embeds(call, list, model));
  body.draw = TRY(read_draw(
      call, model, {.rule = rule, .matchers = matchers, .mask = mask, .top_count = top_count}));
  if (history_window(*body.draw.rule) > 0) {
    return Error(ErrorCode::InvalidArgument,
                 "rule " + std::to_string(static_cast<std::int32_t>(rule)) +
                     " has penalties, which look at the tokens of a context, and an embed has "
                     "none; draw with forward_draw, or without penalties");
  }
  body.randoms = TRY(read_randoms(call, randoms, body.embeds.size(), "one for each embed"));
  const std::uint64_t bytes = argument_bytes(body.draw) +
                              body.embeds.size() * sizeof(control::ObjectId) +
                              body.randoms.size() * sizeof(double);
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  std::shared_ptr<const control::DrawExtras> extras = body.draw.more;
  FutureRecord& future = call.guest.submit(std::move(body), bytes);
  call.guest.use_matchers(future, std::move(extras));
  return static_cast<std::int32_t>(future.handle);
}

Result<std::int32_t> draw_verify(HostCall& call, GuestHandle context, GuestHandle rule,
                                 GuestList<std::int32_t> matchers, GuestList<std::uint32_t> mask,
                                 GuestList<std::uint32_t> list, GuestList<double> random_list,
                                 std::uint32_t top_count, std::uint32_t flags) {
  const ContextView view = TRY(find_changing_context(call, context));
  TRY(check_draw_flags(flags, kQueuesToken | kForcesNone | kCountsDrafts));
  control::DrawSpec draw = TRY(read_draw(
      call, view.model,
      {.rule = rule, .matchers = matchers, .mask = mask, .top_count = top_count, .flags = flags}));
  if (list.count > kDraftCountMax) {
    return Error(ErrorCode::TooLarge, "drafts: " + std::to_string(list.count) +
                                          " in one call; at most " +
                                          std::to_string(kDraftCountMax) + " are allowed");
  }
  control::Drafts drafts;
  drafts.are_counted = (flags & kCountsDrafts) != 0;
  drafts.tokens = TRY(call.memory.read(list, "drafts"));
  TRY(check_tokens(drafts.tokens, view.model, "drafts"));
  drafts.randoms = TRY(read_randoms(call, random_list, drafts.tokens.size() + 1,
                                    "one for each draft and one for the token after them"));
  const double random = drafts.randoms.front();
  drafts.randoms.erase(drafts.randoms.begin());
  const std::uint64_t bytes = argument_bytes(draw) + drafts.tokens.size() * sizeof(std::uint32_t) +
                              (drafts.randoms.size() + 1) * sizeof(double);
  control::ContextDraw body{.context = object(context),
                            .queues_token = (flags & kQueuesToken) != 0,
                            .draw = std::move(draw),
                            .random = random};
  if (!drafts.tokens.empty()) {
    body.drafts = std::make_shared<const control::Drafts>(std::move(drafts));
  }
  return submit_draw(call, context, std::move(body), bytes);
}

Result<std::int32_t> draw_generate(HostCall& call, GuestHandle context, GuestHandle rule,
                                   GuestList<std::int32_t> matchers, std::uint64_t seed,
                                   std::uint32_t token_count_max,
                                   GuestList<std::uint32_t> stop_tokens, std::uint32_t top_count,
                                   std::uint32_t flags) {
  const ContextView view = TRY(find_changing_context(call, context));
  TRY(check_draw_flags(flags, kForcesNone));
  GenerateOptions options;
  options.seed = seed;
  options.token_count_max = token_count_max;
  options.stop_tokens = TRY(read_stop_tokens(call, stop_tokens, view.model));
  options.draw = TRY(read_draw(call, view.model,
                               {.rule = rule,
                                .matchers = matchers,
                                .mask = {},
                                .top_count = top_count,
                                .flags = flags,
                                .stop_tokens = options.stop_tokens}));
  return static_cast<std::int32_t>(TRY(call.guest.generations.start(context, std::move(options))));
}

Result<std::int32_t> draw_next_draws(HostCall& call, GuestHandle generation,
                                     std::uint32_t count_min) {
  return static_cast<std::int32_t>(TRY(call.guest.generations.read(generation, count_min)));
}

Result<std::int32_t> draw_stop_generation(HostCall& call, GuestHandle generation) {
  return static_cast<std::int32_t>(TRY(call.guest.generations.stop(generation)));
}

}  // namespace quire::hostcalls
