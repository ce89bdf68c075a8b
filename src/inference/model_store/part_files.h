#pragma once
// Files that are still being fetched, and those that are whole while other files of their model are
// not.
//
// They lie in models/.fetch.NAME/, which no list of models shows. A file is named after the digest
// that its bytes must have, DIGEST.part, so that bytes of another version are never continued. When
// it is whole and its digest is right, it becomes DIGEST.whole. It gets its name in the store only
// together with all other files of its model.
//
// Thread   any but the engine's. The folder is locked: one process at a time fetches a model.
// Errors   Io with the path; Unavailable if another process fetches this model; `Cancelled`.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/sha256.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

class PartFolder final {
 public:
  // Makes the folder if it is missing, and locks it.
  static Result<PartFolder> open(const std::string& models, const std::string& name);
  static bool exists(const std::string& models, const std::string& name);

  // Removes the files of other digests: parts of an older version, which nothing will continue.
  Result<void> keep_only(const std::vector<std::string>& digests) const;
  // All of it.
  Result<void> remove() const;
  // All of it, unless there are bytes that another attempt can use.
  Result<void> remove_if_empty() const;

  const std::string& path() const { return path_; }
  std::string part_path(const std::string& digest) const { return path_ + "/" + digest + ".part"; }
  std::string whole_path(const std::string& digest) const {
    return path_ + "/" + digest + ".whole";
  }
  // Bytes that are here of a file with this digest.
  std::uint64_t bytes_of_file(const std::string& digest) const;
  bool is_whole(const std::string& digest) const;

 private:
  PartFolder(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Descriptor lock_;
};

// One file while it is written at its end. Its digest is computed as the bytes come.
class PartFile final {
 public:
  // Opens the part that is there, or an empty one. Bytes that are there are read for the digest.
  static Result<PartFile> open(const std::string& path, Watched& watched);

  std::uint64_t bytes() const { return bytes_; }
  Result<void> append(std::span<const std::byte> bytes);
  Result<void> restart();  // Empty again.
  // On disk; SHA-256 of all bytes in hexadecimal. Nothing is appended after that.
  Result<std::string> finish();

 private:
  PartFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
  Sha256 hash_;
};

}  // namespace quire::inference
