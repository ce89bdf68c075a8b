#pragma once
// MatcherObject: where a program is in a grammar, by its handle.
//
// Thread   engine thread only.
#include <cstdint>
#include <memory>
#include <vector>

#include "base/slab.h"
#include "inference/api/batch.h"

namespace quire::control {

struct Operation;
struct Replica;

// Where a program is in a grammar. What it holds is its thread's: see matcher_jobs.h.
struct MatcherMemory;
struct MatcherState;
struct MatcherObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  std::shared_ptr<MatcherState> state;
  // What must follow the tokens it has accepted, as far as the latest draw saw it.
  std::vector<inference::TokenId> forced_run;
  std::uint64_t stamp = 0;
  Ref<Operation> last_operation;
  void recycle() {
    replica = nullptr;
    state.reset();
    forced_run.clear();
    last_operation = {};
  }
};

}  // namespace quire::control
