#pragma once
// Random programs on a PageCache beside the simplest model that could be right: a head is its path,
// and a path is what a page and all before it hold. Fails through GoogleTest, or stops in a check.
#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "control/pages/page_cache.h"
#include "support/verifying.h"

namespace quire::test {

using control::AdapterRun;
using control::BatchId;
using control::ColdHint;
using control::EvictionHint;
using control::EvictionPolicyKind;
using control::HoldKind;
using control::kNoNode;
using control::MatchState;
using control::NodeId;
using control::PageCache;
using control::PageCacheOptions;
using control::PageContent;
using control::PageId;
using control::PageMatch;
using control::PageName;
using control::ScaledAdapter;
using control::TenantId;
using control::TokenId;

// Chains and single pages of two domains. With hashes of 4 and 8 bits everything collides, and
// nothing may be found that was not put there (I10). One path has one name, and one name one path.
class PageCacheProgram {
 public:
  PageCacheProgram(std::uint64_t seed, std::uint32_t hash_bits)
      : random_(seed),
        page_count_(1 + random(20)),
        page_size_(1 + random(4)),
        cache_(options_of(hash_bits)),
        roots_{cache_.root({}, TenantId{1}), cache_.root({1}, TenantId{2})} {}

  void run() {
    for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
      act();
      verify();
      check();
    }
    while (!heads_.empty()) drop_head(0);
    while (!alone_.empty()) drop_alone(0);
    while (is_open_) complete();
    cache_.evict_all();
    verify();
    ASSERT_EQ(cache_.pool().free_count(), page_count_);
    ASSERT_EQ(cache_.trie().node_count(), roots_.size())
        << "a node outlived everything that needs it";
  }

 private:
  enum class Kind : std::uint8_t {
    Plain,
    Moved,
    Uneven,
    Masked,
    Adapted,
    Scaled,
    Switched,
    Opaque
  };
  // The content of a page, except for what follows from its depth.
  struct Piece {
    std::uint32_t token = 0;
    Kind kind = Kind::Plain;
    std::uint32_t number = 0;  // Of an opaque one: no two are equal.
    auto operator<=>(const Piece&) const = default;
  };
  using Path = std::vector<Piece>;
  struct Head {
    NodeId node;
    std::size_t domain = 0;
    Path path;
  };
  struct Content {
    std::vector<TokenId> tokens;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint8_t> mask;
    std::vector<AdapterRun> adapters;
    PageContent view() const {
      return {.tokens = tokens, .positions = positions, .mask = mask, .adapters = adapters};
    }
  };
  PageCacheOptions options_of(std::uint32_t hash_bits) {
    PageCacheOptions options;
    options.page_count = page_count_;
    options.space.page_size = page_size_;
    options.hash_bits = hash_bits;
    options.eviction = static_cast<EvictionPolicyKind>(random(3));
    return options;
  }
  Piece some_piece() {
    Piece piece{.token = random(3)};
    if (random(3) == 0) piece.kind = static_cast<Kind>(random(8));
    if (piece.kind == Kind::Uneven && page_size_ == 1)
      piece.kind = Kind::Moved;  // It has one slot.
    if (piece.kind == Kind::Opaque) piece.number = ++opaque_count_;
    return piece;
  }
  Content content_of(std::size_t depth, const Piece& piece) const {
    Content content;
    const std::uint32_t first =
        static_cast<std::uint32_t>(depth) * page_size_ + (piece.kind == Kind::Moved ? 100 : 0);
    for (std::uint32_t slot = 0; slot < page_size_; ++slot) {
      content.tokens.push_back(TokenId{piece.token});
      content.positions.push_back(first + slot * (piece.kind == Kind::Uneven ? 2 : 1));
    }
    if (piece.kind == Kind::Masked) content.mask = {1, 2, 3};
    const ScaledAdapter adapter{.digest = {7}, .scale = piece.kind == Kind::Scaled ? 0.5f : 1.0f};
    if (piece.kind == Kind::Adapted || piece.kind == Kind::Scaled) {
      content.adapters = {{.first_slot = 0, .set = {adapter}}};
    } else if (piece.kind == Kind::Switched) {  // At the last slot; of a page of one, all of it.
      content.adapters = {{.first_slot = page_size_ - 1, .set = {adapter, {.digest = {9}}}}};
    }
    return content;
  }
  // The page is committed or was found.
  void note_name(NodeId node, std::size_t domain, const Path& path) {
    const auto key = std::pair(domain, path);
    ASSERT_EQ(path_by_name_.emplace(cache_.name(node), key).first->second, key)
        << "two paths have one name";
    ASSERT_EQ(name_by_path_.emplace(key, cache_.name(node)).first->second, cache_.name(node))
        << "one path has two names";
  }
  ColdHint any_hint() {
    return {.hint = static_cast<EvictionHint>(random(5)), .keep_seconds = random(20)};
  }
  std::uint32_t random(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

  void act() {
    const std::size_t pick = heads_.empty() ? 0 : random_() % heads_.size();
    switch (random(12)) {
      case 0:
        heads_.push_back({.node = roots_[0], .domain = 0, .path = {}});
        if (random(3) == 0) heads_.back() = {.node = roots_[1], .domain = 1, .path = {}};
        break;
      case 1:
        if (heads_.empty()) break;
        cache_.hold(heads_[pick].node);
        heads_.push_back(heads_[pick]);
        break;
      case 2:
        if (!heads_.empty()) drop_head(pick);
        break;
      case 3:
        hold_alone(pick);
        break;
      case 4:
        if (!alone_.empty()) drop_alone(random_() % alone_.size());
        break;
      case 5:
        is_open_ ? complete() : open();
        break;
      case 6:
        cache_.set_time(now_ns_ += std::uint64_t{random(5)} * 1'000'000'000);
        break;
      case 7:
        if (!alone_.empty()) extend_alone(alone_[random_() % alone_.size()]);
        break;
      default:
        if (!heads_.empty()) extend(heads_[pick]);
    }
  }
  void open() {
    cache_.open_batch(BatchId{++batch_});
    is_open_ = true;
  }
  void complete() {
    cache_.complete_batch(BatchId{batch_});
    is_open_ = false;
  }
  void drop_head(std::size_t pick) {
    cache_.drop(heads_[pick].node, any_hint());
    heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  void drop_alone(std::size_t pick) {
    cache_.drop_name(alone_[pick].node);
    cache_.drop_page(alone_[pick].node, any_hint());
    alone_.erase(alone_.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  // A page in the middle of a chain, whatever becomes of the chain.
  void hold_alone(std::size_t pick) {
    if (heads_.empty() || heads_[pick].path.empty()) return;
    Head part = heads_[pick];
    for (std::uint32_t up = random(static_cast<std::uint32_t>(part.path.size())); up > 0; --up) {
      part.node = cache_.parent(part.node);
      part.path.pop_back();
    }
    cache_.hold_page(part.node);
    cache_.hold_name(part.node);
    alone_.push_back(part);
  }
  // Extends a context after a range that it dropped: the parent may be cold, or not here.
  void extend_alone(Head part) {
    const Piece piece = some_piece();
    if (random(3) == 0) {
      part.node = cache_.parent(part.node);
      part.path.pop_back();
    }
    const Content below = content_of(part.path.size(), piece);
    const bool is_opaque = piece.kind == Kind::Opaque;
    const PageMatch match = cache_.find(part.node, below.view());
    NodeId node = match.node;
    if (match.state == MatchState::Resident && !is_opaque) {
      cache_.note_found(node);
      cache_.hold_page(node);
    } else {
      std::vector<PageId> pages;
      cache_.hold_name(part.node);  // take() may evict all that keeps it.
      const bool is_taken = cache_.take(1, pages);
      if (is_taken) {
        node = cache_.commit(pages[0], part.node, below.view(), HoldKind::Page, is_opaque);
      }
      cache_.drop_name(part.node);
      if (!is_taken) return;
    }
    cache_.hold_name(node);
    part.node = node;
    part.path.push_back(piece);
    note_name(node, part.domain, part.path);
    alone_.push_back(part);
  }
  void extend(Head& head) {
    const Piece piece = some_piece();
    const Content content = content_of(head.path.size(), piece);
    const PageMatch match = cache_.find(head.node, content.view());
    NodeId node = match.node;
    if (match.state == MatchState::Resident && piece.kind != Kind::Opaque) {
      ASSERT_EQ(cache_.parent(match.node), head.node);
      cache_.hold(node);
    } else {
      std::vector<PageId> pages;
      if (!cache_.take(1, pages)) return;
      if (piece.kind != Kind::Opaque && !write(pages[0], head.node, content)) return;
      node = cache_.commit(pages[0], head.node, content.view(), HoldKind::Chain,
                           piece.kind == Kind::Opaque);
    }
    cache_.drop(head.node);
    head.node = node;
    head.path.push_back(piece);
    note_name(node, head.domain, head.path);
  }
  // Does the work of a batch before the page is committed; false if it failed.
  bool write(PageId page, NodeId parent, const Content& content) {
    EXPECT_TRUE(cache_.claim(page, parent, content.view()));
    EXPECT_EQ(cache_.find(parent, content.view()).state, MatchState::InFlight);
    if (random(4) != 0) return true;
    cache_.unclaim(page);
    cache_.release(page);
    return false;
  }
  void verify() const {
    const Verifying verifying;
    cache_.verify();
  }
  void check() {
    for (const auto* all : {&heads_, &alone_}) {
      for (const Head& head : *all) {
        NodeId node = head.node;
        for (std::size_t index = head.path.size(); index > 0; --index) {
          ASSERT_EQ(cache_.trie().tokens(node).back(), TokenId{head.path[index - 1].token});
          ASSERT_TRUE(all == &alone_ || cache_.is_resident(node));
          node = cache_.parent(node);
        }
        ASSERT_EQ(node, roots_[head.domain]);
      }
    }
    for (const Head& page : alone_) ASSERT_TRUE(cache_.is_resident(page.node));
  }

  std::mt19937_64 random_;
  std::uint32_t page_count_;
  std::uint32_t page_size_;
  PageCache cache_;
  const std::array<NodeId, 2> roots_;  // By domain.
  std::vector<Head> heads_;
  std::vector<Head> alone_;
  std::map<PageName, std::pair<std::size_t, Path>> path_by_name_;
  std::map<std::pair<std::size_t, Path>, PageName> name_by_path_;
  std::uint32_t opaque_count_ = 0;
  std::uint64_t batch_ = 0;
  std::uint64_t now_ns_ = 0;
  bool is_open_ = false;
};

}  // namespace quire::test
