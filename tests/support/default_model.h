#pragma once
// Where the default model lies, for tests that need a real one. They skip, saying so, without it.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace quire::test {

inline constexpr const char* kDefaultModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";

// QUIRE_TEST_MODEL, else the file under the user's data folder; empty when there is none.
inline std::string default_model_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string given = variable("QUIRE_TEST_MODEL"); !given.empty()) return given;
  std::filesystem::path data = variable("XDG_DATA_HOME");
  if (data.empty()) data = std::filesystem::path(variable("HOME")) / ".local" / "share";
  std::error_code error;
  const std::filesystem::recursive_directory_iterator files(data / "quire", error);
  if (error) return "";
  for (const auto& file : files) {
    if (file.path().filename() == kDefaultModelFile) return file.path();
  }
  return "";
}

}  // namespace quire::test
