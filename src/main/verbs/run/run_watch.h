#pragma once
// `quire run --watch`: runs a program again each time that one of its files changes. Each step is a process of its
// own, so that a program that hangs or a compiler that fails ends nothing but itself.
//
// Thread   the main thread of a process that has and starts no other thread: the steps are forks of
//          it.
// Errors   Io when the kernel gives no process.
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

struct WatchedRun {
  std::string name;              // For messages.
  std::function<int()> prepare;  // Before each run: an exit code; if it is not 0, nothing runs.
  std::function<int()> run;      // One run, in a process that ends with its exit code.
  std::function<std::vector<std::string>()>
      files;  // What is watched, as far as it is known after prepare().
};

// Until SIGINT or SIGTERM, which end the program too; the exit code is 0 then.
Result<int> run_and_watch(const WatchedRun& watched);

}  // namespace quire
