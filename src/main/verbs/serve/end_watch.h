#pragma once
// EndWatch waits for SIGINT and SIGTERM on a thread of its own, from the start of `quire serve` to its end. Each
// signal asks the server to end. If the server does not end by its EndDeadline, the process ends anyway: so it
// ends although its engine, its disk or whatever reads its log does not move.
//
// Owns     the thread. Build it before any other thread is started, so that the signals are blocked in all.
// Thread   all calls from the main thread; the asked server hears of a signal on the watch's thread.
// Errors   Io if the kernel refuses, Unavailable if no thread can be started.
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"

namespace quire {

class EndWatch {
 public:
  static Result<std::unique_ptr<EndWatch>> open();
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  // A signal has come.
  bool is_asked() const { return signal_count() > 0; }
  std::uint32_t signal_count() const;
  // `clean` is called if the process ends late before it serves, on the watch's thread.
  void at_early_end(std::function<void()> clean);
  // `ask` is called for each signal, those that have come included, while the Serving lives. From here on the
  // server has `grace_ns` to end, and a process that ends late has failed; before, no client has work here.
  class Serving;
  [[nodiscard]] Serving serve(std::uint64_t grace_ns, std::function<void()> ask);

 private:
  struct State;
  explicit EndWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::thread thread_;
};

class EndWatch::Serving {
 public:
  explicit Serving(State& state) : state_(&state) {}
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  State* state_;
};

}  // namespace quire
