// The functions of one digest are deprecated in OpenSSL 3 in favor of EVP, which allocates for
// each copy; a page name is a copy of a state and four blocks.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/sha.h>

#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace quire {
namespace {

static_assert(std::is_trivially_copyable_v<SHA256_CTX>);

SHA256_CTX load(const std::array<std::byte, 112>& state) {
  static_assert(sizeof(SHA256_CTX) == sizeof(state));
  SHA256_CTX context;
  std::memcpy(&context, state.data(), sizeof(context));
  return context;
}

void store(std::array<std::byte, 112>& state, const SHA256_CTX& context) {
  std::memcpy(state.data(), &context, sizeof(context));
}

}  // namespace

Sha256::Sha256() {
  SHA256_CTX context;
  QUIRE_CHECK(SHA256_Init(&context) == 1, "OpenSSL offers no SHA-256");
  store(state_, context);
}

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  SHA256_CTX context = load(state_);
  QUIRE_CHECK(SHA256_Update(&context, bytes.data(), bytes.size()) == 1, "SHA-256 update");
  store(state_, context);
  return *this;
}

Digest Sha256::finish() {
  Digest digest{};
  SHA256_CTX context = load(state_);
  QUIRE_CHECK(SHA256_Final(digest.data(), &context) == 1, "SHA-256 final");
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  return Sha256().add(bytes).finish();
}

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
