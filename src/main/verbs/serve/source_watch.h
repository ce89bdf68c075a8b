#pragma once
// SourceWatch makes the programs of `quire serve --watch` anew when their files change: the source
// of a program and what it imports or includes, or the file of a module.
//
// Owns     a thread, which compiles. It waits for the compiler at its end.
// Thread   `replace` and `tell` are called on the watch's thread.
// Errors   Unavailable if no thread can be started. A program that cannot be built stays as it was:
//          the compiler prints why, and `tell` reports it.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "application/server/log_event.h"
#include "base/result.h"
#include "main/verbs/shared/file_states.h"

namespace quire {

struct WatchedProgram {
  std::string name;
  std::string given;      // The source or the module, as the operator named it.
  std::string module;     // Where a source's module lies; `given` itself for a module.
  FileStates files = {};  // As they were before the program was read.
};

class SourceWatch {
 public:
  // Gives the program of that name another module, or says why the module cannot be used.
  using Replace = std::function<Result<void>(const std::string& name, std::string wasm)>;
  static Result<std::unique_ptr<SourceWatch>> start(std::vector<WatchedProgram> programs,
                                                    Replace replace, server::TellOperator tell);
  ~SourceWatch();
  SourceWatch(const SourceWatch&) = delete;
  SourceWatch& operator=(const SourceWatch&) = delete;

 private:
  SourceWatch(std::vector<WatchedProgram> programs, Replace replace, server::TellOperator tell)
      : programs_(std::move(programs)), replace_(std::move(replace)), tell_(std::move(tell)) {}
  void run();
  bool wait();
  void look(WatchedProgram& program);
  Result<void> replace(const WatchedProgram& program) const;

  std::vector<WatchedProgram> programs_;  // The thread's own.
  const Replace replace_;
  const server::TellOperator tell_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool is_stopping_ = false;  // Guarded by the mutex.
  std::thread thread_;
};

}  // namespace quire
