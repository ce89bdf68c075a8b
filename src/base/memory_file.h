#pragma once
// MemoryFile is a file that has no name and lies in memory: how a module and its code go from one
// process to another.
//
// Owns     its descriptor, and thereby its bytes. The descriptor's number is 10 or more, so that
//          neither takes the place of one that a new process gets (see workers/worker_process.cc).
// Thread   one at a time.
// Errors   Io, with what the system said.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/sha256.h"

namespace quire {

// The same open file under a number of 10 or more, closed when a program is started.
Result<Descriptor> lift(Descriptor low);

// All bytes, or an Error that says what it was `to`.
Result<void> write_whole(int descriptor, std::span<const std::byte> bytes, const std::string& to);

// Bytes of a file, readable for as long as this lives.
class MappedBytes {
 public:
  // The file has that many bytes and keeps them.
  static Result<MappedBytes> map(int descriptor, std::uint64_t byte_count);
  MappedBytes(MappedBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedBytes& operator=(MappedBytes&&) = delete;
  ~MappedBytes();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

class MemoryFile {
 public:
  // `name` is for who looks into /proc.
  static Result<MemoryFile> create(const char* name);

  int descriptor() const { return descriptor_.get(); }
  // Under which this process, and no other, can open it.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_.get()); }
  Result<std::uint64_t> bytes() const;
  // Makes the file unchangeable, also for another process that has it open. Io while one could
  // still change it by a mapping.
  Result<void> seal();

 private:
  explicit MemoryFile(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

// Fills all of `into` from an offset, or says why not.
using ReadAt = std::function<Result<void>(std::uint64_t offset, std::span<std::byte> into)>;

// A copy of bytes that their writer may still change.
struct SealedCopy {
  MemoryFile file;
  Digest digest{};
};
Result<SealedCopy> sealed_copy(const ReadAt& read, std::uint64_t begin, std::uint64_t end);

}  // namespace quire
