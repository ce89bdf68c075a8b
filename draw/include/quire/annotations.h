#pragma once
// Annotations of the SDK for the compiler of guests, beyond types. Other compilers ignore them.
//
// QUIRE_LIFETIME_BOUND stands after the parameters of a member function whose result is a view of
// its object. A view that outlives the object is then an error (-Werror=dangling in
// guest_flags.rsp).
//
// QUIRE_WARN_IF(condition, message) stands after the parameters of a function. The condition is one
// of its template parameters, and the compiler warns of each call for which it is true.
//
// QUIRE_REFUSE_IF(condition, message) stands there too. Each call for which the condition is true
// is an error with this message. The condition may also read constant arguments of the call.
//
// QUIRE_DELETE(why) stands for a body: the compiler refuses each call of that function, and says
// why.
#if defined(__clang__)
#define QUIRE_LIFETIME_BOUND [[clang::lifetimebound]]
#define QUIRE_WARN_IF(condition, message) \
  __attribute__((diagnose_if(condition, message, "warning")))
#define QUIRE_REFUSE_IF(condition, message) \
  __attribute__((diagnose_if(condition, message, "error")))
#else
#define QUIRE_LIFETIME_BOUND
#define QUIRE_WARN_IF(condition, message)
#define QUIRE_REFUSE_IF(condition, message)
#endif

#if defined(__clang__) && __clang_major__ >= 19
// The reason is of C++26. clang takes it in C++20, and would say that it is early.
// clang-format off
#define QUIRE_DELETE(why)                                    \
  _Pragma("clang diagnostic push")                           \
  _Pragma("clang diagnostic ignored \"-Wc++26-extensions\"") \
  = delete(why)                                              \
  _Pragma("clang diagnostic pop")
// clang-format on
#else
#define QUIRE_DELETE(why) = delete
#endif
