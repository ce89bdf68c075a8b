#pragma once
// Declarations of the WASI calls, from wasi_call_table.inc; host_functions.cc checks each one's
// type.
#include "application/hostcalls/host_call.h"

namespace quire::hostcalls {

Errno wasi_args_get(HostCall& call, GuestAddress pointers, GuestAddress bytes);
Errno wasi_args_sizes_get(HostCall& call, GuestAddress count, GuestAddress bytes);
Errno wasi_environ_get(HostCall& call, GuestAddress pointers, GuestAddress bytes);
Errno wasi_environ_sizes_get(HostCall& call, GuestAddress count, GuestAddress bytes);
Errno wasi_clock_res_get(HostCall& call, std::uint32_t clock, GuestAddress resolution);
Errno wasi_clock_time_get(HostCall& call, std::uint32_t clock, std::uint64_t precision,
                          GuestAddress time);
Errno wasi_random_get(HostCall& call, GuestAddress buffer, std::uint32_t bytes);
Errno wasi_fd_close(HostCall& call, std::uint32_t descriptor);
Errno wasi_fd_fdstat_get(HostCall& call, std::uint32_t descriptor, GuestAddress status);
Errno wasi_fd_seek(HostCall& call, std::uint32_t descriptor, std::uint64_t offset,
                   std::uint32_t whence, GuestAddress position);
Errno wasi_fd_tell(HostCall& call, std::uint32_t descriptor, GuestAddress position);
Errno wasi_fd_read(HostCall& call, std::uint32_t descriptor, GuestAddress buffers,
                   std::uint32_t buffer_count, GuestAddress bytes_read);
Errno wasi_fd_write(HostCall& call, std::uint32_t descriptor, GuestAddress buffers,
                    std::uint32_t buffer_count, GuestAddress bytes_written);
Errno wasi_fd_prestat_get(HostCall& call, std::uint32_t descriptor, GuestAddress prestat);
Errno wasi_sched_yield(HostCall& call);
Exit wasi_proc_exit(HostCall& call, std::uint32_t code);
Result<Suspension> wasi_poll_oneoff(HostCall& call, GuestAddress subscriptions, GuestAddress events,
                                    std::uint32_t count, GuestAddress event_count);

#define QUIRE_PARAMETERS(...) __VA_OPT__(, ) __VA_ARGS__
#define QUIRE_HOST_CALL(interface, name, module, import, signature, result, parameters, kind)
#define QUIRE_SUSPENDING_CALL QUIRE_HOST_CALL
#define QUIRE_NO_DESCRIPTOR(interface, name, module, import, signature, result, parameters, kind) \
  inline Errno interface##_##name(HostCall& QUIRE_PARAMETERS parameters) {                        \
    return Errno::BadDescriptor;                                                                  \
  }
#include "application/hostcalls/wasi_call_table.inc"
#undef QUIRE_NO_DESCRIPTOR
#undef QUIRE_SUSPENDING_CALL
#undef QUIRE_HOST_CALL
#undef QUIRE_PARAMETERS

}  // namespace quire::hostcalls
