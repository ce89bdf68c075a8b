#pragma once
// The low level: pages, embeds, and the passes of the model over them, one to one with
// interface/{allocate,input,forward,output}.wit but with owners and errors.
//
// Owns     KvPages and Embeds give their handles back when they are destroyed, after the commands
//          issued so far; they keep their queue alive.
// Errors   quota-exceeded at once; no-free-page by the future of the command that uses the pages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/sampling.h"

namespace quire {

// In nats. What is too small for a float counts as 1e-30.
inline double log_probability(float probability) {
  constexpr float kSmallest = 1e-30f;
  return sampling::log2(probability > kSmallest ? probability : kSmallest) * sampling::kLn2;
}

// The most probable next tokens, falling; probabilities are of the full softmax, not renormalised.
struct Distribution {
  std::vector<std::uint32_t> tokens;
  std::vector<float> probabilities;

  std::size_t size() const { return tokens.size(); }
  // The log-probability of the token at `index`, in nats.
  double log_probability(std::size_t index) const {
    return quire::log_probability(probabilities[index]);
  }
  // 0 for a token that is not among them.
  float probability_of(std::uint32_t token) const {
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    return found == tokens.end() ? 0.0f : probabilities[found - tokens.begin()];
  }
  // Drops the tokens for which `keeps(token, probability)` is false.
  template <typename Keeps>
  void keep_if(Keeps keeps) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!keeps(tokens[i], probabilities[i])) continue;
      tokens[count] = tokens[i];
      probabilities[count++] = probabilities[i];
    }
    tokens.resize(count);
    probabilities.resize(count);
  }
};

template <>
struct FutureValue<Distribution> {
  static Result<Distribution> decode(std::span<const std::byte> bytes) {
    std::uint32_t count = 0;
    if (bytes.size() >= 4) std::memcpy(&count, bytes.data(), 4);
    if (count == 0 || bytes.size() != 4 + std::size_t{count} * 8) {
      return Error{ErrorCode::Internal, "get_next_dist gave " + std::to_string(bytes.size()) +
                                            " bytes for " + std::to_string(count) + " tokens"};
    }
    Distribution out{std::vector<std::uint32_t>(count), std::vector<float>(count)};
    std::memcpy(out.tokens.data(), bytes.data() + 4, std::size_t{count} * 4);
    std::memcpy(out.probabilities.data(), bytes.data() + 4 + std::size_t{count} * 4,
                std::size_t{count} * 4);
    return out;
  }
};

// One for each embed of a list.
struct Distributions {
  std::vector<Distribution> all;
};
template <>
struct FutureValue<Distributions> {
  static Result<Distributions> decode(std::span<const std::byte> bytes) {
    Distributions out;
    while (!bytes.empty()) {
      std::uint32_t count = 0;
      if (bytes.size() >= 4) std::memcpy(&count, bytes.data(), 4);
      const std::size_t one = 4 + std::size_t{count} * 8;
      out.all.push_back(
          TRY(FutureValue<Distribution>::decode(bytes.first(std::min(one, bytes.size())))));
      bytes = bytes.subspan(std::min(one, bytes.size()));
    }
    return out;
  }
};

namespace detail {

using AllocateCall = std::int32_t (*)(std::int32_t, std::uint32_t, void*);
using DeallocateCall = std::int32_t (*)(std::int32_t, const std::int32_t*, std::uint32_t);

// Handles of one kind, allocated and given back through one queue.
template <AllocateCall kAllocate, DeallocateCall kDeallocate>
class HandleList {
 public:
  // `count` of them or none.
  static Result<HandleList> allocate(const Queue& queue, std::uint32_t count) {
    HandleList out;
    out.queue_ = queue;
    TRY(out.grow(count));
    return out;
  }
  // Takes handles that another call gave.
  static HandleList adopt(Queue queue, std::vector<std::int32_t> handles) {
    HandleList out;
    out.queue_ = std::move(queue);
    out.handles_ = std::move(handles);
    return out;
  }
  HandleList() = default;
  HandleList(HandleList&& other) noexcept
      : queue_(std::move(other.queue_)), handles_(std::exchange(other.handles_, {})) {}
  HandleList& operator=(HandleList&& other) noexcept {
    if (this != &other) {
      release();
      queue_ = std::move(other.queue_);
      handles_ = std::exchange(other.handles_, {});
    }
    return *this;
  }
  ~HandleList() { release(); }

  // `count` more at the end, or none.
  Result<void> grow(std::uint32_t count) {
    std::vector<std::int32_t> fresh(count);
    TRY(checked(kAllocate(queue_.handle(), count, fresh.data())));
    handles_.insert(handles_.end(), fresh.begin(), fresh.end());
    return {};
  }

  // Gives back all after the first `count`.
  void shrink(std::uint32_t count) {
    if (count >= handles_.size()) return;
    kDeallocate(queue_.handle(), handles_.data() + count, count_of(handles_.size() - count));
    handles_.resize(count);
  }

  const std::vector<std::int32_t>& handles() const QUIRE_LIFETIME_BOUND { return handles_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(handles_.size()); }
  std::int32_t operator[](std::size_t index) const { return handles_[index]; }

 private:
  void release() { shrink(0); }

  Queue queue_;
  std::vector<std::int32_t> handles_;
};

}  // namespace detail

using KvPages = detail::HandleList<&abi::allocate::alloc_kvpage, &abi::allocate::dealloc_kvpage>;
using Embeds = detail::HandleList<&abi::allocate::alloc_emb, &abi::allocate::dealloc_emb>;

// embeds[i] becomes the embedding of tokens[i] at positions[i].
inline Result<void> embed_txt(const Queue& queue, std::span<const std::int32_t> embeds,
                              std::span<const std::uint32_t> tokens,
                              std::span<const std::uint32_t> positions) {
  return checked_empty(abi::input::embed_txt(
      queue.handle(), embeds.data(), detail::count_of(embeds.size()), tokens.data(),
      detail::count_of(tokens.size()), positions.data(), detail::count_of(positions.size())));
}

// See interface/forward.wit for the meaning of each list.
struct ForwardArguments {
  std::span<const std::int32_t> input_pages = {};    // ikv; 0 is a hole.
  std::span<const std::int32_t> input_embeds = {};   // iemb.
  std::span<const std::int32_t> output_pages = {};   // okv.
  std::span<const std::int32_t> output_embeds = {};  // oemb.
  std::span<const std::uint8_t> mask = {};           // Empty: the rule of positions.
  bool beyond_context = false;
};
inline Future<void> forward(const Queue& queue, const ForwardArguments& arguments) {
  using detail::count_of;
  return Future<void>(abi::forward::forward(
      queue.handle(), arguments.input_pages.data(), count_of(arguments.input_pages.size()),
      arguments.input_embeds.data(), count_of(arguments.input_embeds.size()),
      arguments.output_pages.data(), count_of(arguments.output_pages.size()),
      arguments.output_embeds.data(), count_of(arguments.output_embeds.size()),
      arguments.mask.data(), count_of(arguments.mask.size()), arguments.beyond_context ? 1u : 0u));
}

// embed_txt and forward: `tokens` at the positions from `first_position` on are the input. The
// embeddings that this takes are free after the pass.
inline Result<Future<void>> forward_tokens(const Queue& queue,
                                           std::span<const std::uint32_t> tokens,
                                           std::uint32_t first_position,
                                           ForwardArguments arguments) {
  const Embeds embeds = TRY(Embeds::allocate(queue, detail::count_of(tokens.size())));
  std::vector<std::uint32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), first_position);
  TRY(embed_txt(queue, embeds.handles(), tokens, positions));
  arguments.input_embeds = embeds.handles();
  return forward(queue, arguments);
}

// This program's view of a page: one byte for each slot, 0 = left out from now on.
inline Result<void> mask_kvpage(const Queue& queue, std::int32_t page,
                                std::span<const std::uint8_t> visible) {
  return checked_empty(abi::forward::mask_kvpage(queue.handle(), page, visible.data(),
                                                 detail::count_of(visible.size())));
}

// The next-token distribution at an output embedding, cut to the `top_k` largest (0: 256).
inline Future<Distribution> get_next_dist(const Queue& queue, std::int32_t embed,
                                          std::uint32_t top_k = 0) {
  return Future<Distribution>(abi::output::get_next_dist(queue.handle(), embed, top_k));
}

// The same for a list of embeds in one read, over the tokens of `mask` alone (empty: all of them).
// Bit i % 32 of word i / 32 is token i, with words for the whole vocabulary.
inline Future<Distributions> get_next_dists(const Queue& queue,
                                            std::span<const std::int32_t> embeds,
                                            std::span<const std::uint32_t> mask = {},
                                            std::uint32_t top_k = 0) {
  return Future<Distributions>(
      abi::output::get_next_dists(queue.handle(), embeds.data(), detail::count_of(embeds.size()),
                                  mask.data(), detail::count_of(mask.size()), top_k));
}

}  // namespace quire
