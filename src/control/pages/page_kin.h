#pragma once
// PageKin knows the nodes of a PageTrie by their relations: the children of each, and nodes of
// different roots that hold the same. It only serves to explain why a page was not found
// (page_miss.h). A look-up never asks it, and a trie whose misses are not explained has none.
//
// The second relation crosses sharing domains. So it goes by hashes of its own, which leave the
// root out; the trie's own chains of hashes never mix domains.
//
// Thread   engine thread only.
// Errors   none; misuse is a bug and stops the process.
// Cost     add and remove O(1) amortised; 32 bytes for each node.
//
// Invariants, checked by verify():
//   K1  The children of a node are linked in both directions, newest first.
//   K2  A node is in the chain of its hash once, opaque ones and roots in none.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quire::control {

enum class NodeId : std::uint32_t;

class PageKin {
 public:
  PageKin();

  // `hash` of what stands from the root down, equal in all domains.
  void add(NodeId node, NodeId parent, std::uint64_t hash, bool is_opaque);
  void add_root(NodeId root, std::uint64_t hash);
  void remove(NodeId node, NodeId parent);
  std::uint64_t hash(NodeId node) const { return at(node).hash; }

  // At most `count_max`, newest first; until `visit` returns false.
  template <typename Visit>
  void for_each_child(NodeId parent, std::uint32_t count_max, Visit visit) const {
    walk(at(parent).first_child, count_max, visit, [this](NodeId node) { return at(node).next; });
  }
  // Nodes of that hash in any domain, likewise.
  template <typename Visit>
  void for_each_like(std::uint64_t hash, std::uint32_t count_max, Visit visit) const {
    walk(buckets_[bucket_of(hash)], count_max, visit,
         [this](NodeId node) { return at(node).like; });
  }

  void verify() const;

 private:
  static constexpr NodeId kNone{0xffffffffu};
  struct Links {
    std::uint64_t hash = 0;
    NodeId first_child = kNone;
    NodeId next = kNone;  // Among the children of one parent.
    NodeId previous = kNone;
    NodeId like = kNone;     // In the chain of the hash.
    bool is_listed = false;  // In such a chain.
  };

  template <typename Visit, typename Next>
  static void walk(NodeId first, std::uint32_t count_max, Visit& visit, Next next) {
    std::uint32_t count = 0;
    for (NodeId each = first; each != kNone && count < count_max; each = next(each), ++count) {
      if (!visit(each)) return;
    }
  }
  const Links& at(NodeId node) const { return links_[static_cast<std::uint32_t>(node)]; }
  Links& at(NodeId node) { return links_[static_cast<std::uint32_t>(node)]; }
  Links& make(NodeId node, std::uint64_t hash);
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  void list(NodeId node);
  void unlist(NodeId node);
  void grow();

  std::vector<Links> links_;     // By node.
  std::vector<NodeId> buckets_;  // A power of two.
  std::size_t listed_count_ = 0;
};

}  // namespace quire::control
