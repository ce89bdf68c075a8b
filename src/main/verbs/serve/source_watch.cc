#include "main/verbs/serve/source_watch.h"

#include <utility>

#include "base/blocked_signals.h"
#include "base/file.h"
#include "base/start_thread.h"
#include "main/verbs/make/program_files.h"
#include "main/verbs/make/script_program.h"
#include "main/verbs/make/source_program.h"

namespace quire {

using server::Severity;

Result<std::unique_ptr<SourceWatch>> SourceWatch::start(std::vector<WatchedProgram> programs,
                                                        Replace replace,
                                                        server::TellOperator tell) {
  std::unique_ptr<SourceWatch> watch(
      new SourceWatch(std::move(programs), std::move(replace), std::move(tell)));
  const BlockedSignals blocked;
  watch->thread_ = TRY(start_thread("sources", [self = watch.get()] { self->run(); }));
  return watch;
}

SourceWatch::~SourceWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

// Until the next look; false: the watch ends.
bool SourceWatch::wait() {
  std::unique_lock lock(mutex_);
  return !stop_.wait_for(lock, kFileLookPeriod, [this] { return is_stopping_; });
}

void SourceWatch::run() {
  for (WatchedProgram& each : programs_) {
    if (each.given != each.module) each.files.watch(files_of_program(each.given));
  }
  while (wait()) {
    for (WatchedProgram& each : programs_) look(each);
  }
}

void SourceWatch::look(WatchedProgram& program) {
  const std::string changed = program.files.look();
  if (changed.empty()) return;
  do {  // Until it is written.
    if (!wait()) return;
  } while (!program.files.look().empty());
  const Result<void> replaced = replace(program);
  // The files that a source includes stay watched while it does not compile.
  if (program.given != program.module) program.files.watch(files_of_program(program.given));
  if (replaced.ok()) return;
  tell_({"program_kept",
         Severity::Error,
         changed + " changed, and the program " + program.name +
             " stays as it was: " + std::string(replaced.error().message()),
         {{"program", program.name}, {"file", changed}}});
}

Result<void> SourceWatch::replace(const WatchedProgram& program) const {
  if (program.given != program.module) {
    const int exit_code = build_for_run(program.given, program.module);
    if (exit_code != 0) {
      return Error(ErrorCode::InvalidArgument, program.given + " was not built");
    }
  }
  Result<void> replaced = replace_(program.name, TRY(read_file(program.module, kProgramBytesMax)));
  if (replaced.ok() || !is_script_source(program.given)) return replaced;
  TRY(check_script_options(program.given));  // Its error names the file and the line.
  return replaced;
}

}  // namespace quire
