#include "control/contexts/context_edits.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {

using inference::TokenId;

namespace {

std::string count_of(std::uint64_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// `length` lies in what is queued, or in what was lost.
Result<void> rewind_queue(ContextParts& parts, std::uint32_t written, std::uint32_t length) {
  const TailTokens& tokens = parts.tokens();
  const std::uint64_t kept = std::uint64_t{written} + tokens.queued_count();
  const std::uint64_t all = kept + tokens.overflow_count();
  if (length > all) {
    return Error(ErrorCode::OutOfRange, "rewind to " + std::to_string(length) +
                                            ": the context has " + count_of(all, "token"));
  }
  const std::uint64_t tail_first = std::uint64_t{parts.chain().page_count()} * parts.page_size();
  parts.cut_queue(length - tail_first, length > kept ? length - kept : 0, length - written);
  return {};
}

}  // namespace

Result<void> splice(Context& context, const Context& source, SlotRange range) {
  const std::uint32_t page_size = source.page_size();
  const std::uint32_t tail_first = source.chain().page_count() * page_size;
  const std::uint64_t length = source.held_token_count();
  if (range.begin > range.end || range.end > length) {
    return Error(ErrorCode::OutOfRange, "splice [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the source has " +
                                            count_of(length, "token"));
  }
  std::vector<std::uint32_t> tokens(range.end - range.begin);
  const PageCache& cache = source.parts().cache();
  NodeId node = source.chain().head();
  for (std::uint32_t index = source.chain().page_count(); index > range.begin / page_size;
       --index) {
    const std::uint32_t first = (index - 1) * page_size;
    const std::span<const TokenId> page = cache.trie().tokens(node);
    for (std::uint32_t slot = std::max(first, range.begin);
         slot < std::min(first + page_size, range.end); ++slot) {
      tokens[slot - range.begin] = static_cast<std::uint32_t>(page[slot - first]);
    }
    node = cache.parent(node);
  }
  const std::span<const TokenId> of_tail = source.tokens().all();
  for (std::uint32_t slot = std::max(tail_first, range.begin); slot < range.end; ++slot) {
    tokens[slot - range.begin] = static_cast<std::uint32_t>(of_tail[slot - tail_first]);
  }
  context.append(tokens);
  return {};
}

Result<void> truncate(Context& context, std::uint32_t token_count) {
  QUIRE_CHECK(!context.is_in_flight(), "truncated under a batch");
  ContextParts& parts = context.parts();
  const TailTokens& tokens = parts.tokens();
  const std::uint32_t tail_count =
      tokens.lost_count() > 0 ? parts.seq_len() % parts.page_size() : tokens.written_count();
  const std::uint64_t reach =
      std::uint64_t{tokens.own_count()} + tail_count + tokens.overflow_count();
  if (token_count > reach) {
    return Error(ErrorCode::OutOfRange,
                 "truncate " + count_of(token_count, "token") + ": " + std::to_string(reach) +
                     " are queued or in the working tail, the rest is committed (rewind reaches "
                     "further)");
  }
  const std::uint32_t rest = parts.take_back(token_count);
  if (rest > 0) parts.cut_written(tokens.written_count() - rest);
  if (!context.is_suspended()) parts.trim_tail();
  return {};
}

Result<void> rewind(Context& context, std::uint32_t length) {
  QUIRE_CHECK(!context.is_in_flight() && !context.is_suspended(), "rewound under a batch");
  if (is_planted(Fault::RewindOffByOne) && length > 0) --length;
  ContextParts& parts = context.parts();
  const std::uint32_t page_size = parts.page_size();
  const std::uint32_t all_written = parts.seq_len();
  const std::uint32_t lost_count = parts.tokens().lost_count();
  const std::uint32_t written = all_written - lost_count;
  // After a cut into committed tokens, no reserved page is left.
  if (lost_count > 0 && length / page_size < all_written / page_size) parts.reserve(0);
  if (length > written) return rewind_queue(parts, written, length);
  const std::uint32_t committed = parts.chain().page_count();
  if (length / page_size < committed) {
    parts.cut_committed(length);
    return {};
  }
  parts.clear_queue();
  parts.cut_written(length - committed * page_size);
  parts.trim_tail();
  return {};
}

Result<void> drop_range(Context& context, SlotRange range) {
  QUIRE_CHECK(!context.is_in_flight(), "dropped from under a batch");
  const std::uint32_t length = context.seq_len();
  if (range.begin > range.end || range.end > length) {
    std::string held = count_of(length, "written token");
    const std::uint32_t queued = context.tokens().queued_count();
    if (queued > 0) held += " and " + std::to_string(queued) + " queued; flush writes those";
    return Error(ErrorCode::OutOfRange, "drop_range [" + std::to_string(range.begin) + ", " +
                                            std::to_string(range.end) + "): the context has " +
                                            held);
  }
  SlotSet slots;
  slots.add(range);
  context.parts().drop_slots(slots);
  return {};
}

std::uint32_t pages_to_reserve(const Context& context, std::uint32_t count) {
  if (count == 0) return 0;
  const WorkingPages& working = context.working();
  // The page of slots that were never written comes with them, and so do those that were reserved
  // before a suspension.
  return count + working.missing_count() +
         (working.has_unnamed_start() && working.is_empty() ? 1 : 0);
}

void reserve_pages(Context& context, std::uint32_t count) {
  ContextParts& parts = context.parts();
  const bool is_taken = parts.extend_tail(pages_to_reserve(context, count));
  QUIRE_CHECK(is_taken, "reserved without room");
  if (count > 0) parts.reserve(parts.working().count());
}

Result<void> commit_pages(Context& context, std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight(), "committed under a batch");
  const std::uint32_t page_size = context.page_size();
  const std::uint32_t full = context.tokens().written_count() / page_size;
  if (count > full) {
    const std::uint32_t in_next = context.tokens().written_count() % page_size;
    return Error(ErrorCode::PageNotFull, "commit " + count_of(count, "working page") + ": " +
                                             std::to_string(full) + " full, the next holds " +
                                             std::to_string(in_next) + " of " +
                                             count_of(page_size, "token"));
  }
  for (std::uint32_t index = 0; index < count; ++index) context.parts().commit_first();
  return {};
}

Result<void> release_pages(Context& context, std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight(), "released under a batch");
  ContextParts& parts = context.parts();
  // Reserved ones that a suspension took are released by not being taken again.
  const std::uint32_t held = std::max(parts.working().count(), parts.working().reserved_count());
  if (count > held) {
    return Error(ErrorCode::OutOfRange, "release " + count_of(count, "working page") +
                                            ": the context has " + std::to_string(held));
  }
  const std::uint32_t room = (held - count) * parts.page_size();
  if (parts.tokens().written_count() > room) parts.cut_written(room);
  parts.release_tail(held - count);
  return {};
}

Result<void> truncate_page_tokens(Context& context, std::uint32_t count) {
  QUIRE_CHECK(!context.is_in_flight(), "truncated under a batch");
  ContextParts& parts = context.parts();
  const std::uint32_t written = parts.tokens().written_count();
  if (count > written) {
    return Error(ErrorCode::OutOfRange, "truncate " + count_of(count, "token") +
                                            " of the working pages: they hold " +
                                            std::to_string(written));
  }
  parts.cut_written(written - count);
  parts.reserve(std::max(parts.working().count(), parts.working().reserved_count()));
  return {};
}

}  // namespace quire::control
