#include "main/verbs/shared/sdk_location.h"

#include <quire_paths.h>

#include <filesystem>
#include <system_error>

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = "include/quire/quire.h";
constexpr const char* kDrawHeader = "quire/draw_rule.h";
constexpr const char* kFlags = "guest_flags.rsp";

bool is_sdk(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kHeader, ignored) && fs::exists(folder / kFlags, ignored);
}

SdkLocation sdk_in(const fs::path& folder) {
  SdkLocation sdk{.folder = folder.string(),
                  .include_folder = (folder / "include").string(),
                  .draw_folder = {},
                  .flags_file = (folder / kFlags).string()};
  const fs::path draw = (folder / "../../draw/include").lexically_normal();
  std::error_code ignored;
  if (!fs::exists(folder / "include" / kDrawHeader, ignored) &&
      fs::exists(draw / kDrawHeader, ignored)) {
    sdk.draw_folder = draw.string();
  }
  return sdk;
}

}  // namespace

std::vector<std::string> SdkLocation::include_folders() const {
  std::vector<std::string> folders = {include_folder};
  if (!draw_folder.empty()) folders.push_back(draw_folder);
  return folders;
}

Result<SdkLocation> find_sdk(const SdkSearch& search) {
  if (!search.given.empty()) {
    std::error_code ignored;
    const fs::path folder = fs::absolute(search.given, ignored);
    if (is_sdk(folder)) return sdk_in(folder);
    return Error(ErrorCode::NotFound, "no C++ SDK is in " + search.given +
                                          " (--sdk or QUIRE_SDK), which lacks " + kHeader + " or " +
                                          kFlags);
  }
  const fs::path beside = fs::path(search.executable).parent_path();
  const std::vector<fs::path> places = {(beside / "../share/quire/sdk").lexically_normal(),
                                        (beside / "../../sdk/cpp").lexically_normal(),
                                        fs::path(search.source_folder) / "sdk/cpp"};
  std::string looked;
  for (const fs::path& each : places) {
    if (is_sdk(each)) return sdk_in(each);
    looked += (looked.empty() ? "" : ", ") + each.string();
  }
  return Error(ErrorCode::NotFound,
               "the C++ SDK is in none of " + looked + "; name its folder with --sdk or QUIRE_SDK");
}

Result<SdkLocation> find_sdk(const std::string& given) {
  return find_sdk(SdkSearch{
      .given = given, .executable = TRY(executable_path()), .source_folder = QUIRE_SOURCE_DIR});
}

Result<std::string> find_rust_sdk() {
  const fs::path beside = fs::path(TRY(executable_path())).parent_path();
  const fs::path places[] = {(beside / "../share/quire/rust").lexically_normal(),
                             (beside / "../../sdk/rust").lexically_normal(),
                             fs::path(QUIRE_SOURCE_DIR) / "sdk/rust"};
  std::string looked;
  for (const fs::path& each : places) {
    std::error_code ignored;
    if (fs::exists(each / "src/lib.rs", ignored)) return each.string();
    looked += (looked.empty() ? "" : ", ") + each.string();
  }
  return Error(ErrorCode::NotFound, "the Rust SDK is in none of " + looked);
}

std::string checkout_folder() {
  const Result<std::string> executable = executable_path();
  if (!executable.ok()) return "";
  const fs::path folder = (fs::path(executable.value()).parent_path() / "../..").lexically_normal();
  std::error_code ignored;
  return fs::exists(folder / "tools/setup.sh", ignored) ? folder.parent_path().string() : "";
}

Result<std::string> executable_path() {
  std::error_code failure;
  const fs::path path = fs::read_symlink("/proc/self/exe", failure);
  if (failure) return Error(ErrorCode::Io, "/proc/self/exe: " + failure.message());
  return path.string();
}

}  // namespace quire
