// Would a guest on the real Wasm engine notice? The faults of src/application/sandbox, each
// switched on in a process of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <iterator>
#include <memory>
#include <span>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/wasmtime_runtime.h"
#include "base/clock.h"
#include "support/planted_faults.h"
#include "support/wat.h"

namespace quire {

Fault planted_fault = Fault::None;

namespace {

using test::PlantedFaults;

constexpr unsigned kLoopSecondsMax = 10;  // It may use 60 ms; then SIGALRM ends the process.

Result<std::unique_ptr<sandbox::WasmRuntime>> make_runtime() {
  return sandbox::make_wasmtime_runtime(hostcalls::host_functions(), {.instance_count_max = 4});
}

// A guest that never asks the host for anything, and ends when its processor time is used up.
void run_loop(std::uint64_t) {
  const Result<std::string> wasm =
      test::wasm_from_wat(R"((module (func (export "run") (loop $again (br $again)))))");
  Result<std::unique_ptr<sandbox::WasmRuntime>> runtime = make_runtime();
  ASSERT_TRUE(wasm.ok() && runtime.ok());
  SteadyClock clock;
  lifecycle::TestEngine engine(*runtime.value(), clock);
  const auto program = engine.manager.load_program(std::as_bytes(std::span(wasm.value())));
  ASSERT_TRUE(program.ok()) << program.error().message();
  lifecycle::InstanceLimits limits;
  limits.cpu_ns_between_waits_max = 60 * kMillisecond;
  engine.launch(program.value(), {}, limits);
  alarm(kLoopSecondsMax);
  engine.loop.run_until_idle();
  alarm(0);
  ASSERT_EQ(engine.client.ends.size(), 1u);
  EXPECT_EQ(engine.client.ends[0].limit, "cpu_ns_between_waits_max");
}

constexpr test::Driver kLoop{"loop", run_loop};
constexpr test::Plant kPlants[] = {{Fault::EpochNotArmed, "epoch not armed", kLoop}};
static_assert(std::size(kPlants) == kSandboxFaultCount, "all of the sandbox");

// Skipped in a build without the Wasm engine, which the message says; any other error is one.
class SandboxFaults : public PlantedFaults {
 protected:
  void SetUp() override {
    PlantedFaults::SetUp();
    const Result<std::unique_ptr<sandbox::WasmRuntime>> made = make_runtime();
    if (!made.ok() && made.error().code() == ErrorCode::NotSupported) {
      GTEST_SKIP() << made.error().message();
    }
    ASSERT_TRUE(made.ok()) << made.error().message();
  }
};

TEST_F(SandboxFaults, AreAllNoticedByOneGuest) {
  EXPECT_EQ(test::missed_of(kPlants, 0, 1), "");
}

TEST_F(SandboxFaults, NothingIsNoticedOfAGuestWhereNoneIsPlanted) {
  const test::Driver drivers[] = {kLoop};
  EXPECT_EQ(test::noticed_unplanted(drivers, 1), "");
}

}  // namespace
}  // namespace quire
