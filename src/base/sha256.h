#pragma once
// SHA-256 through OpenSSL, for names of pages, digests of models and keys of caches.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quire {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& add(std::span<const std::byte> bytes);
  Digest finish();  // Once; nothing can be added afterwards.

 private:
  void* context_;
};

Digest sha256(std::span<const std::byte> bytes);
std::string hex(const Digest& digest);

}  // namespace quire
