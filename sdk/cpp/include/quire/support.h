#pragma once
// The support code of every program. `quire build` includes it first in each source
// (guest_flags.rsp), so that a program that uses nothing else of the SDK has it too.
//
// - Text that a program writes with printf or std::cout reaches its log at once. The C library
//   would keep the start of a line until its end, and lose it when the program traps.
// - The compiler's library for 128-bit integers, which std::format uses, checks its stack and wants
//   two symbols that wasi-libc does not define.
#if defined(__wasm__)
#include <cstdint>
#include <cstdio>

// These names are the compiler's. Weak: a program may bring its own.
extern "C" {
extern std::uintptr_t __stack_chk_guard;
__attribute__((weak)) std::uintptr_t __stack_chk_guard = 0x51e2d8a7;
__attribute__((weak, noreturn)) void __stack_chk_fail();
__attribute__((weak, noreturn)) void __stack_chk_fail() {
  __builtin_trap();
}

// Weak here: defined in programs that write to it, so that no other carries the library for it.
extern FILE* const stdout __attribute__((weak));
}

namespace quire::detail {

struct UnbufferedOutput {
  UnbufferedOutput() {
    if (&stdout != nullptr) std::setvbuf(stdout, nullptr, _IONBF, 0);
  }
};
// Before the objects of the program itself, which may write when they are made.
[[gnu::init_priority(101)]] inline const UnbufferedOutput unbuffered_output;

}  // namespace quire::detail
#endif
