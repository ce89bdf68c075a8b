#include "application/sandbox/compile_worker.h"

#if __has_include(<wasmtime.h>)
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "application/sandbox/compile_protocol.h"
#include "application/sandbox/wasmtime_config.h"
#include "base/descriptor.h"
#include "base/memory_file.h"
#include "base/planted_fault.h"

namespace quire::sandbox {

#ifdef QUIRE_PLANTED_FAULTS
// Tries all that a stranger's code could want; the test of the fault defines it.
std::string mischief();
#else
inline std::string mischief() {
  return "";
}
#endif

namespace {

constexpr int kFailed = 1;
// Threads of the process that are not wasmtime's, of which there is one for each core.
constexpr std::uint32_t kOtherThreadCount = 8;
// A module for which a launch waits is compiled at normal priority, for as long as programs of
// ordinary size need. After that, and if no launch waits, tokens come first.
constexpr timeval kUrgentTime = {.tv_sec = 0, .tv_usec = 50'000};  // Of processor time.
constexpr int kPatientNiceness = 19;
// The process ends when it has had so many modules, or holds so much memory after one. So memory
// that a module leaves allocated does not stay for long.
constexpr std::uint32_t kJobCountMax = 64;
constexpr std::uint64_t kResidentBytesMax = std::uint64_t{192} << 20;
// (module (func)): what compiling it needs is there when the first module comes.
constexpr std::uint8_t kSmallest[] = {0, 'a', 's', 'm', 1, 0, 0,  0, 1, 4, 1, 0x60,
                                      0, 0,   3,   2,   1, 0, 10, 4, 1, 2, 0, 0x0b};

template <typename T>
bool read_record(T& into) {
  std::span<std::byte> left = std::as_writable_bytes(std::span(&into, 1));
  while (!left.empty()) {
    const ssize_t count = read(kRequests, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    left = left.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// Whole, since it is smaller than what a pipe takes at once. Who does not read it has gone.
void reply(const CompileReply& record) {
  (void)!write(kReplies, &record, sizeof record);
}

[[noreturn]] void end_without_memory() {
  CompileReply record;
  record.outcome = CompileOutcome::NoMemory;
  record.is_last = 1;
  reply(record);
  _exit(0);
}

CompileReply refusal(const Error& error) {
  CompileReply record;
  // The error of an mmap, by which wasmtime allocates code and tables.
  const bool is_memory = error.message().find("os error 12") != std::string_view::npos;
  const bool is_module = error.code() == ErrorCode::InvalidArgument;
  record.outcome = is_memory   ? CompileOutcome::NoMemory
                   : is_module ? CompileOutcome::Refused
                               : CompileOutcome::Failed;
  const std::size_t bytes = std::min(error.message().size(), sizeof record.message - 1);
  std::memcpy(record.message, error.message().data(), bytes);
  return record;
}

Result<void> write_file(std::span<const std::byte> bytes) {
  if (ftruncate(kCode, 0) == 0 && lseek(kCode, 0, SEEK_SET) == 0) {
    return write_whole(kCode, bytes, "code");
  }
  return Error(ErrorCode::Io, std::string("code: ") + std::strerror(errno));
}

Result<CompileReply> write_code(const wasmtime_module_t* module, Effort effort) {
  wasm_byte_vec_t code{};
  const WasmError error(wasmtime_module_serialize(module, &code));
  if (error != nullptr) return Error(ErrorCode::Internal, message_of(error.get()));
  const auto bytes = std::as_bytes(std::span(code.data, code.size));
  CompileReply record;
  record.outcome = CompileOutcome::Compiled;
  record.effort = effort;
  record.code_bytes = code.size;
  record.digest = sha256(bytes);
  Result<void> written = write_file(bytes);
  wasm_byte_vec_delete(&code);
  if (!written.ok()) return std::move(written).take_error();
  return record;
}

Result<CompileReply> compile(const CompileJob& job, wasm_engine_t* best, wasm_engine_t* quick) {
  if (is_planted(Fault::CompilerTakenOver)) {
    return Error(ErrorCode::InvalidArgument, mischief());
  }
  const MappedBytes wasm = TRY(MappedBytes::map(kModule, job.wasm_bytes));
  if (job.effort == Effort::Quick && quick != nullptr) {
    // Cranelift may compile a module that Winch cannot.
    const Result<WasmModule> module = compile_module(quick, wasm.bytes());
    if (module.ok()) return write_code(module.value().get(), Effort::Quick);
  }
  const WasmModule module = TRY(compile_module(best, wasm.bytes()));
  return write_code(module.get(), Effort::Best);
}

WasmEngine make_engine(const CodeLayout& layout, Effort effort) {
  WasmEngine engine(wasm_engine_new_with_config(new_compiler_config(layout, effort)));
  (void)compile_module(engine.get(), std::as_bytes(std::span(kSmallest)));
  return engine;
}

// Whether the process still holds much memory after a module. `statm`: /proc/self/statm, which was
// opened before the wall was raised.
bool has_grown(int statm) {
  char text[128] = {};
  if (pread(statm, text, sizeof text - 1, 0) <= 0) return true;
  unsigned long mapped = 0;
  unsigned long resident = 0;  // Pages.
  const int fields = std::sscanf(text, "%lu %lu", &mapped, &resident);
  return fields != 2 || resident * static_cast<std::uint64_t>(getpagesize()) > kResidentBytesMax;
}

// For the parent, which quotes it.
int fail_with(const std::string& words) {
  (void)!write(kWords, words.data(), words.size());
  return kFailed;
}

int report_wall(const workers::WallReport& wall) {
  CompileReply record;
  record.outcome = CompileOutcome::WallReported;
  record.wall = wall;
  reply(record);
  return 0;
}

volatile std::sig_atomic_t is_patient = 0;

// For good, and with it the threads that began with the smallest module. Where it is refused, the
// process is as urgent as before.
void be_patient(int) {
  (void)setpriority(PRIO_PGRP, 0, kPatientNiceness);
  is_patient = 1;
}

void be_patient_after(const timeval& time) {  // None: not at all.
  const itimerval timer = {.it_interval = {}, .it_value = time};
  (void)setitimer(ITIMER_PROF, &timer, nullptr);
}

Result<CompileReply> compile_in_time(const CompileJob& job, wasm_engine_t* best,
                                     wasm_engine_t* quick) {
  if (job.effort == Effort::Best) {
    be_patient(SIGPROF);
  } else {
    be_patient_after(kUrgentTime);
  }
  Result<CompileReply> done = compile(job, best, quick);
  be_patient_after({});
  return done;
}

}  // namespace

int compile_worker_main() {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return kFailed;
  const Descriptor statm(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  const Result<workers::WallReport> raised =
      workers::raise_wall(std::max(1u, std::thread::hardware_concurrency()) + kOtherThreadCount);
  if (!raised.ok()) return fail_with(std::string(raised.error().message()));
  const workers::WallReport& wall = raised.value();
  std::set_new_handler(end_without_memory);
  struct sigaction action{};
  action.sa_handler = be_patient;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGPROF, &action, nullptr) != 0) return kFailed;
  CompilerSetup setup;
  if (!read_record(setup)) return 0;
  if (setup.only_reports_wall != 0) return report_wall(wall);
  if (setup.requires_wall != 0 && !wall.is_whole()) {
    return fail_with("its sandbox lacks " + workers::missing_walls(wall));
  }
  const WasmEngine best = make_engine(setup.best, Effort::Best);
  const WasmEngine quick =
      setup.has_quick != 0 ? make_engine(setup.quick, Effort::Quick) : WasmEngine();
  CompileJob job;
  for (std::uint32_t count = 1; read_record(job); ++count) {
    const Result<CompileReply> done = compile_in_time(job, best.get(), quick.get());
    CompileReply record = done.ok() ? done.value() : refusal(done.error());
    const bool is_last = is_patient != 0 || count == kJobCountMax || has_grown(statm.get());
    record.is_last = is_last ? 1 : 0;
    reply(record);
    if (is_last) break;
  }
  _exit(0);  // Taking down what the kernel takes back at once would be work.
}

}  // namespace quire::sandbox

#else  // A build without the Wasm engine has no modules.

namespace quire::sandbox {
int compile_worker_main() {
  return 1;
}
}  // namespace quire::sandbox
#endif
