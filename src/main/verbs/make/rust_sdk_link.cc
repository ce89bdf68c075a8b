#include "main/verbs/make/rust_sdk_link.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "main/verbs/shared/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSdkLinkFolder = ".quire";
constexpr const char* kSdkLink = ".quire/rust";
constexpr const char* kSdkManifest = "Cargo.toml";
constexpr std::uint64_t kSdkManifestBytesMax = 1u << 20;

}  // namespace

Result<void> link_rust_sdk(const std::string& project) {
  const fs::path link = fs::path(project) / kSdkLink;
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(link, failure);
  if (fs::exists(status) && !fs::is_symlink(status)) return {};
  Result<std::string> sdk = find_rust_sdk();
  if (!sdk.ok()) {
    if (fs::exists(link / kSdkManifest, failure)) return {};
    return std::move(sdk).take_error();
  }
  if (fs::read_symlink(link, failure) == fs::path(sdk.value())) return {};
  fs::create_directory(fs::path(project) / kSdkLinkFolder, failure);
  const fs::path made = link.string() + "." + std::to_string(getpid());
  fs::create_symlink(sdk.value(), made, failure);
  if (!failure) fs::rename(made, link, failure);
  if (failure) return Error(ErrorCode::Io, link.string() + ": " + failure.message());
  return {};
}

Result<void> link_rust_sdk_if_named(const std::string& project) {
  const std::string manifest =
      TRY(read_file((fs::path(project) / kSdkManifest).string(), kSdkManifestBytesMax));
  if (manifest.find(kSdkLink) == std::string::npos) return {};
  return link_rust_sdk(project);
}

}  // namespace quire
