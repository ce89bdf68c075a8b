#pragma once
// Programs that have a name: modules that the command line gives, each under its file's name.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "application/lifecycle/instance_manager.h"
#include "base/result.h"
#include "base/sha256.h"

namespace quire {

inline constexpr std::uint64_t kProgramBytesMax = std::uint64_t{64} << 20;  // Of a module's file.

// Whether the file begins as a Wasm module does, before a model is loaded for it. InvalidArgument
// says what it is instead, and what makes a module of it; errors of opening.
Result<void> check_module_file(const std::string& path);

// Whether a folder holds a file that ends with ".wasm".
bool has_modules(const std::string& folder);

using ProgramFiles = std::map<std::string, std::string>;  // Path by name.

// Modules, and those in folders: `chat.wasm` is "chat". Errors: NotFound; AlreadyExists where two
// have one name; InvalidArgument for an invalid name.
Result<ProgramFiles> find_programs(const std::vector<std::string>& paths);

struct NamedProgram {
  std::string name;
  lifecycle::ProgramId id{};
  Digest digest{};  // Of the module.
};
// Errors are the file's or the module's and have the path.
Result<std::vector<NamedProgram>> load_programs(const ProgramFiles& files,
                                                lifecycle::InstanceManager& manager);

}  // namespace quire
