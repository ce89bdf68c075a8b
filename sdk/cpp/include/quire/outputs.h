#pragma once
// Reads of an output embedding in addition to get_next_dist (forward.h): logits, log-probabilities,
// entropy, or the embedding itself.
//
// Errors   as interface/output.wit says.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/queue.h"
#include "quire/result.h"

namespace quire {

// A record of numbers, as f32.
struct Numbers {
  std::vector<float> values;
};
template <>
struct FutureValue<Numbers> {
  static Result<Numbers> decode(std::span<const std::byte> bytes) {
    std::uint32_t head[2] = {1, 0};  // Number format (0: f32) and count.
    if (bytes.size() >= sizeof head) std::memcpy(head, bytes.data(), sizeof head);
    if (head[0] != 0 || bytes.size() != sizeof head + head[1] * sizeof(float)) {
      return Error{ErrorCode::Internal, "a record of numbers of " + std::to_string(bytes.size()) +
                                            " bytes in format " + std::to_string(head[0])};
    }
    Numbers out;
    out.values.resize(head[1]);
    if (head[1] > 0) {
      std::memcpy(out.values.data(), bytes.data() + sizeof head, head[1] * sizeof(float));
    }
    return out;
  }
};

// The logits of the whole vocabulary.
inline Future<Numbers> get_logits(const Queue& queue, std::int32_t embed) {
  return Future<Numbers>(abi::output::get_logits(queue.handle(), embed));
}
// Natural logarithms of the full softmax, of these tokens.
inline Future<Numbers> get_logprobs(const Queue& queue, std::int32_t embed,
                                    std::span<const std::uint32_t> tokens) {
  return Future<Numbers>(abi::output::get_logprobs(queue.handle(), embed, tokens.data(),
                                                   detail::count_of(tokens.size())));
}
// The same of one token for each of the embeds, in one read: tokens[i] at embeds[i].
inline Future<Numbers> get_logprobs_of(const Queue& queue, std::span<const std::int32_t> embeds,
                                       std::span<const std::uint32_t> tokens) {
  return Future<Numbers>(
      abi::output::get_logprobs_of(queue.handle(), embeds.data(), detail::count_of(embeds.size()),
                                   tokens.data(), detail::count_of(tokens.size())));
}
// The entropy of the full softmax, in nats: one number.
inline Future<Numbers> get_entropy(const Queue& queue, std::int32_t embed) {
  return Future<Numbers>(abi::output::get_entropy(queue.handle(), embed));
}
// The last hidden state, normed as the logits take it.
inline Future<Numbers> get_embedding(const Queue& queue, std::int32_t embed) {
  return Future<Numbers>(abi::output::get_embedding(queue.handle(), embed));
}
}  // namespace quire
