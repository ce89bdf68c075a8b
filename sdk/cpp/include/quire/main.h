#pragma once
// The entry of a program:
//
//   #include "quire/quire.h"
//   using namespace quire;
//   Task<> program(Options options) { ... }
//   QUIRE_MAIN(program)
//
// The program takes its options, a struct with read(OptionReader&) (options.h), or the words of its
// command line, a std::vector<std::string>, or nothing.
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
#include "quire/options.h"
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

namespace detail {

using Words = std::vector<std::string>;

template <typename Options>
constexpr bool declares_options() {
  constexpr bool kDeclares = requires(Options options, OptionReader reader) {
    Options();
    options.read(reader);
  };
  static_assert(kDeclares,
                "the options of a program are a struct with default values that declares them in "
                "void read(OptionReader& in); or take the words, a std::vector<std::string>");
  return kDeclares;
}

// The options of a program, read from its command line.
template <typename Options>
Result<Options> options_of(const Words& words) {
  if constexpr (declares_options<Options>()) {
    Options options;
    OptionReader reader;
    options.read(reader);
    TRY(reader.parse(words));
    return options;
  } else {
    return Error{ErrorCode::Internal, "does not compile"};
  }
}

template <typename T>
Result<Task<T>> begun(Task<T> (*program)(), const Words& words) {
  TRY(OptionReader().parse(words));
  return program();
}
template <typename T, typename Options>
Result<Task<T>> begun(Task<T> (*program)(Options), Words words) {
  if constexpr (std::is_same_v<std::remove_cvref_t<Options>, Words>) {
    return program(std::move(words));
  } else {
    return program(TRY(options_of<std::remove_cvref_t<Options>>(words)));
  }
}

inline std::int32_t failed(const Error& error) {
  runtime::log(LogLevel::Error, error.text());
  return static_cast<std::int32_t>(error.code);
}

// The JSON schemas of a program without options, and of the options that `Options` declares.
inline const char* schema_of_none() {
  static const std::string schema = OptionReader().schema();
  return schema.c_str();
}
template <typename Options>
const char* schema_of_options() {
  static const std::string schema = [] {
    OptionReader reader;
    if constexpr (declares_options<Options>()) {
      Options options;
      options.read(reader);
    }
    return reader.schema();
  }();
  return schema.c_str();
}

// For QUIRE_MAIN: the JSON schema of the options of a program, or null where it declares none.
template <typename T>
const char* schema_of(Task<T> (*)()) {
  return schema_of_none();
}
template <typename T, typename Options>
const char* schema_of(Task<T> (*)(Options)) {
  using Read = std::remove_cvref_t<Options>;
  if constexpr (std::is_same_v<Read, Words>) {
    return nullptr;
  } else {
    return schema_of_options<Read>();
  }
}

}  // namespace detail

template <typename Program>
std::int32_t run_program(Program* program) {
  Result<std::vector<std::string>> words = runtime::arguments();
  if (!words.ok()) return detail::failed(words.error());
  auto task = detail::begun(program, std::move(words).take());
  if (!task.ok()) return detail::failed(task.error());
  const auto outcome = run(std::move(task).take());
  return outcome.ok() ? 0 : detail::failed(outcome.error());
}

// A program that sets buffers of its own (setvbuf) may leave text in them.
template <typename Program>
std::int32_t run_and_flush(Program* program) {
  const std::int32_t code = run_program(program);
  std::fflush(nullptr);
  return code;
}

}  // namespace quire

#if defined(__wasm__)
#define QUIRE_EXPORT(name) __attribute__((export_name(name)))
#else
#define QUIRE_EXPORT(name)
#endif
// `program` is a coroutine function. quire_options() is for `quire build`, which writes what it gives
// to the section quire.options of the module.
#define QUIRE_MAIN(program)                                             \
  extern "C" QUIRE_EXPORT("run") std::int32_t run();                    \
  extern "C" std::int32_t run() {                                       \
    return ::quire::run_and_flush(program);                             \
  }                                                                     \
  extern "C" QUIRE_EXPORT("quire_options") const char* quire_options(); \
  extern "C" const char* quire_options() {                              \
    return ::quire::detail::schema_of(program);                         \
  }
