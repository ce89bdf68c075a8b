#pragma once
// PROGRAM of `quire run` as the name of a program that comes with quire.
#include <optional>
#include <string>

namespace quire {

// Returns the file of the module. None if `program` is a file here or a path, or if no program
// that comes with quire has the name.
std::optional<std::string> shipped_program_named(const std::string& program);

}  // namespace quire
