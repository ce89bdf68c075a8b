#pragma once
// Writes the files that `make install` installs and only the program knows: manual pages, and the
// completions of shells.
#include <string>
#include <string_view>

namespace quire {

// Not for people: what the build calls, with the folder that stands for the prefix's `share`.
inline constexpr std::string_view kInstalledFilesVerb = "write-installed-files";
// Returns an exit code of cli/exit_code.h.
int write_installed_files_command(const std::string& folder);

}  // namespace quire
