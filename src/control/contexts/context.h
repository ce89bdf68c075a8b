#pragma once
// What happens to a context's pages: found, taken, written, committed, forked, truncated, let go.
//
// Token i of the tail has position committed_count * page_size + i, which is also its logical slot.
//
// Thread   engine thread only.
// Errors   OutOfRange for a context longer than the model's; NoFreePage for one longer than the
//          pool; QuotaExceeded. Nothing has changed when an error is returned.
//
// Invariants, all checked by verify_context():
//   X1  The head is a root or a committed page, committed_count pages below its root. The first
//       anchor_count of them are held as a chain, the pages of the window alone, and the others are
//       wholly dropped.
//   X2  Between operations the tail has as many pages as its written tokens need, or as were
//       reserved (some of which it may lack after a suspension); while an operation computes queued
//       tokens, as many as all of them need.
//   X3  Only the page that the next token goes to may be sealed or a boundary, and never while it
//       is being written.
//   X4  written + in flight + queued tokens are all tokens of the tail.
//   X5  Claims exist only while a batch computes the context.
//   X6  Only slots that were written are dropped.
//   X7  A suspended context holds nothing but the name of its head, and pins its pages on a tier if
//       it was swapped. Lost tokens are neither written nor queued by the program, and come before
//       those that are.
//   X8  The device has no more entries of the table than there are; of a suspended context, whose
//       pages may come back to other places, it has no table.
//   X9  Each committed page is named by the adapters that the context has for its slots.
#include <cstdint>
#include <span>

#include "control/objects/instance.h"
#include "control/objects/model_resources.h"
#include "inference/api/batch.h"

namespace quire::control {

std::uint32_t seq_len(const Context& context, std::uint32_t page_size);
inline std::uint32_t tail_token_count(const Context& context) {
  return static_cast<std::uint32_t>(context.tokens.size() - context.token_first);
}
// Tokens neither written nor in flight.
inline std::uint32_t queued_count(const Context& context) {
  return tail_token_count(context) - context.written_count - context.flight_count;
}
ContextCounters counters_of(const Context& context, std::uint32_t page_size);

// Queues tokens. The first beyond the context length is kept, further ones are only counted:
// computing either is an error.
void append_tokens(Context& context, const ModelResources& resources,
                   std::span<const std::uint32_t> tokens);

// Tokens that are queued from now on are of these adapters; null: of none.
void use_adapters(Context& context, AdapterSetRef set);

// Whether more is queued than the context may hold: computing it is an error.
bool is_overfull(const Context& context, const ModelResources& resources);

// Whether all that is queued can ever be computed.
Result<void> check_fits(const Context& context, const ModelResources& resources);

enum class FindEnd : std::uint8_t { NoMore, Claimed, Slice, Quota };
struct FindResult {
  std::uint32_t token_count = 0;  // Queued tokens that were found.
  FindEnd end = FindEnd::NoMore;
};
// Attaches the full pages that exist for the queued tokens, at most `page_count_max` of them.
// Requires: not in flight.
FindResult find_queued(Context& context, ModelResources& resources, PageLedger& ledger,
                       std::uint32_t quota, std::uint32_t page_count_max);

// Whether the first `count` queued tokens, at least one, have slots of their own already: then
// pages_wanted() is 0 and take_pages() has nothing to do.
bool has_slots(const Context& context, const ModelResources& resources, std::uint32_t count);
// Pages to be taken so that the first `count` queued tokens have slots of their own.
std::uint32_t pages_wanted(const Context& context, const ModelResources& resources,
                           std::uint32_t count);
// Takes those for the first `count` queued tokens; false if there are not as many. A sealed tail
// page that others hold is copied.
bool take_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                std::uint32_t count, std::vector<inference::PageCopy>& copies);

// Tokens that can be queued and computed besides what is.
std::uint64_t room_of(const Context& context, const ModelResources& resources);

// Puts the next `count` queued tokens in flight. Claims the pages they fill, and the one they begin
// if more tokens to fill it are queued. `drafts` come after all that is queued: they are in flight
// too, and may have to go again, so nobody waits for a page that they are to fill.
void begin_flight(Context& context, ModelResources& resources, std::uint32_t count,
                  std::span<const inference::TokenId> drafts = {});
// Appends what the device does not know of the table yet. Requires: the context has a sequence.
void sync_table(Context& context, const ModelResources& resources,
                std::vector<inference::TableChange>& changes);
// The batch is done: commits the pages that are full now, or gives the tokens back to the queue.
// `rejected_count`: drafts, the last ones, that go as if they had never been there.
void end_flight(Context& context, ModelResources& resources, PageLedger& ledger, bool is_written,
                std::uint32_t rejected_count = 0);
// Pages that no written token needs: after an operation failed.
void trim_tail(Context& context, ModelResources& resources, PageLedger& ledger);

// `child` becomes a second context with the same content. Commits what is full. Requires: not in
// flight.
void fork_context(Context& context, Context& child, ModelResources& resources, PageLedger& ledger);
// Takes back the last tokens of the queue and of the tail.
Result<void> truncate_context(Context& context, ModelResources& resources, PageLedger& ledger,
                              std::uint32_t token_count);
// The context ends at `length` logical tokens; what was queued is gone. A page cut in the middle is
// copied by the next write. What was dropped stays dropped. O(pages behind `length`).
Result<void> rewind_context(Context& context, ModelResources& resources, PageLedger& ledger,
                            std::uint32_t length);
// Tokens to come do not see slots [begin, end), and pages that nobody can see any more are let go.
// Logical slots, positions and the length stay as they are.
Result<void> drop_range(Context& context, ModelResources& resources, PageLedger& ledger,
                        SlotRange range);
// The same for many ranges at once. Requires: all of them were written.
void drop_slots(Context& context, ModelResources& resources, PageLedger& ledger,
                const SlotSet& slots);
// Queues the tokens of slots [begin, end) of `source` (written or queued): pages of it that say the
// same at the same place are found when they are computed.
Result<void> splice_context(Context& context, const Context& source,
                            const ModelResources& resources, SlotRange range);

// Published operations on the tail. reserve: `count` empty pages more, which stay.
// Requires: pages_to_reserve() can be taken.
std::uint32_t pages_to_reserve(const Context& context, std::uint32_t count);
void reserve_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                   std::uint32_t count);
// The first `count` pages of the tail become committed; PageNotFull if one has a free slot.
Result<void> commit_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                          std::uint32_t count);
// Gives the last `count` pages of the tail back, with the tokens in them.
Result<void> release_pages(Context& context, ModelResources& resources, PageLedger& ledger,
                           std::uint32_t count);
// Takes the last `count` written tokens of the tail back; its pages stay.
Result<void> truncate_page_tokens(Context& context, const ModelResources& resources,
                                  std::uint32_t count);

// A snapshot is opened into the context, which is empty: its pages come one by one, and then what
// it has besides: written tokens of its tail, and those that were queued. `ticket`: of the snapshot
// that it was taken from, or none.
void begin_opening(Context& context);
// What the snapshot says of the tokens that it will have.
void set_adapters(Context& context, SlotAdapters<AdapterSetRef> adapters, AdapterSetRef in_force);
void finish_opening(Context& context, const store::SnapshotRecord& record, store::TicketId ticket);
// What was swapped out is on its way back: nothing else may touch it.
void begin_swap_in(Context& context);
// The batch computes it.
void note_use(Context& context, BatchId batch);
// What its program says of its pages once nobody holds them, and of its length.
void set_hint(Context& context, ContextHintKind kind, std::uint32_t seconds);
void set_beyond(Context& context, bool is_allowed);

// Gives everything back; also in flight, when its instance ends.
void drop_context(Context& context, ModelResources& resources, PageLedger& ledger);

// The token at `position`, which is written. O(pages behind it).
inference::TokenId token_at(const Context& context, const ModelResources& resources,
                            std::uint32_t position);

// How many tokens it has, those queued included.
std::uint64_t held_token_count(const Context& context, const ModelResources& resources);
// The last `count` of them, oldest first; fewer if it has fewer. O(count).
void copy_last_tokens(const Context& context, const ModelResources& resources, std::uint32_t count,
                      std::vector<inference::TokenId>& out);

// An empty context below `root`.
void open_context(Context& context, ModelResources& resources, NodeId root);
// Pages whose bytes the context needs, without the tail.
std::uint32_t held_committed_count(const Context& context);

void verify_context(const Context& context, const ModelResources& resources);

}  // namespace quire::control
