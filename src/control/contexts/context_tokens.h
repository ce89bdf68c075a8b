#pragma once
// A context's tokens by position, whether they are in committed pages or in its tail.
//
// Thread   engine thread only.
#include <cstdint>
#include <vector>

#include "control/contexts/context.h"

namespace quire::control {

// The token at `position`, which is written. O(pages after it).
inference::TokenId token_at(const Context& context, std::uint32_t position);
// Appends the last `count` tokens, oldest first; fewer if the context has fewer. O(count).
void copy_last_tokens(const Context& context, std::uint32_t count,
                      std::vector<inference::TokenId>& out);

// The tokens [first, first + count), all of which it has. O(tokens from `first` on).
std::vector<inference::TokenId> tokens_from(const Context& context, std::uint32_t first,
                                            std::uint32_t count);

}  // namespace quire::control
