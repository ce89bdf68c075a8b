#pragma once
// The chat folder has what outlives a chat: the folder `chat` of the user's data folder, which only
// the user may read.
//
// Errors   NotFound if the environment names no data folder; Io.
#include <string>

#include "base/result.h"

namespace quire {

Result<std::string> chat_folder_from_environment();
// With the folders above it.
Result<void> make_chat_folder(const std::string& folder);

}  // namespace quire
