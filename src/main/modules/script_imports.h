#pragma once
// The files of its own that a script names in its imports (quire/script_imports.h of the SDK).
//
// Thread   any; plain functions. Views point into the source, which outlives them.
#include <string_view>
#include <vector>

#include "quire/script_imports.h"

namespace quire::modules {

// The imports of local files: specifiers that begin with "./" or "../", or are one of "." and "..".
std::vector<script::Import> local_imports(std::string_view source);

}  // namespace quire::modules
