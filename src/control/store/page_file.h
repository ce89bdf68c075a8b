#pragma once
// PageFile: pages of one PageSpace in slots of one length, each checked whenever it is read.
//
// Which slot holds what, and which are free, is the index's business (store_index.h): a slot says
// what it holds only so that a wrong one is noticed. Files are read with pread and never mapped:
// one that shrinks is an error and not a dead process.
//
// Thread   the store's thread.
// Errors   Corrupted for a file or slot that is not what it should be; NotSupported for a file of
//          another version; Io.
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "control/store/page_image.h"
#include "control/store/store_file.h"

namespace quire::store {

inline constexpr std::uint32_t kPageFileVersion = 1;
inline constexpr std::size_t kPageFileHeaderBytes = 4096;

// The bytes of a slot: header and page, rounded up to whole blocks of 4096 bytes.
std::uint64_t slot_bytes_of(std::uint64_t page_bytes);
inline std::uint64_t slot_bytes_of(const PageSpace& space) {
  return slot_bytes_of(space.page_bytes);
}
std::string page_file_name(const Digest& space_digest);  // Without a folder.
bool is_page_file_name(const std::string& name);

std::vector<std::byte> encode_page_file_header(const PageSpace& space);
// The space that a header describes; `path` is for messages.
Result<PageSpace> decode_page_file_header(std::span<const std::byte> header,
                                          const std::string& path);

class PageFile final {
 public:
  // An existing file of that space.
  static Result<PageFile> open(FileSystem& files, const std::string& path, const PageSpace& space);
  // An empty one, durable with its entry in its folder; replaces whatever is there.
  static Result<PageFile> create(FileSystem& files, const std::string& path,
                                 const PageSpace& space);

  std::uint64_t slot_bytes() const { return slot_bytes_; }
  const std::string& path() const { return file_.path(); }

  Result<StoredPage> read(std::uint64_t slot, const PageName* wanted) const;
  // Durable after sync(). Requires: check_page(page) is ok, and the page is not a link.
  Result<void> write(std::uint64_t slot, const StoredPage& page) {
    return write(slot, page, page.page.kv);
  }
  // The same of a page whose keys and values lie elsewhere.
  Result<void> write(std::uint64_t slot, const StoredPage& page, std::span<const std::byte> kv);
  // A failure means that any write since the last success may be lost, also if a later one
  // succeeds.
  Result<void> sync() { return file_.sync(); }

  // Whether a slot begins with zeros, or lies after the end of the file.
  Result<bool> is_blank(std::uint64_t slot) const;
  Result<void> blank(std::uint64_t slot);
  // Cuts the file after that many slots, if it is longer.
  Result<void> cut(std::uint64_t slot_count);
  // Slots that the file has room for, the last one perhaps in part.
  Result<std::uint64_t> slot_count() const;

 private:
  PageFile(StoreFile file, const PageSpace& space);
  std::uint64_t offset_of(std::uint64_t slot) const;

  StoreFile file_;
  PageSpace space_;
  Digest space_digest_;
  std::uint64_t slot_bytes_;
};

}  // namespace quire::store
