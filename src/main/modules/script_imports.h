#pragma once
// Finds the files that a JavaScript or TypeScript source names in its imports. The text is scanned,
// not parsed: comments, strings, templates and regular expressions are stepped over, and a string
// counts where an import or export has it.
//
// Thread   any; plain functions. Views point into the source, which outlives them.
#include <cstdint>
#include <string_view>
#include <vector>

namespace quire::modules {

enum class ImportKind : std::uint8_t {
  Static,   // import ... from "x", import "x", export ... from "x".
  Types,    // import type ... from "x": nothing of it is there when the script runs.
  Dynamic,  // import("x").
};

struct ScriptImport {
  std::string_view specifier;  // As it is written between the quotes.
  std::uint32_t line = 0;      // From 1.
  ImportKind kind = ImportKind::Static;
};

// The imports of local files: specifiers that begin with "./" or "../", or are one of "." and "..".
std::vector<ScriptImport> local_imports(std::string_view source);

}  // namespace quire::modules
