#pragma once
// What a compiler would take too long over: bodies whose loops nest so deep that no program was
// ever written so. Cranelift's time grows with the square of that depth (3 s for 5,000 loops in 15
// KB), and a compilation that has begun cannot be stopped. And what code would take too long over
// where nothing cuts it: operations on whole memories and tables, one after another.
//
// Thread   any; nothing is kept.
// Errors   TooLarge names the limit; InvalidArgument for a body that is cut short.
#include <cstdint>

#include "application/sandbox/module_reader.h"
#include "base/result.h"

namespace quire::sandbox {

struct BodySummary {
  // Of the function that has most: fills, copies and the like, but not those of a memory whose
  // length stands before them and is at most 4,096.
  std::uint32_t bulk_operation_count = 0;
  // Whether any code could change a table. Also true for an instruction that is not known here.
  bool may_change_tables = false;
};

// `section`: the code section.
Result<BodySummary> check_bodies(ModuleReader& section, std::uint32_t loop_depth_max);

}  // namespace quire::sandbox
