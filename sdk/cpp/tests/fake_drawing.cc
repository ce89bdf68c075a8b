// How the fake host draws: as the host does, with the arithmetic of sampling.h.
#include <algorithm>
#include <cstring>

#include "fake_host.h"

namespace quire::abi {
namespace {

using test::host;

std::int32_t unknown(const char* what) {
  return host.refuse(ErrorCode::NotFound, std::string("no such ") + what);
}

// What follows `tokens`: u32 token, f32 probability.
std::string draw(const std::vector<std::uint32_t>& tokens, const SamplerOptions& options,
                 double random, std::uint32_t* token = nullptr) {
  auto pairs = host.next(tokens);
  std::vector<float> probabilities;
  for (const auto& [each, probability] : pairs) probabilities.push_back(probability);
  std::vector<double> weights;
  const auto& drawn = pairs[sampling::is_greedy(options)
                                ? 0
                                : sampling::draw_index(probabilities, options, random, weights)];
  if (token != nullptr) *token = drawn.first;
  std::string record(8, ' ');
  std::memcpy(record.data(), &drawn.first, 4);
  std::memcpy(record.data() + 4, &drawn.second, 4);
  return record;
}

// Draws the next token of a loop; false when that failed.
bool step(test::FakeHost::Loop& loop) {
  auto& held = host.contexts.at(loop.context);
  const std::size_t length = held.computed.size() + held.queued.size();
  if (length > host.context_length && loop.count > 0) {
    loop.end = 2;
    return true;
  }
  if (test::compute(held)) return false;
  std::uint32_t token = 0;
  const double random = loop.options.temperature == 0 ? 0.0 : loop.random.uniform();
  loop.untaken += draw(held.computed, loop.options, random, &token);
  held.queued.push_back(token);
  loop.count += 1;
  if (std::find(loop.stops.begin(), loop.stops.end(), token) != loop.stops.end()) {
    loop.end = 1;
  } else if (loop.count == loop.count_max || length + 1 > host.context_length) {
    loop.end = 2;
  }
  return true;
}

}  // namespace

namespace sample {

std::int32_t forward_sample(std::int32_t context, double temperature, std::uint32_t top_k,
                            double top_p, double min_p, double random, std::uint32_t flags) {
  if (!host.contexts.contains(context)) return unknown("context");
  auto& held = host.contexts[context];
  if (const auto failed = test::compute(held)) return *failed;
  std::uint32_t token = 0;
  const std::string drawn = draw(
      held.computed, {.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p},
      random, &token);
  if ((flags & 1) != 0) held.queued.push_back(token);
  return host.ready_future(drawn);
}
std::int32_t draw_token(std::int32_t, std::int32_t embed, double temperature, std::uint32_t top_k,
                        double top_p, double min_p, double random) {
  const auto seen = host.embed_texts.find(embed);
  if (seen == host.embed_texts.end()) return unknown("output");
  return host.ready_future(
      draw(seen->second,
           {.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p}, random));
}
std::int32_t generate(std::int32_t context, double temperature, std::uint32_t top_k, double top_p,
                      double min_p, std::uint64_t seed, std::uint32_t token_count_max,
                      const std::uint32_t* stops, std::uint32_t stop_count) {
  if (!host.contexts.contains(context)) return unknown("context");
  if (host.loops.size() >= host.loop_count_max) {
    return host.refuse(ErrorCode::QuotaExceeded, "as many generations as there may be");
  }
  const std::int32_t handle = host.new_handle("generation");
  host.loops[handle] = {.context = context,
                        .options = {.temperature = temperature,
                                    .top_k = top_k,
                                    .top_p = top_p,
                                    .min_p = min_p,
                                    .seed = seed},
                        .random = sampling::Random(seed),
                        .count_max = token_count_max,
                        .stops = {stops, stops + stop_count}};
  return handle;
}
std::int32_t next_tokens(std::int32_t generation, std::uint32_t count_min) {
  const auto found = host.loops.find(generation);
  if (found == host.loops.end()) return unknown("generation");
  auto& loop = found->second;
  const std::uint32_t wanted = std::max(count_min, 1u) + host.run_ahead;
  while (loop.end == 0 && loop.untaken.size() / 8 < wanted) {
    if (step(loop)) continue;
    if (!loop.untaken.empty()) break;
    return host.made().back();  // The future of the step that failed.
  }
  // What the program gets now; the rest is drawn already, and queued.
  std::size_t given = loop.untaken.size() / 8;
  if (loop.end == 0) given -= host.run_ahead;
  const std::uint32_t head[2] = {loop.end, static_cast<std::uint32_t>(given)};
  std::string record(reinterpret_cast<const char*>(head), sizeof head);
  record += loop.untaken.substr(0, given * 8);
  loop.untaken.erase(0, given * 8);
  return host.ready_future(record);
}
std::int32_t stop_generation(std::int32_t generation) {
  const auto found = host.loops.find(generation);
  if (found == host.loops.end()) return unknown("generation");
  if (found->second.end == 0) found->second.end = 3;
  return host.ready_future("");
}

}  // namespace sample
}  // namespace quire::abi
