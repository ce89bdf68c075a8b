// How the fake host draws: as the host does, with the arithmetic of draw_arithmetic.h, from the
// distributions that the test gives, over the tokens that the test's grammar allows.
#include <algorithm>
#include <cstring>
#include <span>

#include "fake_host.h"
#include "quire/draw_arithmetic.h"

namespace quire::abi {
namespace {

using test::host;
using Tokens = std::vector<std::uint32_t>;

std::int32_t unknown(const char* what) {
  return host.refuse(ErrorCode::NotFound, std::string("no such ") + what);
}

// As the tests need it: numbers alone.
DrawRule parse_rule(const std::uint8_t* options, std::uint32_t bytes) {
  DrawRule rule;
  for (std::uint32_t at = 0; at + 8 <= bytes;) {
    std::uint32_t head[2];
    std::memcpy(head, options + at, sizeof head);
    for (const DrawNumber& each : kDrawNumbers) {
      if (static_cast<std::uint32_t>(each.key) == head[0]) {
        std::memcpy(&(rule.*each.field), options + at + 8, sizeof(double));
      }
    }
    for (const DrawCount& each : kDrawCounts) {
      if (static_cast<std::uint32_t>(each.key) == head[0]) {
        std::memcpy(&(rule.*each.field), options + at + 8, sizeof(std::uint32_t));
      }
    }
    at += 8 + head[1];
  }
  return rule;
}

bool is_allowed(const test::FakeHost::Matcher& matcher, std::uint32_t token) {
  const Tokens allowed = host.allowed(matcher.source, matcher.accepted);
  return std::find(allowed.begin(), allowed.end(), token) != allowed.end();
}

struct Drawn {
  std::uint32_t end = 0;
  std::uint32_t token = 0;
  std::string record;
  bool is_forced = false;
};

Drawn drawn_after(const Tokens& tokens, const DrawRule& rule,
                  std::span<const std::int32_t> matchers, double random, bool forces,
                  std::uint32_t top_count, std::span<const std::uint32_t> mask = {}) {
  const auto pairs = host.next(tokens);
  Drawn drawn;
  for (const std::int32_t each : matchers) {
    const test::FakeHost::Matcher& matcher = host.matchers.at(each);
    const Tokens allowed = host.allowed(matcher.source, matcher.accepted);
    if (allowed.empty()) drawn.end = 4;
    drawn.is_forced = forces && matchers.size() == 1 && allowed.size() == 1;
  }
  if (drawn.end != 0) return drawn;
  Tokens candidates;
  std::vector<float> probabilities;
  for (const auto& [token, probability] : pairs) {
    const bool may_come = std::all_of(matchers.begin(), matchers.end(), [&](std::int32_t each) {
      return is_allowed(host.matchers.at(each), token);
    });
    if (!may_come) continue;
    if (!mask.empty() && (mask[token / 32] >> (token % 32) & 1) == 0) continue;
    candidates.push_back(token);
    probabilities.push_back(probability);
  }
  if (candidates.empty()) {
    drawn.end = 5;
    return drawn;
  }
  DrawScratch scratch;
  const std::size_t index =
      drawn.is_forced ? 0 : sampling::draw_index(probabilities, rule, random, scratch);
  drawn.token = candidates[index];
  const std::uint32_t rest[2] = {
      drawn.is_forced ? 1u : 0u,
      std::min<std::uint32_t>(top_count, static_cast<std::uint32_t>(pairs.size()))};
  drawn.record.append(reinterpret_cast<const char*>(&drawn.token), 4);
  drawn.record.append(reinterpret_cast<const char*>(&probabilities[index]), 4);
  drawn.record.append(reinterpret_cast<const char*>(rest), sizeof rest);
  for (std::uint32_t each = 0; each < rest[1]; ++each) {
    drawn.record.append(reinterpret_cast<const char*>(&pairs[each].first), 4);
    drawn.record.append(reinterpret_cast<const char*>(&pairs[each].second), 4);
  }
  return drawn;
}

std::string record_of(std::uint32_t end, std::uint32_t count, const std::string& draws) {
  const std::uint32_t head[2] = {end, count};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + draws;
}

void advance_all(std::span<const std::int32_t> matchers, std::uint32_t token) {
  for (const std::int32_t each : matchers) host.matchers.at(each).accepted.push_back(token);
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
  const DrawRule& rule = loop.rule;
  if (!is_greedy(rule) && loop.next_random < 0.0) loop.next_random = loop.random.uniform();
  const Drawn drawn = drawn_after(held.computed, rule, loop.matchers,
                                  std::max(loop.next_random, 0.0), loop.forces, loop.top_count);
  if (drawn.end != 0) {
    loop.end = drawn.end;
    return true;
  }
  if (!drawn.is_forced) loop.next_random = -1.0;
  loop.untaken.push_back(drawn.record);
  held.queued.push_back(drawn.token);
  advance_all(loop.matchers, drawn.token);
  loop.count += 1;
  if (std::find(loop.stops.begin(), loop.stops.end(), drawn.token) != loop.stops.end()) {
    loop.end = 1;
  } else if (loop.count == loop.count_max || length + 1 > host.context_length) {
    loop.end = 2;
  }
  return true;
}

}  // namespace

namespace draw {

std::int32_t create_rule(std::int32_t, const std::uint8_t* options, std::uint32_t bytes) {
  const DrawRule rule = parse_rule(options, bytes);
  if (const auto wrong = sampling::out_of_range(rule)) {
    return host.refuse(ErrorCode::InvalidArgument,
                       std::string(wrong->name) + " must be " + wrong->range + ", not " +
                           std::to_string(static_cast<int>(wrong->value)));
  }
  const std::int32_t handle = host.new_handle("rule");
  host.rules[handle] = rule;
  return handle;
}

std::int32_t verify(std::int32_t context, std::int32_t rule, const std::int32_t* matcher_list,
                    std::uint32_t matcher_count, const std::uint32_t* mask,
                    std::uint32_t mask_words, const std::uint32_t* drafts,
                    std::uint32_t draft_count, const double* randoms, std::uint32_t,
                    std::uint32_t top_count, std::uint32_t flags) {
  if (!host.contexts.contains(context)) return unknown("context");
  if (!host.rules.contains(rule)) return unknown("rule");
  const std::span matchers(matcher_list, matcher_count);
  auto& held = host.contexts[context];
  if (const auto failed = test::compute(held)) return *failed;
  // Drafts that the context has no room for are not looked at.
  draft_count = std::min<std::uint32_t>(draft_count, host.context_length - held.computed.size());
  std::string draws;
  std::uint32_t count = 0;
  std::uint32_t used = 0;
  for (std::uint32_t place = 0; place <= draft_count; ++place) {
    const Drawn drawn = drawn_after(held.computed, host.rules[rule], matchers, randoms[used],
                                    (flags & 2) == 0, top_count, {mask, mask_words});
    if (drawn.end != 0) return host.ready_future(record_of(drawn.end, count, draws));
    const std::size_t first = draws.size();
    draws += drawn.record;
    // A record states on demand how many drafts were computed.
    if (count == 0 && (flags & 4) != 0) draws[first + 9] = static_cast<char>(draft_count);
    ++count;
    used += drawn.is_forced ? 0 : 1;
    const bool stands = place < draft_count && drafts[place] == drawn.token;
    if (stands || (flags & 1) != 0) advance_all(matchers, drawn.token);
    if (!stands) {
      if ((flags & 1) != 0) held.queued.push_back(drawn.token);
      break;
    }
    held.computed.push_back(drawn.token);
  }
  return host.ready_future(record_of(0, count, draws));
}
std::int32_t forward_draw(std::int32_t context, std::int32_t rule, const std::int32_t* matchers,
                          std::uint32_t matcher_count, const std::uint32_t* mask,
                          std::uint32_t mask_words, double random, std::uint32_t top_count,
                          std::uint32_t flags) {
  return verify(context, rule, matchers, matcher_count, mask, mask_words, nullptr, 0, &random, 1,
                top_count, flags);
}
std::int32_t draw_tokens(std::int32_t, const std::int32_t* embeds, std::uint32_t embed_count,
                         std::int32_t rule, const std::int32_t* matchers,
                         std::uint32_t matcher_count, const std::uint32_t*, std::uint32_t,
                         const double* randoms, std::uint32_t, std::uint32_t top_count) {
  std::string draws;
  for (std::uint32_t each = 0; each < embed_count; ++each) {
    const auto seen = host.embed_texts.find(embeds[each]);
    if (seen == host.embed_texts.end()) return unknown("output");
    draws += drawn_after(seen->second, host.rules[rule], std::span(matchers, matcher_count),
                         randoms[each], true, top_count)
                 .record;
  }
  return host.ready_future(record_of(0, embed_count, draws));
}
std::int32_t generate(std::int32_t context, std::int32_t rule, const std::int32_t* matchers,
                      std::uint32_t matcher_count, std::uint64_t seed,
                      std::uint32_t token_count_max, const std::uint32_t* stops,
                      std::uint32_t stop_count, std::uint32_t top_count, std::uint32_t flags) {
  if (!host.contexts.contains(context)) return unknown("context");
  if (host.loops.size() >= host.loop_count_max) {
    return host.refuse(ErrorCode::QuotaExceeded, "as many generations as there may be");
  }
  const std::int32_t handle = host.new_handle("generation");
  host.loops[handle] = {.context = context,
                        .rule = host.rules[rule],
                        .random = sampling::Random(seed),
                        .matchers = {matchers, matchers + matcher_count},
                        .top_count = top_count,
                        .forces = (flags & 2) == 0,
                        .count_max = token_count_max,
                        .stops = {stops, stops + stop_count}};
  return handle;
}
std::int32_t next_draws(std::int32_t generation, std::uint32_t count_min) {
  const auto found = host.loops.find(generation);
  if (found == host.loops.end()) return unknown("generation");
  auto& loop = found->second;
  const std::uint32_t wanted = std::max(count_min, 1u) + host.run_ahead;
  while (loop.end == 0 && loop.untaken.size() < wanted) {
    if (step(loop)) continue;
    if (!loop.untaken.empty()) break;
    return host.made().back();  // The future of the step that failed.
  }
  // The part that the program gets now; the rest is drawn already, and queued.
  std::size_t given = loop.untaken.size();
  if (loop.end == 0) given -= std::min<std::size_t>(given, host.run_ahead);
  std::string draws;
  for (std::size_t each = 0; each < given; ++each) {
    draws += loop.untaken.front();
    loop.untaken.pop_front();
  }
  return host.ready_future(record_of(loop.end, static_cast<std::uint32_t>(given), draws));
}
std::int32_t stop_generation(std::int32_t generation) {
  const auto found = host.loops.find(generation);
  if (found == host.loops.end()) return unknown("generation");
  if (found->second.end == 0) found->second.end = 3;
  return host.ready_future("");
}

}  // namespace draw

namespace constraint {
namespace {

std::string words_of(const Tokens& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

}  // namespace

std::int32_t compile_grammar(std::int32_t, std::uint32_t, const std::uint8_t* source,
                             std::uint32_t bytes) {
  if (!host.allowed) {
    return host.refuse(ErrorCode::NotSupported, "model fake lacks the trait constraint");
  }
  const std::int32_t handle = host.new_handle("grammar");
  host.grammars[handle] = std::string(reinterpret_cast<const char*>(source), bytes);
  return host.ready_future(words_of({static_cast<std::uint32_t>(handle)}));
}
// A grammar of the fake has one whole text, which is its source.
std::int32_t fits(std::int32_t grammar, const std::uint8_t* text, std::uint32_t bytes) {
  if (!host.grammars.contains(grammar)) return unknown("grammar");
  const std::string_view asked(reinterpret_cast<const char*>(text), bytes);
  if (asked.size() > 100) return test::failed_future(ErrorCode::TooLarge, "over 100 bytes");
  return host.ready_future(words_of({asked == host.grammars[grammar] ? 1u : 0u}));
}
std::int32_t create_matcher(std::int32_t grammar) {
  if (!host.grammars.contains(grammar)) return unknown("grammar");
  const std::int32_t handle = host.new_handle("matcher");
  host.matchers[handle] = {.source = host.grammars[grammar], .accepted = {}};
  return handle;
}
std::int32_t fork_matcher(std::int32_t matcher) {
  if (!host.matchers.contains(matcher)) return unknown("matcher");
  const std::int32_t handle = host.new_handle("matcher");
  host.matchers[handle] = host.matchers[matcher];
  return handle;
}
std::int32_t token_mask(std::int32_t matcher) {
  if (!host.matchers.contains(matcher)) return unknown("matcher");
  const auto& held = host.matchers[matcher];
  Tokens words(8, 0);
  for (const std::uint32_t token : host.allowed(held.source, held.accepted)) {
    words.at(token / 32) |= 1u << (token % 32);
  }
  return host.ready_future(words_of(words));
}
std::int32_t accept_tokens(std::int32_t matcher, const std::uint32_t* tokens, std::uint32_t count) {
  if (!host.matchers.contains(matcher)) return unknown("matcher");
  auto& held = host.matchers[matcher];
  const Tokens before = held.accepted;
  for (const std::uint32_t token : std::span(tokens, count)) {
    if (!is_allowed(held, token)) {
      held.accepted = before;
      return test::failed_future(ErrorCode::InvalidArgument, "the token may not come");
    }
    held.accepted.push_back(token);
  }
  return host.ready_future(words_of({host.allowed(held.source, held.accepted).empty() ? 1u : 0u}));
}
std::int32_t roll_back(std::int32_t matcher, std::uint32_t count) {
  if (!host.matchers.contains(matcher)) return unknown("matcher");
  auto& accepted = host.matchers[matcher].accepted;
  if (count > accepted.size()) {
    return test::failed_future(ErrorCode::OutOfRange, "fewer were accepted");
  }
  accepted.resize(accepted.size() - count);
  return host.ready_future("");
}
std::int32_t forced_tokens(std::int32_t matcher, std::uint32_t count_max) {
  if (!host.matchers.contains(matcher)) return unknown("matcher");
  const auto& held = host.matchers[matcher];
  Tokens accepted = held.accepted;
  Tokens forced;
  while (forced.size() < count_max) {
    const Tokens allowed = host.allowed(held.source, accepted);
    if (allowed.size() != 1) break;
    forced.push_back(allowed.front());
    accepted.push_back(allowed.front());
  }
  return host.ready_future(words_of(forced));
}

}  // namespace constraint
}  // namespace quire::abi
