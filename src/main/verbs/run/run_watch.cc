#include "main/verbs/run/run_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "main/verbs/shared/file_states.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr timespec kLookPeriod = {.tv_sec = 0,
                                  .tv_nsec = std::chrono::nanoseconds(kFileLookPeriod).count()};
constexpr std::chrono::seconds kEndTimeMax{5};  // From SIGINT to SIGKILL.

// The signals that this process waits for; a run gets the mask of before.
class WatchedSignals {
 public:
  WatchedSignals() {
    sigemptyset(&waited_);
    for (const int each : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&waited_, each);
    sigprocmask(SIG_BLOCK, &waited_, &before_);
  }
  ~WatchedSignals() { restore(); }
  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // One that came within kLookPeriod; its number is 0 if none did.
  siginfo_t wait() const {
    siginfo_t info{};
    if (sigtimedwait(&waited_, &info, &kLookPeriod) < 0) info.si_signo = 0;
    return info;
  }

 private:
  sigset_t waited_;
  sigset_t before_;
};

// A run that goes on, or has ended.
class RunProcess {
 public:
  explicit RunProcess(pid_t process) : process_(process) {}
  bool has_ended() {
    int status = 0;
    if (process_ > 0 && waitpid(process_, &status, WNOHANG) == process_) {
      process_ = 0;
      is_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return process_ == 0;
  }
  bool is_well() const { return is_well_; }  // Of one that has ended: with exit code 0.
  void signal(int number) const {
    if (process_ > 0) kill(process_, number);
  }
  // SIGINT, unless the terminal has sent it already, and SIGKILL where that does not help.
  void end(const WatchedSignals& signals, bool has_heard) {
    if (!has_heard) signal(SIGINT);
    const auto last = std::chrono::steady_clock::now() + kEndTimeMax;
    while (!has_ended()) {
      if (std::chrono::steady_clock::now() > last) signal(SIGKILL);
      (void)signals.wait();
    }
  }

 private:
  pid_t process_;  // 0: none, or it has ended.
  bool is_well_ = false;
};

bool ends_the_watch(const siginfo_t& signal) {
  return signal.si_signo == SIGINT || signal.si_signo == SIGTERM;
}

// Ctrl-C reaches all processes of a terminal.
bool is_of_terminal(const siginfo_t& signal) {
  return signal.si_signo == SIGINT && signal.si_code == SI_KERNEL;
}

// A terminal shows "^C" for the key: the shell's prompt begins a line of its own after it.
void end_line_of(const siginfo_t& signal) {
  if (is_of_terminal(signal) && isatty(STDERR_FILENO) != 0) std::fputs("\n", stderr);
}

enum class Next : std::uint8_t { RunAgain, Stop };

enum class Prepared : std::uint8_t { Well, Wrong, Stopped };

// Before a run, to its end.
Prepared prepare(RunProcess step, const WatchedSignals& signals) {
  while (!step.has_ended()) {
    const siginfo_t signal = signals.wait();
    if (!ends_the_watch(signal)) continue;
    step.end(signals, is_of_terminal(signal));
    end_line_of(signal);
    return Prepared::Stopped;
  }
  return step.is_well() ? Prepared::Well : Prepared::Wrong;
}

// Until a file changes, or a signal ends the watch.
Next watch(const WatchedRun& watched, const WatchedSignals& signals, FileStates& states,
           RunProcess& run) {
  states.watch(watched.files());  // What the program includes is known now.
  bool is_told = false;
  for (;;) {
    const siginfo_t signal = signals.wait();
    if (ends_the_watch(signal)) {
      run.end(signals, is_of_terminal(signal));
      end_line_of(signal);
      return Next::Stop;
    }
    if (run.has_ended() && !std::exchange(is_told, true)) {
      print_note("-- waiting for a change of " + watched.name + " (Ctrl-C ends) --");
    }
    const std::string changed = states.look();
    if (changed.empty()) continue;
    while (!states.look().empty()) (void)signals.wait();  // Until it is written.
    run.end(signals, false);
    print_note("-- " + changed + " changed --");
    return Next::RunAgain;
  }
}

// The process of one step. It ends without the destructors of this one, whose files it shares.
Result<pid_t> begin(const std::function<int()>& step, const WatchedSignals& signals) {
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process < 0) return Error(ErrorCode::Io, std::string("fork: ") + std::strerror(errno));
  if (process > 0) return process;
  signals.restore();
  std::exit(exit_code_after_output(step()));
}

}  // namespace

Result<int> run_and_watch(const WatchedRun& watched) {
  const WatchedSignals signals;
  FileStates
      states;  // What a program included once is watched to the end, because it may not compile meanwhile.
  for (;;) {
    states.watch(watched.files());  // Before they are read, so that no change is missed.
    const Prepared prepared = prepare(RunProcess(TRY(begin(watched.prepare, signals))), signals);
    if (prepared == Prepared::Stopped) return cli::number(cli::ExitCode::Ok);
    RunProcess run(prepared == Prepared::Well ? TRY(begin(watched.run, signals)) : 0);
    if (watch(watched, signals, states, run) == Next::Stop) return cli::number(cli::ExitCode::Ok);
  }
}

}  // namespace quire
