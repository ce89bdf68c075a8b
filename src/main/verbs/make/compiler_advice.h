#pragma once
// The advice that follows a compiler's messages: parts of C++ that no program has, and what it uses
// instead.
//
// Thread   any.
#include <string>
#include <string_view>

namespace quire {

// Lines for what the compiler's messages report as missing: exceptions, files, threads. Empty if
// they report none of these.
std::string compiler_advice(std::string_view messages);

}  // namespace quire
