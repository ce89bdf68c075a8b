#include "control/pages/page_trie.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t kMixFirst = 0xa0761d6478bd642full;
constexpr std::uint64_t kMixSecond = 0xe7037ed1a0b428dbull;

std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <typename Left, typename Right>
bool is_equal(const Left& left, const Right& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

}  // namespace

PageTrie::PageTrie(const PageTrieOptions& options)
    : options_(options),
      kin_(options.has_kin ? std::make_unique<PageKin>() : nullptr),
      node_of_page_(options.page_count, kNoNode) {
  QUIRE_CHECK(options.page_size > 0 && options.page_size <= inference::kPageSizeMax, "page size");
  QUIRE_CHECK(options.hash_bits >= 1 && options.hash_bits <= 64, "hash bits");
  buckets_.assign(std::bit_ceil(std::max<std::size_t>(16, std::size_t{2} * options.page_count)),
                  kNoNode);
}

NodeId PageTrie::make_node() {
  std::uint32_t index = static_cast<std::uint32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
    tokens_.resize(tokens_.size() + options_.page_size);
    names_.emplace_back();
    if (nodes_.size() > buckets_.size()) grow_buckets();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  nodes_[index].exists = true;
  return NodeId{index};
}

NodeId PageTrie::add_root(const PageName& name) {
  const NodeId root = make_node();
  Node& node = at_mutable(root);
  node.root = root;
  node.hash = own_hash(root);
  name_of(root) = name;
  node.is_named = true;
  if (kin_) kin_->add_root(root, kMixFirst);
  return root;
}

NodeId PageTrie::node_of(PageId page) const {
  const auto index = static_cast<std::uint32_t>(page);
  QUIRE_CHECK(index < node_of_page_.size(), "no such page");
  return node_of_page_[index];
}

std::span<const TokenId> PageTrie::tokens(NodeId node) const {
  return {const_cast<PageTrie*>(this)->tokens_of(node), options_.page_size};
}

std::vector<std::uint32_t> PageTrie::positions(NodeId node) const {
  const Node& entry = at(node);
  if (entry.unusual && !entry.unusual->positions.empty()) return entry.unusual->positions;
  std::vector<std::uint32_t> positions(options_.page_size);
  std::iota(positions.begin(), positions.end(), entry.position_first);
  return positions;
}

std::span<const std::uint8_t> PageTrie::mask(NodeId node) const {
  const Node& entry = at(node);
  if (!entry.unusual) return {};
  return entry.unusual->mask;
}

std::span<const AdapterRun> PageTrie::adapters(NodeId node) const {
  const Node& entry = at(node);
  if (!entry.unusual) return {};
  return entry.unusual->adapters;
}

std::span<const std::uint8_t> PageTrie::media(NodeId node) const {
  const Node& entry = at(node);
  if (!entry.unusual) return {};
  return entry.unusual->media;
}

std::uint64_t PageTrie::hash_below(std::uint64_t parent, const PageContent& content) const {
  std::uint64_t hash = mix(options_.hash_key ^ kMixFirst, parent ^ kMixSecond);
  const auto slot = [&content](std::size_t index) {
    return (std::uint64_t{static_cast<std::uint32_t>(content.tokens[index])} << 32) |
           content.positions[index];
  };
  // Two slots for each multiplication: they wait for one another, and there are 8 in 16 slots.
  const std::uint64_t key = kMixSecond ^ options_.hash_key;
  std::size_t index = 0;
  for (; index + 1 < content.tokens.size(); index += 2) {
    hash = mix(slot(index) ^ key, slot(index + 1) ^ hash);
  }
  if (index < content.tokens.size()) hash = mix(slot(index) ^ key, hash);
  for (const auto bytes : {content.mask, content.media}) {
    for (const std::uint8_t byte : bytes) hash = mix(hash ^ byte, kMixFirst ^ options_.hash_key);
  }
  for (const AdapterRun& run : content.adapters) {
    hash = mix(hash ^ run.first_slot, run.set.size() ^ kMixSecond ^ options_.hash_key);
    for (const ScaledAdapter& each : run.set) {
      for (const std::uint8_t byte : each.digest) hash = mix(hash ^ byte, kMixSecond);
      hash = mix(hash ^ std::bit_cast<std::uint32_t>(each.scale), kMixSecond);
    }
  }
  return cut(mix(hash, kMixFirst));
}

std::uint64_t PageTrie::cut(std::uint64_t hash) const {
  return options_.hash_bits == 64 ? hash : hash & ((std::uint64_t{1} << options_.hash_bits) - 1);
}

// Returns the hash of a root or an opaque node, which has no content to hash. The hashes of its
// descendants start from it.
std::uint64_t PageTrie::own_hash(NodeId node) const {
  return cut(mix(options_.hash_key ^ kMixSecond, static_cast<std::uint64_t>(node) ^ kMixFirst));
}

bool PageTrie::holds(NodeId node, NodeId parent, const PageContent& content) const {
  const Node& entry = at(node);
  if (entry.parent != parent || !is_equal(content.tokens, tokens(node))) return false;
  if (!entry.unusual) {
    return content.mask.empty() && content.media.empty() && content.adapters.empty() &&
           content.positions.front() == entry.position_first && is_consecutive(content.positions);
  }
  return is_equal(content.positions, positions(node)) &&
         is_equal(content.mask, entry.unusual->mask) &&
         is_equal(content.media, entry.unusual->media) &&
         is_equal(content.adapters, entry.unusual->adapters);
}

NodeId PageTrie::find(NodeId parent, const PageContent& content) const {
  return find(parent, content, hash_below(at(parent).hash, content));
}

NodeId PageTrie::find(NodeId parent, const PageContent& content, std::uint64_t hash) const {
  QUIRE_CHECK(content.tokens.size() == options_.page_size, "only full pages have names");
  for (NodeId each = buckets_[bucket_of(hash)]; each != kNoNode; each = at(each).next) {
    if (at(each).hash != hash) continue;
    if (is_planted(Fault::CompareSkipped) || holds(each, parent, content)) return each;
  }
  return kNoNode;
}

NodeId PageTrie::make_child(NodeId parent, const PageContent& content) {
  QUIRE_CHECK(
      content.tokens.size() == options_.page_size && content.positions.size() == options_.page_size,
      "only full pages have nodes");
  const NodeId id = make_node();
  ++at_mutable(parent).child_count;
  Node& node = at_mutable(id);
  node.parent = parent;
  node.root = at(parent).root;
  std::copy(content.tokens.begin(), content.tokens.end(), tokens_of(id));
  node.position_first = content.positions.front();
  const bool is_usual = is_consecutive(content.positions) && content.mask.empty() &&
                        content.media.empty() && content.adapters.empty();
  if (!is_usual) {
    node.unusual = std::make_unique<Unusual>(
        Unusual{.positions = {content.positions.begin(), content.positions.end()},
                .mask = {content.mask.begin(), content.mask.end()},
                .media = {content.media.begin(), content.media.end()},
                .adapters = {content.adapters.begin(), content.adapters.end()}});
  }
  return id;
}

NodeId PageTrie::insert(NodeId parent, const PageContent& content, std::uint64_t hash) {
  QUIRE_CHECK(find(parent, content, hash) == kNoNode, "T2");
  const NodeId id = make_child(parent, content);
  Node& node = at_mutable(id);
  node.hash = hash;
  node.next = std::exchange(buckets_[bucket_of(hash)], id);
  if (kin_) kin_->add(id, parent, hash_below(kin_->hash(parent), content), false);
  return id;
}

NodeId PageTrie::insert_opaque(NodeId parent, const PageContent& content) {
  if (is_planted(Fault::OpaquePageFound)) return insert(parent, content);
  const NodeId id = make_child(parent, content);
  Node& node = at_mutable(id);
  node.is_opaque = true;
  node.hash = own_hash(id);
  if (kin_) kin_->add(id, parent, node.hash, true);
  return id;
}

void PageTrie::grow_buckets() {
  buckets_.assign(buckets_.size() * 2, kNoNode);
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    Node& node = nodes_[index];
    if (!node.exists || node.is_opaque || node.parent == kNoNode) continue;
    node.next = std::exchange(buckets_[bucket_of(node.hash)], NodeId{index});
  }
}

void PageTrie::set_name(NodeId node, const PageName& name) {
  Node& entry = at_mutable(node);
  QUIRE_CHECK(!entry.is_named, "T7: named twice");
  name_of(node) = name;
  entry.is_named = true;
  node_of_name_.emplace(name, node);
}

NodeId PageTrie::find_name(const PageName& name) const {
  const auto found = node_of_name_.find(name);
  return found == node_of_name_.end() ? kNoNode : found->second;
}

void PageTrie::claim(NodeId node, PageId page) {
  Node& entry = at_mutable(node);
  QUIRE_CHECK(entry.residency == Residency::None, "I6: the bytes are there or on their way");
  QUIRE_CHECK(node_of(page) == kNoNode, "T5: a page has one node");
  entry.residency = Residency::InFlight;
  entry.page = page;
  node_of_page_[static_cast<std::uint32_t>(page)] = node;
}

void PageTrie::publish(NodeId node) {
  Node& entry = at_mutable(node);
  QUIRE_CHECK(entry.residency == Residency::InFlight, "I6");
  entry.residency = Residency::Resident;
}

void PageTrie::remove_page(NodeId node) {
  Node& entry = at_mutable(node);
  QUIRE_CHECK(entry.residency != Residency::None, "T5");
  node_of_page_[static_cast<std::uint32_t>(entry.page)] = kNoNode;
  entry.page = inference::kNoPage;
  entry.residency = Residency::None;
  erase_unneeded(node);
}

void PageTrie::drop_name(NodeId node) {
  Node& entry = at_mutable(node);
  QUIRE_CHECK(entry.name_hold_count > 0, "I3: a name was dropped more often than held");
  --entry.name_hold_count;
  erase_unneeded(node);
}

void PageTrie::erase_unneeded(NodeId id) {
  while (true) {
    Node& node = at_mutable(id);
    if (node.parent == kNoNode || node.residency != Residency::None || node.child_count > 0 ||
        node.name_hold_count > 0) {
      return;
    }
    QUIRE_CHECK(node.chain_hold_count == 0, "I3: a held page lost its bytes");
    if (!node.is_opaque) {
      NodeId* link = &buckets_[bucket_of(node.hash)];
      while (*link != id) {
        QUIRE_CHECK(*link != kNoNode, "T1");
        link = &at_mutable(*link).next;
      }
      *link = node.next;
    }
    if (node.is_named) node_of_name_.erase(name_of(id));
    const NodeId parent = node.parent;
    if (kin_) kin_->remove(id, parent);
    node = Node();
    free_.push_back(static_cast<std::uint32_t>(id));
    --at_mutable(parent).child_count;
    id = parent;
  }
}

void PageTrie::verify_kin() const {
  kin_->verify();
  for_each([this](NodeId node) {
    std::uint32_t count = 0;
    kin_->for_each_child(node, at(node).child_count + 1, [&](NodeId child) {
      QUIRE_CHECK(parent(child) == node, "K1");
      ++count;
      return true;
    });
    QUIRE_CHECK(count == at(node).child_count, "K1");
  });
}

void PageTrie::verify() const {
  if (kin_) verify_kin();
  std::vector<std::uint32_t> children(nodes_.size(), 0);
  std::vector<std::uint8_t> listed(nodes_.size(), 0);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (NodeId each = buckets_[bucket]; each != kNoNode; each = at(each).next) {
      QUIRE_CHECK(listed[static_cast<std::uint32_t>(each)]++ == 0, "T1");
      QUIRE_CHECK(bucket_of(at(each).hash) == bucket, "T1");
      const Node& node = at(each);
      const std::vector<std::uint32_t> all_positions = positions(each);
      const PageContent content{.tokens = tokens(each),
                                .positions = all_positions,
                                .mask = mask(each),
                                .media = node.unusual
                                             ? std::span<const std::uint8_t>(node.unusual->media)
                                             : std::span<const std::uint8_t>(),
                                .adapters = adapters(each)};
      QUIRE_CHECK(find(node.parent, content) == each, "T2");
    }
  }
  std::size_t named = 0;
  std::uint32_t with_page = 0;
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    if (!node.exists) {
      QUIRE_CHECK(listed[index] == 0, "T1");
      continue;
    }
    const bool is_root = node.parent == kNoNode;
    QUIRE_CHECK((!is_root && !node.is_opaque) == (listed[index] == 1), "T1");
    const bool has_page = node.page != inference::kNoPage;
    QUIRE_CHECK(has_page == (node.residency != Residency::None), "T5");
    if (has_page) {
      QUIRE_CHECK(node_of(node.page) == NodeId{index}, "T5");
      ++with_page;
    }
    if (is_root) continue;
    if (node.is_named) {
      QUIRE_CHECK(find_name(name(NodeId{index})) == NodeId{index}, "T7");
      ++named;
    }
    QUIRE_CHECK(nodes_[static_cast<std::uint32_t>(node.parent)].exists, "T3");
    QUIRE_CHECK(node.root == at(node.parent).root, "T3");
    ++children[static_cast<std::uint32_t>(node.parent)];
    QUIRE_CHECK(has_page || node.child_count > 0 || node.name_hold_count > 0, "T6");
  }
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    QUIRE_CHECK(nodes_[index].child_count == children[index], "T4");
  }
  QUIRE_CHECK(named == node_of_name_.size(), "T7");
  const auto mapped = std::count_if(node_of_page_.begin(), node_of_page_.end(),
                                    [](NodeId node) { return node != kNoNode; });
  QUIRE_CHECK(static_cast<std::uint32_t>(mapped) == with_page, "T5");
}

}  // namespace quire::control
