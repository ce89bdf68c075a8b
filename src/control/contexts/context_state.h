#pragma once
// The state of a saved context in addition to its pages and tokens: which slots were dropped and
// when, and the program's wishes. A few bytes, opaque to the store.
//
// Layout, little endian: version (1 byte, 1); flags (1: beyond_context, 2: has_unnamed_start);
// hint kind (1); hint seconds (4); then the view as SlotView::serialise() gives it.
#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "control/contexts/context.h"

namespace quire::control {

std::vector<std::byte> encode_context_state(const Context& context);

struct SavedContextState {
  SlotView view;
  ContextWishes wishes;
  bool has_unnamed_start = false;
};
// Decodes the state of a context that will hold `length` written tokens. Corrupted for bytes that
// are not such a state.
Result<SavedContextState> decode_context_state(std::span<const std::byte> bytes,
                                               std::uint32_t length);

}  // namespace quire::control
