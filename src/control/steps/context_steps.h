#pragma once
// ContextSteps: the tokens of a context are computed, a chunk of rows at a time, and drawn after.
//
// Thread   engine thread only.
// Errors   answered to the one whose operation it was.
#include <cstdint>
#include <optional>

#include "control/contexts/context.h"
#include "control/steps/context_return.h"
#include "control/steps/draw_steps.h"
#include "control/steps/steps.h"
#include "control/transfers/state_loads.h"

namespace quire::control {

class ContextSteps final : public Steps, public PassOwner {
 public:
  ContextSteps(const StepTools& tools, TierTransfers& tiers, StateLoads& states, DrawSteps& draws)
      : Steps(tools), back_(tools, tiers, *this), state_loads_(states), draws_(draws) {}

  Attempt attempt(Operation& operation, BatchDraft* building) override;
  void passed(const Flight& flight, PassRecord& pass, Result<void> outcome) override;

  // Before an operation that needs no device, of any family, acts on its context: what it needs of
  // what the context gave up comes back. Empty: it may act; otherwise what to do with it.
  std::optional<Attempt> bring_back(Operation& operation, BatchDraft* draft);
  // For one that waits for room in a batch: what of its prompt is found, so that the next build
  // need not look. Takes no page of the pool.
  enum class LookAhead : std::uint8_t { Nothing, Refused, Done };
  LookAhead look_ahead(Operation& operation, std::uint32_t& lookups_left);

 private:
  // The part of an operation in one batch.
  struct Chunk {
    std::uint32_t requery_count = 0;   // Rows that run once more without writing,
    std::uint32_t queued_count = 0;    // then queued tokens,
    std::uint32_t draft_count = 0;     // then drafts, with the last of those alone.
    std::uint32_t answered_count = 0;  // Of the requeries whose outputs are wanted.
    bool is_last = false;
    std::uint32_t row_count() const { return requery_count + queued_count + draft_count; }
  };
  // The rows that run once more before the queued ones. Of a model with states: all from the state
  // on that the pass begins from.
  struct Again {
    std::uint32_t row_count = 0;
    StandingState from{};
    bool is_of_state = false;         // The one output that is wanted is the state's.
    std::uint32_t wanted_length = 0;  // The state after so many tokens would save most.
  };

  // All that was ever written is there again, and nothing else is computed.
  std::optional<Attempt> restore(Operation& operation, BatchDraft* draft);
  Result<void> start(Operation& operation);
  FindEnd find(Operation& operation, std::uint32_t& lookups_left);
  void note_misses(Operation& operation);
  void note_miss(Operation& operation);
  Again again_of(const Operation& operation) const;
  std::optional<Attempt> wait_for_state(Operation& operation, const Again& again);
  Chunk chunk_of(Operation& operation, const Again& again, std::uint32_t remaining,
                 std::uint32_t row_limit, bool restores, const BatchDraft& draft);
  static std::uint32_t answered_count(const Operation& operation, const Again& again,
                                      std::uint32_t requery_count);
  std::optional<Attempt> want_pages_for(Operation& operation, std::uint32_t token_count);
  Attempt place(Operation& operation, const Again& again, bool restores, BatchDraft& draft);
  static bool begin_states(const Operation& operation, const Again& again, const Chunk& chunk);
  Attempt fly(Operation& operation, const Again& again, const Chunk& chunk, BatchDraft& draft);
  void add_rows(Operation& operation, const Again& again, const Chunk& chunk, BatchDraft& draft);
  template <typename AddLast>
  void add_requeries(const Operation& operation, const Again& again, const Chunk& chunk,
                     BatchDraft& draft, const AddLast& add_last) const;

  ContextReturn back_;
  StateLoads& state_loads_;
  DrawSteps& draws_;
};

}  // namespace quire::control
