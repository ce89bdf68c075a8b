#pragma once
// What the SDK tells the compiler of guests beyond types. Other compilers read past it.
//
// QUIRE_LIFETIME_BOUND stands after the parameters of a member function whose result is a view of
// its object. A view that outlives the object is then an error (-Werror=dangling in
// guest_flags.rsp).
#if defined(__clang__)
#define QUIRE_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define QUIRE_LIFETIME_BOUND
#endif
