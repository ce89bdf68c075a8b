#include "control/controller/sharing_domain.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace quire::control {

Digest sharing_domain(const Digest& sharing_secret, TenantId tenant) {
  constexpr std::string_view kDomain = "quire sharing domain";
  const std::array<std::uint32_t, 1> number{static_cast<std::uint32_t>(tenant)};
  Sha256 hash;
  hash.add(std::as_bytes(std::span(kDomain.data(), kDomain.size())));
  hash.add(std::as_bytes(std::span(sharing_secret)));
  hash.add(std::as_bytes(std::span(number)));
  return hash.finish();
}

}  // namespace quire::control
