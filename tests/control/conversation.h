#pragma once
// Programs that generate, many at once, on a Harness.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/harness.h"

namespace quire::control {

// A program that generates: a prompt, then a token at a time, the most probable each.
struct Conversation {
  InstanceId guest{};
  ObjectId queue{};
  ObjectId context{};
  std::vector<ObjectId> output;
  FutureId next{};
  std::vector<std::uint32_t> tokens;
  std::uint32_t left = 0;
  std::string error;
};

inline Conversation begin(Harness& harness, std::uint32_t seed, std::uint32_t prompt,
                          std::uint32_t count) {
  Conversation talk;
  talk.guest = harness.start();
  talk.queue = harness.queue(talk.guest);
  talk.context = harness.context(talk.guest, talk.queue);
  talk.output = harness.embeds(talk.guest, talk.queue, 1);
  talk.left = count;
  harness.send(talk.guest, ContextAppend{talk.context, count_tokens(prompt, seed)}, false);
  return talk;
}

inline void ask(Harness& harness, Conversation& talk) {
  harness.send(talk.guest, ContextForward{talk.context, talk.output}, false);
  talk.next = harness.send(talk.guest, GetNextDist{talk.queue, talk.output[0], 4});
}

struct ConverseOptions {
  std::function<void()> after_each = [] {};         // Every step.
  std::optional<ErrorCode> allowed = std::nullopt;  // Any other error is a failure.
  bool ends = true;                                 // The instance, with its last token.
};

// All at once, each going on as soon as it has its token. Returns how many batches ran.
inline int converse(Harness& harness, std::vector<Conversation>& talks,
                    const ConverseOptions& options = {}) {
  int batches = 0;
  for (Conversation& talk : talks) ask(harness, talk);
  bool goes_on = true;
  for (int step = 0; goes_on; ++step) {
    if (step == 20'000) {
      ADD_FAILURE() << "it never ends";
      break;
    }
    goes_on = false;
    batches += harness.step();
    options.after_each();
    for (Conversation& talk : talks) {
      if (talk.left == 0) continue;
      goes_on = true;
      if (!harness.has(talk.guest, talk.next)) continue;
      if (harness.error(talk.guest, talk.next)) {
        talk.error = harness.message(talk.guest, talk.next);
        if (harness.error(talk.guest, talk.next) != options.allowed) ADD_FAILURE() << talk.error;
        talk.left = 0;
        continue;
      }
      const auto token = harness.get<NextDistribution>(talk.guest, talk.next).tokens.front();
      talk.tokens.push_back(token);
      harness.send(talk.guest, ContextAppend{talk.context, {token}}, false);
      if (--talk.left > 0) {
        ask(harness, talk);
      } else if (options.ends) {
        harness.controller->end_instance(talk.guest);
      }
    }
  }
  return batches;
}

}  // namespace quire::control
