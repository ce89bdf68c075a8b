#pragma once
// Where what can be made again lies. Models lie in the data folder (inference/model_store).
#include <cstdlib>
#include <string>

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

}  // namespace quire
