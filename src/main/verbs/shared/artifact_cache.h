#pragma once
// ArtifactCache: what compilers made, each in a folder of its own. Its name is a digest of what its content
// depends on and is known before; the other files that the compiler read are written into it, and
// compared at each use.
//
// Owns     the folders. Each is made under a temporary name and then renamed, so that another process sees all of it
//          or nothing. What was not used for longest goes.
// Thread   one at a time; several processes may share a cache.
// Errors   NotFound without a folder for caches; Unavailable where an input changed while the entry was made, which is
//          then not kept; Io; what `make` gives.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

// How a file is compared with what it was: by size and time, or by its bytes.
enum class InputTest : std::uint8_t { Time, Content };

struct Input {
  std::string path;
  InputTest test = InputTest::Content;
};

class ArtifactCache {
 public:
  // Fills the folder, which no other process knows yet, and returns what it was made of.
  using Make = std::function<Result<std::vector<Input>>(const std::filesystem::path& folder)>;

  // `kind` is the name of the folder in `cache_folder` (main/machine/folders.h), which may be empty.
  ArtifactCache(const std::string& cache_folder, const std::string& kind,
                std::size_t entry_count_max);

  // The folder of the entry, if it is there and its inputs are what they were.
  Result<std::filesystem::path> find(const std::string& name) const;
  Result<std::filesystem::path> find_or_make(const std::string& name, const Make& make) const;

 private:
  Result<void> make_entry(const std::filesystem::path& entry, const Make& make) const;
  void make_room() const;

  std::filesystem::path folder_;  // Empty: there is none.
  std::size_t entry_count_max_;
};

// The paths that the entry in `folder` was made of.
std::vector<std::string> inputs_of(const std::filesystem::path& folder);

// A word of its size and time, which change with the file; nothing if it is not there.
std::optional<std::string> file_stamp(const std::string& path);

// The name of an entry: a digest of `text`.
std::string entry_name(const std::string& text);

// The paths in what a compiler writes for make (-MD).
std::vector<std::string> paths_of_dependencies(const std::string& makefile);

}  // namespace quire
