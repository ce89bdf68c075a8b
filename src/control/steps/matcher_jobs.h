#pragma once
// MatcherJobs runs the work of matchers on a thread of its own. Most masks take tens of
// microseconds, but a hostile grammar's can take 20 ms. Neither the engine nor the device waits for
// them.
//
// The thread has a few jobs at a time; the other jobs wait here and tenants take turns, so that a
// tenant with slow grammars delays no other tenant's masks by more than those few. What one tenant
// asked goes in the order in which it asked: so what is started on a matcher takes effect in that
// order.
//
// Owns     what waits, and what is to be done on the engine's thread after each job.
// Thread   engine thread; the work itself on the matchers' thread, which alone touches what a
//          MatcherState holds.
// Errors   those of the work are the caller's, as values.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/server_limits.h"
#include "control/api/command.h"
#include "control/api/helper_executor.h"
#include "control/api/types.h"
#include "inference/api/draw_masks.h"
#include "inference/api/grammar.h"

namespace quire::control {

// The memory of all matchers of one instance. Any thread.
struct MatcherMemory {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> bytes_max{0};
};

// A matcher as its thread has it.
struct MatcherState {
  MatcherState(std::shared_ptr<const inference::Grammar> of, std::shared_ptr<MatcherMemory> where)
      : grammar(std::move(of)), memory(std::move(where)) {}
  ~MatcherState() { memory->bytes -= bytes; }
  MatcherState(const MatcherState&) = delete;
  MatcherState& operator=(const MatcherState&) = delete;

  const std::shared_ptr<const inference::Grammar> grammar;
  const std::shared_ptr<MatcherMemory> memory;
  std::uint64_t bytes = 0;                      // Counted there.
  std::unique_ptr<inference::Matcher> matcher;  // Made when it is first needed.
  std::optional<Error> error;                   // Of a step that failed: nothing works any more.
};
using MatcherRef = std::shared_ptr<MatcherState>;

// Receives finished jobs for the engine's thread; a place is reserved for each that runs.
class MatcherJobSink {
 public:
  virtual ~MatcherJobSink() = default;
  virtual void matcher_job_done(std::uint64_t job) = 0;  // From any thread.
};

class MatcherJobs {
 public:
  static constexpr std::size_t kRunningCountMax = default_of<ServerLimit::MatcherJobCountMax>();

  // A null helper: the work is done at once, inside start(); what follows it is not.
  MatcherJobs(MatcherJobSink& sink, HelperExecutor* helper) : sink_(sink), helper_(helper) {}

  // `work` on the matchers' thread, then `after` on the engine's, from finish().
  void start(TenantId tenant, std::function<void()> work, std::function<void()> after);
  // Frees the memory of a tenant's matcher on the thread that made it.
  void release(TenantId tenant, MatcherRef matcher);
  void finish(std::uint64_t job);
  bool idle() const { return after_.empty(); }

 private:
  struct Job {
    std::uint64_t id = 0;
    std::function<void()> work;
  };
  void fill();

  MatcherJobSink& sink_;
  HelperExecutor* helper_;
  std::map<TenantId, std::deque<Job>> waiting_;  // No queue is empty.
  TenantId last_turn_{};
  std::unordered_map<std::uint64_t, std::function<void()>> after_;  // Of all that are not done.
  std::size_t running_count_ = 0;
  std::uint64_t last_id_ = 0;
};

// The work of the calls of interface/constraint.wit. On the matchers' thread.
//
// The matcher, which is made now where it was not yet. QuotaExceeded: it and the others of its
// instance hold more than InstanceLimits::held_matcher_bytes_max.
Result<inference::Matcher*> usable(MatcherState& state);
void fork_into(MatcherState& state, MatcherState& child);
// All or none of the tokens; whether nothing may follow.
Result<bool> accept(MatcherState& state, const std::vector<inference::TokenId>& tokens);
Result<std::vector<std::uint32_t>> token_mask(MatcherState& state, std::uint32_t vocabulary_size);

// The input of the masks of a draw.
struct DrawMaskWork {
  std::vector<MatcherRef> matchers;        // At least one.
  TokenMask mask;                          // Of the program's own, or null.
  std::vector<inference::TokenId> drafts;  // A place follows each, while all allow it.
  bool forces_tokens = true;
  std::uint32_t vocabulary_size = 0;
};
inference::DrawMasks::Filled fill_masks(const DrawMaskWork& work);

}  // namespace quire::control
