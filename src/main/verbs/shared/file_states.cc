#include "main/verbs/shared/file_states.h"

#include <algorithm>

#include "main/verbs/shared/artifact_cache.h"

namespace quire {
namespace {

std::string state_of(const std::string& path) {
  return file_stamp(path).value_or("gone");
}

}  // namespace

void FileStates::watch(const std::vector<std::string>& paths) {
  for (const std::string& each : paths) {
    const bool is_known = std::ranges::find(paths_, each) != paths_.end();
    if (is_known) continue;
    paths_.push_back(each);
    states_[each] = state_of(each);
  }
}

std::string FileStates::look() {
  std::string changed;
  for (const std::string& each : paths_) {
    const std::string now = state_of(each);
    std::string& before = states_[each];
    if (changed.empty() && before != now) changed = each;
    before = now;
  }
  return changed;
}

}  // namespace quire
