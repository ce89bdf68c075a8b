#pragma once
// CompiledCodeCache keeps compiled modules on disk. Reading compiled code is trusting it, so the
// folder is ours alone (0700) and every file begins with a digest of what follows.
//
// Thread   any: files are written under a temporary name and renamed, so a reader sees all or none.
// Errors   A file that is missing, cut, changed or of another version is simply not there; the
//          module is compiled again. Only a folder that is not ours alone is an Error.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "application/sandbox/memory_file.h"
#include "base/result.h"
#include "base/sha256.h"

namespace quire::sandbox {

class CompiledCodeCache {
 public:
  // Makes the folder if need be. `configuration` names everything besides the module that the code
  // depends on: the compiler's version and settings.
  static Result<CompiledCodeCache> open(const std::string& folder, std::string configuration);

  Digest key(std::span<const std::byte> wasm) const;
  // A copy in memory, which is sealed: the file on disk may change afterwards.
  std::optional<MemoryFile> find(const Digest& key) const;
  // Failing to store costs the next start time, nothing else; the Error is for the log.
  Result<void> store(const Digest& key, std::span<const std::byte> code) const;

 private:
  CompiledCodeCache(std::string folder, std::string configuration)
      : folder_(std::move(folder)), configuration_(std::move(configuration)) {}
  std::string path(const Digest& key) const;
  Result<MemoryFile> read(const Digest& key) const;

  std::string folder_;
  std::string configuration_;
};

}  // namespace quire::sandbox
