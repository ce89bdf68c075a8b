#pragma once
// The front door of the control layer, and the way its answers come back up.
//
// Thread   engine thread only, for every function here. Completions of the device and of helper
//          jobs arrive on other threads inside the control layer, which then notifies the Wakeup
//          that it was built with; poll() takes them in.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/histogram.h"
#include "control/api/answer.h"
#include "control/api/command.h"
#include "control/api/miss.h"
#include "control/api/types.h"

namespace quire::control {

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Both are called from inside submit(), poll() or dispatch(), and must only note their arguments
  // and mark the instance ready, never call back into the control layer.
  virtual void answer(Answer answer) = 0;
  // The instance lost all it had to other instances (ControllerOptions::when_full). Its futures got
  // `error` for their answer, and so will all commands that it still submits. Call end_instance()
  // as for any other.
  virtual void lost(InstanceId instance, const Error& error) = 0;
};

// Figures of models whose layers have states.
struct StateStatistics {
  std::uint32_t slot_count = 0;            // 0: no model has states.
  std::uint32_t kept_count = 0;            // States that can be found now.
  std::uint64_t used_count = 0;            // Kept states that a context went on from, ever.
  std::uint64_t evicted_count = 0;         // Ever.
  std::uint64_t saved_count = 0;           // To the store, ever.
  std::uint64_t loaded_count = 0;          // From it, ever.
  std::uint64_t replayed_token_count = 0;  // Computed again from a state on, ever.
};

// The store and its disk.
struct StoreStatistics {
  std::uint64_t refused_count = 0;  // Requests for a store that is not there, ever.
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t snapshot_bytes_max = 0;  // 0: there is no store.
  std::uint64_t disk_free_bytes = 0;
  std::uint64_t disk_reserve_bytes = 0;  // That no snapshot is written into.
};

// Counts of draws, ever.
struct DrawCounts {
  std::uint64_t late_mask_count = 0;       // Draws put off because a grammar's mask was late.
  std::uint64_t draft_count = 0;           // Drafts of programs that were computed.
  std::uint64_t accepted_draft_count = 0;  // Of these, drafts that were drawn.
};

// Counts of what a want of pages led to, ever.
struct ShortageCounts {
  std::uint64_t search_count = 0;         // Looks for contexts to suspend.
  std::uint64_t lost_instance_count = 0;  // Ended.
};

struct ControlStatistics {
  std::uint64_t batch_count = 0;
  std::uint64_t row_count = 0;           // Rows of all batches: tokens computed.
  std::uint64_t pass_count = 0;          // Forward passes of all batches.
  std::uint64_t found_token_count = 0;   // Tokens found in cache instead of computed.
  std::uint64_t prompt_token_count = 0;  // As of InstanceStatistics, ever.
  std::uint64_t found_prompt_token_count = 0;
  std::uint64_t generated_token_count = 0;
  std::uint64_t committed_page_count = 0;  // Pages committed, ever.
  std::uint32_t page_count = 0;            // Of the pool.
  std::uint32_t page_count_free = 0;       // Free or cold.
  std::uint32_t page_count_cold = 0;
  std::uint32_t page_count_held_max = 0;  // Most pages held at once, ever; summed over the models.
  std::uint64_t device_ns = 0;            // Time the device was at work.
  std::uint64_t scheduler_ns = 0;
  std::uint64_t suspension_count = 0;  // Contexts that gave their pages up, ever.
  std::uint64_t lost_token_count = 0;  // Tokens that had to be computed again after that.
  DrawCounts draws{};
  StateStatistics states{};
  StoreStatistics store{};
  ShortageCounts shortage{};
};

// Times and sizes of what the device did; see base/histogram.h.
struct ControlHistograms {
  Histogram step_ns;         // The device's time for a batch.
  Histogram batch_rows;      // Tokens computed by a batch that had any.
  Histogram inter_token_ns;  // From one token drawn for a context to the next.
};

// Per instance, for the closing line of a run.
struct InstanceStatistics {
  std::uint64_t metered_token_count = 0;  // Of InstanceLimits::token_count_max.
  // Queued in contexts when a flush or a forward began, and the inputs of forwards by hand.
  std::uint64_t asked_token_count = 0;
  // The part of them that are tokens of prompts. A token that the host drew and queued does not
  // count, nor does a single token after an output: a program that draws its tokens itself appends
  // them so.
  std::uint64_t prompt_token_count = 0;
  std::uint64_t found_prompt_token_count = 0;  // Of these, found instead of computed.
  // Tokens that the host drew, and distributions that a program got to draw from.
  std::uint64_t generated_token_count = 0;
  // The tokens that were not found. One counts once more if only its logits are missing, or if a
  // suspension cost its page.
  std::uint64_t computed_token_count = 0;
  std::uint64_t found_token_count = 0;  // Found instead of computed: saved.
  // Computed by an earlier context, and brought from its snapshot by opens. No token that was asked
  // for.
  std::uint64_t opened_token_count = 0;
  std::uint64_t drawn_token_count = 0;   // Drawn by the host, and answered to the program.
  std::uint64_t waited_token_count = 0;  // Of those, computed by another while this one waited.
  std::uint32_t page_count_max = 0;      // Most pages held at once.
  std::uint32_t page_count = 0;          // Held now.
  std::uint32_t page_count_away = 0;     // Given up by suspended contexts, which count as held.
  std::uint64_t matcher_bytes = 0;       // Of InstanceLimits::held_matcher_bytes_max.
  std::uint64_t tenant_page_count = 0;   // By all of its tenant, as TenantOptions count them.
  // Of all of its tenant: InstanceLimits::export_count_max, export_page_count_max.
  std::uint64_t tenant_export_count = 0;
  std::uint64_t tenant_export_page_count = 0;
};

// An instance's commands that are not done yet: operations on their way, and jobs of the helper and
// of the disk, also those whose answer is not waited for. An answer only says that its own command
// is done, not those before it; this counts all.
struct PendingCommands {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  // Sum of their Command::argument_bytes.
};

class ControlPort {
 public:
  virtual ~ControlPort() = default;

  virtual const std::vector<ModelDescription>& models() const = 0;

  // Sets the options of a tenant that is there or to come; they hold from the next batch on.
  virtual void set_tenant(TenantId tenant, const TenantOptions& options) = 0;
  // Whether more than one tenant is known, also of those that did nothing yet.
  virtual void set_several_tenants(bool are_several) { (void)are_several; }

  virtual void start_instance(InstanceId instance, TenantId tenant,
                              const InstanceLimits& limits) = 0;
  // From now on; what it has beyond them it keeps.
  virtual void set_limits(InstanceId instance, const InstanceLimits& limits) = 0;
  // Everything the instance holds is released as soon as no batch uses it; no answer follows.
  virtual void end_instance(InstanceId instance) = 0;

  // Never refuses: what goes wrong is the answer to the command's future.
  virtual void submit(Command command) = 0;

  // Takes in completions and answers what they finish. True if there was any.
  virtual bool poll() = 0;
  // Builds and submits a batch if the device is free, work is ready and the policy for batches lets
  // it go. True if one was submitted.
  virtual bool dispatch() = 0;
  // After a dispatch() that submitted nothing: in how long it is to be called again though nothing
  // else happens. Empty: not for the sake of a batch.
  virtual std::optional<std::uint64_t> next_dispatch_in_ns() const = 0;
  // Nothing is queued, running or waiting for a helper.
  virtual bool idle() const = 0;

  virtual ControlStatistics statistics() const = 0;
  virtual ControlHistograms histograms() const = 0;
  virtual InstanceStatistics statistics(InstanceId instance) const = 0;
  // The latest kInstanceMissCountMax misses of the instance, oldest first. Empty: misses are not
  // explained to programs.
  virtual std::optional<std::vector<InstanceMiss>> misses(InstanceId instance) const = 0;
  // At once, however much that is. Nothing for an instance that has ended.
  virtual PendingCommands pending(InstanceId instance) const = 0;
};

}  // namespace quire::control
