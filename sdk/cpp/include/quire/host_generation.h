#pragma once
// HostGeneration: the loop of generate.h in the host, which goes on while the program waits or does
// something else. It draws the same tokens as a Generator with the same sampler options.
//
//   HostGeneration answer = co_await HostGeneration::start(context, {.temperature = 0.7}, 128);
//   while (!answer.has_ended()) {
//     for (const DrawnToken& each : co_await answer.next()) use(each.token);
//   }
//
// Until it has ended the context can be read and forked, not changed. Its tokens are queued in the
// context as they are drawn, the last one too, and known to it as they are taken here: take all
// before the context is used again.
//
// Errors   what ended it, once every token before was given. start: invalid-argument for chat turns
//          that are queued and not yet tokens (Context::append_turns).
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/context.h"
#include "quire/future.h"
#include "quire/outputs.h"
#include "quire/result.h"
#include "quire/sampling.h"
#include "quire/task.h"

namespace quire {

// Numbers of interface/sample.wit.
enum class GenerationEnd : std::uint32_t { NotYet, StopToken, Length, Stopped };

struct GeneratedTokens {
  GenerationEnd end = GenerationEnd::NotYet;
  std::vector<DrawnToken> tokens;
};
template <>
struct FutureValue<GeneratedTokens> {
  static Result<GeneratedTokens> decode(std::span<const std::byte> bytes) {
    std::uint32_t head[2] = {4, 0};
    if (bytes.size() >= sizeof head) std::memcpy(head, bytes.data(), sizeof head);
    if (head[0] > 3 || bytes.size() != sizeof head + head[1] * sizeof(DrawnToken)) {
      return Error{ErrorCode::Internal, "generated tokens of " + std::to_string(bytes.size()) +
                                            " bytes with end " + std::to_string(head[0])};
    }
    GeneratedTokens out;
    out.end = static_cast<GenerationEnd>(head[0]);
    out.tokens.resize(head[1]);
    if (head[1] > 0) {
      std::memcpy(out.tokens.data(), bytes.data() + sizeof head, head[1] * sizeof(DrawnToken));
    }
    return out;
  }
};

class HostGeneration {
 public:
  // Ends after `token_count_max` tokens, or fewer where the context is full, or with one of
  // `stop_tokens`, which is the last one given.
  static Result<HostGeneration> start(Context& context, const SamplerOptions& sampler,
                                      std::uint32_t token_count_max,
                                      std::span<const std::uint32_t> stop_tokens) {
    TRY(context.check_no_turns());
    HostGeneration out;
    out.handle_ = detail::SharedHandle(TRY(checked(abi::sample::generate(
        context.handle(), sampler.temperature, Sampler(sampler).top_k_wanted(), sampler.top_p,
        sampler.min_p, sampler.seed, token_count_max, stop_tokens.data(),
        detail::count_of(stop_tokens.size())))));
    out.context_ = &context;
    return out;
  }
  // With the stop tokens of the context's model.
  static Result<HostGeneration> start(Context& context, const SamplerOptions& sampler,
                                      std::uint32_t token_count_max) {
    return start(context, sampler, token_count_max, context.model().info().stop_tokens);
  }

  // Tokens that were not given yet: at least `count_min` (1 or more), fewer only at the end.
  Task<std::vector<DrawnToken>> next(std::uint32_t count_min = 1) {
    GeneratedTokens more =
        co_await Future<GeneratedTokens>(abi::sample::next_tokens(handle_.get(), count_min));
    end_ = more.end;
    for (const DrawnToken& each : more.tokens) context_->note_drawn(each.token);
    co_return std::move(more.tokens);
  }

  // Ends it behind the step under way. What is left to take is then all there will be.
  Future<void> stop() { return Future<void>(abi::sample::stop_generation(handle_.get())); }

  bool has_ended() const { return end_ != GenerationEnd::NotYet; }
  GenerationEnd end() const { return end_; }

 private:
  Context* context_ = nullptr;
  detail::SharedHandle handle_;
  GenerationEnd end_ = GenerationEnd::NotYet;
};

}  // namespace quire
