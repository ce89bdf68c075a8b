#pragma once
// What the SDK tells the compiler of guests beyond types. Other compilers read past it.
//
// QUIRE_LIFETIME_BOUND stands after the parameters of a member function whose result is a view of
// its object. A view that outlives the object is then an error (-Werror=dangling in
// guest_flags.rsp).
//
// QUIRE_WARN_IF(condition, message) stands after the parameters of a function, of whose template
// parameters the condition is: the compiler warns of each call of which it is true.
#if defined(__clang__)
#define QUIRE_LIFETIME_BOUND [[clang::lifetimebound]]
#define QUIRE_WARN_IF(condition, message) \
  __attribute__((diagnose_if(condition, message, "warning")))
#else
#define QUIRE_LIFETIME_BOUND
#define QUIRE_WARN_IF(condition, message)
#endif
