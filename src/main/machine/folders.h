#pragma once
// Folders of things that can be made again, and of those that come with quire. Models lie in the
// data folder (inference/model_store).
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace quire {

// $QUIRE_CACHE, else $XDG_CACHE_HOME/quire, else $HOME/.cache/quire. Empty where none is set.
inline std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string own = variable("QUIRE_CACHE"); !own.empty()) return own;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/quire";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/quire";
}

// The folder of the runtimes of scripts (application/sandbox/script_runtimes.h): $QUIRE_RUNTIMES,
// else beside the executable as installed, else as built.
inline std::string runtimes_folder() {
  namespace fs = std::filesystem;
  const char* given = std::getenv("QUIRE_RUNTIMES");
  if (given != nullptr && *given != '\0') return given;
  std::error_code failed;
  const fs::path beside = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return "";
  const fs::path installed = (beside / "../share/quire/runtimes").lexically_normal();
  return fs::is_directory(installed, failed) ? installed.string() : (beside / "runtimes").string();
}

}  // namespace quire
