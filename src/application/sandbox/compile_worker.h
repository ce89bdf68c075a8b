#pragma once
// The program that CompileProcess starts, which compiles modules.
//
// Thread   the process's only one, except for the compiler's own.

namespace quire::sandbox {

// The hidden verb of the command line that does it.
inline constexpr const char* kCompileVerb = "compile-module";

// Takes its work from the descriptors of compile_protocol.h and ends when it has done enough, or
// when no more can come. Returns the exit code, if at all.
int compile_worker_main();

}  // namespace quire::sandbox
