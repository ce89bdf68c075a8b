#include "main/verbs/make/compiler_advice.h"

#include <algorithm>
#include <array>

namespace quire {
namespace {

struct GuestAdvice {
  std::array<std::string_view, 9> reported;  // Parts of messages of clang and libc++.
  std::string_view line;
};

constexpr GuestAdvice kGuestAdvice[] = {
    {{"with exceptions disabled"},
     "note: a program has no exceptions: co_await fail(code, text) ends a task with an error, and "
     "co_await attempt(x) gives the Result of a call"},
    {{"'std::basic_ifstream<", "'std::basic_ofstream<", "'std::basic_fstream<",
      "'std::basic_filebuf<", "named 'ifstream' in namespace 'std'",
      "named 'ofstream' in namespace 'std'", "named 'fstream' in namespace 'std'",
      "named 'filesystem' in namespace 'std'", "'filesystem' is not a namespace"},
     "note: a program has no files: the client sends them (quire run --send-file FILE, "
     "session::receive_file), and store keeps values"},
    {{"named 'thread' in namespace 'std'", "named 'jthread' in namespace 'std'",
      "named 'mutex' in namespace 'std'", "named 'lock_guard' in namespace 'std'",
      "named 'unique_lock' in namespace 'std'", "named 'condition_variable' in namespace 'std'",
      "named 'async' in namespace 'std'", "named 'future' in namespace 'std'",
      "named 'sleep_for' in namespace 'std::this_thread'"},
     "note: a program has one thread, and needs no locks: co_await spawn(task) runs a task "
     "alongside the rest, gather several, and sleep(duration) waits"},
};

}  // namespace

std::string compiler_advice(std::string_view messages) {
  std::string lines;
  for (const GuestAdvice& each : kGuestAdvice) {
    const bool is_reported = std::ranges::any_of(each.reported, [&](std::string_view part) {
      return !part.empty() && messages.find(part) != std::string_view::npos;
    });
    if (is_reported) (lines += each.line) += '\n';
  }
  return lines;
}

}  // namespace quire
