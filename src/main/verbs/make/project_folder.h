#pragma once
// A folder that is one program, as `quire new` makes it: it holds Cargo.toml, or one source
// whose name is main.
//
// Thread   any.
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

bool is_folder(const std::string& path);

// Whether the path is such a folder. It may hold several sources named main, which main_source_in()
// refuses.
bool is_project_folder(const std::string& path);

// The source of a folder without Cargo.toml, as in my_project/main.ts. InvalidArgument if it holds
// several that are named main, or none, with what it holds and how to name one.
Result<std::string> main_source_in(const std::string& folder);

}  // namespace quire
