#pragma once
// The answers to draws, made from the tokens that the device drew at their places.
#include "control/api/answer.h"
#include "inference/api/batch.h"
#include "inference/api/draw_masks.h"

namespace quire::control {

// `is_forced`: no other token was allowed, and no random number was used.
void add_draw(Draws& draws, const inference::Distribution& from, bool is_forced);
DrawEnd end_of(inference::DrawMasks::End end);

}  // namespace quire::control
