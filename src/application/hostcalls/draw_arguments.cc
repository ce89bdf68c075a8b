#include "application/hostcalls/draw_arguments.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kMatcherCountMax = 8;
constexpr std::uint32_t kTopCountMax = 64;
constexpr std::uint32_t kWordBits = 32;

Error invalid_draw(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

// A matcher of the list: of the model, and used by nothing.
Result<void> check_matcher(const HostCall& call, GuestHandle matcher, const ModelView& model) {
  const HandleTable::Entry entry = TRY(call.guest.draws.find_matcher(matcher));
  if (entry.model == static_cast<std::uint32_t>(model.index)) return {};
  return invalid_draw("matcher " + std::to_string(static_cast<std::int32_t>(matcher)) +
                      " is of another model than what is drawn from");
}

Result<std::vector<control::ObjectId>> read_matchers(const HostCall& call,
                                                     GuestList<std::int32_t> list,
                                                     const ModelView& model) {
  if (list.count > kMatcherCountMax) {
    return invalid_draw("matchers: " + std::to_string(list.count) + " in one draw; at most " +
                        std::to_string(kMatcherCountMax) + " are allowed");
  }
  const std::vector<std::int32_t> numbers = TRY(call.memory.read(list, "matchers"));
  std::vector<control::ObjectId> matchers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string place = "matchers[" + std::to_string(i) + "]";
    const GuestHandle handle{numbers[i]};
    Result<void> checked = check_matcher(call, handle, model);
    if (!checked.ok()) return std::move(checked).take_error().while_(place);
    if (std::find(matchers.begin(), matchers.end(), object(handle)) != matchers.end()) {
      return invalid_draw(place + ": the list names matcher " + std::to_string(numbers[i]) +
                          " twice");
    }
    matchers.push_back(object(handle));
  }
  return matchers;
}

Result<DrawTable::SharedRule> find_rule(const HostCall& call, GuestHandle rule,
                                        const ModelView& model) {
  const HandleTable::Entry entry = TRY(call.guest.handles.find(rule, HandleKind::Rule));
  if (entry.model != static_cast<std::uint32_t>(model.index)) {
    return invalid_draw("rule " + std::to_string(static_cast<std::int32_t>(rule)) +
                        " is of another model than what is drawn from");
  }
  return call.guest.draws.rule(rule);
}

}  // namespace

Result<void> check_draw_flags(std::uint32_t flags, std::uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return invalid_draw("flags: " + std::to_string(flags) + " has bits other than " +
                      std::to_string(known));
}

Result<void> check_random(double random, const std::string& what) {
  if (random >= 0.0 && random < 1.0) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", random);
  return invalid_draw(what + " must be from 0 up to, not including, 1, not " + text);
}

Result<std::vector<double>> read_randoms(const HostCall& call, GuestList<double> list,
                                         std::uint64_t count, const char* count_of) {
  if (list.count != count) {
    return invalid_draw("randoms: " + std::to_string(list.count) + " numbers given, " +
                        std::to_string(count) + " are needed: " + count_of);
  }
  std::vector<double> randoms = TRY(call.memory.read(list, "randoms"));
  for (std::size_t i = 0; i < randoms.size(); ++i) {
    TRY(check_random(randoms[i], "randoms[" + std::to_string(i) + "]"));
  }
  return randoms;
}

Result<control::TokenMask> read_mask(const HostCall& call, GuestList<std::uint32_t> list,
                                     const ModelView& model) {
  if (list.count == 0) return control::TokenMask();
  const std::uint32_t token_count = model.description.vocabulary_size;
  const std::uint32_t word_count = (token_count + kWordBits - 1) / kWordBits;
  if (list.count != word_count) {
    return invalid_draw("mask: " + std::to_string(list.count) + " words given; the vocabulary of " +
                        std::to_string(token_count) + " tokens needs " +
                        std::to_string(word_count) + ", or none");
  }
  std::vector<std::uint32_t> words = TRY(call.memory.read(list, "mask"));
  const std::uint32_t last_bits = token_count - (word_count - 1) * kWordBits;
  const std::uint32_t last_mask = last_bits == kWordBits ? ~0u : (1u << last_bits) - 1;
  if ((words.back() & ~last_mask) != 0) {
    return invalid_draw("mask: the final 32-bit word allows tokens beyond the vocabulary of " +
                        std::to_string(token_count) + "; its bits from " +
                        std::to_string(last_bits) + " on must be 0");
  }
  const bool allows_any =
      std::any_of(words.begin(), words.end(), [](std::uint32_t word) { return word != 0; });
  if (!allows_any) {
    return invalid_draw("mask: it allows none of the " + std::to_string(token_count) + " tokens");
  }
  return control::TokenMask(std::make_shared<const std::vector<std::uint32_t>>(std::move(words)));
}

Result<std::vector<control::ObjectId>> read_embeds(const HostCall& call,
                                                   GuestList<std::int32_t> list,
                                                   const ModelView& model) {
  if (list.count == 0) {
    return invalid_draw("embeds: the list is empty; one read is of 1 to " +
                        std::to_string(kDrawEmbedCountMax));
  }
  if (list.count > kDrawEmbedCountMax) {
    return Error(ErrorCode::TooLarge, "embeds: " + std::to_string(list.count) +
                                          " in one read; at most " +
                                          std::to_string(kDrawEmbedCountMax) + " are allowed");
  }
  return find_objects(call, list, HandleKind::Embed, model, "embeds");
}

Result<std::vector<std::uint32_t>> read_stop_tokens(const HostCall& call,
                                                    GuestList<std::uint32_t> list,
                                                    const ModelView& model) {
  if (list.count > kStopTokenCountMax) {
    return Error(ErrorCode::TooLarge, std::to_string(list.count) + " stop tokens; at most " +
                                          std::to_string(kStopTokenCountMax) + " are allowed");
  }
  std::vector<std::uint32_t> tokens = TRY(call.memory.read(list, "stop_tokens"));
  TRY(check_tokens(tokens, model));
  return tokens;
}

Result<control::DrawSpec> read_draw(const HostCall& call, const ModelView& model, DrawLists given) {
  control::DrawSpec draw{.rule = TRY(find_rule(call, given.rule, model)), .more = nullptr};
  control::DrawExtras extras;
  extras.matchers = TRY(read_matchers(call, given.matchers, model));
  extras.mask = TRY(read_mask(call, given.mask, model));
  if (given.top_count > kTopCountMax) {
    return invalid_draw("top_count: " + std::to_string(given.top_count) + " is more than " +
                        std::to_string(kTopCountMax));
  }
  extras.top_count = std::min(given.top_count, model.description.vocabulary_size);
  extras.forces_tokens = (given.flags & kForcesNone) == 0;
  if (!extras.matchers.empty()) extras.stop_tokens = std::move(given.stop_tokens);
  const bool is_needed = !extras.matchers.empty() || extras.mask != nullptr ||
                         extras.top_count > 0 || !extras.forces_tokens;
  if (is_needed) draw.more = std::make_shared<const control::DrawExtras>(std::move(extras));
  return draw;
}

std::uint64_t argument_bytes(const control::DrawSpec& draw) {
  if (draw.more == nullptr) return 0;
  const std::uint64_t word_count = draw.more->mask == nullptr ? 0 : draw.more->mask->size();
  return draw.more->matchers.size() * sizeof(control::ObjectId) +
         word_count * sizeof(std::uint32_t);
}

}  // namespace quire::hostcalls
