// Clients' modules are compiled by a process of its own, which this program is too.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "application/hostcalls/calls.h"
#include "application/sandbox/compile_worker.h"
#include "application/sandbox/wasmtime_runtime.h"
#include "base/sanitizer.h"
#include "end_to_end/support.h"
#include "support/wat.h"

namespace quire::test {
namespace {

namespace fs = std::filesystem;
using sandbox::Effort;
using sandbox::Origin;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<sandbox::WasmRuntime> open_runtime(const std::string& cache,
                                                   const sandbox::CompileLimits& limits = {}) {
  sandbox::WasmtimeOptions options;
  options.instance_count_max = 4;
  options.cache_folder = cache;
  options.compiler_command = {QUIRE_BINARY_DIR "/quire", sandbox::kCompileVerb};
  options.compile = limits;
  return sandbox::make_wasmtime_runtime(hostcalls::host_functions(), options).take();
}

Result<std::shared_ptr<const sandbox::Program>> compile(sandbox::WasmRuntime& runtime,
                                                        const std::string& wasm, Effort effort,
                                                        Origin origin) {
  return runtime.compile(std::as_bytes(std::span(wasm)), effort, origin);
}

std::string program() {
  return contents(QUIRE_BINARY_DIR "/inferlets/text_completion.wasm");
}

// `count` functions that do nothing much, and an entry.
std::string many_functions(std::size_t count) {
  std::string text = "(module (func (export \"run\"))";
  for (std::size_t each = 0; each < count; ++each) text += "(func (drop (i32.const 1)))";
  return test::wasm_from_wat(text + ")").value();
}

std::vector<pid_t> children() {
  std::ifstream in("/proc/self/task/" + std::to_string(getpid()) + "/children");
  return {std::istream_iterator<pid_t>(in), {}};
}

std::size_t descriptor_count() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(CompilingInAChild, GivesTheCodeThatThisProcessGives) {
  const TemporaryFolder folder;
  const std::string wasm = program();
  for (const Origin origin : {Origin::Operator, Origin::Client}) {
    const std::string cache = folder.file(origin == Origin::Client ? "child" : "here");
    const auto runtime = open_runtime(cache);
    const auto best = compile(*runtime, wasm, Effort::Best, origin);
    ASSERT_TRUE(best.ok()) << best.error().message();
    EXPECT_EQ(best.value()->effort(), Effort::Best);
  }
  const fs::path here = fs::directory_iterator(folder.file("here"))->path();
  EXPECT_GT(fs::file_size(here), wasm.size());
  EXPECT_TRUE(contents(here) == contents(fs::path(folder.file("child")) / here.filename()));
}

TEST(CompilingInAChild, QuicklyGivesWinchsCodeAndCachesNothing) {
  const TemporaryFolder folder;
  const auto runtime = open_runtime(folder.file("cache"));
  const auto quick = compile(*runtime, program(), Effort::Quick, Origin::Client);
  ASSERT_TRUE(quick.ok()) << quick.error().message();
  EXPECT_EQ(quick.value()->effort(), Effort::Quick);
  EXPECT_TRUE(fs::is_empty(folder.file("cache")));
}

TEST(CompilingInAChild, SaysOfABadModuleWhatThisProcessSays) {
  const auto runtime = open_runtime("");
  // The module has an entry, whose body leaves a value on the stack.
  const std::string wasm("\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\7\7\1\3run\0\0\xa\6\1\4\0\x41\0\xb",
                         35);
  const auto here = compile(*runtime, wasm, Effort::Best, Origin::Operator);
  const auto child = compile(*runtime, wasm, Effort::Best, Origin::Client);
  ASSERT_FALSE(here.ok());
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(child.error().message(), here.error().message());
}

TEST(CompilingInAChild, OfAModuleThatNeedsTooMuchMemoryIsRefusedAndTheNextGoesOn) {
  if (kUnderSanitizer) GTEST_SKIP() << "under a sanitizer its memory has no limit";
  const auto runtime = open_runtime("", {.memory_bytes_max = std::uint64_t{96} << 20});
  const auto refused = compile(*runtime, many_functions(90'000), Effort::Best, Origin::Client);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::TooLarge) << refused.error().message();
  EXPECT_NE(refused.error().message().find("--compile-memory-max"), std::string_view::npos);
  const auto next = compile(*runtime, many_functions(10), Effort::Best, Origin::Client);
  EXPECT_TRUE(next.ok()) << next.error().message();
}

TEST(CompilingInAChild, LeavesNeitherProcessNorDescriptorBehind) {
  (void)open_runtime("");  // wasmtime opens the process's own page map once, for good.
  const std::size_t base = descriptor_count();
  {
    const auto runtime = open_runtime("");
    for (int each = 0; each < 5; ++each) {
      const auto program = compile(*runtime, many_functions(10), Effort::Quick, Origin::Client);
      ASSERT_TRUE(program.ok()) << program.error().message();
      EXPECT_LE(children().size(), 2u) << "one that is done, one for the next";
    }
    runtime->prepare();
    EXPECT_EQ(children().size(), 1u);
  }
  EXPECT_TRUE(children().empty());
  EXPECT_EQ(descriptor_count(), base);
}

TEST(CompilingInAChild, WhoseIdleProcessWasKilledTakesAnother) {
  const auto runtime = open_runtime("");
  ASSERT_EQ(children().size(), 1u);
  const pid_t idle = children().front();
  kill(idle, SIGKILL);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(idle), &ended, WEXITED | WNOWAIT);
  const auto program = compile(*runtime, many_functions(10), Effort::Best, Origin::Client);
  EXPECT_TRUE(program.ok()) << program.error().message();
}

TEST(CompilingInAChild, StandsBackOnceItHasTakenLong) {
  const auto runtime = open_runtime("");
  const int own = getpriority(PRIO_PROCESS, 0);
  const auto small = compile(*runtime, many_functions(10), Effort::Quick, Origin::Client);
  ASSERT_TRUE(small.ok()) << small.error().message();
  runtime->prepare();  // Another one, where the first had grown.
  ASSERT_EQ(children().size(), 1u);
  const auto child = static_cast<id_t>(children().front());
  EXPECT_EQ(getpriority(PRIO_PROCESS, child), own);
  std::atomic<bool> has_ended{false};
  std::thread compiler([&] {
    const auto large = compile(*runtime, many_functions(30'000), Effort::Quick, Origin::Client);
    EXPECT_TRUE(large.ok()) << large.error().message();
    has_ended = true;
  });
  int most = own;
  while (!has_ended) {
    most = std::max(most, getpriority(PRIO_PROCESS, child));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  compiler.join();
  EXPECT_EQ(most, 19);
}

TEST(CompilingInAChild, IsNoVerbForPeople) {
  EXPECT_EQ(run_quire({"--help"}).out.find(sandbox::kCompileVerb), std::string::npos);
  // Without anything to compile, it ends.
  EXPECT_EQ(run_quire({sandbox::kCompileVerb}).exit_code, 0);
}

}  // namespace
}  // namespace quire::test
