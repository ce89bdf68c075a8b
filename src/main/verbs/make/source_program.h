#pragma once
// A program that `quire run` is given as its source: a script (script_program.h), the folder of
// a project (project_folder.h), or C++. C++ is compiled quickly and kept, so that the same
// source is compiled once. A kept module is named by the source, the SDK, the compiler and its
// flags, and is compared with the headers that it includes. The messages of the compiler are
// kept and shown again.
//
// Thread   the main thread; waits for the compiler, whose messages reach the user.
#include <string>
#include <vector>

namespace quire {

// By its ending.
bool is_cpp_source(const std::string& path);
// C++, a script, or the folder of a project (project_folder.h).
bool is_program_source(const std::string& path);

// The name of a source's program: "chat" for chat.cpp, chat.ts and a project in chat/.
std::string program_name_of(const std::string& source);

// Makes a module of `source`; of a Cargo project the program `bin`, if that is not empty. It
// reports on standard error what went wrong, and returns an exit code of cli/exit_code.h.
int build_for_run(const std::string& source, const std::string& module,
                  const std::string& bin = "");

// The files of which build_for_run() made a module: the source, and what it includes outside the
// SDK as far as that is known.
std::vector<std::string> files_of_program(const std::string& source);

}  // namespace quire
