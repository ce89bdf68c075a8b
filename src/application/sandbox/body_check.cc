#include "application/sandbox/body_check.h"

#include <algorithm>
#include <array>
#include <string>
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
  kTableSet = 0x26,
  kConstI32 = 0x41,
  kConstF32 = 0x43,
  kConstF64 = 0x44,
  kNullReference = 0xd0,
  kFunctionReference = 0xd2,
  kMisc = 0xfc,
  kVector = 0xfd,
};

// The operands that follow an instruction.
enum class Operands : std::uint8_t {
  Unknown,  // Of a proposal that is off, which the compiler refuses.
  None,
  Number,
  TwoNumbers,
  Address,  // Of loads and stores.
  Block,    // A type, and then the instructions of the block.
  End,      // Of a block or the body.
  Targets,  // Of a table of branches.
  Types,
  FourBytes,
  EightBytes,
  Length,  // Perhaps: i32.const.
  Misc,    // The number of an instruction, and its operands.
  Vector,  // The same.
};

constexpr std::array<Operands, 256> operands_of_all() {
  std::array<Operands, 256> table{};
  const auto set = [&](std::uint32_t first, std::uint32_t last, Operands operands) {
    for (std::uint32_t i = first; i <= last; ++i) table[i] = operands;
  };
  set(0x00, 0x01, Operands::None);
  set(kBlock, kIf, Operands::Block);
  set(0x05, 0x05, Operands::None);  // else
  set(kEnd, kEnd, Operands::End);
  set(0x0c, 0x0d, Operands::Number);  // Branches,
  set(kBranchTable, kBranchTable, Operands::Targets);
  set(0x0f, 0x0f, Operands::None);
  set(0x10, 0x10, Operands::Number);  // calls,
  set(kCallIndirect, kCallIndirect, Operands::TwoNumbers);
  set(0x1a, 0x1b, Operands::None);
  set(kSelectTyped, kSelectTyped, Operands::Types);
  set(0x20, 0x26, Operands::Number);  // variables and tables,
  set(0x28, 0x3e, Operands::Address);
  set(0x3f, 0x42, Operands::Number);  // the memory's size, whole numbers,
  set(kConstI32, kConstI32, Operands::Length);
  set(kConstF32, kConstF32, Operands::FourBytes);
  set(kConstF64, kConstF64, Operands::EightBytes);
  set(0x45, 0xc4, Operands::None);
  set(kNullReference, kNullReference, Operands::Number);  // references.
  set(0xd1, 0xd1, Operands::None);
  set(kFunctionReference, kFunctionReference, Operands::Number);
  set(kMisc, kMisc, Operands::Misc);
  set(kVector, kVector, Operands::Vector);
  return table;
}
constexpr std::array<Operands, 256> kOperands = operands_of_all();

void skip_numbers(BodyReader& body, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) body.skip_number();
}

// Alignment and offset; bit 6 of the first says that a memory's number stands between.
void skip_address(BodyReader& body) {
  const std::uint32_t alignment = body.count();
  skip_numbers(body, (alignment & 0x40) != 0 ? 2 : 1);
}

void skip_block_type(BodyReader& body) {
  const std::uint8_t first = body.byte();
  const bool is_reference = first == 0x63 || first == 0x64;  // (ref ht) and a heap type.
  if (is_reference || (first & 0x80) != 0) body.skip_number();
}

// One target more, for all other numbers.
void skip_targets(BodyReader& body) {
  for (std::uint64_t left = std::uint64_t{body.count()} + 1; left > 0 && !body.failed(); --left) {
    body.skip_number();
  }
}

void skip_types(BodyReader& body) {
  for (std::uint32_t left = body.count(); left > 0 && !body.failed(); --left) {
    skip_block_type(body);
  }
}

enum class Step : std::uint8_t {
  Plain,
  Short,     // A length that a memory is soon done with.
  Bytes,     // Of a memory, as many as its last operand says,
  Elements,  // or of a table, each of which takes longer.
  Unknown,
};

Step skip_misc(BodyReader& body) {
  const std::uint32_t number = body.count();
  if (number <= 7) return Step::Plain;  // Conversions that saturate.
  if (number > 17) return Step::Unknown;
  const bool takes_two = number == 8 || number == 10 || number == 12 || number == 14;
  skip_numbers(body, takes_two ? 2 : 1);
  if (number == 9 || number == 13 || number == 16) return Step::Plain;  // Drops, a table's size.
  return number <= 11 ? Step::Bytes : Step::Elements;
}

// Skips the operand of i32.const. Returns Short for a length that a memory is soon done with: 0 to
// 4,096, in no more bytes than that takes.
Step skip_length(BodyReader& body) {
  constexpr std::uint32_t kShort = 4096;
  constexpr std::uint32_t kSign = 0x40;  // Bit 6 of the last byte.
  const std::uint32_t first = body.byte();
  if (first < 0x80) return first < kSign ? Step::Short : Step::Plain;
  const std::uint32_t second = body.byte();
  if (second < 0x80) {
    const bool is_short = second < kSign && ((first & 0x7f) | (second << 7)) <= kShort;
    return is_short ? Step::Short : Step::Plain;
  }
  body.skip_number();
  return Step::Plain;
}

Step skip_vector(BodyReader& body) {
  constexpr std::uint32_t kLast = 0x113;
  const std::uint32_t number = body.count();
  if (number > kLast) return Step::Unknown;
  const bool has_lane = (number >= 84 && number <= 91) || (number >= 21 && number <= 34);
  const bool has_address = number <= 11 || (number >= 84 && number <= 93);
  if (has_address) skip_address(body);
  if (has_lane) body.skip(1);
  if (number == 12 || number == 13) body.skip(16);  // A constant, a shuffle.
  return Step::Plain;
}

// Skips the operands of an instruction that neither begins nor ends a block.
Step skip_operands(BodyReader& body, Operands operands) {
  switch (operands) {
    case Operands::Length:
      return skip_length(body);
    case Operands::Misc:
      return skip_misc(body);
    case Operands::Vector:
      return skip_vector(body);
    case Operands::None:
    case Operands::Block:
    case Operands::End:
      break;
    case Operands::Number:
      body.skip_number();
      break;
    case Operands::TwoNumbers:
      skip_numbers(body, 2);
      break;
    case Operands::Address:
      skip_address(body);
      break;
    case Operands::Targets:
      skip_targets(body);
      break;
    case Operands::Types:
      skip_types(body);
      break;
    case Operands::FourBytes:
      body.skip(4);
      break;
    case Operands::EightBytes:
      body.skip(8);
      break;
    case Operands::Unknown:
      return Step::Unknown;
  }
  return Step::Plain;
}

void skip_locals(BodyReader& body) {
  for (std::uint32_t left = body.count(); left > 0 && !body.failed(); --left) {
    (void)body.count();
    skip_block_type(body);
  }
}

Error too_deep(std::uint32_t function, std::uint32_t loop_depth, std::size_t at,
               std::uint32_t loop_depth_max) {
  return Error(ErrorCode::TooLarge, "function " + std::to_string(function) + " nests " +
                                        std::to_string(loop_depth) + " loops at byte " +
                                        std::to_string(at) + ", loop_depth_max is " +
                                        std::to_string(loop_depth_max));
}

// Checks a body. One that is cut short has failed().
Result<BodySummary> check_body(BodyReader& body, std::uint32_t function,
                               std::uint32_t loop_depth_max) {
  skip_locals(body);
  std::vector<bool> blocks;  // Those that are open; true for a loop.
  std::uint32_t loop_depth = 0;
  BodySummary summary;
  Step before = Step::Plain;
  while (!body.done()) {
    const std::uint8_t instruction = body.byte();
    const Operands operands = kOperands[instruction];
    Step step = Step::Plain;
    if (operands == Operands::Block) {
      skip_block_type(body);
      if (body.failed()) break;
      blocks.push_back(instruction == kLoop);
      loop_depth += instruction == kLoop ? 1 : 0;
      if (loop_depth > loop_depth_max) {
        return too_deep(function, loop_depth, body.at(), loop_depth_max);
      }
    } else if (operands == Operands::End) {
      if (blocks.empty()) break;
      loop_depth -= blocks.back() ? 1 : 0;
      blocks.pop_back();
    } else {
      step = skip_operands(body, operands);
      const bool is_table = instruction == kTableSet || step == Step::Elements;
      if (is_table || step == Step::Unknown) summary.may_change_tables = true;
      if (step == Step::Unknown) break;  // The compiler comes to it before all that follows.
      const bool is_long = step == Step::Bytes && before != Step::Short;
      if (step == Step::Elements || is_long) ++summary.bulk_operation_count;
    }
    before = step;
  }
  return summary;
}

}  // namespace

Result<BodySummary> check_bodies(ModuleReader& section, std::uint32_t loop_depth_max) {
  BodySummary all;
  const std::uint32_t count = TRY(section.count());
  for (std::uint32_t function = 0; function < count; ++function) {
    const std::uint32_t bytes = TRY(section.count());
    BodyReader body(TRY(section.part(bytes)));
    const BodySummary each = TRY(check_body(body, function, loop_depth_max));
    if (body.failed()) return body.failure();
    all.bulk_operation_count = std::max(all.bulk_operation_count, each.bulk_operation_count);
    all.may_change_tables = all.may_change_tables || each.may_change_tables;
  }
  return all;
}

}  // namespace quire::sandbox
