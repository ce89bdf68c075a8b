#include "main/verbs/text/chat_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "inference/model_store/model_store.h"

namespace quire {

Result<std::string> chat_folder_from_environment() {
  return TRY(inference::data_folder_from_environment()) + "/chat";
}

Result<void> make_chat_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
  if (failed) return Error(ErrorCode::Io, "cannot make " + folder + ": " + failed.message());
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Error(ErrorCode::Io, "cannot make " + folder + ": " + std::strerror(errno));
}

}  // namespace quire
