#pragma once
// IpAddress, and what kind of place it names. Whether a program may reach an address is decided on
// this, and on nothing that a name or a URL says.
//
// Thread   any; plain values and pure functions.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quire::net {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // In network order; of IPv4 the first 4.
  bool is_v4 = false;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// Four decimal numbers of 0 to 255 without leading zeros, and nothing else.
std::optional<IpAddress> parse_ipv4(std::string_view text);
// As RFC 4291 writes it, without brackets and without a zone.
std::optional<IpAddress> parse_ipv6(std::string_view text);
std::string text_of(const IpAddress& address);

// How much leave it takes to connect to an address; each kind needs more than the one before.
enum class Reach : std::uint8_t {
  Public,     // Any grant that covers the URL.
  Private,    // A grant that names its host and port: loopback, private and shared networks.
  LinkLocal,  // A grant that names the address itself and its port.
  Never,      // No grant: these addresses are not of a single host.
};

struct AddressKind {
  Reach reach = Reach::Never;
  const char* name = "";  // "loopback", "private network"; of a public one "public".
};

// Classifies by the registries of special-purpose addresses (RFC 6890 and its successors). One more
// address of public IPv4 is link-local in all but its number (Azure's platform). Of IPv6 only
// 2000::/3 is public, without the ranges that carry an IPv4 address inside (Teredo, 6to4): that
// address would not be checked.
AddressKind classify(const IpAddress& address);

// The rule for the kind of an address: classify(), unless a test has two kinds of loopback.
using AddressPolicy = AddressKind (*)(const IpAddress&);

}  // namespace quire::net
