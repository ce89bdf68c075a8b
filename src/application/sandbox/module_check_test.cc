#include "application/sandbox/module_check.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/seeds.h"

namespace quire::sandbox {
namespace {

CallOutcome nothing(void*, GuestMemory, RawValue*) noexcept {
  return CallOutcome::Return;
}
constexpr HostFunction kOffered[] = {{"env", "add", "iI>i", false, &nothing},
                                     {"env", "log", "i>", false, &nothing}};

// (module (import "env" "add" (func (param i32 i64) (result i32))) (memory (export "memory") 2)
//   (func (export "run") (result i32) (i32.const 7)) (func (export "_initialize")))
const std::string kModule =
    std::string("\0asm\1\0\0\0", 8) +
    std::string("\x01\x0f\x03\x60\x02\x7f\x7e\x01\x7f\x60\x00\x01\x7f\x60\x00\x00", 17) +
    std::string(
        "\x02\x0b\x01\x03"
        "env\x03"
        "add\x00\x00",
        13) +
    std::string("\x03\x03\x02\x01\x02", 5) + std::string("\x05\x03\x01\x00\x02", 5) +
    std::string("\x07\x1e\x03\x06memory\x02\x00\x03run\x00\x01\x0b_initialize\x00\x02", 32) +
    std::string("\x0a\x09\x02\x04\x00\x41\x07\x0b\x02\x00\x0b", 11);

Result<ModuleSummary> check(const std::string& bytes, const ModuleLimits& limits = {}) {
  return check_module(std::as_bytes(std::span(bytes)), kOffered, limits);
}

TEST(ModuleCheck, ReadsWhatAModuleSaysOfItself) {
  const Result<ModuleSummary> summary = check(kModule);
  ASSERT_TRUE(summary.ok()) << summary.error().message();
  EXPECT_EQ(summary.value().entry, ModuleEntry::Run);
  EXPECT_TRUE(summary.value().entry_returns_code);
  EXPECT_TRUE(summary.value().has_initialize);
  EXPECT_TRUE(summary.value().has_memory);
  EXPECT_EQ(summary.value().memory_pages_min, 2u);
  EXPECT_EQ(summary.value().function_count, 2u);
}

TEST(ModuleCheck, EveryTruncationIsAnError) {
  const std::size_t before_code = kModule.size() - 11;  // The code is the compiler's to check.
  for (std::size_t bytes = 0; bytes < kModule.size(); ++bytes) {
    const Result<ModuleSummary> summary = check(kModule.substr(0, bytes));
    EXPECT_EQ(summary.ok(), bytes == before_code) << bytes;
  }
}

TEST(ModuleCheck, AnyByteMayLieWithoutHarm) {
  for (std::size_t at = 0; at < kModule.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = kModule;
      bytes[at] = static_cast<char>(value);
      (void)check(bytes);
    }
  }
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SeededRandom random(seed);
    std::string bytes = kModule;
    for (int i = 0; i < 2000; ++i) {
      bytes[8 + random.next() % (bytes.size() - 8)] = static_cast<char>(random.next());
      (void)check(bytes);
      if (random.next() % 8 == 0) bytes = kModule;
    }
  }
}

TEST(ModuleCheck, LimitsAreNamed) {
  ModuleLimits limits;
  limits.module_bytes_max = 50;
  EXPECT_EQ(check(kModule, limits).error().code(), ErrorCode::TooLarge);
  limits = {};
  limits.export_count_max = 2;
  EXPECT_EQ(check(kModule, limits).error().message(),
            "the module has 3 exports, export_count_max is 2");
}

TEST(ModuleCheck, ComponentIsTold) {
  const std::string component("\0asm\x0d\0\1\0", 8);
  EXPECT_NE(check(component).error().message().find("component"), std::string::npos);
}

}  // namespace
}  // namespace quire::sandbox
