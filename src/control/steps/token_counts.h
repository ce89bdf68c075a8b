#pragma once
// The token counts of the statistics of a replica and of an instance: asked for, found, generated.
#include <cstdint>

#include "control/contexts/context.h"
#include "control/objects/operation_table.h"
#include "control/objects/replica.h"

namespace quire::control {

// Outputs that a flush, a forward or a draw of a context wants of its last tokens.
std::uint32_t output_count_of(const Operation& operation);

// Counts the `own` tokens that the operation's program queued, as it begins. Tokens that continue
// drawn ones do not count as prompt: the token that the host queued when it drew it, or a single
// one after an output, which the program drew itself.
void count_asked(Replica& replica, Operation& operation, std::uint32_t own);
void count_found(Replica& replica, Operation& operation, const FindResult& found);
// A state came for found tokens that were to be computed again.
void count_found_late(Replica& replica, Operation& operation);
// Tokens that were drawn, all of them now; or distributions, for a program that draws itself.
void count_generated(Replica& replica, Operation& operation, std::size_t count);

}  // namespace quire::control
