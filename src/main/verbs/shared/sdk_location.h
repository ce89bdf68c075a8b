#pragma once
// Finds the C++ SDK. A folder that the user names comes first and alone. Otherwise it is beside the
// program that runs: ../share/quire/sdk of an installed one, ../../sdk/cpp of a checkout's
// build/PRESET/quire. A program that was copied elsewhere finds the checkout that it was built
// from.
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

struct SdkLocation {
  std::string folder;
  std::string include_folder;  // Holds quire/quire.h.
  // Holds quire/draw_rule.h and what it needs; empty where include_folder holds them too, as in an
  // installed SDK. In a checkout it is draw/include.
  std::string draw_folder;
  std::string flags_file;  // The compiler's flags for guests, one a line.

  // The folders that hold headers of the SDK, in the order in which a compiler looks.
  std::vector<std::string> include_folders() const;
};

struct SdkSearch {
  std::string given = {};          // --sdk or QUIRE_SDK; empty: none.
  std::string executable = {};     // The path of the program that runs.
  std::string source_folder = {};  // The checkout that it was built from.
};

// NotFound names each place that was looked at, and what to do.
Result<SdkLocation> find_sdk(const SdkSearch& search);

// For the program that runs.
Result<SdkLocation> find_sdk(const std::string& given);

// The folder of the crate, of the Rust SDK: ../share/quire/rust beside an installed program,
// ../../sdk/rust of a checkout's. NotFound names each place that was looked at.
Result<std::string> find_rust_sdk();

// The checkout in whose build/PRESET the program runs; empty: it was installed or copied.
std::string checkout_folder();

// The path of the program that runs.
Result<std::string> executable_path();

}  // namespace quire
