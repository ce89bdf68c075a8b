#pragma once
// The options of a DrawRule as a program sends them, read and checked (quire/draw_rule.h has the
// table of keys, and the writer).
#include <cstdint>
#include <span>

#include "base/result.h"
#include "quire/draw_rule.h"

namespace quire {

// NotSupported names the number of an unknown key. InvalidArgument: an option occurs twice, has the
// wrong number of bytes or entries, is out of its range or names a token beyond the vocabulary. It
// is also the error if the list ends within an option.
Result<DrawRule> parse_draw_options(std::span<const std::uint8_t> options,
                                    std::uint32_t vocabulary_size);

}  // namespace quire
