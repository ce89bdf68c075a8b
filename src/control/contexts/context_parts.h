#pragma once
// What the files of a context share: holds of a context's pages, moved one way only.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "control/contexts/context.h"

namespace quire::control {

inline std::uint32_t page_size_of(const ModelResources& resources) {
  return resources.cache.page_size();
}

inline std::uint32_t divide_up(std::uint64_t count, std::uint32_t by) {
  return static_cast<std::uint32_t>((count + by - 1) / by);
}

// The content of the page `index` pages behind the head.
class TailPage {
 public:
  TailPage(const Context& context, std::uint32_t page_size, std::uint32_t index);
  TailPage(const TailPage&) = delete;
  TailPage& operator=(const TailPage&) = delete;
  const PageContent& content() const { return content_; }

 private:
  std::array<std::uint32_t, inference::kPageSizeMax> positions_;
  std::vector<std::uint8_t> mask_;
  std::vector<AdapterRun> adapters_;
  PageContent content_;
};

inline bool is_windowed(const Context& context) {
  return context.anchor_count < context.committed_count;
}

// Whether queued tokens may be found: with those written before them they fill a page.
inline bool has_page_to_find(const Context& context, std::uint32_t page_size) {
  return tail_token_count(context) >= page_size && context.written_count < page_size &&
         !context.has_unnamed_start;
}

// Of the context's table. Slots that were never written have a hole where there is no page for them
// yet.
inline std::uint32_t table_entry_count(const Context& context, std::uint32_t page_size) {
  const auto tail = static_cast<std::uint32_t>(context.tail.size());
  const bool has_hole = context.written_count > std::uint64_t{tail} * page_size;
  return context.committed_count + (has_hole ? divide_up(context.written_count, page_size) : tail);
}

// Of tokens that it no longer has.
void forget_adapters(Context& context, std::uint32_t page_size);

// Nothing is on its way in it, and its pages are here.
inline bool is_idle(const Context& context) {
  return context.head != kNoNode && !context.is_in_flight && !context.is_opening &&
         !context.is_suspended;
}
// Its tokens give its bits.
inline bool is_plain(const Context& context) {
  return context.view.is_plain() && !context.has_unnamed_start && !context.has_opaque_page;
}

// Pages of the tail that have written slots.
std::uint32_t written_tail_count(const Context& context, std::uint32_t page_size);
// Of page `index` of the tail, the slots that were written and that the context can see: what lies
// in the others may be another tenant's, and is not to leave the pool.
std::uint32_t visible_tail_slots(const Context& context, std::uint32_t page_size,
                                 std::uint32_t index);
// Committed pages whose bytes are held, by rising index, without the first `first` of them.
std::vector<WindowPage> held_pages(const Context& context, const PageCache& cache,
                                   std::uint32_t first = 0);

// What its program said, for pages that this context lets go of.
ColdHint hint_of(const Context& context);

// `node`, a child of the head, becomes the head. The context has a hold on its bytes already, of
// the kind that hold_kind() says.
HoldKind hold_kind(const Context& context);
// Of a node that was found.
void hold_committed(const Context& context, ModelResources& resources, NodeId node);
// The same without tokens of the context's own: for pages that come from elsewhere.
void push_committed(Context& context, ModelResources& resources, PageLedger& ledger, NodeId node);
// A page that was wholly dropped: nothing of its bytes is held.
void push_dropped(Context& context, ModelResources& resources, NodeId node);
void advance_head(Context& context, ModelResources& resources, PageLedger& ledger, NodeId node);

// The table's entries [first, end) are no longer what the device has.
void mark_dirty(Context& context, std::uint32_t first, std::uint32_t end);

// Adds `count` pages to the tail; false if there are not as many.
bool extend_tail(Context& context, ModelResources& resources, PageLedger& ledger,
                 std::uint32_t count);
// Gives pages of the tail back until `keep_count` are left.
void release_tail(Context& context, ModelResources& resources, PageLedger& ledger,
                  std::uint32_t keep_count);
// Gives the first page of the tail back.
void release_first(Context& context, ModelResources& resources, PageLedger& ledger);
void lapse_claims(Context& context, ModelResources& resources);
// Commits the first page of the tail, which is full.
void commit_first(Context& context, ModelResources& resources, PageLedger& ledger);

inline bool is_gone(const SlotSet& dropped, std::uint32_t page_size, std::uint32_t index) {
  return dropped.covers({index * page_size, (index + 1) * page_size});
}

}  // namespace quire::control
