#pragma once
// Tokens that the host draws: behind an output embedding (draw_token), behind a context in one step
// of the device, and in the host's own loop. The SDK makes every call of interface/sample.wit here;
// programs draw through Context and Generator.
//
// Errors   as interface/sample.wit says.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "quire/bindings.h"
#include "quire/forward.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/sampling.h"

namespace quire {

struct DrawnToken {
  std::uint32_t token = 0;
  float probability = 0.0f;  // Of the full softmax, before temperature and the like.

  double log_probability() const { return quire::log_probability(probability); }
};
template <>
struct FutureValue<DrawnToken> {
  static Result<DrawnToken> decode(std::span<const std::byte> bytes) {
    DrawnToken out;
    if (bytes.size() != sizeof out) {
      return Error{ErrorCode::Internal,
                   "a drawn token of " + std::to_string(bytes.size()) + " bytes"};
    }
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

// The token that `sampler` would draw from get_next_dist, drawn by the device.
inline Future<DrawnToken> draw_token(const Queue& queue, std::int32_t embed, Sampler& sampler) {
  const SamplerOptions& options = sampler.options();
  return Future<DrawnToken>(abi::sample::draw_token(queue.handle(), embed, options.temperature,
                                                    sampler.top_k_wanted(), options.top_p,
                                                    options.min_p, sampler.next_random()));
}

namespace detail {

// How the host's loop has ended; numbers of interface/sample.wit.
enum class LoopEnd : std::uint32_t { NotYet, StopToken, Length, Stopped };

struct LoopTokens {
  LoopEnd end = LoopEnd::NotYet;
  std::vector<DrawnToken> tokens;
};

}  // namespace detail

template <>
struct FutureValue<detail::LoopTokens> {
  static Result<detail::LoopTokens> decode(std::span<const std::byte> bytes) {
    std::uint32_t head[2] = {4, 0};
    if (bytes.size() >= sizeof head) std::memcpy(head, bytes.data(), sizeof head);
    if (head[0] > 3 || bytes.size() != sizeof head + head[1] * sizeof(DrawnToken)) {
      return Error{ErrorCode::Internal, "generated tokens of " + std::to_string(bytes.size()) +
                                            " bytes with end " + std::to_string(head[0])};
    }
    detail::LoopTokens out;
    out.end = static_cast<detail::LoopEnd>(head[0]);
    out.tokens.resize(head[1]);
    if (head[1] > 0) {
      std::memcpy(out.tokens.data(), bytes.data() + sizeof head, head[1] * sizeof(DrawnToken));
    }
    return out;
  }
};

namespace detail {

// Computes what is queued in the context and draws the token behind it, in one step. It is not
// appended.
inline Future<DrawnToken> forward_draw(std::int32_t context, Sampler& sampler) {
  const SamplerOptions& options = sampler.options();
  return Future<DrawnToken>(abi::sample::forward_sample(context, options.temperature,
                                                        sampler.top_k_wanted(), options.top_p,
                                                        options.min_p, sampler.next_random(), 0));
}

// The loop in the host, which draws and queues token after token while the program does something
// else. It ends with its last owner; the token of the step under way may still be queued.
class HostLoop {
 public:
  static Result<HostLoop> start(std::int32_t context, const SamplerOptions& options,
                                std::uint32_t token_count_max,
                                std::span<const std::uint32_t> stop_tokens) {
    HostLoop out;
    out.handle_ = SharedHandle(TRY(checked(abi::sample::generate(
        context, options.temperature, Sampler(options).top_k_wanted(), options.top_p, options.min_p,
        options.seed, token_count_max, stop_tokens.data(), count_of(stop_tokens.size())))));
    return out;
  }

  // Tokens that were not given yet, at least one unless it has ended.
  Future<LoopTokens> next() const {
    return Future<LoopTokens>(abi::sample::next_tokens(handle_.get(), 1));
  }
  // Ends it behind the step under way; ready when it has ended.
  Future<void> stop() const { return Future<void>(abi::sample::stop_generation(handle_.get())); }

 private:
  SharedHandle handle_;
};

}  // namespace detail

}  // namespace quire
