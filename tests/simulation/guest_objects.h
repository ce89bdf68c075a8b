#pragma once
// GuestObjects: a scripted guest's objects of the engine, each with the content that it must have.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/naive_model.h"

namespace quire::simulation {

struct GuestObjects {
  using ContextKey = std::uint32_t;
  struct Context {
    std::int32_t handle = 0;
    std::int32_t queue = 0;
    std::uint32_t model = 0;
    test::Content content{};
    std::uint32_t pending_count = 0;  // Futures that are of it.
    // A call is under way after which the content is known again, or never. Until then the guest
    // issues nothing that would change it.
    bool is_changing = false;
    bool is_known = true;  // The content; where it is not, answers are not compared.
    // The counters of the last answer are right if the guest did nothing with the context after
    // the call that was answered.
    std::uint32_t use_count = 0;
    std::uint32_t answered_use = 0;
    std::uint32_t found_token_count = 0;  // The most that an answer gave: it never falls.
    void note_found(std::uint32_t count) { found_token_count = std::max(found_token_count, count); }
    bool is_settled() const { return pending_count == 0 && answered_use == use_count; }
  };
  // The counters of a context: tokens written, pages, tokens in working pages, and tokens found
  // instead of computed.
  struct Tail {
    std::uint32_t written = 0;
    std::uint32_t committed_count = 0;
    std::uint32_t working_count = 0;
    std::uint32_t token_count = 0;
    std::uint32_t found_token_count = 0;
  };
  struct Queue {
    std::int32_t handle = 0;
    std::uint32_t model = 0;
    std::uint64_t set = 0;  // Of adapters, under which its contexts begin (AdapterBook::set_of()).
  };
  // Adapters by name with their scales, and what the host must make of them.
  struct AdapterChoice {
    std::string names{};  // One a line.
    std::vector<double> scales{};
    std::uint64_t set = 0;               // Of the simulated device.
    std::optional<ErrorCode> refusal{};  // The choice is not a set.
  };
  struct OpenedModel {
    std::int32_t handle = 0;
    std::uint64_t set = 0;  // Of adapters.
    bool is_own = false;    // Made for one queue.
  };
  struct PassAdapter {
    std::string name{};  // Empty: that of the queue.
    std::uint64_t set = 0;
  };
  // Whether all adapters of a snapshot were loaded when the guest asked for it. The count is the
  // AdapterBook's at that time.
  struct LoadedThen {
    bool had_all = true;
    std::uint64_t change_count = 0;
  };
  // The guest holds these pages itself: a run of tokens from position 0 on.
  struct Run {
    std::int32_t queue = 0;
    std::uint32_t model = 0;
    std::vector<std::int32_t> pages{};
    test::Content content{};
    bool is_known = true;
    bool is_imported = false;  // Can be read, not written.
    std::uint32_t pending_count = 0;
  };
  struct Generation {
    std::int32_t handle = 0;
    ContextKey context = 0;
    bool is_greedy = false;
    bool has_reader = false;
  };
  struct Subscription {
    std::int32_t handle = 0;
    std::string topic{};
    std::size_t next = 0;  // Of the town's log of the topic.
    bool has_reader = false;
  };
  struct File {
    std::int32_t handle = 0;
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;  // Written, or read.
    bool has_reader = false;
  };
  struct Child {
    std::int32_t handle = 0;
    std::uint32_t told_count = 0;
    bool has_reader = false;
    bool has_ended = false;
  };
};

}  // namespace quire::simulation
