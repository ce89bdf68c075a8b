#pragma once
// The files of this machine. No state; any thread.
#include "control/store/file_system.h"

namespace quire::store {

class PosixFileSystem final : public FileSystem {
 public:
  CallResult open(const std::string& path, OpenMode mode) override;
  void close(Descriptor descriptor) override;
  CallResult pread(Descriptor descriptor, std::span<std::byte> into, std::uint64_t offset) override;
  CallResult pwrite(Descriptor descriptor, std::span<const std::byte> bytes,
                    std::uint64_t offset) override;
  CallResult fdatasync(Descriptor descriptor) override;
  CallResult ftruncate(Descriptor descriptor, std::uint64_t bytes) override;
  CallResult file_bytes(Descriptor descriptor) override;
  CallResult try_lock(Descriptor descriptor) override;
  CallResult rename(const std::string& from, const std::string& to) override;
  CallResult unlink(const std::string& path) override;
  CallResult create_folder(const std::string& path) override;
  CallResult fsync_folder(const std::string& path) override;
  CallResult list_folder(const std::string& path, std::vector<std::string>& names) override;
  CallResult disk_space(const std::string& folder, DiskSpace& space) override;
};

}  // namespace quire::store
