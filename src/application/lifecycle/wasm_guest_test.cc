// Real Wasm on wasmtime through the whole application layer, around a control layer that only notes
// commands. The guests are hand-written in the text format.
#include <gtest/gtest.h>

#include <time.h>

#include <span>
#include <string>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/wasmtime_runtime.h"
#include "base/clock.h"
#include "base/resident_bytes_test_support.h"
#include "support/wat.h"

namespace quire::lifecycle {
namespace {

std::string imports() {
  return R"(
    (import "quire:core/future@1" "wait" (func $wait (param i32 i32 i64) (result i32)))
    (import "quire:core/future@1" "take" (func $take (param i32 i32 i32) (result i32)))
    (import "quire:core/runtime@1" "sleep" (func $sleep (param i64) (result i32)))
    (import "quire:core/runtime@1" "set-result" (func $set_result (param i32 i32) (result i32)))
    (import "quire:core/session@1" "send" (func $send (param i32 i32) (result i32)))
    (import "quire:core/session@1" "receive" (func $receive (result i32)))
  )";
}

// Compiles everything with one effort.
class OneTier final : public sandbox::WasmRuntime {
 public:
  OneTier(std::unique_ptr<sandbox::WasmRuntime> all, sandbox::Effort only)
      : all_(std::move(all)), only_(only) {}
  Result<std::shared_ptr<const sandbox::Program>> compile(std::span<const std::byte> wasm,
                                                          sandbox::Effort,
                                                          sandbox::Origin origin) override {
    auto program = all_->compile(wasm, only_, origin);
    if (program.ok()) last = program.value()->effort();
    return program;
  }
  Result<std::unique_ptr<sandbox::Instance>> instantiate(
      std::shared_ptr<const sandbox::Program> program, void* host_state,
      const sandbox::InstanceOptions& options) override {
    return all_->instantiate(std::move(program), host_state, options);
  }
  std::uint32_t instance_count_max() const override { return all_->instance_count_max(); }
  std::uint64_t module_bytes_max() const override { return all_->module_bytes_max(); }
  void prepare() override { all_->prepare(); }
  void stop_compiling() override { all_->stop_compiling(); }

  std::optional<sandbox::Effort> last;  // Of the code of the last program.

 private:
  const std::unique_ptr<sandbox::WasmRuntime> all_;
  const sandbox::Effort only_;
};

class WasmGuest : public testing::TestWithParam<sandbox::Effort> {
 protected:
  void SetUp() override {
    sandbox::WasmtimeOptions options;
    options.instance_count_max = 64;
    open(options);
  }

  void open(const sandbox::WasmtimeOptions& options,
            std::span<const sandbox::HostFunction> functions = hostcalls::host_functions()) {
    Result<std::unique_ptr<sandbox::WasmRuntime>> made =
        sandbox::make_wasmtime_runtime(functions, options);
    if (!made.ok() && made.error().code() == ErrorCode::NotSupported) {
      // A build without the Wasm engine, which the message says.
      GTEST_SKIP() << made.error().message();
    }
    ASSERT_TRUE(made.ok()) << made.error().message();
    engine.reset();
    auto tier = std::make_unique<OneTier>(std::move(made).take(), GetParam());
    only_tier = tier.get();
    runtime = std::move(tier);
    engine = std::make_unique<TestEngine>(*runtime, clock);
  }

  Result<ProgramId> load(const std::string& body) {
    const Result<std::string> wasm = test::wasm_from_wat("(module " + body + ")");
    EXPECT_TRUE(wasm.ok()) << wasm.error().message();
    return engine->manager.load_program(std::as_bytes(std::span(wasm.value())));
  }
  ProgramId must_load(const std::string& body) {
    Result<ProgramId> id = load(body);
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message());
    return id.value();
  }
  const End& only_end() {
    EXPECT_EQ(engine->client.ends.size(), 1u);
    return engine->client.ends.back();
  }

  SteadyClock clock;
  std::unique_ptr<sandbox::WasmRuntime> runtime;
  OneTier* only_tier = nullptr;
  std::unique_ptr<TestEngine> engine;
};

TEST_P(WasmGuest, RunReturnsItsExitCode) {
  engine->launch(must_load(R"((func (export "run") (result i32) (i32.const 7)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Finished);
  EXPECT_EQ(only_end().exit_code, 7);
}

TEST_P(WasmGuest, CodeIsOfTheEffortThatWasAskedFor) {
  must_load(R"((func (export "run")))");
  EXPECT_EQ(only_tier->last, GetParam());
}

TEST_P(WasmGuest, ReactorIsInitializedBeforeItRuns) {
  engine->launch(must_load(R"((global $ready (mut i32) (i32.const 0))
    (func (export "_initialize") (global.set $ready (i32.const 5)))
    (func (export "run") (result i32) (global.get $ready)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, 5);
}

TEST_P(WasmGuest, CommandEndsItselfWithProcExit) {
  engine->launch(must_load(R"((import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (func (export "_start") (call $exit (i32.const 3)) (unreachable)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Finished);
  EXPECT_EQ(only_end().exit_code, 3);
}

// Version 2 of an interface beside version 1: another signature, another meaning. Who was built
// against either runs as it was built.
TEST_P(WasmGuest, AModuleBuiltAgainstVersionOneRunsWhenVersionTwoExists) {
  static const std::vector<sandbox::HostFunction> functions = [] {
    std::vector<sandbox::HostFunction> all(hostcalls::host_functions().begin(),
                                           hostcalls::host_functions().end());
    all.push_back({"quire:core/queue@2", "create-queue", "iii>i", false,
                   [](void*, sandbox::GuestMemory, sandbox::RawValue* values) noexcept {
                     values[0].set(values[2].as<std::int32_t>() + 1000);
                     return sandbox::CallOutcome::Return;
                   }});
    return all;
  }();
  open({.instance_count_max = 64}, functions);
  // The null handle is not a model: not-found, in version 1.
  engine->launch(must_load(R"(
    (import "quire:core/queue@1" "create-queue" (func $create (param i32 i32) (result i32)))
    (func (export "run") (result i32) (call $create (i32.const 0) (i32.const 1))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, -static_cast<int>(ErrorCode::NotFound));
  engine->client.ends.clear();
  engine->launch(must_load(R"(
    (import "quire:core/queue@2" "create-queue" (func $create (param i32 i32 i32) (result i32)))
    (func (export "run") (result i32)
      (call $create (i32.const 0) (i32.const 1) (i32.const 7))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, 1007);

  const Result<ProgramId> later = load(R"(
    (import "quire:core/queue@3" "create-queue" (func $create (param i32) (result i32)))
    (func (export "run") (result i32) (i32.const 0)))");
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code(), ErrorCode::NotSupported);
  EXPECT_EQ(later.error().message(),
            "the module imports quire:core/queue@3.create-queue, which is not offered (this engine "
            "has quire:core/queue@1, quire:core/queue@2)");
}

// Receives messages and sends each back, until the client ends its side.
TEST_P(WasmGuest, EchoesASessionAndIsToldHowManyCallsItTook) {
  const ProgramId program = must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32) (local $bytes i32)
      (loop $again
        (i32.store (i32.const 0) (call $receive))
        (drop (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))
        (local.set $bytes (call $take (i32.load (i32.const 0)) (i32.const 16) (i32.const 1000)))
        (if (i32.lt_s (local.get $bytes) (i32.const 0)) (then (return (local.get $bytes))))
        (drop (call $send (i32.const 16) (local.get $bytes)))
        (br $again))
      (unreachable)))");
  const InstanceId id = engine->launch(program);
  ASSERT_TRUE(engine->manager.send_to(id, "one").ok());
  engine->settle();
  EXPECT_EQ(engine->client.messages, std::vector<std::string>{"one"});
  ASSERT_TRUE(engine->manager.send_to(id, "two").ok());
  ASSERT_TRUE(engine->manager.send_to(id, "").ok());
  ASSERT_TRUE(engine->manager.close_input(id).ok());
  engine->loop.run_until_idle();
  EXPECT_EQ(engine->client.messages, (std::vector<std::string>{"one", "two", ""}));
  EXPECT_EQ(only_end().exit_code, -static_cast<int>(ErrorCode::Unavailable));
  EXPECT_EQ(engine->client.figures[0].calls.control, 3u * 4 + 3);
  EXPECT_EQ(engine->client.figures[0].calls.device, 0u);
}

TEST_P(WasmGuest, SleepsAsLongAsItSaid) {
  engine->launch(must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32)
      (i32.store (i32.const 0) (call $sleep (i64.const 20000000)))
      (call $wait (i32.const 0) (i32.const 1) (i64.const -1))))"));
  engine->loop.run_until_idle();
  const End& end = only_end();
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_GE(end.duration_ns, 20 * kMillisecond);
  EXPECT_LT(end.cpu_ns, 20 * kMillisecond);
}

// Futures: a message that does not come, and a short sleep. The second is ready first.
TEST_P(WasmGuest, WaitsForTheFirstOfTwoFutures) {
  engine->launch(must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32)
      (i32.store (i32.const 0) (call $receive))
      (i32.store (i32.const 4) (call $sleep (i64.const 1000000)))
      (call $wait (i32.const 0) (i32.const 2) (i64.const -1))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, 1);
}

TEST_P(WasmGuest, WaitGivesTimeoutWhenNothingHappens) {
  engine->launch(must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32)
      (i32.store (i32.const 0) (call $receive))
      (call $wait (i32.const 0) (i32.const 1) (i64.const 2000000))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, -static_cast<int>(ErrorCode::Timeout));
}

TEST_P(WasmGuest, TrapTellsTheNamesOfItsFunctions) {
  engine->launch(must_load(R"((func $inner_place (unreachable))
    (func $outer_place (call $inner_place))
    (func (export "run") (call $outer_place)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Trapped);
  EXPECT_EQ(only_end().exit_code, 134);
  EXPECT_NE(only_end().message.find("inner_place"), std::string::npos) << only_end().message;
  EXPECT_NE(only_end().message.find("outer_place"), std::string::npos);
  EXPECT_NE(only_end().message.find("unreachable"), std::string::npos);
}

TEST_P(WasmGuest, StackOverflowIsATrap) {
  engine->launch(must_load(R"((func $deep (export "run") (call $deep)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Trapped);
  EXPECT_TRUE(only_end().message.starts_with(
      "the program overflowed its call stack of 1 MiB (deep recursion)\n"))
      << only_end().message;
}

// As clang lays programs out: the stack at the begin of the memory, its pointer an exported global.
std::string with_stack(const std::string& entry) {
  return R"((memory (export "memory") 17)
    (global $stack (export "__stack_pointer") (mut i32) (i32.const 1048576))
    (func (export "run") (result i32) )" +
         entry + ")";
}

TEST_P(WasmGuest, AnOverflowOfTheStackInMemorySaysSoAndHowLargeItIs) {
  engine->launch(must_load(with_stack(R"(
      (global.set $stack (i32.sub (global.get $stack) (i32.const 2000000)))
      (i32.store (global.get $stack) (i32.const 1))
      (i32.const 0))")));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Trapped);
  EXPECT_TRUE(only_end().message.starts_with(
      "the program overflowed its stack of 1 MiB (a large local array, or deep recursion); quire "
      "build FILE -- -Wl,-z,stack-size=4194304 makes it larger\n"))
      << only_end().message;
  EXPECT_NE(only_end().message.find("memory fault"), std::string::npos) << only_end().message;
}

TEST_P(WasmGuest, AFaultOfAProgramWhoseStackIsFineDoesNotNameTheStack) {
  engine->launch(must_load(with_stack(R"(
      (i32.store (i32.const -8) (i32.const 1))
      (i32.const 0))")));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Trapped);
  EXPECT_EQ(only_end().message.find("stack"), std::string::npos) << only_end().message;
}

TEST_P(WasmGuest, LoopIsCutByItsCpuLimitWhileOthersProgress) {
  InstanceLimits limits;
  limits.cpu_ns_between_waits_max = 60 * kMillisecond;
  const ProgramId loops = must_load(R"((func (export "run") (loop $again (br $again))))");
  const ProgramId sleeps = must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32) (local $left i32)
      (local.set $left (i32.const 20))
      (loop $again
        (i32.store (i32.const 0) (call $sleep (i64.const 1000000)))
        (drop (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))
        (drop (call $send (i32.const 0) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br_if $again (local.get $left)))
      (i32.const 0)))");
  engine->launch(loops, {}, limits);
  engine->launch(sleeps);
  engine->loop.run_until_idle();
  ASSERT_EQ(engine->client.ends.size(), 2u);
  const bool loop_first = engine->client.ends[0].kind == EndKind::LimitExceeded;
  const End& looped = engine->client.ends[loop_first ? 0 : 1];
  EXPECT_EQ(looped.kind, EndKind::LimitExceeded);
  EXPECT_EQ(looped.limit, "cpu_ns_between_waits_max");
  EXPECT_GE(looped.cpu_ns, 60 * kMillisecond);
  EXPECT_EQ(engine->client.messages.size(), 20u);
  EXPECT_EQ(engine->client.ends[loop_first ? 1 : 0].kind, EndKind::Finished);
}

TEST_P(WasmGuest, KillEndsALoopAtOnce) {
  const InstanceId id =
      engine->launch(must_load(R"((func (export "run") (loop $again (br $again))))"));
  for (int i = 0; i < 5; ++i) engine->loop.step();
  ASSERT_TRUE(engine->manager.kill(id, "no longer wanted").ok());
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Killed);
  EXPECT_EQ(only_end().message, "no longer wanted");
  EXPECT_EQ(engine->manager.kill(id, "again").error().code(), ErrorCode::NotFound);
}

// Host functions that keep the processor busy for 5 ms: one that suspends, and never needs to, and
// one that cannot.
sandbox::CallOutcome be_busy(void*, sandbox::GuestMemory, sandbox::RawValue* values) noexcept {
  const ThreadClock clock;
  const std::uint64_t start_ns = clock.now_ns();
  while (clock.now_ns() - start_ns < 5 * kMillisecond) {
  }
  values[0].set(std::int32_t{0});
  return sandbox::CallOutcome::Return;
}
constexpr sandbox::HostFunction kBusyFunctions[] = {
    {"test", "busy", ">i", false, &be_busy}, {"test", "suspending-busy", ">i", true, &be_busy}};

std::string call_busy(const std::string& name, std::size_t count) {
  std::string calls;
  for (std::size_t i = 0; i < count; ++i) calls += "(drop (call $busy))";
  return "(import \"test\" \"" + name + "\" (func $busy (result i32))) (func (export \"run\") " +
         calls + ")";
}

TEST_P(WasmGuest, HostCallsInAStraightLineEndByTheirLimit) {
  open({.instance_count_max = 4}, kBusyFunctions);
  engine->launch(must_load(call_busy("busy", 1000)));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::LimitExceeded);
  EXPECT_EQ(only_end().limit, "cpu_ns_uncut_max");
  EXPECT_NE(only_end().message.find("cpu_ns_uncut_max"), std::string::npos) << only_end().message;
  EXPECT_LT(only_end().cpu_ns, 3'000 * kMillisecond);
}

TEST_P(WasmGuest, HostCallsInAStraightLineEndByALowerCpuLimitAsThat) {
  open({.instance_count_max = 4}, kBusyFunctions);
  InstanceLimits limits;
  limits.cpu_ns_max = 60 * kMillisecond;
  engine->launch(must_load(call_busy("busy", 1000)), {}, limits);
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::LimitExceeded);
  EXPECT_EQ(only_end().limit, "cpu_ns_max");
}

TEST_P(WasmGuest, HostCallsInALoopAreCutAndGoOn) {
  open({.instance_count_max = 4}, kBusyFunctions);
  engine->launch(must_load(R"((import "test" "busy" (func $busy (result i32)))
    (func (export "run") (result i32) (local $left i32)
      (local.set $left (i32.const 200))
      (loop $again
        (drop (call $busy))
        (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
      (i32.const 6)))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Finished) << only_end().message;
  EXPECT_EQ(only_end().exit_code, 6);
}

TEST_P(WasmGuest, WaitsInAStraightLineThatAreOverAreCutToo) {
  open({.instance_count_max = 4}, kBusyFunctions);
  engine->launch(must_load(call_busy("suspending-busy", 200)));
  int turn_count = 0;
  for (; engine->client.ends.empty(); ++turn_count) engine->loop.step();
  EXPECT_EQ(only_end().kind, EndKind::Finished) << only_end().message;
  EXPECT_GE(turn_count, 100);  // 5 ms are several slices.
}

// The whole of its memory, so often.
std::string fills(std::size_t count, std::uint32_t page_count) {
  const std::string bytes = std::to_string(page_count << 16);
  std::string all = "(memory (export \"memory\") " + std::to_string(page_count) +
                    ") (func (export \"run\") (local $bytes i32) (local.set $bytes (i32.const " +
                    bytes + "))";
  for (std::size_t i = 0; i < count; ++i) {
    all += "(memory.fill (i32.const 0) (i32.const 1) (local.get $bytes))";
  }
  return all + ")";
}

TEST_P(WasmGuest, FillsInAStraightLineAreCutByTheirCpuLimit) {
  InstanceLimits limits;
  limits.cpu_ns_between_waits_max = 60 * kMillisecond;
  const ProgramId program = must_load(fills(1000, 2048));
  engine->launch(program, {}, limits);
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::LimitExceeded);
  EXPECT_EQ(only_end().limit, "cpu_ns_between_waits_max");
  EXPECT_LT(only_end().cpu_ns, 1'000 * kMillisecond);
}

TEST_P(WasmGuest, FunctionsWithFewFillsAreQuickCodeAndWithManyTheBest) {
  must_load(fills(48, 1));
  EXPECT_EQ(only_tier->last, GetParam());
  must_load(fills(49, 1));
  EXPECT_EQ(only_tier->last, sandbox::Effort::Best);
}

TEST_P(WasmGuest, GrowingPastTheMemoryLimitEndsTheInstance) {
  InstanceLimits limits;
  limits.memory_bytes_max = 4u << 20;
  engine->launch(must_load(R"((memory (export "memory") 1)
    (func $greedy (export "run") (result i32)
      (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
      (unreachable)))"),
                 {}, limits);
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::LimitExceeded) << only_end().message;
  EXPECT_EQ(only_end().limit, "memory_bytes_max");
  EXPECT_NE(only_end().message.find("4.0 MiB (--memory-max)"), std::string::npos)
      << only_end().message;
}

TEST_P(WasmGuest, BeginningWithTooMuchMemoryDoesNotStart) {
  InstanceLimits limits;
  limits.memory_bytes_max = 1u << 20;
  engine->launch(must_load(R"((memory (export "memory") 17) (func (export "run")))"), {}, limits);
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::NotStarted);
  EXPECT_NE(only_end().message.find("memory_bytes_max"), std::string::npos);
}

TEST_P(WasmGuest, MissingImportIsNamed) {
  const Result<ProgramId> id = load(R"((import "env" "frobnicate" (func)) (func (export "run")))");
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(id.error().message().find("env.frobnicate"), std::string::npos);
}

TEST_P(WasmGuest, ImportOfAnotherTypeIsNamedWithBothTypes) {
  const Result<ProgramId> id = load(
      R"((import "quire:core/future@1" "wait" (func (param i32) (result i32)))
         (func (export "run")))");
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.error().message(),
            "the module imports quire:core/future@1.wait as (i32) -> (i32), but it is "
            "(i32 i32 i64) -> (i32)");
}

TEST_P(WasmGuest, ModuleWithoutAnEntryIsRefused) {
  const Result<ProgramId> id = load(R"((func (export "main")))");
  ASSERT_FALSE(id.ok());
  EXPECT_NE(id.error().message().find("no entry"), std::string::npos);
}

TEST_P(WasmGuest, BytesThatAreNoWasmAreRefused) {
  const std::string bytes = "#!/bin/sh\necho no\n";
  const Result<ProgramId> id = engine->manager.load_program(std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(id.ok());
  EXPECT_NE(id.error().message().find("not a Wasm module"), std::string::npos);
}

TEST_P(WasmGuest, InvalidCodeIsRefusedByTheCompiler) {
  const Result<std::string> wasm =
      test::wasm_from_wat(R"((module (func (export "run") (result i32) (i64.const 1))))");
  ASSERT_TRUE(wasm.ok());
  const Result<ProgramId> id = engine->manager.load_program(std::as_bytes(std::span(wasm.value())));
  ASSERT_FALSE(id.ok());
  EXPECT_NE(id.error().message().find("not a valid Wasm module"), std::string::npos);
}

TEST_P(WasmGuest, RequestedProgramCompilesBesideTheEngine) {
  const std::string good =
      test::wasm_from_wat(R"((module (func (export "run") (result i32) (i32.const 9))))").value();
  const auto bytes = std::as_bytes(std::span(good));
  const auto request = [&](std::span<const std::byte> wasm) {
    return engine->manager.request_program({wasm.begin(), wasm.end()}, sha256(wasm)).value();
  };
  engine->launch(request(bytes));
  engine->launch(request(bytes.first(9)));
  engine->loop.run_until_idle();
  ASSERT_EQ(engine->client.ends.size(), 2u);
  for (const End& end : engine->client.ends) {
    EXPECT_EQ(end.kind == EndKind::Finished ? end.exit_code : 9, 9);
    EXPECT_TRUE(end.kind == EndKind::Finished || end.kind == EndKind::NotStarted);
  }
  EXPECT_NE(engine->client.ends[0].kind, engine->client.ends[1].kind);
}

// Checks that its memory, table and data are as the module says, then overwrites `stride`-th pages
// of the memory and all of the table.
std::string leaves_its_mark(std::uint32_t stride_pages) {
  return R"(
    (memory 32) (data (i32.const 70000) "mine") (table 3000 funcref) (func $mark) (elem declare func $mark)
    (func (export "run") (result i32) (local $at i32)
      (if (i32.ne (i32.load (i32.const 70000)) (i32.const 0x656e696d)) (then (return (i32.const 1))))
      (i32.store (i32.const 70000) (i32.const 0))
      (loop $memory
        (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then (return (i32.const 2))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $memory (i32.lt_u (local.get $at) (i32.const 2097152))))
      (local.set $at (i32.const 0))
      (loop $table
        (if (i32.eqz (ref.is_null (table.get 0 (local.get $at)))) (then (return (i32.const 3))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $table (i32.lt_u (local.get $at) (i32.const 3000))))
      (table.fill 0 (i32.const 0) (ref.func $mark) (i32.const 3000))
      (local.set $at (i32.const 0))
      (loop $mark
        (memory.fill (local.get $at) (i32.const 255) (i32.const 4096))
        (local.set $at (i32.add (local.get $at) (i32.const )" +
         std::to_string(4096 * stride_pages) + R"()))
        (br_if $mark (i32.lt_u (local.get $at) (i32.const 2097152))))
      (i32.const 0)))";
}

TEST_P(WasmGuest, NothingIsLeftOfTheGuestThatHadTheSlotBefore) {
  sandbox::WasmtimeOptions options;
  options.instance_count_max = 1;
  open(options);
  // More pages than stay resident, all of which stay, and one; the same module again and another.
  for (const std::uint32_t stride : {1u, 1u, 40u, 40u, 511u, 511u, 3u, 1u}) {
    const auto before = engine->client.ends.size();
    engine->launch(must_load(leaves_its_mark(stride)));
    engine->loop.run_until_idle();
    ASSERT_EQ(engine->client.ends.size(), before + 1);
    EXPECT_EQ(engine->client.ends.back().kind, EndKind::Finished);
    EXPECT_EQ(engine->client.ends.back().exit_code, 0) << stride;
  }
}

TEST_P(WasmGuest, DeepStacksAreGivenBackWhenTheirGuestsEnd) {
  if (kUnderSanitizer) GTEST_SKIP() << "a sanitizer's own memory is resident too";
  const ProgramId program = must_load(imports() + R"((memory (export "memory") 1)
    (func $wait_at (param $depth i32) (result i32)
      (if (result i32) (local.get $depth)
        (then (i32.add (call $wait_at (i32.sub (local.get $depth) (i32.const 1))) (i32.const 1)))
        (else
          (i32.store (i32.const 0) (call $receive))
          (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))))
    (func (export "run") (result i32)
      (i32.ne (call $wait_at (i32.const 5000)) (i32.const 5000))))");
  constexpr std::size_t kGuestCount = 60;
  const std::size_t before = resident_bytes();
  std::vector<InstanceId> ids;
  for (std::size_t i = 0; i < kGuestCount; ++i) ids.push_back(engine->launch(program));
  engine->settle();
  EXPECT_GT(resident_bytes(), before + kGuestCount * (160u << 10));
  for (const InstanceId id : ids) EXPECT_TRUE(engine->manager.send_to(id, "go on").ok());
  engine->loop.run_until_idle();
  for (const End& end : engine->client.ends) EXPECT_EQ(end.exit_code, 0);
  // Each slot keeps 16 KB of stack, and wasmtime's records of it.
  EXPECT_LT(resident_bytes(), before + kGuestCount * (120u << 10));
}

TEST_P(WasmGuest, StdoutGoesToTheLogALineAtATime) {
  engine->launch(must_load(R"((import "wasi_snapshot_preview1" "fd_write"
      (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "\10\00\00\00\08\00\00\00")
    (data (i32.const 16) "one\1b\0atwo")
    (func (export "run") (result i32)
      (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 64))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().exit_code, 0);
  EXPECT_EQ(engine->client.lines, (std::vector<std::string>{"one\\x1b", "two"}));
}

TEST_P(WasmGuest, PollOneoffSleeps) {
  engine->launch(must_load(R"((import "wasi_snapshot_preview1" "poll_oneoff"
      (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "run") (result i32)
      (i64.store (i32.const 0) (i64.const 77))         ;; user data
      (i32.store (i32.const 16) (i32.const 1))         ;; monotonic
      (i64.store (i32.const 24) (i64.const 5000000))   ;; 5 ms
      (if (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200))
        (then (unreachable)))
      (i32.add (i32.load (i32.const 200)) (i32.load (i32.const 100)))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Finished) << only_end().message;
  EXPECT_EQ(only_end().exit_code, 78);
  EXPECT_GE(only_end().duration_ns, 5 * kMillisecond);
}

// Each import once with every argument the same edge, from real Wasm: nothing but error codes.
TEST_P(WasmGuest, EveryImportSurvivesEdgesOfTheMemory) {
  std::string body = R"((memory (export "memory") 1))";
  std::string calls;
  int index = 0;
  for (const sandbox::HostFunction& function : hostcalls::host_functions()) {
    const std::string_view signature = function.signature;
    if (std::string_view(function.name) == "proc_exit") continue;
    std::string type;
    std::string arguments;
    for (const char letter : signature.substr(0, signature.find('>'))) {
      type += letter == 'F' ? " f64" : letter == 'I' ? " i64" : " i32";
      arguments += letter == 'F'   ? "(f64.const nan)"
                   : letter == 'I' ? "(i64.const 1)"
                                   : "(local.get $edge)";
    }
    const std::string name = "$f" + std::to_string(index++);
    body = "(import \"" + std::string(function.module) + "\" \"" + function.name + "\" (func " +
           name + " (param" + type + ") (result " + (signature.back() == 'I' ? "i64" : "i32") +
           ")))" + body;
    calls += "(drop (call " + name + " " + arguments + "))";
  }
  body += "(func $all (param $edge i32) " + calls + ") (func (export \"run\")";
  for (const std::int64_t edge : {-1L, 0L, 1L, 65535L, 65536L, 65532L, 0x7fffffffL, -65536L}) {
    body += "(call $all (i32.const " + std::to_string(edge) + "))";
  }
  engine->launch(must_load(body + ")"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Finished) << only_end().message;
}

TEST_P(WasmGuest, AThousandRunAtOnceAndOneTrapTroublesNobody) {
  sandbox::WasmtimeOptions options;
  options.instance_count_max = 1100;
  open(options);
  const ProgramId program = must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run") (result i32)
      (i32.store (i32.const 0) (call $receive))
      (drop (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))
      (drop (call $take (i32.load (i32.const 0)) (i32.const 16) (i32.const 8)))
      (if (i32.eq (i32.load8_u (i32.const 16)) (i32.const 120)) (then (unreachable)))
      (drop (call $send (i32.const 16) (i32.const 1)))
      (i32.const 0)))");
  std::vector<InstanceId> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(engine->launch(program));
  engine->settle();
  EXPECT_EQ(engine->manager.live_count(), 1000u);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(engine->manager.send_to(ids[i], i == 500 ? "x" : "a").ok());
  }
  engine->loop.run_until_idle();
  EXPECT_EQ(engine->client.messages.size(), 999u);
  int trapped = 0;
  for (const End& end : engine->client.ends) trapped += end.kind == EndKind::Trapped;
  EXPECT_EQ(trapped, 1);
}

TEST_P(WasmGuest, LaunchesBeyondThePoolWaitForASlot) {
  sandbox::WasmtimeOptions options;
  options.instance_count_max = 8;
  open(options);
  const ProgramId program = must_load(imports() + R"((memory (export "memory") 1)
    (func (export "run")
      (i32.store (i32.const 0) (call $sleep (i64.const 100000)))
      (drop (call $wait (i32.const 0) (i32.const 1) (i64.const -1)))))");
  for (int i = 0; i < 100; ++i) engine->launch(program);
  engine->loop.run_until_idle();
  EXPECT_EQ(engine->client.ends.size(), 100u);
  for (const End& end : engine->client.ends) EXPECT_EQ(end.kind, EndKind::Finished);
}

TEST_P(WasmGuest, SmallAddressSpaceGivesASmallerPoolOrAClearError) {
  sandbox::WasmtimeOptions options;
  options.instance_count_max = 1024;
  options.address_space_bytes_max = std::uint64_t{20} << 30;
  open(options);
  EXPECT_GE(runtime->instance_count_max(), 64u);
  EXPECT_LT(runtime->instance_count_max(), 1024u);
  engine->launch(must_load(R"((memory (export "memory") 1) (func (export "run")
    (i32.store (i32.const 65536) (i32.const 1))))"));
  engine->loop.run_until_idle();
  EXPECT_EQ(only_end().kind, EndKind::Trapped);
  options.address_space_bytes_max = 1u << 20;
  const auto none = sandbox::make_wasmtime_runtime(hostcalls::host_functions(), options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(none.error().message().find("address space"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Tiers, WasmGuest,
                         testing::Values(sandbox::Effort::Quick, sandbox::Effort::Best),
                         [](const auto& effort) {
                           return effort.param == sandbox::Effort::Quick ? "Quick" : "Best";
                         });

}  // namespace
}  // namespace quire::lifecycle
