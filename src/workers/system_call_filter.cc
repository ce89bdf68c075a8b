#include "workers/system_call_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/sanitizer.h"

namespace quire::workers {
namespace {

struct FilterRelease {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterRelease>;

// Each of them works on memory, time, threads of the process itself, or a descriptor that it has.
// None names a path, an address or another process.
constexpr int kAllowed[] = {
    // Descriptors.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(ftruncate), SCMP_SYS(fstat), SCMP_SYS(close),
    SCMP_SYS(poll), SCMP_SYS(ppoll),
    // Memory. Code that was compiled is made executable, and not run.
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(munmap), SCMP_SYS(mprotect),
    SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mincore), SCMP_SYS(membarrier),
    // Threads.
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(gettid), SCMP_SYS(getpid),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(setpriority), SCMP_SYS(getpriority),
    // Signals of its own.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    // Time and figures.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(setitimer), SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrandom), SCMP_SYS(getcpu)};

// Adds the calls whose arguments decide. Negative: the errno of libseccomp.
int add_by_arguments(void* filter) {
  const scmp_datum_t self = static_cast<scmp_datum_t>(getpid());
  // A thread, and no process. The flags of clone3 are in memory, which a filter cannot read;
  // without it glibc calls clone.
  int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  if (failed == 0) {
    failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  }
  // abort() sends a signal to the process itself.
  if (failed == 0) {
    failed =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, self));
  }
  // The size of the stack is read with prlimit64, which sets limits too.
  if (failed == 0) {
    failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
                              SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  }
  if (failed == 0) {
    failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                              SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
  }
  return failed;
}

}  // namespace

int raise_system_call_filter() {
  // A sanitizer opens files of /proc, and starts a program that finds names for its report.
  if (kUnderSanitizer) return ENOTSUP;
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (filter == nullptr) return ENOMEM;
  int failed = add_by_arguments(filter.get());
  for (const int each : kAllowed) {
    if (failed == 0) failed = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, each, 0);
  }
  if (failed == 0) failed = seccomp_load(filter.get());
  return -failed;
}

}  // namespace quire::workers
