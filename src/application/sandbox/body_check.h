#pragma once
// The checks of bodies that a compiler would take too long over: their loops nest so deep that no
// program was ever written so. Cranelift's time grows with the square of that depth (3 s for 5,000
// loops in 15 KB), and a compilation that has begun cannot be stopped. The checks also count
// operations on whole memories and tables, because no epoch cuts a series of them.
#include <cstdint>

#include "application/sandbox/module_reader.h"
#include "base/result.h"

namespace quire::sandbox {

struct BodySummary {
  // The most fills, copies and the like of any one function. An operation of a memory does not
  // count if its length stands before it and is at most 4,096.
  std::uint32_t bulk_operation_count = 0;
  // Whether any code could change a table. Also true for an instruction that is not known here.
  bool may_change_tables = false;
};

// `section`: the code section.
Result<BodySummary> check_bodies(ModuleReader& section, std::uint32_t loop_depth_max);

}  // namespace quire::sandbox
