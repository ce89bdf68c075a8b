#include "application/net/ip_address.h"

#include <arpa/inet.h>

#include <cstring>

namespace quire::net {
namespace {

struct Range {
  std::uint8_t prefix[16];
  std::uint8_t bit_count;
  AddressKind kind;
};

// The first range that holds an address says what it is.
constexpr Range kIpv4Ranges[] = {
    {{255, 255, 255, 255}, 32, {Reach::Never, "broadcast"}},
    {{0}, 8, {Reach::Never, "this network"}},
    {{10}, 8, {Reach::Private, "private network"}},
    {{100, 64}, 10, {Reach::Private, "carrier-grade NAT"}},
    {{127}, 8, {Reach::Private, "loopback"}},
    // In a public block, yet the same host answers every virtual machine of Azure there, its
    // agent's secrets included.
    {{168, 63, 129, 16}, 32, {Reach::LinkLocal, "Azure platform"}},
    {{169, 254}, 16, {Reach::LinkLocal, "link-local"}},
    {{172, 16}, 12, {Reach::Private, "private network"}},
    {{192, 0, 0}, 24, {Reach::Never, "protocol assignments"}},
    {{192, 0, 2}, 24, {Reach::Never, "documentation"}},
    {{192, 88, 99}, 24, {Reach::Never, "6to4 relay"}},
    {{192, 168}, 16, {Reach::Private, "private network"}},
    {{198, 18}, 15, {Reach::Never, "benchmarking"}},
    {{198, 51, 100}, 24, {Reach::Never, "documentation"}},
    {{203, 0, 113}, 24, {Reach::Never, "documentation"}},
    {{224}, 4, {Reach::Never, "multicast"}},
    {{240}, 4, {Reach::Never, "reserved"}},
};

constexpr Range kIpv6Ranges[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, {Reach::Private, "loopback"}},
    {{0}, 128, {Reach::Never, "unspecified"}},
    {{0}, 96, {Reach::Never, "IPv4-compatible"}},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, {Reach::Never, "IPv4-mapped"}},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, {Reach::Never, "IPv4-translated"}},
    {{0x00, 0x64, 0xff, 0x9b}, 96, {Reach::Never, "NAT64"}},
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, {Reach::Never, "local NAT64"}},
    {{0x01}, 64, {Reach::Never, "discard-only"}},
    {{0x20, 0x01, 0x00, 0x00}, 32, {Reach::Never, "Teredo"}},
    {{0x20, 0x01, 0x00, 0x02}, 48, {Reach::Never, "benchmarking"}},
    {{0x20, 0x01}, 23, {Reach::Never, "protocol assignments"}},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, {Reach::Never, "documentation"}},
    {{0x20, 0x02}, 16, {Reach::Never, "6to4"}},
    {{0x3f, 0xff}, 20, {Reach::Never, "documentation"}},
    {{0x20}, 3, {Reach::Public, "public"}},
    {{0x5f, 0x00}, 16, {Reach::Never, "segment routing"}},
    {{0xfc}, 7, {Reach::Private, "unique-local network"}},
    {{0xfe, 0x80}, 10, {Reach::LinkLocal, "link-local"}},
    {{0xfe, 0xc0}, 10, {Reach::Private, "site-local network"}},
    {{0xff}, 8, {Reach::Never, "multicast"}},
};

bool holds(const Range& range, const IpAddress& address) {
  const std::size_t whole = range.bit_count / 8;
  if (std::memcmp(range.prefix, address.bytes.data(), whole) != 0) return false;
  const unsigned rest = range.bit_count % 8;
  if (rest == 0) return true;
  const unsigned mask = 0xff00u >> rest & 0xffu;
  return (address.bytes[whole] & mask) == (range.prefix[whole] & mask);
}

}  // namespace

std::optional<IpAddress> parse_ipv4(std::string_view text) {
  IpAddress address;
  address.is_v4 = true;
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == text.size() || text[at++] != '.')) return std::nullopt;
    const std::size_t begin = at;
    unsigned value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 4) {
      value = value * 10 + static_cast<unsigned>(text[at++] - '0');
    }
    const std::size_t digits = at - begin;
    if (digits == 0 || value > 255 || (digits > 1 && text[begin] == '0')) return std::nullopt;
    address.bytes[static_cast<std::size_t>(part)] = static_cast<std::uint8_t>(value);
  }
  if (at != text.size()) return std::nullopt;
  return address;
}

std::optional<IpAddress> parse_ipv6(std::string_view text) {
  IpAddress address;
  const std::string terminated(text);  // A NUL inside ends the text early, and is refused below.
  if (terminated.size() != std::strlen(terminated.c_str())) return std::nullopt;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.is_v4 ? AF_INET : AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

AddressKind classify(const IpAddress& address) {
  if (address.is_v4) {
    for (const Range& range : kIpv4Ranges) {
      if (holds(range, address)) return range.kind;
    }
    return {Reach::Public, "public"};
  }
  for (const Range& range : kIpv6Ranges) {
    if (holds(range, address)) return range.kind;
  }
  return {Reach::Never, "reserved"};
}

}  // namespace quire::net
