#include "control/contexts/context_builder.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

void ContextBuilder::attach(NodeId node) {
  PageCache& cache = context_.cache();
  cache.note_found(node);
  cache.hold(node, context_.chain_.hold_kind());
  push(node);
}

void ContextBuilder::push(NodeId node) {
  context_.chain_.push(context_.cache(), context_.ledger(), node);
}

void ContextBuilder::push_dropped(NodeId node) {
  context_.chain_.push_dropped(context_.cache(), node);
}

void ContextBuilder::begin_tail(PageId page, NodeId boundary,
                                std::span<const inference::TokenId> tokens, bool is_unnamed) {
  context_.working_.begin(context_.ledger(), std::span(&page, 1), boundary);
  context_.working_.set_unnamed_start(is_unnamed);
  context_.tokens_.restart(tokens);
}

void ContextBuilder::begin_opening(SlotView view, const ContextWishes& wishes, bool is_unnamed) {
  context_.view_ = std::move(view);
  context_.wishes_ = wishes;
  context_.working_.set_unnamed_start(is_unnamed);
  context_.is_opening_ = true;
}

PageId ContextBuilder::take_loading() {
  const bool is_taken = context_.extend_tail(1);
  QUIRE_CHECK(is_taken, "loaded without room");
  return context_.working_.pages().back();
}

void ContextBuilder::commit_loaded(const PageContent& content, bool is_opaque) {
  CommittedChain& chain = context_.chain_;
  const NodeId node = context_.cache().commit(context_.working_.pages().front(), chain.head(),
                                              content, chain.hold_kind(), is_opaque);
  push(node);
  context_.working_.commit_first(context_.ledger());
  context_.working_.unreserve(1);
  count_found(context_.page_size());
}

void ContextBuilder::finish_opening(const store::SnapshotRecord& record, store::TicketId ticket) {
  context_.working_.reserve(0);
  context_.is_opening_ = false;
  if (!record.tail.empty()) context_.tokens_.restart(record.tail.front().tokens);
  context_.tokens_.append(record.queued_tokens);
  context_.taken_ticket_ = ticket;
}

}  // namespace quire::control
