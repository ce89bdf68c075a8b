#pragma once
// Programs that benchmarks run: Wasm modules that the build puts beside this program.
#include <string>

#include "base/result.h"

namespace quire {

// `wanted` where it is not empty. Else the module `name`, as "bench/token_loop.wasm", in the folder
// of this program; NotFound says how to get it.
Result<std::string> find_bench_guest(const std::string& wanted, const std::string& name);

}  // namespace quire
