#include "application/hostcalls/calls.h"
#include "application/hostcalls/wasi_calls.h"

namespace quire::hostcalls {
namespace {

#define QUIRE_ERROR_CODE(name, number, spelling) \
  static_assert(static_cast<int>(ErrorCode::name) == (number), "interface/types.wit: " spelling);
#include "application/hostcalls/error_codes.inc"
#undef QUIRE_ERROR_CODE

template <auto kFunction, CallKind kKind>
constexpr sandbox::HostFunction host_function(const char* module, const char* name,
                                              const char* signature) {
  using A = Adapter<decltype(kFunction)>;
  return {module, name, signature, A::kSuspends, &A::template call<kFunction, kKind>};
}

#define QUIRE_HOST_CALL(interface, name, module, import, signature, result, parameters, kind) \
  static_assert(Adapter<decltype(&interface##_##name)>::takes(signature), #interface "." #name);
#define QUIRE_SUSPENDING_CALL QUIRE_HOST_CALL
#define QUIRE_NO_DESCRIPTOR QUIRE_HOST_CALL
#include "application/hostcalls/host_call_table.inc"
#include "application/hostcalls/script_call_table.inc"
#include "application/hostcalls/wasi_call_table.inc"
#undef QUIRE_HOST_CALL

constexpr sandbox::HostFunction kFunctions[] = {
#define QUIRE_HOST_CALL(interface, name, module, import, signature, result, parameters, kind) \
  host_function<&interface##_##name, CallKind::kind>(module, import, signature),
#include "application/hostcalls/host_call_table.inc"
#include "application/hostcalls/script_call_table.inc"
#include "application/hostcalls/wasi_call_table.inc"
#undef QUIRE_HOST_CALL
#undef QUIRE_SUSPENDING_CALL
#undef QUIRE_NO_DESCRIPTOR
};

}  // namespace

std::span<const sandbox::HostFunction> host_functions() {
  return kFunctions;
}

}  // namespace quire::hostcalls
