#pragma once
// StoreFile: an open file of any FileSystem, with the loops and the words that system calls lack.
//
// Interrupted and short transfers are continued. A failed sync is never repeated: the system may
// have dropped what it could not write, and the next sync would say yes about nothing.
//
// Thread   the store's thread. Closed when destroyed.
// Errors   NotFound for a file that is not there; Unavailable for one that another process holds;
//          Corrupted for one that ends before what was to be read; else Io. A message names the
//          operation, the file and the system's reason; a full disk is called that.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/store/file_system.h"

namespace quire::store {

class StoreFile final {
 public:
  static Result<StoreFile> open(FileSystem& files, const std::string& path, OpenMode mode);
  StoreFile(StoreFile&& other) noexcept;
  StoreFile& operator=(StoreFile&& other) noexcept;
  ~StoreFile();

  const std::string& path() const { return path_; }
  Result<std::uint64_t> bytes() const;

  // Fewer bytes than `into` has only where the file ends.
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) const;
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> sync();
  Result<void> truncate(std::uint64_t bytes);
  Result<void> lock();

 private:
  StoreFile(FileSystem& files, Descriptor descriptor, std::string path)
      : files_(&files), descriptor_(descriptor), path_(std::move(path)) {}

  FileSystem* files_;  // Null once moved from.
  Descriptor descriptor_;
  std::string path_;
};

Result<void> rename_file(FileSystem& files, const std::string& from, const std::string& to);
Result<void> remove_file(FileSystem& files, const std::string& path);
Result<void> create_folder(FileSystem& files, const std::string& path);  // There is fine too.
Result<void> sync_folder(FileSystem& files, const std::string& path);
Result<std::vector<std::string>> list_folder(FileSystem& files, const std::string& path);
Result<DiskSpace> disk_space(FileSystem& files, const std::string& folder);

// The folder that holds `path`: "." where it has no slash.
std::string folder_of(const std::string& path);

}  // namespace quire::store
