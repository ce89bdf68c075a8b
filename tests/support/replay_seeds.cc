// replay_seeds FOLDER: gives a fuzzer's function each seed of the folder, whole and cut short at
// kCutCount places, and nothing at all: what a fuzzer does first. So a build without libFuzzer
// still compiles every fuzzer and runs what it checks. A finding ends the program, as under
// libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

constexpr std::size_t kCutCount = 16;
constexpr std::size_t kSeedBytesMax = 16u << 20;

void replay(const std::string& seed, std::size_t bytes) {
  // The bytes have memory of their own, without a NUL after them, so that a sanitizer sees the end.
  const auto exact = std::make_unique<std::uint8_t[]>(bytes);
  std::copy_n(seed.begin(), bytes, exact.get());
  LLVMFuzzerTestOneInput(exact.get(), bytes);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 2;
  }
  std::error_code error;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1], error)) {
    const quire::Result<std::string> seed = quire::read_file(entry.path().string(), kSeedBytesMax);
    if (!seed.ok()) {
      std::fprintf(stderr, "%s\n", std::string(seed.error().message()).c_str());
      return 1;
    }
    for (std::size_t cut = 0; cut <= kCutCount; ++cut) {
      replay(seed.value(), seed.value().size() * cut / kCutCount);
    }
    ++count;
  }
  std::printf("%zu seeds of %s\n", count, arguments[1]);
  return count == 0 || error ? 1 : 0;  // Each fuzzer has some.
}
