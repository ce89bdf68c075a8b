#pragma once
// FileSystem is the thin edge between the store and the disk: one virtual call for each system
// call, with the system's own result, so that a simulation can stand in for all of them.
//
// Nothing here retries or explains: StoreFile (store_file.h) does, once, for every implementation.
//
// Thread   the store's thread; implementations without state of their own allow any.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quire::store {

enum class Descriptor : int {};

enum class OpenMode : std::uint8_t {
  Read,          // An existing file.
  ReadWrite,     // An existing file.
  CreateOrOpen,  // Read and write; made empty where there is none.
};

// The outcome of a system call: a value, or the number of an error (errno.h) other than zero.
struct CallResult {
  std::int64_t value = 0;
  int error_number = 0;
  bool ok() const { return error_number == 0; }
};

// The room of a file system.
struct DiskSpace {
  std::uint64_t bytes = 0;       // Its size.
  std::uint64_t free_bytes = 0;  // For this process.
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual CallResult open(const std::string& path, OpenMode mode) = 0;  // Value: a Descriptor.
  virtual void close(Descriptor descriptor) = 0;
  // Both may transfer fewer bytes than asked for; value: how many. Zero from pread: end of file.
  virtual CallResult pread(Descriptor descriptor, std::span<std::byte> into,
                           std::uint64_t offset) = 0;
  virtual CallResult pwrite(Descriptor descriptor, std::span<const std::byte> bytes,
                            std::uint64_t offset) = 0;
  // The bytes that were written, and the file's length, are durable after success. The entry of a
  // new file in its folder is not: that takes fsync_folder.
  virtual CallResult fdatasync(Descriptor descriptor) = 0;
  virtual CallResult ftruncate(Descriptor descriptor, std::uint64_t bytes) = 0;
  virtual CallResult file_bytes(Descriptor descriptor) = 0;  // Value: the file's length.
  // Takes the file for this process until it is closed; EWOULDBLOCK if another has it.
  virtual CallResult try_lock(Descriptor descriptor) = 0;

  virtual CallResult rename(const std::string& from, const std::string& to) = 0;
  virtual CallResult unlink(const std::string& path) = 0;
  virtual CallResult create_folder(const std::string& path) = 0;  // EEXIST where there is one.
  virtual CallResult fsync_folder(const std::string& path) = 0;
  virtual CallResult list_folder(const std::string& path, std::vector<std::string>& names) = 0;
  virtual CallResult disk_space(const std::string& folder, DiskSpace& space) = 0;
};

}  // namespace quire::store
