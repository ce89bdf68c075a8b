#pragma once
// SHA-256 through OpenSSL, for names of pages, digests of models and keys of caches.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quire {

using Digest = std::array<std::uint8_t, 32>;

// A copy goes on from where the original is: what many inputs begin with is hashed once.
class Sha256 {
 public:
  Sha256();

  Sha256& add(std::span<const std::byte> bytes);
  Digest finish();  // Call it once, and add nothing after it.

 private:
  alignas(8) std::array<std::byte, 112> state_;  // OpenSSL's SHA256_CTX.
};

Digest sha256(std::span<const std::byte> bytes);
std::string hex(const Digest& digest);

}  // namespace quire
