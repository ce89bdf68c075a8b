#pragma once
// File: a regular file opened for reading with pread, so that one that shrinks is an error and not
// a dead process (a mapping of it would be).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace quire {

class File {
 public:
  static Result<File> open(const std::string& path);
  // Requires: the descriptor was opened with kOpenFlags. `path` is for messages.
  static const int kOpenFlags;
  static Result<File> take(Descriptor descriptor, const std::string& path);
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }  // As it was when opened.

  // Fills all of `into` from `offset`, or says why not. Any thread.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  File(Descriptor descriptor, std::uint64_t bytes, std::string path)
      : descriptor_(std::move(descriptor)), bytes_(bytes), path_(std::move(path)) {}
  Descriptor descriptor_;
  std::uint64_t bytes_ = 0;
  std::string path_;
};

// Reads an input that the user names to its end, waiting for its writer: a file, a pipe (as the
// shell makes of <(command)) or a terminal. TooLarge: it has more than `bytes_max` bytes.
Result<std::string> read_input_file(const std::string& path, std::uint64_t bytes_max);

// A whole file of at most `bytes_max`; longer is TooLarge.
Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max);

}  // namespace quire
