// The wall around the process that compiles a stranger's module. This program is its own compiler,
// with a planted fault that tries what a stranger's code could want.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "application/sandbox/child_compiler.h"
#include "application/sandbox/compile_worker.h"
#include "base/planted_fault.h"
#include "base/start_thread.h"

namespace quire::sandbox {
namespace {

bool can_make_a_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0;
}

bool can_make_a_process_by_clone3() {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  return child > 0;
}

bool can_connect() {
  const Descriptor to(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in nowhere{};
  nowhere.sin_family = AF_INET;
  nowhere.sin_port = htons(9);
  nowhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Without a wall it is refused by the port, which is an answer of the network.
  return to.get() >= 0 &&
         (connect(to.get(), reinterpret_cast<const sockaddr*>(&nowhere), sizeof nowhere) == 0 ||
          errno == ECONNREFUSED);
}

bool can_read_the_parent() {
  char byte = 0;
  iovec here = {&byte, 1};
  iovec there = {&planted_fault, 1};  // Position independent, but the parent has the same program.
  return process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

bool can_raise_a_limit() {
  const rlimit limit = {1, 1};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool can_open(const char* path, int how) {
  return Descriptor(open(path, how, 0600)).get() >= 0;
}

bool can_start_a_thread() {
  Result<std::thread> thread = start_thread("a test", [] {});
  if (!thread.ok()) return false;
  thread.value().join();
  return true;
}

}  // namespace

std::string mischief() {
  const std::pair<const char*, bool> outcomes[] = {
      {"open", can_open("/etc/passwd", O_RDONLY)},
      {"create", can_open("/tmp/quire_mischief", O_CREAT | O_WRONLY)},
      {"own memory", can_open("/proc/self/mem", O_RDWR)},
      {"connect", can_connect()},
      {"local socket", Descriptor(socket(AF_UNIX, SOCK_STREAM, 0)).get() >= 0},
      {"fork", can_make_a_process()},
      {"clone3", can_make_a_process_by_clone3()},
      {"execute", execl("/bin/true", "true", nullptr) == 0},
      {"trace", ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0},
      {"read the parent", can_read_the_parent()},
      {"signal", kill(getppid(), 0) == 0},
      {"limits", can_raise_a_limit()},
      {"namespaces", unshare(CLONE_NEWUSER) == 0},
      {"io_uring", syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno == EFAULT},
      {"keep on", prctl(PR_SET_PDEATHSIG, 0) == 0}};
  std::string text;
  for (const auto& [what, is_possible] : outcomes) {
    if (is_possible) text += std::string(what) + ", ";
  }
  return "could: " + text + (can_start_a_thread() ? "start a thread" : "");
}

namespace {

// A build without the Wasm engine compiles nothing.
bool has_wasm() {
#if __has_include(<wasmtime.h>)
  return true;
#else
  return false;
#endif
}

TEST(CompilerWall, CodeThatTakesTheCompilerOverCanComputeAndNothingElse) {
  if (!has_wasm()) GTEST_SKIP() << "this build has no Wasm engine";
  const std::vector<std::string> command = {"/proc/self/exe", kCompileVerb};
  const Result<workers::WallReport> wall = CompileProcess::wall_of(command);
  ASSERT_TRUE(wall.ok()) << wall.error().message();
  if (!wall.value().is_whole()) {
    GTEST_SKIP() << "this kernel lacks " << workers::missing_walls(wall.value());
  }
  ChildCompiler compiler(command, {}, {.requires_wall = true});
  const Result<CompiledCode> code =
      compiler.compile(std::as_bytes(std::span("a module")), Effort::Best);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().message(), "could: start a thread");
}

}  // namespace
}  // namespace quire::sandbox

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == quire::sandbox::kCompileVerb) {
    quire::planted_fault = quire::Fault::CompilerTakenOver;
    return quire::sandbox::compile_worker_main();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
