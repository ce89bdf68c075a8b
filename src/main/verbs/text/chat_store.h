#pragma once
// ChatStore keeps conversations under names, for /save and /load of `quire chat`: NAME.json in the folder of chats, of mode
// 0600, replaced as a whole. The file is a request of a chat template, so `quire template FILE` shows it:
//   {"model": "smollm2-135m-instruct", "messages": [{"role": "system", "content": "..."}, {"role": "user", ...}, ...]}
//
// Thread   any.
// Errors   InvalidArgument for a name that cannot be one; NotFound names those that are there; Corrupted says what in the file is
//          wrong; TooLarge; Io.
#include <string>
#include <vector>

#include "base/result.h"
#include "main/verbs/text/chat_messages.h"

namespace quire {

struct SavedChat {
  std::string model;   // The model it was made with, which is only shown.
  std::string system;  // Empty: none.
  ChatMessages messages;
  bool operator==(const SavedChat&) const = default;
};

class ChatStore {
 public:
  static constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;
  static constexpr std::size_t kNameBytesMax = 64;

  explicit ChatStore(const std::string& folder) : folder_(folder) {}

  struct Saved {
    std::string path;
    bool is_replaced = false;  // There was one of that name.
  };
  Result<Saved> save(const std::string& name, const SavedChat& chat) const;
  Result<SavedChat> load(const std::string& name) const;
  // In alphabetical order.
  std::vector<std::string> names() const;

 private:
  Result<std::string> path_of(const std::string& name) const;

  const std::string folder_;
};

}  // namespace quire
