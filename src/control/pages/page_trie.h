#pragma once
// PageTrie finds a page by its parent and what it holds.
//
// It is walked by (parent node, keyed hash of tokens and positions), and every hit is compared in
// full: a weak or broken hash costs time, never wrong tokens (I10; tests cut it to 8 and 4 bits).
//
// A node is the page that it describes: the node of page p has p's number; roots, one for each
// sharing domain, are numbered from page_count on.
//
// Owns     what each committed or claimed page holds: parent, tokens, positions, name.
// Thread   engine thread only.
// Errors   none; misuse is a bug and stops the process.
//
// Node states: Absent (no node) -> InFlight (a batch will write the page; found as a claim, never
// attached, I6) -> Published (found and shared). Opaque nodes have a parent but are never found.
//
// Invariants, all checked by verify():
//   T1  A listed node is in exactly the chain of its hash, and no other node is in any chain.
//   T2  No two listed nodes have one parent and one content (I11).
//   T3  The parent of a node exists: a root, or a node that is not Absent. A Published node's
//   parent
//       is Published or a root.
//   T4  A node's count of children equals a recount.
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "control/pages/page_name.h"
#include "inference/api/types.h"

namespace quire::control {

using inference::PageId;

enum class NodeId : std::uint32_t {};
inline constexpr NodeId kNoNode{0xffffffffu};

enum class NodeState : std::uint8_t { Absent, InFlight, Published, Opaque };

struct PageTrieOptions {
  std::uint32_t page_count = 0;
  std::uint32_t page_size = 16;
  std::uint64_t hash_key = 0;    // Secret, so that nobody can aim for one chain.
  std::uint32_t hash_bits = 64;  // Fewer only in tests.
};

class PageTrie {
 public:
  explicit PageTrie(const PageTrieOptions& options);

  NodeId add_root(const PageName& name);

  // The InFlight or Published node below `parent` that holds `content`; kNoNode if there is none.
  NodeId find(NodeId parent, const PageContent& content) const;

  void insert(PageId page, NodeId parent, const PageContent& content, NodeState state);
  void publish(PageId page, const PageName& name);  // InFlight -> Published.
  void erase(PageId page);                          // A node without children.

  NodeState state(NodeId node) const;
  NodeId parent(NodeId node) const { return at(node).parent; }
  const PageName& name(NodeId node) const;
  std::span<const TokenId> tokens(NodeId node) const;
  std::uint32_t child_count(NodeId node) const;
  bool is_root(NodeId node) const {
    return static_cast<std::uint32_t>(node) >= options_.page_count;
  }

  void verify() const;

 private:
  struct Node {
    NodeState state = NodeState::Absent;
    NodeId parent = kNoNode;
    NodeId next = kNoNode;  // In the chain of the hash.
    std::uint64_t hash = 0;
    std::uint32_t child_count = 0;
    std::array<TokenId, inference::kPageSizeMax> tokens{};
    std::array<std::uint32_t, inference::kPageSizeMax> positions{};
    PageName name{};
  };
  struct Root {
    PageName name{};
    std::uint32_t child_count = 0;
  };

  const Node& at(NodeId node) const;
  Node& at(NodeId node) { return const_cast<Node&>(std::as_const(*this).at(node)); }
  std::uint32_t& child_count_of(NodeId node);
  std::uint64_t hash_of(NodeId parent, const PageContent& content) const;
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  bool holds(const Node& node, NodeId parent, const PageContent& content) const;

  const PageTrieOptions options_;
  std::vector<Node> nodes_;  // [page_count]
  std::vector<Root> roots_;
  std::vector<NodeId> buckets_;  // A power of two.
};

}  // namespace quire::control
