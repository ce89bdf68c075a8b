#pragma once
// FileStates are the sizes and times of files, looked at again and again to see which of them
// changed. A file that is gone for a moment, because an editor replaces it, is in another state.
//
// Thread   one at a time.
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace quire {

// Between two looks.
inline constexpr std::chrono::milliseconds kFileLookPeriod{200};

class FileStates {
 public:
  // From now on these, too.
  void watch(const std::vector<std::string>& paths);
  // The first file that is not what it was at the last look; empty: none.
  std::string look();

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::string> states_;
};

}  // namespace quire
