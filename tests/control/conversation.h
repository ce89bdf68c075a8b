#pragma once
// Programs that generate, many at once, on a Harness.
#include <gtest/gtest.h>

#include <functional>
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
  bool has_failed = false;
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

// All at once, each going on as soon as it has its token, and ending with its last. Returns how
// many batches ran; `after_each` is called behind every step.
inline int converse(
    Harness& harness, std::vector<Conversation>& talks,
    const std::function<void()>& after_each = [] {}) {
  int batches = 0;
  for (Conversation& talk : talks) ask(harness, talk);
  for (bool goes_on = true; goes_on && batches < 100'000;) {
    goes_on = false;
    batches += harness.step();
    after_each();
    for (Conversation& talk : talks) {
      if (talk.left == 0) continue;
      goes_on = true;
      if (!harness.has(talk.guest, talk.next)) continue;
      if (harness.error(talk.guest, talk.next)) {
        ADD_FAILURE() << harness.message(talk.guest, talk.next);
        talk.has_failed = true;
        talk.left = 0;
        continue;
      }
      const auto token = harness.get<NextDistribution>(talk.guest, talk.next).tokens.front();
      talk.tokens.push_back(token);
      harness.send(talk.guest, ContextAppend{talk.context, {token}}, false);
      if (--talk.left > 0) {
        ask(harness, talk);
      } else {
        harness.controller->end_instance(talk.guest);
      }
    }
  }
  return batches;
}

}  // namespace quire::control
