#pragma once
// PageTrie finds a page by its parent and what it holds.
//
// It is walked by parent node and by a keyed hash of all tokens, positions and masks from the root
// down. Every hit is compared in full, the parent by its node. So a weak or broken hash costs time,
// never wrong tokens (I10; tests cut it to 8 and 4 bits).
//
// A node is the identity of a page, apart from the place of its bytes. It can outlive them while
// children or contexts need its name and tokens: dropped ranges, suspended contexts, pages on disk.
// Bytes that are computed again or read back join the node that is there.
//
// Owns     what each committed or claimed page holds: parent, tokens, positions, mask, name; and
//          which page of the pool has its bytes.
// Thread   engine thread only.
// Errors   none; misuse is a bug and stops the process.
//
// Residency: None (no bytes in the pool) -> InFlight (a batch writes or loads them; found as a
// claim, never attached, I6) -> Resident (found and shared) -> None. Opaque nodes have a parent but
// are never found.
//
// Invariants, all checked by verify():
//   T1  A listed node (neither opaque nor a root) is in exactly the chain of its hash, and no other
//       node is in any chain.
//   T2  No two listed nodes have one parent and one content (I11).
//   T3  The parent of a node exists.
//   T4  A node's count of children equals a recount.
//   T5  A node has a page if and only if it is InFlight or Resident, no page has two nodes, and
//       page -> node is the inverse of node -> page.
//   T7  Each name leads to the node that has it, and no other name leads anywhere.
//   T6  A node without bytes, children and holds of its name does not exist, roots apart.
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "control/pages/page_kin.h"
#include "control/pages/page_name.h"
#include "inference/api/types.h"

namespace quire::control {

using inference::PageId;

enum class NodeId : std::uint32_t {};
inline constexpr NodeId kNoNode{0xffffffffu};

enum class Residency : std::uint8_t { None, InFlight, Resident };

struct PageTrieOptions {
  std::uint32_t page_count = 0;
  std::uint32_t page_size = 16;
  std::uint64_t hash_key = 0;    // Secret, so that no program can aim for one chain.
  std::uint32_t hash_bits = 64;  // Fewer only in tests.
  bool has_kin = false;          // So that misses can be explained.
};

class PageTrie {
 public:
  explicit PageTrie(const PageTrieOptions& options);

  NodeId add_root(const PageName& name);  // Kept forever.

  // The node below `parent` that holds `content`; kNoNode if there is none.
  NodeId find(NodeId parent, const PageContent& content) const;

  // The same in steps, so that a walk can fetch ahead: the hash of a page follows from that of its
  // parent, found or not.
  std::uint64_t hash(NodeId node) const { return at(node).hash; }
  std::uint64_t hash_below(std::uint64_t parent, const PageContent& content) const;
  NodeId find(NodeId parent, const PageContent& content, std::uint64_t hash) const;
  void fetch_bucket(std::uint64_t hash) const { __builtin_prefetch(&buckets_[bucket_of(hash)]); }
  void fetch_node(std::uint64_t hash) const {
    const NodeId first = buckets_[bucket_of(hash)];
    if (first == kNoNode) return;
    const auto index = static_cast<std::size_t>(first);
    __builtin_prefetch(&nodes_[index]);
    __builtin_prefetch(&tokens_[index * options_.page_size]);
  }

  // A node without bytes. The caller gives it a page or a hold before anything else happens.
  NodeId insert(NodeId parent, const PageContent& content) {
    return insert(parent, content, hash_below(hash(parent), content));
  }
  NodeId insert(NodeId parent, const PageContent& content, std::uint64_t hash);
  NodeId insert_opaque(NodeId parent, const PageContent& content);  // Never found by its content.
  // Once; find_name() finds it from then on, opaque or not.
  void set_name(NodeId node, const PageName& name);
  NodeId find_name(const PageName& name) const;  // kNoNode: no node has it.
  // None -> InFlight.
  void claim(NodeId node, PageId page);
  void publish(NodeId node);  // InFlight -> Resident.
  // -> None; the node ends with its bytes where nothing else needs it, and so do its ancestors.
  void remove_page(NodeId node);

  // Keeps the name and the tokens, whatever becomes of the bytes.
  void hold_name(NodeId node) { ++at_mutable(node).name_hold_count; }
  void drop_name(NodeId node);

  // The number of holds of the node as a chain, which PageCache keeps here.
  std::uint32_t& chain_hold_count(NodeId node) { return at_mutable(node).chain_hold_count; }
  std::uint32_t chain_hold_count(NodeId node) const { return at(node).chain_hold_count; }

  bool is_root(NodeId node) const { return at(node).parent == kNoNode; }
  bool is_opaque(NodeId node) const { return at(node).is_opaque; }
  bool has_name(NodeId node) const { return at(node).is_named; }
  Residency residency(NodeId node) const { return at(node).residency; }
  PageId page(NodeId node) const { return at(node).page; }
  NodeId node_of(PageId page) const;  // kNoNode: no node says what the page holds.
  // Of its first slot.
  std::uint32_t position_first(NodeId node) const { return at(node).position_first; }
  NodeId parent(NodeId node) const { return at(node).parent; }
  NodeId root(NodeId node) const { return at(node).root; }
  const PageName& name(NodeId node) const { return names_[static_cast<std::uint32_t>(node)]; }
  std::span<const TokenId> tokens(NodeId node) const;
  std::vector<std::uint32_t> positions(NodeId node) const;
  std::span<const std::uint8_t> mask(NodeId node) const;
  // Under which adapters its tokens were appended; empty: all under none.
  std::span<const AdapterRun> adapters(NodeId node) const;
  // The content of slots that hold no token of the vocabulary; empty: there are none.
  std::span<const std::uint8_t> media(NodeId node) const;
  std::uint32_t child_count(NodeId node) const { return at(node).child_count; }
  std::uint32_t name_hold_count(NodeId node) const { return at(node).name_hold_count; }
  // Roots included.
  std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(nodes_.size() - free_.size());
  }
  // Requires: has_kin.
  const PageKin& kin() const {
    QUIRE_CHECK(kin_ != nullptr, "the trie was made without");
    return *kin_;
  }
  // Every node that exists, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
      if (nodes_[index].exists) visit(NodeId{index});
    }
  }

  void verify() const;

 private:
  struct NameHash {
    std::size_t operator()(const PageName& name) const {
      std::size_t word;
      static_assert(sizeof(word) <= sizeof(name));
      std::memcpy(&word, name.data(), sizeof(word));
      return word;
    }
  };
  // Properties that few pages have: positions that do not rise by one, a mask, media, adapters.
  struct Unusual {
    std::vector<std::uint32_t> positions;
    std::vector<std::uint8_t> mask;
    std::vector<std::uint8_t> media;
    std::vector<AdapterRun> adapters;
  };
  struct alignas(64) Node {
    NodeId parent = kNoNode;
    NodeId next = kNoNode;   // In the chain of the hash.
    std::uint64_t hash = 0;  // Of all from the root down; cut to hash_bits.
    PageId page = inference::kNoPage;
    NodeId root = kNoNode;
    std::uint32_t child_count = 0;
    std::uint32_t name_hold_count = 0;
    std::uint32_t chain_hold_count = 0;
    std::uint32_t position_first = 0;
    Residency residency = Residency::None;
    bool exists = false;
    bool is_opaque = false;
    bool is_named = false;
    std::unique_ptr<Unusual> unusual;
  };
  static_assert(sizeof(Node) <= 64, "a look-up touches one cache line of each node");

  const Node& at(NodeId node) const {  // Here, because a look-up asks a dozen times for each page.
    const auto index = static_cast<std::uint32_t>(node);
    QUIRE_CHECK(index < nodes_.size() && nodes_[index].exists, "no such node");
    return nodes_[index];
  }
  Node& at_mutable(NodeId node) { return const_cast<Node&>(at(node)); }
  NodeId make_node();
  NodeId make_child(NodeId parent, const PageContent& content);
  void erase_unneeded(NodeId node);
  void verify_kin() const;
  void grow_buckets();
  std::uint64_t cut(std::uint64_t hash) const;
  std::uint64_t own_hash(NodeId node) const;
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }
  bool holds(NodeId node, NodeId parent, const PageContent& content) const;
  PageName& name_of(NodeId node) { return names_[static_cast<std::uint32_t>(node)]; }
  TokenId* tokens_of(NodeId node) {
    return &tokens_[std::size_t{static_cast<std::uint32_t>(node)} * options_.page_size];
  }

  const PageTrieOptions options_;
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;  // [nodes][page_size]
  std::vector<PageName> names_;  // [nodes]
  std::vector<std::uint32_t> free_;
  std::unique_ptr<PageKin> kin_;                                 // Null: misses are not explained.
  std::vector<NodeId> node_of_page_;                             // [page_count]
  std::vector<NodeId> buckets_;                                  // A power of two.
  std::unordered_map<PageName, NodeId, NameHash> node_of_name_;  // Roots apart.
};

}  // namespace quire::control
