#pragma once
// Edits: what a program changes of a context other than by computing it. They are functions over
// the parts of the context (context_parts.h); a new one needs nothing of the class.
//
// Thread   engine thread only.
// Errors   OutOfRange, PageNotFull; nothing has changed when an error is returned. An edit of a
//          context that is in flight is a bug, and stops the process.
#include <cstdint>

#include "base/result.h"
#include "control/contexts/context.h"

namespace quire::control {

// Queues the tokens of slots [begin, end) of `source` (written or queued): pages of it that say the
// same at the same place are found when they are computed. `source` may be `context`.
Result<void> splice(Context& context, const Context& source, SlotRange range);
// Takes back the last tokens of the queue and of the tail.
Result<void> truncate(Context& context, std::uint32_t token_count);
// The context ends at `length` logical tokens; what was queued is gone. A page cut in the middle is
// copied by the next write. What was dropped stays dropped. O(pages after `length`). Requires: not
// suspended.
Result<void> rewind(Context& context, std::uint32_t length);
// Tokens to come do not see slots [begin, end), and pages that no token can see any more are let
// go. Logical slots, positions and the length stay as they are.
Result<void> drop_range(Context& context, SlotRange range);

// Published operations on the tail. reserve_pages() takes `count` empty pages more, which stay.
// Requires: pages_to_reserve() can be taken.
std::uint32_t pages_to_reserve(const Context& context, std::uint32_t count);
void reserve_pages(Context& context, std::uint32_t count);
// The first `count` pages of the tail become committed; PageNotFull if one has a free slot.
Result<void> commit_pages(Context& context, std::uint32_t count);
// Gives the last `count` pages of the tail back, with the tokens in them.
Result<void> release_pages(Context& context, std::uint32_t count);
// Takes the last `count` written tokens of the tail back; its pages stay.
Result<void> truncate_page_tokens(Context& context, std::uint32_t count);

}  // namespace quire::control
