#pragma once
// The file of keys: read by a server, changed by `quire keys`. A change is written beside the file and
// renamed over it, so that a reader sees the old ring or the new one; a lock on FILE.lock keeps two changes
// from losing one.
//
// Thread   any.
// Errors   NotFound for a file that is not there; PermissionDenied for one that others may change;
//          InvalidArgument for what is not a file of keys; Unavailable while another change goes on; Io.
#include <functional>
#include <string>

#include "application/access/key_ring.h"
#include "base/result.h"

namespace quire::access {

Result<KeyRing> read_key_file(const std::string& path);

enum class MissingFile : std::uint8_t { IsEmpty, IsError };
// The file has what `change` makes of it. It is durable once this returns.
Result<void> change_key_file(const std::string& path, MissingFile missing,
                             const std::function<Result<KeyRing>(const KeyRing&)>& change);

}  // namespace quire::access
