#include "workers/worker_wall.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#include "base/descriptor.h"
#include "workers/system_call_filter.h"

namespace quire::workers {
namespace {

// 0, or the errno of a call that returned -1.
int errno_of(long result) {
  return result < 0 ? errno : 0;
}

int enter_namespaces(std::uint32_t thread_count_max) {
  const int refused =
      errno_of(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
  if (refused != 0) return refused;
  // Outside of a user namespace of its own, this limit would count all processes of the user.
  const rlimit most = {thread_count_max, thread_count_max};
  return errno_of(setrlimit(RLIMIT_NPROC, &most));
}

#ifdef LANDLOCK_CREATE_RULESET_VERSION

// struct landlock_ruleset_attr, as of version 6 of landlock; the installed header may be older. An
// older kernel takes the first members alone.
struct LandlockHandled {
  std::uint64_t file_rights = 0;
  std::uint64_t network_rights = 0;  // From version 4 on.
  std::uint64_t scopes = 0;          // From version 6 on.
};

constexpr std::uint64_t first_bits(unsigned count) {
  return (std::uint64_t{1} << count) - 1;
}

// Every right that a version knows, so that a ruleset without a rule denies each of them.
LandlockHandled all_rights(long version) {
  LandlockHandled all;
  all.file_rights = first_bits(13);                      // Up to LANDLOCK_ACCESS_FS_MAKE_SYM,
  if (version >= 2) all.file_rights = first_bits(14);    // _REFER,
  if (version >= 3) all.file_rights = first_bits(15);    // _TRUNCATE
  if (version >= 5) all.file_rights = first_bits(16);    // and _IOCTL_DEV.
  if (version >= 4) all.network_rights = first_bits(2);  // To bind and to connect by TCP.
  if (version >= 6) all.scopes = first_bits(2);          // Abstract Unix sockets, and signals.
  return all;
}

std::size_t handled_bytes(long version) {
  if (version >= 6) return sizeof(LandlockHandled);
  return version >= 4 ? offsetof(LandlockHandled, scopes)
                      : offsetof(LandlockHandled, network_rights);
}

int deny_files() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) return errno;
  const LandlockHandled handled = all_rights(version);
  const Descriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, handled_bytes(version), 0)));
  if (ruleset.get() < 0) return errno;
  return errno_of(syscall(SYS_landlock_restrict_self, ruleset.get(), 0));
}

#else
int deny_files() {
  return ENOSYS;  // The headers that built this know no landlock.
}
#endif

// All five sets of this thread, and so of those that it starts.
int drop_capabilities() {
  for (unsigned long each = 0; each <= CAP_LAST_CAP; ++each) {
    // EPERM: without CAP_SETPCAP the set cannot be used either. EINVAL: an older kernel.
    (void)prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  }
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return errno_of(syscall(SYS_capset, &header, none));
}

Error not_given_up(const char* what, int why) {
  return Error(ErrorCode::Unavailable, std::string(what) + ": " + std::strerror(why));
}

}  // namespace

const char* name_of(Wall wall) {
  switch (wall) {
    case Wall::Namespaces:
      return "namespaces";
    case Wall::Files:
      return "landlock";
    case Wall::SystemCalls:
      break;
  }
  return "seccomp";
}

bool WallReport::is_whole() const {
  for (const Wall each : kWalls) {
    if (!stands(each)) return false;
  }
  return true;
}

std::string missing_walls(const WallReport& report) {
  std::string text;
  for (const Wall each : kWalls) {
    if (report.stands(each)) continue;
    const int why = report.missing[static_cast<std::size_t>(each)];
    text +=
        (text.empty() ? "" : ", ") + std::string(name_of(each)) + " (" + std::strerror(why) + ")";
  }
  return text;
}

// In this order: a namespace takes privileges, which then go; the filter forbids what raised the
// rest.
Result<WallReport> raise_wall(std::uint32_t thread_count_max) {
  WallReport report;
  const auto note = [&report](Wall wall, int missing) {
    report.missing[static_cast<std::size_t>(wall)] = missing;
  };
  note(Wall::Namespaces, enter_namespaces(thread_count_max));
  if (const int why = drop_capabilities(); why != 0) {
    return not_given_up("capabilities cannot be given up", why);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return not_given_up("new privileges cannot be given up", errno);
  }
  note(Wall::Files, deny_files());
  note(Wall::SystemCalls, raise_system_call_filter());
  return report;
}

}  // namespace quire::workers
