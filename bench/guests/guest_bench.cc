// This program measures what a guest costs around a control layer that does nothing: its launch,
// its calls of the host, its waits and its wake-ups. It prints medians over kRounds rounds.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/wasmtime_runtime.h"
#include "support/wat.h"

namespace {

using namespace quire;             // NOLINT: a program, not a header.
using namespace quire::lifecycle;  // NOLINT

constexpr int kRounds = 11;
constexpr int kCallCount = 1'000'000;
constexpr int kTogetherCount = 896;

struct Bench {
  explicit Bench(sandbox::WasmRuntime& runtime) : engine(runtime, clock) {}

  ProgramId load(const std::string& body) {
    const std::string wasm = test::wasm_from_wat("(module " + body + ")").take();
    return engine.manager.load_program(std::as_bytes(std::span(wasm))).take();
  }
  void drain() {
    while (engine.loop.step()) {
    }
  }

  SteadyClock clock;
  TestEngine engine;
};

double percentile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

template <typename F>
void report_median(const char* what, const char* unit, F measure) {
  std::vector<double> values;
  for (int i = 0; i < kRounds; ++i) values.push_back(measure());
  const double median = percentile(values, 0.5);
  std::printf("%-44s %10.2f %s  (%.2f to %.2f)\n", what, median, unit, values.front(),
              values.back());
}

void measure_launch(Bench& bench) {
  const ProgramId sends = bench.load(R"(
    (import "quire:core/session@1" "send" (func $send (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "run") (drop (call $send (i32.const 0) (i32.const 1)))))");
  report_median("launch to end, alone", "us", [&] {
    const std::uint64_t start_ns = bench.clock.now_ns();
    for (int i = 0; i < 1000; ++i) {
      bench.engine.launch(sends);
      bench.drain();
    }
    return static_cast<double>(bench.clock.now_ns() - start_ns) / 1000 / 1e3;
  });
  std::vector<double> first_ms;
  for (int round = 0; round < kRounds; ++round) {
    bench.engine.client.ends.clear();
    for (int i = 0; i < kTogetherCount; ++i) bench.engine.launch(sends);
    bench.drain();
    for (const End& end : bench.engine.client.ends) {
      first_ms.push_back(static_cast<double>(end.first_message_ns) / 1e6);
    }
  }
  std::printf("%-44s %10.2f ms  p99 %.2f ms\n", "launch to first message, 896 together",
              percentile(first_ms, 0.5), percentile(first_ms, 0.99));
}

void measure_calls(Bench& bench) {
  const ProgramId calls = bench.load(R"(
    (import "quire:core/runtime@1" "get-arg-count" (func $count (result i32)))
    (memory (export "memory") 1)
    (func (export "run") (local $left i32)
      (local.set $left (i32.const )" +
                                     std::to_string(kCallCount) + R"())
      (loop $again
        (drop (call $count))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br_if $again (local.get $left)))))");
  report_median("host call that returns at once", "ns", [&] {
    const std::uint64_t start_ns = bench.clock.now_ns();
    bench.engine.launch(calls);
    bench.drain();
    return static_cast<double>(bench.clock.now_ns() - start_ns) / kCallCount;
  });
}

void measure_waits(Bench& bench) {
  const ProgramId echo = bench.load(R"(
    (import "quire:core/future@1" "wait" (func $wait (param i32 i32 i64) (result i32)))
    (import "quire:core/future@1" "take" (func $take (param i32 i32 i32) (result i32)))
    (import "quire:core/session@1" "receive" (func $receive (result i32)))
    (memory (export "memory") 1)
    (func (export "run")
      (loop $again
        (i32.store (i32.const 0) (call $receive))
        (drop (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))
        (br_if $again (i32.ge_s
          (call $take (i32.load (i32.const 0)) (i32.const 16) (i32.const 8)) (i32.const 0))))))");
  for (const int count : {1, kTogetherCount}) {
    std::vector<InstanceId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(bench.engine.launch(echo));
    bench.drain();
    const std::string what = "message in, wake, take, wait; guests: " + std::to_string(count);
    report_median(what.c_str(), "us", [&] {
      const int rounds = 20'000 / count;
      const std::uint64_t start_ns = bench.clock.now_ns();
      for (int i = 0; i < rounds; ++i) {
        for (const InstanceId id : ids) (void)bench.engine.manager.send_to(id, "x");
        bench.drain();
      }
      return static_cast<double>(bench.clock.now_ns() - start_ns) / (rounds * count) / 1e3;
    });
    for (const InstanceId id : ids) (void)bench.engine.manager.close_input(id);
    bench.drain();
  }
}

}  // namespace

int main() {
  auto runtime = sandbox::make_wasmtime_runtime(hostcalls::host_functions(), {});
  if (!runtime.ok()) {
    std::fprintf(stderr, "%s\n", std::string(runtime.error().message()).c_str());
    return 1;
  }
  Bench bench(*runtime.value());
  measure_launch(bench);
  measure_calls(bench);
  measure_waits(bench);
  return 0;
}
