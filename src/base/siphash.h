#pragma once
// SipHash-2-4 of one number under a secret key (Aumasson and Bernstein, 2012): without the key its
// values cannot be distinguished from random ones.
//
// Thread   any.
#include <bit>
#include <cstdint>

namespace quire {

struct SipKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// Hashes the 8 bytes of `value`, the lowest first.
constexpr std::uint64_t siphash(const SipKey& key, std::uint64_t value) {
  std::uint64_t a = key.low ^ 0x736f6d6570736575;
  std::uint64_t b = key.high ^ 0x646f72616e646f6d;
  std::uint64_t c = key.low ^ 0x6c7967656e657261;
  std::uint64_t d = key.high ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b;
      a += d;
      b = std::rotl(b, 17) ^ c;
      d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  };
  constexpr std::uint64_t kBytes = std::uint64_t{8}
                                   << 56;  // The final block: no bytes, and the count of all.
  for (const std::uint64_t word : {value, kBytes}) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace quire
