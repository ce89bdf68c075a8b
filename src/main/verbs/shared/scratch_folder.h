#pragma once
// ScratchFolder is a folder of its own among the machine's temporary files, gone with its object.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace quire {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "quire-XXXXXX").string();
    if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::filesystem::path path_;
};

}  // namespace quire
