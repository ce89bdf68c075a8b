#pragma once
// The entry of a program:
//
//   #include "quire/quire.h"
//   using namespace quire;
//   Task<> program(std::vector<std::string> arguments) { ... }
//   QUIRE_MAIN(program)
//
// An Error that the program ends in goes to its log as an error, and its number is the exit code of
// the program; 0 otherwise. The host takes the last error in the log for the reason of the end.
// What the program wrote with printf or std::cout is in its log when it ends, however it ends.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "quire/event_loop.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

// Runs `task` and whatever it starts until it is done.
template <typename T>
Result<T> run(Task<T> task) {
  EventLoop loop;
  task.start(loop);
  loop.run_until([&] { return task.done(); });
  return task.take();
}

template <typename T>
std::int32_t run_program(Task<T> (*program)(std::vector<std::string>)) {
  Result<std::vector<std::string>> arguments = runtime::arguments();
  if (!arguments.ok()) {
    runtime::log(LogLevel::Failure, arguments.error().text());
    return static_cast<std::int32_t>(arguments.error().code);
  }
  const Result<T> outcome = run(program(std::move(arguments).take()));
  if (outcome.ok()) return 0;
  runtime::log(LogLevel::Failure, outcome.error().text());
  return static_cast<std::int32_t>(outcome.error().code);
}

// A program that sets buffers of its own (setvbuf) may leave text in them.
template <typename T>
std::int32_t run_and_flush(Task<T> (*program)(std::vector<std::string>)) {
  const std::int32_t code = run_program(program);
  std::fflush(nullptr);
  return code;
}

}  // namespace quire

#if defined(__wasm__)
#define QUIRE_EXPORT_RUN __attribute__((export_name("run")))
#else
#define QUIRE_EXPORT_RUN
#endif
// `program` is a coroutine function that takes a std::vector<std::string> and returns a Task<>.
#define QUIRE_MAIN(program)                       \
  extern "C" QUIRE_EXPORT_RUN std::int32_t run(); \
  extern "C" std::int32_t run() {                 \
    return ::quire::run_and_flush(program);       \
  }
