#pragma once
// ContextBuilder makes a context, which is empty, of pages that come from elsewhere: of a snapshot,
// or of handles.
//
// Thread   engine thread only.
#include <cstdint>
#include <span>
#include <utility>

#include "control/contexts/context.h"
#include "control/pages/page_name.h"

namespace quire::control {

class ContextBuilder {
 public:
  explicit ContextBuilder(Context& context) : context_(context), parts_(context.parts_) {}

  // The next committed page. `node`, a child of the head, was found;
  void attach(NodeId node);
  // or the context holds its bytes already, of chain().hold_kind();
  void push(NodeId node);
  // or it was wholly dropped.
  void push_dropped(NodeId node);
  // The tail's first page, partly written: `page`, or that of the committed page `boundary`. There
  // is a hold on it, which becomes the context's.
  void begin_tail(PageId page, NodeId boundary, std::span<const inference::TokenId> tokens,
                  bool is_unnamed);

  // Opens a snapshot: first its own record; then its pages, attached or loaded in a batch; then its
  // tokens that are in no page.
  void begin_opening(SlotView view, const ContextWishes& wishes, bool is_unnamed);
  // The adapters that the snapshot records for all its tokens. Requires: before begin_opening().
  void set_adapters(ContextAdapters adapters) { parts_.adapters_ = std::move(adapters); }
  // The adapters of the next slot of a page of handles.
  void extend_adapters(std::uint32_t slot, const ChosenAdaptersRef& set) {
    parts_.adapters_.of_slots.extend(slot, set);
  }
  void count_found(std::uint32_t token_count) { context_.use_.found_token_count += token_count; }
  void begin_load() { context_.is_in_flight_ = true; }
  // A page more that is loaded. Requires: one is free.
  PageId take_loading();
  // The next page is claimed in the trie.
  void note_claim() { parts_.working_.note_claim(); }
  // All of a batch are taken: they stay until they are committed.
  void keep_loading() { parts_.reserve(parts_.working_.count()); }
  void end_load() { context_.is_in_flight_ = false; }
  void lapse_claims() { parts_.working_.lapse_claims(parts_.cache()); }
  // The first page that was loaded is the next committed one.
  void commit_loaded(const PageContent& content, bool is_opaque);
  // `ticket`: of the snapshot that it was taken from, or none.
  void finish_opening(const store::SnapshotRecord& record, store::TicketId ticket);

 private:
  Context& context_;
  ContextParts& parts_;
};

}  // namespace quire::control
