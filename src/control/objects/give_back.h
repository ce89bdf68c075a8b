#pragma once
// give_back() returns an object's holds to its replica, because its program wants it or its
// instance ends.
#include <cstdint>

#include "control/objects/replica.h"

namespace quire::control {

void give_back(Instance& instance, PageObject& page);
void give_back(EmbedObject& embed);
// The snapshot that the context was taken from, if the context was not kept, stays.
void give_back(Context& context, std::uint64_t now_ns);
// The program has the context that it took: the snapshot goes. False: it took nothing, or has it
// already.
bool keep_taken(Context& context);
// A slot for an output, its own: what the embed held may still be read.
void take_slot(EmbedObject& embed);

}  // namespace quire::control
