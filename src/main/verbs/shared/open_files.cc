#include "main/verbs/shared/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace quire {

std::uint64_t allow_open_files(std::uint64_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0)
    return wanted;  // Opening one too many is an error of the call.
  if (files.rlim_cur < wanted) {
    files.rlim_cur = std::min<rlim_t>(wanted, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);  // What it gave is asked for next.
    getrlimit(RLIMIT_NOFILE, &files);
  }
  return files.rlim_cur;
}

}  // namespace quire
