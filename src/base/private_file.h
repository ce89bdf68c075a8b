#pragma once
// Files that only their owner may read.
//
// Thread   any.
// Errors   Io, with the path and what the system says.
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace quire {

// A lock on PATH.lock, which is made if it is not there, for as long as the descriptor lives.
// Unavailable: another process has it.
Result<Descriptor> lock_beside(const std::string& path);

// The file has this text, of mode 0600. It is written beside the file and renamed over it, so that a reader sees
// the old text or the new one; it is durable once this returns. The caller sees to it that nothing else replaces the
// same file meanwhile.
Result<void> replace_private_file(const std::string& path, std::string_view text);

}  // namespace quire
