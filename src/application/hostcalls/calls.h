#pragma once
// One declaration for each host call, made from the table that interface/*.wit generates. A call
// without its function fails to link; one of another type fails to compile.
#include "application/hostcalls/host_call.h"

namespace quire::hostcalls {

#define QUIRE_PARAMETERS(...) __VA_OPT__(, ) __VA_ARGS__
#define QUIRE_HOST_CALL(interface, name, module, import, signature, result, parameters, kind) \
  Result<result> interface##_##name(HostCall& call QUIRE_PARAMETERS parameters);
#define QUIRE_SUSPENDING_CALL(interface, name, module, import, signature, result, parameters, \
                              kind)                                                           \
  Result<Suspension> interface##_##name(HostCall& call QUIRE_PARAMETERS parameters);
#include "application/hostcalls/host_call_table.inc"
#include "application/hostcalls/script_call_table.inc"
#undef QUIRE_HOST_CALL
#undef QUIRE_SUSPENDING_CALL
#undef QUIRE_PARAMETERS

// Every import that a guest may have: the calls of interface/, the part of WASI preview 1 that
// compilers emit, and what runtimes of scripts call.
std::span<const sandbox::HostFunction> host_functions();

}  // namespace quire::hostcalls
