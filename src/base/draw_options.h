#pragma once
// The options of a DrawRule as a program sends them, read and checked (quire/draw_rule.h has the
// table of keys, and the writer).
#include <cstdint>
#include <span>

#include "base/result.h"
#include "quire/draw_rule.h"

namespace quire {

// NotSupported: an unknown key, by its number. InvalidArgument: an option that occurs twice, has
// the wrong number of bytes, is out of its range or names a token beyond the vocabulary, by name
// and value; or a list that ends within an option.
Result<DrawRule> parse_draw_options(std::span<const std::uint8_t> options,
                                    std::uint32_t vocabulary_size);

}  // namespace quire
