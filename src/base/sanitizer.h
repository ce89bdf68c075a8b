#pragma once
// Whether this build runs under AddressSanitizer or ThreadSanitizer: then address space has no
// useful limit, and what is resident is a shadow of all memory and much that was freed.

namespace quire {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif

}  // namespace quire
