// Faults of a compiler's process, played by shell scripts. The real one is tried in
// tests/end_to_end/compile_test.cc.
#include "application/sandbox/compile_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "application/sandbox/child_compiler.h"
#include "base/sanitizer.h"
#include "support/process.h"

namespace quire::sandbox {
namespace {

using namespace std::chrono_literals;

std::size_t descriptor_count() {
  return static_cast<std::size_t>(std::distance(
      std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

bool has_children() {
  siginfo_t child{};
  return waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

std::span<const std::byte> module_bytes() {
  static constexpr char kModule[] = "a module";
  return std::as_bytes(std::span(kModule));
}

// Once it has its job, and so all its limits.
std::string with_a_job(const std::string& script) {
  return "/usr/bin/head -c " + std::to_string(sizeof(CompilerSetup) + sizeof(CompileJob)) +
         " > /dev/null; " + script;
}

// The error of compiling with this script as the compiler; all scripts give one.
Error error_of(const std::string& script, const CompileLimits& limits = {}) {
  ChildCompiler compiler({"/bin/sh", "-c", with_a_job(script)}, {}, limits);
  Result<CompiledCode> code = compiler.compile(module_bytes(), Effort::Best);
  EXPECT_FALSE(code.ok());
  return code.ok() ? Error(ErrorCode::Internal, "") : std::move(code).take_error();
}

void expect_error(const std::string& script, ErrorCode code, const std::string& part,
                  const CompileLimits& limits = {}) {
  const Error error = error_of(script, limits);
  EXPECT_EQ(error.code(), code) << error.message();
  EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
}

// Whatever a test does, nothing of it may stay.
class CompilerProcess : public testing::Test {
 protected:
  void SetUp() override { base_ = descriptor_count(); }
  void TearDown() override {
    EXPECT_EQ(descriptor_count(), base_);
    EXPECT_FALSE(has_children());
  }

  std::size_t base_ = 0;
};

TEST_F(CompilerProcess, ThatIsKilledIsAnErrorThatNamesTheSignal) {
  expect_error("kill -9 $$", ErrorCode::Unavailable, "signal 9");
  expect_error("kill -SEGV $$", ErrorCode::Unavailable, "signal 11");
}

TEST_F(CompilerProcess, ThatEndsWithoutAReplyIsQuotedWithWhatItPrinted) {
  expect_error("echo no such library >&2; exit 3", ErrorCode::Unavailable,
               "ended with 3 and without a whole reply: \"no such library");
  expect_error("exit 0", ErrorCode::Unavailable, "ended with 0");
}

TEST_F(CompilerProcess, ThatClosesItsPipesAndStaysIsKilled) {
  expect_error("exec >&- 2>&-; exec /bin/sleep 600", ErrorCode::Unavailable, "closed its pipe");
}

TEST_F(CompilerProcess, WhoseMemoryIsRefusedIsToldToBeTooLarge) {
  expect_error("echo memory allocation of 8388608 bytes failed >&2; kill -ABRT $$",
               ErrorCode::TooLarge, "more than 64 MiB of memory for this module of 9 bytes",
               {.memory_bytes_max = 64u << 20});
}

TEST_F(CompilerProcess, ThatTakesTooLongIsKilled) {
  const auto begin = std::chrono::steady_clock::now();
  expect_error("exec /bin/sleep 600", ErrorCode::Timeout, "after 200 ms", {.wall_max = 200ms});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 100s);
}

TEST_F(CompilerProcess, ThatIsStoppedEndsAtOnceAndNoOtherIsBegun) {
  const test::TemporaryFolder folder;
  const std::string begun = folder.file("begun");
  ChildCompiler compiler(
      {"/bin/sh", "-c", with_a_job("echo >> " + begun + "; exec /bin/sleep 600")}, {}, {});
  std::thread stopper([&] {
    std::error_code not_yet;  // The shell makes the file before it writes into it.
    while (std::filesystem::file_size(begun, not_yet) != 1u) std::this_thread::sleep_for(1ms);
    compiler.stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int time = 0; time < 2; ++time) {
    const Result<CompiledCode> code = compiler.compile(module_bytes(), Effort::Best);
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code(), ErrorCode::Unavailable);
    EXPECT_NE(code.error().message().find("the server ends"), std::string::npos);
  }
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 100s);
  EXPECT_EQ(std::filesystem::file_size(begun), 1u);
}

TEST_F(CompilerProcess, ThatTakesTooMuchProcessorTimeIsToldSo) {
  expect_error("while :; do :; done", ErrorCode::TooLarge, "more than 1 s of processor time",
               {.cpu_seconds_max = 1});
}

TEST_F(CompilerProcess, ThatWritesTooMuchCodeIsToldSo) {
  expect_error("exec /bin/dd if=/dev/zero bs=1M count=2 >&4", ErrorCode::TooLarge,
               "more than 1 MiB of code", {.code_bytes_max = 1u << 20});
}

TEST_F(CompilerProcess, GarbageIsNoCode) {
  expect_error("echo garbage", ErrorCode::Unavailable, "without a whole reply");
  expect_error("exec /bin/dd if=/dev/zero bs=4096 count=1", ErrorCode::Unavailable,
               "no reply that can be understood");
}

TEST_F(CompilerProcess, CodeThatLacksItsDigestIsNone) {
  const std::string code = "code";
  const test::TemporaryFolder folder;
  CompileReply reply;
  reply.outcome = CompileOutcome::Compiled;
  reply.code_bytes = code.size();
  reply.digest = sha256(std::as_bytes(std::span(code)));
  const auto script = [&](const std::string& written) {
    const std::string file =
        folder.write("reply", std::string(reinterpret_cast<const char*>(&reply), sizeof reply));
    return "printf " + written + " >&4; exec /bin/cat " + file;
  };
  ChildCompiler honest({"/bin/sh", "-c", with_a_job(script("code"))}, {}, {});
  const Result<CompiledCode> right = honest.compile(module_bytes(), Effort::Best);
  ASSERT_TRUE(right.ok()) << right.error().message();
  EXPECT_EQ(right.value().file.bytes().value(), code.size());
  EXPECT_LT(ftruncate(right.value().file.descriptor(), 0), 0) << "it is sealed";
  expect_error(script("codd"), ErrorCode::Unavailable, "whose digest is not");
  expect_error(script("cod"), ErrorCode::Unavailable, "less code than it announced");
  reply.effort = static_cast<Effort>(7);
  expect_error(script("code"), ErrorCode::Unavailable, "no known kind");
}

TEST_F(CompilerProcess, ThatCannotBeStartedIsAnError) {
  ChildCompiler compiler({"/no/such/compiler"}, {}, {});
  compiler.prepare();
  const Result<CompiledCode> code = compiler.compile(module_bytes(), Effort::Best);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(code.error().message().find("/no/such/compiler"), std::string::npos);
}

TEST_F(CompilerProcess, ThatDiedWhileItWaitedIsReplaced) {
  const test::TemporaryFolder folder;
  // The first process ends at once; each later one reports when it gets its module.
  const std::string script =
      "/bin/mkdir " + folder.file("first") + " 2>&1 && exit 0; echo second >&2; exit 5";
  ChildCompiler compiler({"/bin/sh", "-c", script}, {}, {});
  compiler.prepare();
  while (!std::filesystem::exists(folder.file("first"))) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(200ms);
  const Result<CompiledCode> code = compiler.compile(module_bytes(), Effort::Best);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.error().message().find("second"), std::string_view::npos)
      << code.error().message();
}

TEST_F(CompilerProcess, GetsNoEnvironmentAndNoOtherFile) {
  setenv("QUIRE_TEST_SECRET", "secret", 1);
  const Descriptor null(open("/dev/null", O_RDONLY));
  constexpr int kOther = 50;                                 // None that it is given.
  const int open_file = fcntl(null.get(), F_DUPFD, kOther);  // Without O_CLOEXEC.
  const std::string other = "/proc/self/fd/" + std::to_string(open_file);
  expect_error(
      "test -z \"$QUIRE_TEST_SECRET\" && test ! -e " + other + " && echo clean >&2; exit 1",
      ErrorCode::Unavailable, "clean");
  close(open_file);
  unsetenv("QUIRE_TEST_SECRET");
}

TEST_F(CompilerProcess, HasTheLimitsThatWereSet) {
  const CompileLimits limits = {.memory_bytes_max = 64u << 20,
                                .code_bytes_max = 1u << 20,
                                .cpu_seconds_max = 7,
                                .file_count_max = 19};
  // Memory in KiB; seconds after the one that has begun.
  expect_error("echo $(ulimit -d) $(ulimit -t) $(ulimit -n) $(ulimit -c) >&2; exit 1",
               ErrorCode::Unavailable, kUnderSanitizer ? "unlimited 8 19 0" : "65536 8 19 0",
               limits);
}

}  // namespace
}  // namespace quire::sandbox
