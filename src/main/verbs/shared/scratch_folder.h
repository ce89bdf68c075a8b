#pragma once
// ScratchFolder is a folder of its own among the machine's temporary files, gone with its object.
#include <filesystem>

#include "base/result.h"

namespace quire {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::filesystem::path path_;
};

// Why no such folder can be made: Io names the folder, its variable and the next step.
Error no_scratch_folder();

}  // namespace quire
