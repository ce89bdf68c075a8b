#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace quire {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  QUIRE_CHECK(context_ != nullptr, "out of memory");
  QUIRE_CHECK(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1,
              "OpenSSL offers no SHA-256");
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  QUIRE_CHECK(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1,
              "SHA-256 update");
  return *this;
}

Digest Sha256::finish() {
  Digest digest{};
  unsigned count = 0;
  QUIRE_CHECK(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), &count) == 1,
              "SHA-256 final");
  QUIRE_CHECK(count == digest.size(), "SHA-256 is 32 bytes");
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) { return Sha256().add(bytes).finish(); }

std::string hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace quire
