#pragma once
// CommittedChain is what a context holds of its committed pages.
//
// The head is held by name. Up to the first page that was dropped whole, the chain is held at its
// end, the anchor. After the anchor, each page that is left is held alone: the window. So a fork
// and a step cost O(1), and a dropped page costs nothing.
//
// The pool's holds are taken and given back in `cache`, and counted in `ledger`.
//
// Thread   engine thread only.
//
// Invariant X1 of context.h, checked by verify_path() and verify_holds().
#include <cstdint>
#include <span>
#include <vector>

#include "control/pages/page_cache.h"
#include "control/pages/slot_view.h"

namespace quire::control {

class PageLedger;

// A committed page that a context holds alone, because it dropped one before it.
struct WindowPage {
  std::uint32_t index = 0;  // In the context, from 0.
  NodeId node = kNoNode;
};

class CommittedChain {
 public:
  NodeId head() const { return head_; }  // The last page, or the root.
  // Held as a chain; the head, where no page was dropped. kNoNode while nothing is held.
  NodeId anchor() const { return anchor_; }
  std::uint32_t page_count() const { return page_count_; }  // Dropped ones included.
  std::uint32_t anchor_count() const { return anchor_count_; }
  std::span<const WindowPage> window() const { return window_; }       // By rising index.
  std::span<const WindowPage> window_from(std::uint32_t index) const;  // From that page on.
  bool has_opaque_page() const { return has_opaque_page_; }            // Now or once.

  bool is_windowed() const { return anchor_count_ < page_count_; }
  // How the next page is held.
  HoldKind hold_kind() const { return is_windowed() ? HoldKind::Page : HoldKind::Chain; }
  // Pages whose bytes are held.
  std::uint32_t held_count() const {
    return anchor_count_ + static_cast<std::uint32_t>(window_.size());
  }
  bool holds(std::uint32_t index) const;
  // By rising index, without the first `first` of them.
  std::vector<WindowPage> held_pages(const PageCache& cache, std::uint32_t first = 0) const;
  // All of them, root first. O(pages).
  std::vector<NodeId> nodes(const PageCache& cache) const;

  // Nothing below `root`.
  void open(PageCache& cache, NodeId root);
  // `node`, a child of the head, becomes the head. The context has a hold on its bytes already, of
  // hold_kind().
  void push(PageCache& cache, PageLedger& ledger, NodeId node);
  // The same of one that was wholly dropped: nothing of its bytes is held.
  void push_dropped(PageCache& cache, NodeId node);
  // The same for nodes that a search found. The context does not hold their bytes yet.
  void push_found(PageCache& cache, PageLedger& ledger, std::span<const NodeId> nodes);

  // The first `count` pages are left, of which `head` is the last. The hint is for the others.
  void cut(PageCache& cache, PageLedger& ledger, NodeId head, std::uint32_t count,
           const ColdHint& hint);
  // From the first page that is gone on, pages are held alone.
  void part(PageCache& cache, PageLedger& ledger, const SlotSet& dropped, const ColdHint& hint);
  // Pages of the window that touch `range` and are gone are let go.
  void drop_gone(PageCache& cache, PageLedger& ledger, const SlotSet& dropped, SlotRange range,
                 const ColdHint& hint);

  // Becomes what `parent` is, by name; and holds the same bytes.
  void fork_name(PageCache& cache, const CommittedChain& parent);
  void fork_holds(PageCache& cache, PageLedger& ledger, const CommittedChain& parent);

  // Holds no bytes any more; the name stays.
  void let_go(PageCache& cache, PageLedger& ledger, const ColdHint& hint);
  // Requires: let_go(). Holds these bytes again, the first `anchor_count` as a chain.
  void hold_again(PageCache& cache, PageLedger& ledger, std::span<const WindowPage> pages,
                  std::uint32_t anchor_count);
  // Requires: let_go(). Ends at `anchor`, which has `count` pages and is held. Returns the head
  // that it had, whose name is the caller's then.
  NodeId end_at(PageCache& cache, PageLedger& ledger, NodeId anchor, std::uint32_t count);
  // Requires: let_go(). The name goes too.
  void close(PageCache& cache);

  void verify_path(const PageCache& cache) const;
  void verify_holds(const PageCache& cache, const SlotSet& dropped) const;

 private:
  void hold_alone(PageCache& cache, PageLedger& ledger, const WindowPage& page);
  void move_anchor(PageCache& cache, PageLedger& ledger, NodeId node, std::uint32_t count,
                   const ColdHint& hint);

  NodeId head_ = kNoNode;
  NodeId anchor_ = kNoNode;
  std::uint32_t page_count_ = 0;
  std::uint32_t anchor_count_ = 0;
  bool has_opaque_page_ = false;
  std::vector<WindowPage> window_;
};

}  // namespace quire::control
