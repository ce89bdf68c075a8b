#include "application/sandbox/body_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace quire::sandbox {
namespace {

enum Instruction : std::uint8_t {
  kBlock = 0x02,
  kLoop = 0x03,
  kIf = 0x04,
  kEnd = 0x0b,
  kBranchTable = 0x0e,
  kCallIndirect = 0x11,
  kSelectTyped = 0x1c,
  kConstI32 = 0x41,
  kConstF32 = 0x43,
  kConstF64 = 0x44,
  kNullReference = 0xd0,
  kFunctionReference = 0xd2,
  kMisc = 0xfc,
  kVector = 0xfd,
};

Result<void> skip_numbers(ModuleReader& body, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) TRY(body.skip_number());
  return {};
}

// Alignment and offset; bit 6 of the first says that a memory's number stands between.
Result<void> skip_address(ModuleReader& body) {
  const std::uint32_t alignment = TRY(body.count());
  return skip_numbers(body, (alignment & 0x40) != 0 ? 2 : 1);
}

Result<void> skip_block_type(ModuleReader& body) {
  const std::uint8_t first = TRY(body.byte());
  const bool is_reference = first == 0x63 || first == 0x64;  // (ref ht) and a heap type.
  if (is_reference || (first & 0x80) != 0) return body.skip_number();
  return {};
}

enum class Step : std::uint8_t {
  Plain,
  Bytes,     // Of a memory, as many as its last operand says,
  Elements,  // or of a table, each of which takes longer.
  Unknown,   // Of a proposal that is off, which the compiler refuses.
};

Result<Step> skip_misc(ModuleReader& body) {
  const std::uint32_t number = TRY(body.count());
  if (number <= 7) return Step::Plain;  // Conversions that saturate.
  if (number > 17) return Step::Unknown;
  const bool takes_two = number == 8 || number == 10 || number == 12 || number == 14;
  TRY(skip_numbers(body, takes_two ? 2 : 1));
  if (number == 9 || number == 13 || number == 16) return Step::Plain;  // Drops, a table's size.
  return number <= 11 ? Step::Bytes : Step::Elements;
}

// Behind i32.const. Whether it is a length that a memory is soon done with: 0 to 4,096, in no
// more bytes than that takes.
Result<bool> is_short_length(ModuleReader& body) {
  constexpr std::uint32_t kShort = 4096;
  const std::uint32_t first = TRY(body.byte());
  if (first < 0x80) return first < 0x40;  // Bit 6 of the last byte is the sign.
  const std::uint32_t second = TRY(body.byte());
  if (second < 0x80) return second < 0x40 && ((first & 0x7f) | (second << 7)) <= kShort;
  TRY(body.skip_number());
  return false;
}

Result<Step> skip_vector(ModuleReader& body) {
  constexpr std::uint32_t kLast = 0x113;
  const std::uint32_t number = TRY(body.count());
  if (number > kLast) return Step::Unknown;
  const bool has_lane = (number >= 84 && number <= 91) || (number >= 21 && number <= 34);
  const bool has_address = number <= 11 || (number >= 84 && number <= 93);
  if (has_address) TRY(skip_address(body));
  if (has_lane) TRY(body.skip(1));
  if (number == 12 || number == 13) TRY(body.skip(16));  // A constant, a shuffle.
  return Step::Plain;
}

// What stands behind any instruction that neither begins nor ends a block.
Result<Step> skip_operands(ModuleReader& body, std::uint8_t instruction) {
  switch (instruction) {
    case kBranchTable:
      // One target more, for all other numbers.
      for (std::uint64_t left = std::uint64_t{TRY(body.count())} + 1; left > 0; --left) {
        TRY(body.skip_number());
      }
      return Step::Plain;
    case kCallIndirect:
      TRY(skip_numbers(body, 2));
      return Step::Plain;
    case kSelectTyped:
      for (std::uint32_t left = TRY(body.count()); left > 0; --left) TRY(skip_block_type(body));
      return Step::Plain;
    case kConstF32:
      TRY(body.skip(4));
      return Step::Plain;
    case kConstF64:
      TRY(body.skip(8));
      return Step::Plain;
    case kMisc:
      return skip_misc(body);
    case kVector:
      return skip_vector(body);
    default:
      break;
  }
  const auto between = [&](std::uint8_t first, std::uint8_t last) {
    return instruction >= first && instruction <= last;
  };
  if (between(0x28, 0x3e)) {  // Loads and stores.
    TRY(skip_address(body));
    return Step::Plain;
  }
  // Branches, calls, variables, tables, the memory's size, whole numbers, references.
  const bool has_number = between(0x0c, 0x0d) || instruction == 0x10 || between(0x20, 0x26) ||
                          between(0x3f, 0x42) || instruction == kNullReference ||
                          instruction == kFunctionReference;
  if (has_number) {
    TRY(body.skip_number());
    return Step::Plain;
  }
  const bool is_alone = between(0x00, 0x01) || instruction == 0x05 || instruction == 0x0f ||
                        between(0x1a, 0x1b) || between(0x45, 0xc4) || instruction == 0xd1;
  return is_alone ? Step::Plain : Step::Unknown;
}

Result<std::uint32_t> check_body(ModuleReader& body, std::uint32_t function,
                                 std::uint32_t loop_depth_max) {
  for (std::uint32_t left = TRY(body.count()); left > 0; --left) {  // Local variables.
    (void)TRY(body.count());
    TRY(skip_block_type(body));
  }
  std::vector<bool> blocks;  // Those that are open; true for a loop.
  std::uint32_t loop_depth = 0;
  std::uint32_t bulk_count = 0;
  bool is_short = false;  // What the instruction before has put on top of the stack.
  while (!body.done()) {
    const std::uint8_t instruction = TRY(body.byte());
    const bool was_short = std::exchange(is_short, false);
    if (instruction == kBlock || instruction == kLoop || instruction == kIf) {
      TRY(skip_block_type(body));
      blocks.push_back(instruction == kLoop);
      loop_depth += instruction == kLoop ? 1 : 0;
      if (loop_depth > loop_depth_max) {
        return Error(ErrorCode::TooLarge, "function " + std::to_string(function) + " nests " +
                                              std::to_string(loop_depth) + " loops at byte " +
                                              std::to_string(body.at()) + ", loop_depth_max is " +
                                              std::to_string(loop_depth_max));
      }
    } else if (instruction == kEnd) {
      if (blocks.empty()) return bulk_count;
      loop_depth -= blocks.back() ? 1 : 0;
      blocks.pop_back();
    } else if (instruction == kConstI32) {
      is_short = TRY(is_short_length(body));
    } else {
      const Step step = TRY(skip_operands(body, instruction));
      // The compiler comes to it before all that follows.
      if (step == Step::Unknown) return bulk_count;
      if (step == Step::Elements || (step == Step::Bytes && !was_short)) ++bulk_count;
    }
  }
  return bulk_count;
}

}  // namespace

Result<std::uint32_t> check_bodies(ModuleReader& section, std::uint32_t loop_depth_max) {
  std::uint32_t most = 0;
  const std::uint32_t count = TRY(section.count());
  for (std::uint32_t function = 0; function < count; ++function) {
    const std::uint32_t bytes = TRY(section.count());
    ModuleReader body = TRY(section.part(bytes));
    most = std::max(most, TRY(check_body(body, function, loop_depth_max)));
  }
  return most;
}

}  // namespace quire::sandbox
