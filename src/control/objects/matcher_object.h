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

// A program's place in a grammar. Its contents are its thread's: see matcher_jobs.h.
struct MatcherMemory;
struct MatcherState;
struct MatcherObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  std::shared_ptr<MatcherState> state;
  // The tokens that must follow the accepted ones, as far as the latest draw saw.
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
