#include "control/pages/page_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace quire::control {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

PageTrie::PageTrie(const PageTrieOptions& options) : options_(options), nodes_(options.page_count) {
  QUIRE_CHECK(options.page_size > 0 && options.page_size <= inference::kPageSizeMax, "page size");
  QUIRE_CHECK(options.hash_bits >= 1 && options.hash_bits <= 64, "hash bits");
  buckets_.assign(std::bit_ceil(std::max<std::size_t>(16, std::size_t{2} * options.page_count)),
                  kNoNode);
}

NodeId PageTrie::add_root(const PageName& name) {
  roots_.push_back({.name = name});
  return NodeId{options_.page_count + static_cast<std::uint32_t>(roots_.size()) - 1};
}

const PageTrie::Node& PageTrie::at(NodeId node) const {
  const auto index = static_cast<std::uint32_t>(node);
  QUIRE_CHECK(index < nodes_.size(), "no such node");
  return nodes_[index];
}

std::uint32_t& PageTrie::child_count_of(NodeId node) {
  if (!is_root(node)) return at(node).child_count;
  const std::size_t index = static_cast<std::uint32_t>(node) - options_.page_count;
  QUIRE_CHECK(index < roots_.size(), "no such root");
  return roots_[index].child_count;
}

std::uint32_t PageTrie::child_count(NodeId node) const {
  return const_cast<PageTrie*>(this)->child_count_of(node);
}

std::uint64_t PageTrie::hash_of(NodeId parent, const PageContent& content) const {
  constexpr std::uint64_t kFirst = 0xa0761d6478bd642full;
  constexpr std::uint64_t kSecond = 0xe7037ed1a0b428dbull;
  std::uint64_t hash =
      mix(options_.hash_key ^ kFirst, static_cast<std::uint64_t>(parent) ^ kSecond);
  for (std::size_t index = 0; index < content.tokens.size(); ++index) {
    const std::uint64_t slot =
        (std::uint64_t{static_cast<std::uint32_t>(content.tokens[index])} << 32) |
        content.positions[index];
    hash = mix(hash ^ slot, kSecond ^ options_.hash_key);
  }
  hash = mix(hash, kFirst);
  return options_.hash_bits == 64 ? hash : hash & ((std::uint64_t{1} << options_.hash_bits) - 1);
}

bool PageTrie::holds(const Node& node, NodeId parent, const PageContent& content) const {
  return node.parent == parent &&
         std::equal(content.tokens.begin(), content.tokens.end(), node.tokens.begin()) &&
         std::equal(content.positions.begin(), content.positions.end(), node.positions.begin());
}

NodeId PageTrie::find(NodeId parent, const PageContent& content) const {
  QUIRE_CHECK(content.tokens.size() == options_.page_size, "only full pages have names");
  const std::uint64_t hash = hash_of(parent, content);
  for (NodeId each = buckets_[bucket_of(hash)]; each != kNoNode; each = at(each).next) {
    const Node& node = at(each);
    if (node.hash == hash && holds(node, parent, content)) return each;
  }
  return kNoNode;
}

void PageTrie::insert(PageId page, NodeId parent, const PageContent& content, NodeState state) {
  QUIRE_CHECK(
      content.tokens.size() == options_.page_size && content.positions.size() == options_.page_size,
      "only full pages have nodes");
  const NodeId id{static_cast<std::uint32_t>(page)};
  Node& node = at(id);
  QUIRE_CHECK(node.state == NodeState::Absent, "a page has one node");
  QUIRE_CHECK(state == NodeState::InFlight || state == NodeState::Opaque, "I6");
  QUIRE_CHECK(is_root(parent) || at(parent).state != NodeState::Absent, "T3");
  ++child_count_of(parent);
  node.state = state;
  node.parent = parent;
  node.child_count = 0;
  std::copy(content.tokens.begin(), content.tokens.end(), node.tokens.begin());
  std::copy(content.positions.begin(), content.positions.end(), node.positions.begin());
  if (state == NodeState::Opaque) return;
  QUIRE_CHECK(find(parent, content) == kNoNode, "T2");
  node.hash = hash_of(parent, content);
  NodeId& head = buckets_[bucket_of(node.hash)];
  node.next = std::exchange(head, id);
}

void PageTrie::publish(PageId page, const PageName& name) {
  Node& node = at(NodeId{static_cast<std::uint32_t>(page)});
  QUIRE_CHECK(node.state == NodeState::InFlight, "I6");
  QUIRE_CHECK(is_root(node.parent) || at(node.parent).state == NodeState::Published, "T3");
  node.state = NodeState::Published;
  node.name = name;
}

void PageTrie::erase(PageId page) {
  const NodeId id{static_cast<std::uint32_t>(page)};
  Node& node = at(id);
  QUIRE_CHECK(node.state != NodeState::Absent, "erased twice");
  QUIRE_CHECK(node.child_count == 0, "I11: leaves first");
  if (node.state != NodeState::Opaque) {
    NodeId* link = &buckets_[bucket_of(node.hash)];
    while (*link != id) {
      QUIRE_CHECK(*link != kNoNode, "T1");
      link = &at(*link).next;
    }
    *link = node.next;
  }
  --child_count_of(node.parent);
  node.state = NodeState::Absent;
  node.parent = kNoNode;
  node.next = kNoNode;
}

NodeState PageTrie::state(NodeId node) const {
  return is_root(node) ? NodeState::Published : at(node).state;
}

const PageName& PageTrie::name(NodeId node) const {
  if (!is_root(node)) return at(node).name;
  return roots_[static_cast<std::uint32_t>(node) - options_.page_count].name;
}

std::span<const TokenId> PageTrie::tokens(NodeId node) const {
  return std::span(at(node).tokens).first(options_.page_size);
}

void PageTrie::verify() const {
  std::vector<std::uint32_t> children(nodes_.size() + roots_.size(), 0);
  std::vector<std::uint8_t> listed(nodes_.size(), 0);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (NodeId each = buckets_[bucket]; each != kNoNode; each = at(each).next) {
      QUIRE_CHECK(listed[static_cast<std::uint32_t>(each)]++ == 0, "T1");
      const Node& node = at(each);
      QUIRE_CHECK(bucket_of(node.hash) == bucket, "T1");
      const PageContent content{.tokens = std::span(node.tokens).first(options_.page_size),
                                .positions = std::span(node.positions).first(options_.page_size)};
      QUIRE_CHECK(find(node.parent, content) == each, "T2");
    }
  }
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    const bool is_listed = node.state == NodeState::InFlight || node.state == NodeState::Published;
    QUIRE_CHECK(is_listed == (listed[index] == 1), "T1");
    if (node.state == NodeState::Absent) continue;
    QUIRE_CHECK(is_root(node.parent) || at(node.parent).state != NodeState::Absent, "T3");
    if (node.state == NodeState::Published) {
      QUIRE_CHECK(state(node.parent) == NodeState::Published, "T3");
    }
    ++children[static_cast<std::uint32_t>(node.parent)];
  }
  for (std::uint32_t index = 0; index < children.size(); ++index) {
    QUIRE_CHECK(child_count(NodeId{index}) == children[index], "T4");
  }
}

}  // namespace quire::control
