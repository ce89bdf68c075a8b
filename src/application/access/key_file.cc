#include "application/access/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/private_file.h"

namespace quire::access {
namespace {

Error system_error(const std::string& what) {
  return Error(ErrorCode::Io, what + ": " + std::strerror(errno));
}

// A user that may change the file may make keys.
Result<void> check_owner(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return system_error("cannot look at " + path);
  const bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
  if (is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return Error(ErrorCode::PermissionDenied,
               "other users may change the file of keys " + path + ": chmod 600 it");
}

}  // namespace

Result<KeyRing> read_key_file(const std::string& path) {
  Result<std::string> text = read_file(path, kKeyFileBytesMax);
  if (!text.ok()) return std::move(text).take_error();
  TRY(check_owner(path));
  Result<KeyRing> ring = KeyRing::parse(text.value());
  if (!ring.ok()) return std::move(ring).take_error().while_(path);
  return ring;
}

Result<void> change_key_file(const std::string& path, MissingFile missing,
                             const std::function<Result<KeyRing>(const KeyRing&)>& change) {
  const Descriptor locked = TRY(lock_beside(path));
  Result<KeyRing> ring = read_key_file(path);
  const bool is_missing = !ring.ok() && ring.error().code() == ErrorCode::NotFound;
  if (is_missing && missing == MissingFile::IsEmpty) ring = KeyRing();
  const KeyRing before = TRY(std::move(ring));
  const KeyRing after = TRY(change(before));
  return replace_private_file(path, after.text());
}

}  // namespace quire::access
