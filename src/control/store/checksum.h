#pragma once
// XXH3-128 distinguishes damage from content, at memory speed. It is not a signature: names are
// (SHA-256).
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quire::store {

using Checksum = std::array<std::uint8_t, 16>;  // XXH128_canonical_t: big-endian.

class Checksummer {
 public:
  Checksummer() { XXH3_128bits_reset(&state_); }
  Checksummer& add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  Checksum finish() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    return std::to_array(canonical.digest);
  }

 private:
  XXH3_state_t state_;
};

inline Checksum checksum(std::span<const std::byte> bytes) {
  return Checksummer().add(bytes).finish();
}

}  // namespace quire::store
