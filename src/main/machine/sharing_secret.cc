#include "main/machine/sharing_secret.h"

#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>

#include "control/store/store_file.h"

namespace quire {
namespace {

using store::OpenMode;
using store::StoreFile;

Result<Digest> make_secret(store::FileSystem& files, RandomSource& random,
                           const std::string& folder, const std::string& path) {
  const std::string partial = path + ".partial";
  // The file is removed first, so that it is ours alone.
  Result<void> removed = store::remove_file(files, partial);
  if (!removed.ok() && removed.error().code() != ErrorCode::NotFound) {
    return std::move(removed).take_error();
  }
  Digest secret{};
  random.fill(std::as_writable_bytes(std::span(secret)));
  {
    StoreFile file = TRY(StoreFile::open(files, partial, OpenMode::CreateOrOpen));
    TRY(file.write(0, std::as_bytes(std::span(secret))));
    TRY(file.sync());
  }
  TRY(store::rename_file(files, partial, path));
  TRY(store::sync_folder(files, folder));
  return secret;
}

Result<void> check_private(const std::string& path) {
  using std::filesystem::perms;
  std::error_code failed;
  const perms mode = std::filesystem::status(path, failed).permissions();
  if (failed) return Error(ErrorCode::Io, "cannot look at " + path + ": " + failed.message());
  if ((mode & (perms::group_all | perms::others_all)) == perms::none) return {};
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
  return Error(ErrorCode::PermissionDenied,
               "the sharing secret " + path + " has mode " + text +
                   ", so other users may read or change it: chmod 600 it. If a user did, export "
                   "the snapshots, move the store away and import them");
}

}  // namespace

std::string sharing_secret_path(const std::string& store_folder) {
  return store_folder + "/sharing.secret";
}

Result<Digest> load_sharing_secret(store::FileSystem& files, RandomSource& random,
                                   const std::string& store_folder, SecretUse use) {
  const std::string path = sharing_secret_path(store_folder);
  Result<StoreFile> opened = StoreFile::open(files, path, OpenMode::Read);
  if (!opened.ok() && opened.error().code() == ErrorCode::NotFound) {
    if (use == SecretUse::MayMake) return make_secret(files, random, store_folder, path);
    return Error(ErrorCode::NotFound,
                 "the sharing secret " + path +
                     " is gone, and pages are stored that were named under it: put it back, or "
                     "export the snapshots, move the store away and import them");
  }
  const StoreFile file = TRY(std::move(opened));
  TRY(check_private(path));
  Digest secret{};
  const std::uint64_t bytes = TRY(file.bytes());
  if (bytes != secret.size()) {
    return Error(ErrorCode::Corrupted,
                 "the sharing secret " + path + " has " + std::to_string(bytes) + " bytes, not " +
                     std::to_string(secret.size()) +
                     ": put it back as it was, or export the snapshots, move the store away and "
                     "import them");
  }
  TRY(file.read(0, std::as_writable_bytes(std::span(secret))));
  return secret;
}

}  // namespace quire
