#include "main/commands/sdk_location.h"

#include <filesystem>
#include <system_error>

namespace quire {

namespace fs = std::filesystem;

Result<SdkLocation> find_sdk(const std::string& executable, const std::string& source_folder) {
  const fs::path installed = fs::path(executable).parent_path() / ".." / "share" / "quire" / "sdk";
  const fs::path source = fs::path(source_folder) / "sdk" / "cpp";
  for (const fs::path& each : {installed.lexically_normal(), source}) {
    std::error_code ignored;
    if (!fs::exists(each / "include" / "quire" / "quire.h", ignored)) continue;
    return SdkLocation{(each / "include").string(), (each / "guest_flags.rsp").string()};
  }
  return Error(ErrorCode::NotFound, "the C++ SDK is neither in " +
                                        installed.lexically_normal().string() + " nor in " +
                                        source.string());
}

Result<std::string> executable_path() {
  std::error_code failure;
  const fs::path path = fs::read_symlink("/proc/self/exe", failure);
  if (failure) return Error(ErrorCode::Io, "/proc/self/exe: " + failure.message());
  return path.string();
}

}  // namespace quire
