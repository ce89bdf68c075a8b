#pragma once
// A program that `quire run` is given as its source: a script (script_program.h), a Cargo project (cargo_project.h), or
// C++. C++ is compiled quickly, and kept, so that the same source is compiled once. What is kept is named by the source, the SDK, the compiler and its flags, and compared with the headers
// that it includes; it holds what the compiler said, too, which is said again.
//
// Thread   the main thread; waits for the compiler, whose messages reach the user.
#include <string>
#include <vector>

namespace quire {

// By its ending.
bool is_cpp_source(const std::string& path);
// C++, a script, or a Cargo project.
bool is_program_source(const std::string& path);

// The name of a source's program: "chat" for chat.cpp, for chat.ts and for the Cargo project chat/.
std::string program_name_of(const std::string& source);

// Makes a module of `source`, says on standard error what went wrong, and returns an exit code of
// cli/exit_code.h, as build_command() does.
int build_for_run(const std::string& source, const std::string& module);

// The files of which build_for_run() made a module: the source, and what it includes outside the
// SDK as far as that is known.
std::vector<std::string> files_of_program(const std::string& source);

}  // namespace quire
