#include "main/verbs/shared/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace quire {
namespace {

namespace fs = std::filesystem;

// The variables in which the standard library looks for a folder, in its order.
constexpr const char* kVariables[] = {"TMPDIR", "TMP", "TEMP", "TEMPDIR"};

// Empty: `error_number` says why.
std::string make_folder(const fs::path& parent, int& error_number) {
  std::string pattern = (parent / "quire-XXXXXX").string();
  if (mkdtemp(pattern.data()) != nullptr) return pattern;
  error_number = errno;
  return "";
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  int ignored = 0;
  if (!failed) path_ = make_folder(parent, ignored);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Error no_scratch_folder() {
  const char* variable = nullptr;
  for (const char* each : kVariables) {
    if (variable == nullptr && std::getenv(each) != nullptr) variable = each;
  }
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) {
    const std::string named = variable == nullptr ? "/tmp is"
                                                  : std::string(variable) + " names " +
                                                        std::getenv(variable) + ", which is";
    return Error(ErrorCode::Io, named +
                                    " not a folder that can be used, so there is no place for "
                                    "temporary files; set TMPDIR to a folder that can be "
                                    "written, or unset it for /tmp");
  }
  int error_number = 0;
  const std::string made = make_folder(parent, error_number);
  std::error_code ignored;
  if (!made.empty()) fs::remove(made, ignored);
  return Error(ErrorCode::Io, "no folder for temporary files can be made in " + parent.string() +
                                  (variable == nullptr ? "" : std::string(" (") + variable + ")") +
                                  ": " + std::strerror(error_number) +
                                  "; set TMPDIR to a folder that can be written");
}

}  // namespace quire
