#include "control/contexts/context_builder.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

void ContextBuilder::attach(NodeId node) {
  PageCache& cache = parts_.cache();
  cache.note_found(node);
  cache.hold(node, parts_.chain_.hold_kind());
  push(node);
}

void ContextBuilder::push(NodeId node) {
  parts_.chain_.push(parts_.cache(), parts_.ledger(), node);
}

void ContextBuilder::push_dropped(NodeId node) {
  parts_.chain_.push_dropped(parts_.cache(), node);
}

void ContextBuilder::begin_tail(PageId page, NodeId boundary,
                                std::span<const inference::TokenId> tokens, bool is_unnamed) {
  parts_.working_.begin(parts_.ledger(), std::span(&page, 1), boundary);
  parts_.working_.set_unnamed_start(is_unnamed);
  parts_.tokens_.restart(tokens);
}

void ContextBuilder::begin_opening(SlotView view, const ContextWishes& wishes, bool is_unnamed) {
  parts_.view_ = std::move(view);
  parts_.wishes_ = wishes;
  parts_.working_.set_unnamed_start(is_unnamed);
  context_.is_opening_ = true;
}

PageId ContextBuilder::take_loading() {
  const bool is_taken = parts_.extend_tail(1);
  QUIRE_CHECK(is_taken, "loaded without room");
  return parts_.working_.pages().back();
}

void ContextBuilder::commit_loaded(const PageContent& content, bool is_opaque) {
  CommittedChain& chain = parts_.chain_;
  const NodeId node = parts_.cache().commit(parts_.working_.pages().front(), chain.head(), content,
                                            chain.hold_kind(), is_opaque);
  push(node);
  parts_.working_.commit_first(parts_.ledger());
  parts_.working_.unreserve(1);
  count_found(parts_.page_size());
}

void ContextBuilder::finish_opening(const store::SnapshotRecord& record, store::TicketId ticket) {
  parts_.working_.reserve(0);
  context_.is_opening_ = false;
  if (!record.tail.empty()) parts_.tokens_.restart(record.tail.front().tokens);
  parts_.tokens_.append(record.queued_tokens);
  if (parts_.states() != nullptr) {
    count_found(parts_.tokens_.written_count());
    context_.use_.is_opened = true;
  }
  context_.taken_ticket_ = ticket;
}

}  // namespace quire::control
