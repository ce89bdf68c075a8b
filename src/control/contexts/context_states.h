#pragma once
// ContextStates are the states that a context remembers, of a model whose layers have some. It
// goes on from the nearest one before what it has to compute: one of these, or one that is kept
// after a page of its chain (StateCache).
//
// It holds slots only while a pass is under way. In between it remembers
//   current  the state after the last token that was computed, and
//   before   the one that the last pass of several rows began from, so that taking back some of its
//            tokens costs no more than the others again.
// Any of these may be gone when it is wanted.
//
// A program marks where it will come back to, before or after the tokens there are computed. The
// state after the last whole page up to there is then kept as Marked: the one that is there, or
// the one that the pass over that page writes. A mark waits for that pass, and goes with it.
//
// Thread   engine thread only.
//
// Invariants, checked by verify():
//   N1  Slots are held exactly while a pass is under way.
//   N2  No remembered state stands after more tokens than the context has written or lost.
//   N3  At most kMarkCountMax marks wait.
//   N4  Claims exist only while a pass is under way.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "control/contexts/committed_chain.h"
#include "control/states/state_cache.h"
#include "inference/api/batch.h"

namespace quire::control {

// Marks of one context that wait to be computed; one more takes the place of the oldest.
inline constexpr std::uint32_t kMarkCountMax = 8;

// A state after the first `length` tokens of a context. Without a slot: the one before any text.
struct StandingState {
  StateRef ref{};
  std::uint32_t length = 0;
};

// The parts of a context, and of its model, that decide about states.
struct StatedChain {
  StateCache& states;
  const PageCache& cache;
  const CommittedChain& chain;
  TenantId tenant{};
};

// The tokens of a pass: from a state on up to `end`, which may be from.length, to read the output
// of the state.
struct StatedPass {
  StandingState from{};
  std::uint32_t end = 0;
  Importance importance{};  // Of its operation.
  bool is_last = false;     // The operation has no further pass.
};

class ContextStates {
 public:
  // The last one at or before `length` tokens.
  StandingState nearest(const StatedChain& of, std::uint32_t length) const;

  // A state that the store alone has, nearer to `length` than `best` is, and worth to be read.
  struct Stored {
    NodeId node = kNoNode;
    std::uint32_t length = 0;
  };
  std::optional<Stored> nearest_stored(const StatedChain& of, const StandingState& best,
                                       std::uint32_t length) const;
  // Whether a pass under way writes a state at least a page nearer to `length` than `best` is.
  bool is_coming(const StatedChain& of, const StandingState& best, std::uint32_t length) const;
  // The state came for the operation under way, which is so important, and is held.
  void reserve_for(StateCache& states, StateSlot slot, const Importance& importance);

  // Takes slots for the states that are wanted: the one at the end; and, if there are enough, those
  // at marks, after the last whole page and at multiples on the way. False: the operation gets none
  // now.
  bool begin_flight(const StatedChain& of, const StatedPass& pass);
  // After begin_flight(): the pass does not come about.
  void cancel_flight(StateCache& states);
  void describe(inference::Batch& batch, inference::ForwardPass& pass) const;
  // `length`: of the tokens that are written now. Those of whole pages are committed.
  void end_flight(const StatedChain& of, bool is_written, std::uint32_t length);

  // The program will come back to the end of the first `token_count` tokens.
  void mark(const StatedChain& of, std::uint64_t token_count);
  // Pages of the chain may have been found: states that are there are marked.
  void settle_marks(const StatedChain& of);
  // Tokens after the first `token_count` are not there, or not in their places, any more.
  void cut_marks(std::uint64_t token_count);

  // The operation that computes ends.
  void end_operation(StateCache& states);
  // A text ends here: the state after its last page is worth more than one that was passed.
  void end_turn(StateCache& states);
  // Tokens from `length` on are not the context's any more.
  void cut(StateCache& states, std::uint32_t length);
  // The program said this of the context's pages, and the context has let them go.
  void note_hint(const StatedChain& of, const ColdHint& said) const;
  // Becomes what `parent` is; neither changes in place what both remember.
  void fork_from(StateCache& states, ContextStates& parent);
  void leave(StateCache& states);  // The context ends.

  // The slots that the pass under way holds; one twice if it is held twice.
  std::vector<StateSlot> held() const;
  void verify(const StateCache& states, std::uint32_t length, bool is_in_flight) const;

 private:
  struct Write {
    std::uint32_t length = 0;
    StateSlot slot = kNoState;
  };
  void add_write(StateCache& states, std::uint32_t length);
  void add_page_ends(const StatedChain& of);
  void claim_writes(const StatedChain& of);
  void end_claims(StateCache& states);
  bool is_marked(std::uint32_t length) const;
  bool is_in_place() const { return writes_.size() == 1 && writes_[0].slot == pass_.from.ref.slot; }
  void keep(const StatedChain& of, const Write& write);
  void forget(StateCache& states, StandingState& one, const StandingState& other);
  void reserve(StateCache& states, StateSlot slot);
  StandingState settle_writes(const StatedChain& of, std::uint32_t length);
  void fail_flight(StateCache& states);

  StandingState current_;
  StandingState before_;
  StateRef origin_;                   // The kept state that the text goes on from.
  StateRef running_;                  // The state that keep() put after its last page.
  StateRef reserved_;                 // For the operation under way,
  Importance reserved_for_{};         // which is so important.
  std::vector<std::uint32_t> marks_;  // Whole pages, in tokens; the oldest mark first.
  // The pass under way has these.
  bool is_in_flight_ = false;
  StatedPass pass_;
  boost::container::small_vector<Write, 2> writes_;   // By rising length.
  boost::container::small_vector<NodeId, 2> claims_;  // Pages that are there, and get a state.
};

}  // namespace quire::control
