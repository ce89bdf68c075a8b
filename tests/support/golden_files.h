#pragma once
// The reference answers of other implementations, as files: those of the repository and those that
// tools/fetch_tokenizer_goldens.sh fetched.
#include <gtest/gtest.h>
#include <quire_paths.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"

namespace quire::test {

inline std::string golden_path(const std::string& name) {
  return std::string(QUIRE_SOURCE_DIR "/tests/golden/") + name;
}

// The path of a fetched file, whether or not it was fetched.
inline std::filesystem::path fetched_golden(const std::string& name) {
  const auto variable = [](const char* variable_name, const std::string& otherwise) {
    const char* value = std::getenv(variable_name);
    return value != nullptr && *value != '\0' ? value : otherwise;
  };
  const std::string cache = variable(
      "QUIRE_CACHE", variable("XDG_CACHE_HOME", variable("HOME", "") + "/.cache") + "/quire");
  return std::filesystem::path(cache) / "goldens" / name;
}

// The whole file; a failure of the test, and no text, where it cannot be read.
inline std::string read_or_fail(const std::string& path) {
  Result<std::string> text = read_file(path, std::uint64_t{64} << 20);
  EXPECT_TRUE(text.ok()) << text.error().message();
  return text.ok() ? std::move(text).take() : std::string();
}

}  // namespace quire::test
