#pragma once
// What an object holds of its replica goes back: because its program says so, or its instance ends.
//
// Thread   engine thread only.
#include <cstdint>

#include "control/objects/replica.h"

namespace quire::control {

void give_back(Instance& instance, PageObject& page);
void give_back(EmbedObject& embed);
// Of one that was taken from a snapshot and not kept, the snapshot stays.
void give_back(Context& context, std::uint64_t now_ns);
// Its program has what it took: the snapshot goes. False: it took nothing, or has it already.
bool keep_taken(Context& context);
// A slot for an output, its own: what the embed held may still be read.
void take_slot(EmbedObject& embed);

}  // namespace quire::control
