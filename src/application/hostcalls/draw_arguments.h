#pragma once
// The arguments that calls of interface draw have in common, read and checked: the rule, the tokens
// that may come, and random numbers. Calls of interface output take some of them too.
#include <cstdint>
#include <vector>

#include "application/hostcalls/host_call.h"

namespace quire::hostcalls {

// Flags of interface/draw.wit.
inline constexpr std::uint32_t kQueuesToken = 1;
inline constexpr std::uint32_t kForcesNone = 2;
inline constexpr std::uint32_t kCountsDrafts = 4;         // Of verify alone.
inline constexpr std::uint32_t kDrawEmbedCountMax = 256;  // Embeds of one read.
inline constexpr std::uint32_t kStopTokenCountMax = 1024;

// InvalidArgument names the bits beyond `known`.
Result<void> check_draw_flags(std::uint32_t flags, std::uint32_t known);

// In [0, 1). `what` names the number.
Result<void> check_random(double random, const std::string& what);
Result<std::vector<double>> read_randoms(const HostCall& call, GuestList<double> list,
                                         std::uint64_t count, const char* count_of);

// Null for an empty list. InvalidArgument: not the words of the vocabulary, no token, or a bit beyond
// the vocabulary.
Result<control::TokenMask> read_mask(const HostCall& call, GuestList<std::uint32_t> list,
                                     const ModelView& model);

// 1 to kDrawEmbedCountMax embeds; the same one may be named twice.
Result<std::vector<control::ObjectId>> read_embeds(const HostCall& call,
                                                   GuestList<std::int32_t> list,
                                                   const ModelView& model);

Result<std::vector<std::uint32_t>> read_stop_tokens(const HostCall& call,
                                                    GuestList<std::uint32_t> list,
                                                    const ModelView& model);

// The guest's lists of how to draw tokens.
struct DrawLists {
  GuestHandle rule{};
  GuestList<std::int32_t> matchers;
  GuestList<std::uint32_t> mask;
  std::uint32_t top_count = 0;
  std::uint32_t flags = 0;
  std::vector<std::uint32_t> stop_tokens = {};  // Count where there are matchers.
};
// Everything in it is of `model`, and nothing uses the matchers.
Result<control::DrawSpec> read_draw(const HostCall& call, const ModelView& model, DrawLists given);

// Bytes of arguments that the command keeps.
std::uint64_t argument_bytes(const control::DrawSpec& draw);

}  // namespace quire::hostcalls
