#pragma once
// One page as bytes: a header of 4096 bytes and the keys and values, as a slot of a page file and
// an export file hold it. A checksum covers both. docs/reference/snapshot_format.md has the
// bytes.
//
// Errors   Corrupted, naming what disagrees, for anything but the page that was wanted.
#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "control/store/records.h"

namespace quire::store {

inline constexpr std::size_t kPageHeaderBytes = 4096;

// A page as the store keeps it: a PageRecord, or a tail page under the name that the store gave it.
struct StoredPage {
  PageRecord page;
  bool is_tail = false;
  std::uint32_t written_count = 0;  // Of a tail page; else all of its tokens.
};
inline StoredPage committed(const PageRecord& page) {
  return {.page = page,
          .is_tail = false,
          .written_count = static_cast<std::uint32_t>(page.tokens.size())};
}

// How many bytes of a header view, media and adapters take; at most kPageExtrasBytesMax do.
std::size_t page_extras_bytes(std::size_t view_bytes, std::size_t media_bytes,
                              std::span<const AdapterRun> adapters);

using PageHeaderBytes = std::array<std::byte, kPageHeaderBytes>;

Result<void> check_page(const StoredPage& page,
                        const PageSpace& space);  // InvalidArgument, TooLarge
// The same of a page whose keys and values lie elsewhere; its own are not looked at.
Result<void> check_page(const StoredPage& page, std::span<const std::byte> kv,
                        const PageSpace& space);

// Requires: check_page(page) is ok.
PageHeaderBytes encode_page_header(const StoredPage& page, const Digest& space_digest);
PageHeaderBytes encode_page_header(const StoredPage& page, std::span<const std::byte> kv,
                                   const Digest& space_digest);

// How many bytes of keys and values follow a header: page_bytes, or none for a link. From bytes
// that may be damaged.
Result<std::uint64_t> kv_bytes_of(const PageHeaderBytes& header, const PageSpace& space);
// The page if header and kv belong together, to this space and, if given, under this name.
Result<StoredPage> decode_page(const PageHeaderBytes& header, std::vector<std::byte> kv,
                               const PageSpace& space, const Digest& space_digest,
                               const PageName* wanted);

// The name of a tail page: SHA-256 of all its content, which no committed page can have.
PageName tail_name(const TailPage& tail, const PageName& parent, const Digest& space_digest);

}  // namespace quire::store
