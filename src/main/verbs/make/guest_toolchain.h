#pragma once
// The clang that makes programs, and whether it can.
#include <string>
#include <vector>

#include "base/result.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {

inline constexpr const char* kGuestPackages =
    "clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 libc++abi-22-dev-wasm32 "
    "libclang-rt-22-dev-wasm32";

// `wanted`, or the first that is new enough of the names that distributions use. NotFound says what
// to install.
Result<std::string> find_guest_compiler(const std::string& wanted);

// The flags that come before a program's own flags and sources.
std::vector<std::string> guest_command(const std::string& compiler, const SdkLocation& sdk);

// Whether the compiler makes a module of the smallest program: it has a linker, a C and a C++
// library for Wasm. With an SDK: whether it takes that SDK's flags too.
bool can_build_for_wasm(const std::string& compiler, const SdkLocation* sdk);

}  // namespace quire
