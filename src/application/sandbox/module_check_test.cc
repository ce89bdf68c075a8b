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

// kModule with this body (its local variables and instructions, without the last end) instead of
// the second one.
std::string with_body(const std::string& instructions) {
  const auto number = [](std::size_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
  };
  const std::string body = std::string("\0", 1) + instructions + "\x0b";
  const std::string bodies =
      std::string("\x02\x04\x00\x41\x07\x0b", 6) + number(body.size()) + body;
  return kModule.substr(0, kModule.size() - 11) + "\x0a" + number(bodies.size()) + bodies;
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(ModuleCheck, LoopsMayNestSoDeepAndNoDeeper) {
  const auto loops = [](std::size_t count) {
    return repeated("\x03\x40", count) + repeated("\x0b", count);
  };
  EXPECT_TRUE(check(with_body(loops(100))).ok());
  EXPECT_TRUE(check(with_body(loops(100) + loops(100))).ok());
  EXPECT_TRUE(check(with_body(repeated("\x02\x40", 10'000) + repeated("\x0b", 10'000))).ok());
  EXPECT_TRUE(check(with_body(loops(7)), {.loop_depth_max = 7}).ok());
  const Result<ModuleSummary> refused = check(with_body(loops(101)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::TooLarge);
  EXPECT_NE(refused.error().message().find("loop_depth_max is 100"), std::string::npos);
  EXPECT_NE(refused.error().message().find("function 1 nests 101"), std::string::npos);
}

// Each form of operand is stepped over whole, though it holds bytes that elsewhere begin a loop.
TEST(ModuleCheck, LoopsAreFoundBehindEveryKindOfInstruction) {
  const std::string l = "\x03";
  const std::string forms[] = {
      std::string("\x00\x01\x05\x0f\x1a\x1b\x45\xc4\xd1", 9),
      "\x0c" + l + "\x0d" + l + "\x10\x83\x03",
      "\x0e\x02" + l + l + l,
      "\x11" + l + l,
      "\x1c\x01\x7f",
      "\x20" + l + "\x24" + l + "\x25" + l + "\x26" + l,
      "\x28\x02" + l + "\x3e" + l + l + "\x28\x42\x01" + l,
      std::string("\x3f\0\x40\0", 4),
      "\x41" + l + "\x41\x83\x83\x83\x83\x03" + "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
      "\x43" + repeated(l, 4) + "\x44" + repeated(l, 8),
      "\xd0\x70\xd2" + l,
      std::string("\xfc\0", 2) + "\xfc\x07",
      "\xfc\x08" + l + l + "\xfc\x09" + l + "\xfc\x0a" + l + l + "\xfc\x0b" + l,
      "\xfc\x0c" + l + l + "\xfc\x0d" + l + "\xfc\x0e" + l + l + "\xfc\x0f" + l + "\xfc\x10" + l +
          "\xfc\x11" + l,
      std::string("\xfd\0", 2) + l + l + "\xfd\x0b" + l + l,
      "\xfd\x0c" + repeated(l, 16) + "\xfd\x0d" + repeated(l, 16) + "\xfd\x0e\xfd\x14",
      "\xfd\x15" + l + "\xfd\x22" + l + "\xfd\x23\xfd\x53",
      "\xfd\x54" + l + l + l + "\xfd\x5b" + l + l + l + "\xfd\x5c" + l + l + "\xfd\x5d" + l + l,
      "\xfd\x5e\xfd\x93\x02",
      "\x02\x7f\x0b" + std::string("\x04\x80\0\x0b", 4) + "\x02\x63\x70\x0b"};
  for (const std::string& form : forms) {
    EXPECT_TRUE(check(with_body(form), {.loop_depth_max = 0}).ok()) << testing::PrintToString(form);
    const Result<ModuleSummary> found = check(with_body(form + "\x03\x40"), {.loop_depth_max = 0});
    EXPECT_FALSE(found.ok()) << testing::PrintToString(form);
  }
  EXPECT_FALSE(check(with_body("\x43\x01")).ok());  // Cut short.
}

TEST(ModuleCheck, ABodyThatCannotBeReadIsToldWithItsByte) {
  const std::size_t at = with_body("").size() - 1;  // Of the first instruction.
  const auto told = [](const std::string& instructions) {
    return std::string(check(with_body(instructions)).error().message());
  };
  const std::string invalid = "not a valid Wasm module: ";
  EXPECT_EQ(told("\x43\x01"), invalid + "cut short at byte " + std::to_string(at + 1));
  EXPECT_EQ(told("\x42" + repeated("\xff", 10)),
            invalid + "a number too long at byte " + std::to_string(at + 11));
  EXPECT_EQ(told("\x0e\xff\xff\xff\xff\x1f"),
            invalid + "a number too large at byte " + std::to_string(at + 6));
  // As many targets, or types, as there are numbers, of which the body has none.
  EXPECT_EQ(told("\x0e\xff\xff\xff\xff\x0f"),
            invalid + "cut short at byte " + std::to_string(at + 7));
  EXPECT_EQ(told("\x1c\xff\xff\xff\xff\x0f"),
            invalid + "cut short at byte " + std::to_string(at + 7));
}

TEST(ModuleCheck, CountsWhatTakesLongOfTheFunctionThatHasMostOfIt) {
  const auto count = [](const std::string& instructions) {
    return check(with_body(instructions)).value().bulk_operation_count;
  };
  EXPECT_EQ(check(kModule).value().bulk_operation_count, 0u);
  const std::string fill = std::string("\xfc\x0b\0", 3);
  EXPECT_EQ(count(repeated(fill, 7)), 7u);
  EXPECT_EQ(count("\x03\x40" + repeated(fill, 7) + "\x0b" + fill), 8u);
  const std::string all = std::string("\xfc\x08\0\0\xfc\x0a\0\0\xfc\x0b\0", 11) +
                          std::string("\xfc\x0c\0\0\xfc\x0e\0\0\xfc\x0f\0\xfc\x11\0", 14);
  EXPECT_EQ(count(all), 7u);
  // Conversions, dropping a segment, a table's size.
  EXPECT_EQ(count(std::string("\xfc\x00\xfc\x09\0\xfc\x0d\0\xfc\x10\0", 11)), 0u);
  // A length that stands there, 4,096 and 4,097, is of that operation only.
  EXPECT_EQ(count("\x41\x80\x20" + fill), 0u);
  EXPECT_EQ(count("\x41\x81\x20" + fill), 1u);
  EXPECT_EQ(count("\x41\x7f" + fill), 1u);  // -1
  EXPECT_EQ(count("\x41\x10" + fill + fill), 1u);
  EXPECT_EQ(count("\x02\x7f\x41\x10\x0b" + fill), 1u);
  EXPECT_EQ(count("\x42\x10" + fill), 1u);
  EXPECT_EQ(count(std::string("\x41\x10\xfc\x11\0", 5)), 1u);  // Of a table.
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
