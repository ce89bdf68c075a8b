#pragma once
// QueueObject: a queue of an instance, in which its commands take effect in the order of issue.
//
// Thread   engine thread only.
#include <cstdint>

#include "control/api/types.h"

namespace quire::control {

struct Operation;
struct Replica;

struct QueueObject {
  std::uint32_t generation = 0;
  Replica* replica = nullptr;
  Priority priority = Priority::Normal;
  Operation* first = nullptr;  // Unfinished operations in order of issue.
  Operation* last = nullptr;
  std::uint32_t context_count = 0;  // Contexts that still run in it.
  bool is_destroyed = false;
  void recycle() {
    replica = nullptr;
    first = last = nullptr;
    priority = Priority::Normal;
    context_count = 0;
    is_destroyed = false;
  }
};

}  // namespace quire::control
