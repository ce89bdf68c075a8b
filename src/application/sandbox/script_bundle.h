#pragma once
// A script as it travels: its source files, its entry and the runtime that runs it, in the section
// `quire.script` of a module that has no code. docs/reference/script_format.md has the layout.
//
// Thread   any; plain functions. Views point into the bytes that were read, which outlive them.
// Errors   InvalidArgument states what is wrong and at which byte; TooLarge names the limit.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace quire::sandbox {

inline constexpr std::string_view kScriptSection = "quire.script";
inline constexpr std::uint64_t kScriptSourceBytesMax = std::uint64_t{4} << 20;  // Of all files.
inline constexpr std::uint32_t kScriptFileCountMax = 1024;
inline constexpr std::uint32_t kScriptPathBytesMax = 512;
inline constexpr std::uint32_t kScriptOptionsBytesMax = 256u << 10;
inline constexpr std::uint32_t kRuntimeNameBytesMax = 64;  // Of its version, too.

struct ScriptFile {
  std::string_view path;  // Relative to the folder of the entry, with `/`.
  std::string_view content;
};

struct ScriptBundle {
  std::string_view runtime;  // "javascript"
  std::string_view version;
  Digest digest{};  // Of the runtime's module.
  std::vector<ScriptFile> files;
  std::string_view entry;  // The path of one of the files.
  std::string_view
      options;  // A JSON schema as in `quire.options`; empty: the script declares none.
};

// Whether a file of a bundle may have this path: relative, `/` between names, no name empty, "." or
// "..", no control characters and no backslash.
Result<void> check_script_path(std::string_view path);

// All that the format demands holds for what this returns.
Result<ScriptBundle> read_script_bundle(std::string_view bytes);

// The files in any order. The errors are those of reading it.
Result<std::string> write_script_bundle(ScriptBundle bundle);

// The bundle in a module; nothing if the module has no section of that name. InvalidArgument if it
// has one, and another one or any section that is not custom: a script has no code of its own.
Result<std::optional<std::string_view>> find_script(std::string_view wasm);

}  // namespace quire::sandbox
