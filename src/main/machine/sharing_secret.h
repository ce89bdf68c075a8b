#pragma once
// The secret that keys the sharing domain of each tenant. Names of saved pages depend on it, so it
// lies in the store's folder and lasts as long as they do.
//
// Thread   the one that has the store open (its lock keeps two processes from making two secrets).
// Errors   Corrupted for a file that is not 32 bytes; PermissionDenied for one that other users may
//          read or write; NotFound for one that is gone while pages named under it are there; Io.
#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "base/sha256.h"
#include "control/store/file_system.h"

namespace quire {

enum class SecretUse : std::uint8_t { MayMake, MustExist };

std::string sharing_secret_path(const std::string& store_folder);

// The secret in the store's folder. One that is made is durable before this returns, and there
// whole or not at all.
Result<Digest> load_sharing_secret(store::FileSystem& files, RandomSource& random,
                                   const std::string& store_folder, SecretUse use);

}  // namespace quire
