#pragma once
// The path of the default model, for tests that need a real one. They skip, saying so, without it.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace quire::test {

inline constexpr const char* kDefaultModelFile = "smollm2-135m-instruct.gguf";

// QUIRE_TEST_MODEL, else the file under the user's data folder; empty when there is none.
inline std::string default_model_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string given = variable("QUIRE_TEST_MODEL"); !given.empty()) return given;
  std::filesystem::path data = variable("QUIRE_DATA");
  if (data.empty() && !variable("XDG_DATA_HOME").empty()) {
    data = std::filesystem::path(variable("XDG_DATA_HOME")) / "quire";
  }
  if (data.empty()) data = std::filesystem::path(variable("HOME")) / ".local/share/quire";
  const std::filesystem::path model = data / "models" / kDefaultModelFile;
  std::error_code error;
  return std::filesystem::exists(model, error) ? model.string() : "";
}

}  // namespace quire::test
