#pragma once
// The outcome of an operation's turn.
#include <cstdint>

namespace quire::control {

enum class Attempt : std::uint8_t {
  Done,     // Finished and gone.
  Placed,   // All of it is in the batch.
  Later,    // To be tried again in the next batch; a part of it may be in this one.
  Blocked,  // Will be issued again by the one it waits for.
  WaitPage,
};

}  // namespace quire::control
