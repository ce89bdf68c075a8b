#pragma once
// PageTiers over a cache of their own, with pages that are told apart by a number in their bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "control/tiers/page_tiers.h"

namespace quire::control {

inline constexpr std::uint64_t kPageBytes = 64;
inline constexpr std::uint32_t kViewBytesMax = 100;
inline constexpr std::uint32_t kPageSize = 4;
inline constexpr TenantId kTenant{1};
inline constexpr TenantId kOther{2};

inline PageBytes bytes_of(std::uint64_t value) {
  PageBytes bytes = PageBytes::uninitialised(kPageBytes);
  std::memset(bytes.span().data(), 0, kPageBytes);
  std::memcpy(bytes.span().data(), &value, sizeof(value));
  return bytes;
}

inline PageTiers::ReadBytes read_of(std::uint64_t value) {
  PageTiers::ReadBytes read{.bytes = bytes_of(value), .checksum = {}};
  read.checksum = store::checksum(read.bytes.span());
  return read;
}

inline std::uint64_t value_of(const PageBytes& bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.span().data(), sizeof(value));
  return value;
}

// A cache whose pages are given up as soon as they are named: their nodes are what is left.
struct TierFixture {
  explicit TierFixture(std::uint32_t host_pages, std::uint32_t disk_pages = 0,
                       std::uint32_t staged_pages = 4)
      : cache(options()),
        tiers(cache, {.page_bytes = kPageBytes,
                      .host_bytes_max = host_pages * kPageBytes,
                      .disk_page_count_max = disk_pages,
                      .disk_view_bytes_max = kViewBytesMax,
                      .staged_bytes_max = staged_pages * kPageBytes}),
        root(cache.root({})) {}

  static PageCacheOptions options() {
    PageCacheOptions options;
    options.page_count = 64;
    options.space.page_size = kPageSize;
    return options;
  }

  // A node that has a name and, once its page is evicted, no bytes.
  NodeId node(std::uint32_t token, std::size_t view_bytes = 0) {
    std::vector<PageId> pages;
    EXPECT_TRUE(cache.take(1, pages));
    const std::vector<TokenId> tokens(kPageSize, TokenId{token});
    std::vector<std::uint32_t> positions(kPageSize);
    std::iota(positions.begin(), positions.end(), 0u);
    const std::vector<std::uint8_t> view(view_bytes, 1);
    const NodeId made = cache.commit(
        pages[0], root, {.tokens = tokens, .positions = positions, .mask = view}, HoldKind::Page);
    cache.hold_name(made);  // The test's own.
    cache.drop_page(made);
    return made;
  }
  bool keep(NodeId page, std::uint64_t value) {
    const std::optional<TransferId> transfer = tiers.leave(page);
    if (!transfer) return false;
    tiers.arrive(page, *transfer, bytes_of(value));
    return true;
  }
  // Restores the page, and returns its value.
  std::uint64_t restore(NodeId page) {
    Result<PageTiers::Taken> taken = tiers.take_bytes(page);
    EXPECT_TRUE(taken.ok());
    PageTiers::Taken bytes = std::move(taken).take();
    const std::uint64_t value = value_of(bytes.bytes);
    tiers.give_bytes(page, bytes.transfer, std::move(bytes.bytes), true);
    return value;
  }

  PageCache cache;
  PageTiers tiers;
  NodeId root;
};

}  // namespace quire::control
