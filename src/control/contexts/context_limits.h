#pragma once
// The limits of a context's length: the model's context length, and the pages of the pool.
//
// Thread   engine thread only.
#include <cstdint>

#include "base/result.h"
#include "control/contexts/context.h"

namespace quire::control {

// Tokens that the queue keeps if they are appended now; those after them are only counted.
std::uint64_t queue_room(const Context& context);
// Tokens that can be queued in addition, and computed.
std::uint64_t length_left(const Context& context);
// More is queued than the context may hold: computing it is an error.
bool is_overfull(const Context& context);
// All that is queued can be computed some time; otherwise OutOfRange or NoFreePage.
Result<void> check_fits(const Context& context);

}  // namespace quire::control
