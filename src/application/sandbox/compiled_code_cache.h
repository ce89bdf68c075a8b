#pragma once
// CompiledCodeCache keeps compiled modules on disk. Reading compiled code is trusting it, so the
// folder is ours alone (0700) and every file begins with a digest of what follows.
//
// Owns     the folder's .cwasm files, within CacheLimits: what was not used for longest goes first,
//          by the time of each file, which is set when it is found.
// Thread   any: files are written under a temporary name and renamed, so a reader sees all or none.
//          Other processes have the same folder: a file that is gone is not an error, and if
//          several store at once, each makes room for its own.
// Errors   A file that is missing, cut, changed or of another version is simply not there; the
//          module is compiled again. Only a folder that is not ours alone is an Error.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/memory_file.h"
#include "base/result.h"
#include "base/sha256.h"

namespace quire::sandbox {

struct CacheLimits {
  std::uint64_t bytes_max = std::uint64_t{1} << 30;
  std::uint32_t file_count_max = 4096;  // All are looked at when one is stored.
};

class CompiledCodeCache {
 public:
  // Makes the folder if need be. `configuration` names all that the code depends on except for the
  // module: the compiler's version and settings.
  static Result<CompiledCodeCache> open(const std::string& folder, std::string configuration,
                                        const CacheLimits& limits = {});

  Digest key(std::span<const std::byte> wasm) const;
  // A copy in memory, which is sealed: the file on disk may change later.
  std::optional<MemoryFile> find(const Digest& key) const;
  // Failing to store costs the next start time, nothing else; the Error is for the log.
  Result<void> store(const Digest& key, std::span<const std::byte> code) const;

 private:
  CompiledCodeCache(std::string folder, std::string configuration, const CacheLimits& limits)
      : folder_(std::move(folder)), configuration_(std::move(configuration)), limits_(limits) {}
  std::string path(const Digest& key) const;
  Result<MemoryFile> read(const Digest& key) const;
  void remove_temporaries() const;
  // For so many files more, of so many bytes in all.
  void make_room(std::uint32_t count, std::uint64_t bytes) const;

  std::string folder_;
  std::string configuration_;
  CacheLimits limits_;
};

}  // namespace quire::sandbox
