#pragma once
// Where the C++ SDK is: beside the installed program (../share/quire/sdk), else in the source tree
// that this program was built from.
#include <string>

#include "base/result.h"

namespace quire {

struct SdkLocation {
  std::string include_folder;  // Holds quire/quire.h.
  std::string flags_file;      // The compiler's flags for guests, one a line.
};

// NotFound names the places that were looked at. `executable` is the path of the program.
Result<SdkLocation> find_sdk(const std::string& executable, const std::string& source_folder);

// The path of the program that runs.
Result<std::string> executable_path();

}  // namespace quire
