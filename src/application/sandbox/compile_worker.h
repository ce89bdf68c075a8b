#pragma once
// The program of the process that compiles modules: what CompileProcess starts.
//
// Thread   the process's only one, besides the compiler's own.

namespace quire::sandbox {

// The hidden verb of the command line that does it.
inline constexpr const char* kCompileVerb = "compile-module";

// Takes its work from the descriptors of compile_protocol.h and ends when it has done enough, or
// when no more can come. Returns the exit code, if at all.
int compile_worker_main();

}  // namespace quire::sandbox
