#include "base/instance_numbers.h"

#include <array>
#include <span>
#include <utility>

#include "base/check.h"

namespace quire {
namespace {

// A Feistel network of two halves of 27 bits, with SipHash as the function of its rounds. It permutes all numbers of 54
// bits. What falls outside of the wanted ones is permuted again until it is one of them (cycle walking), twice on average:
// that permutes the wanted ones, and can be undone in the same way.
constexpr int kHalfBits = 27;
constexpr std::uint64_t kHalfMask = (std::uint64_t{1} << kHalfBits) - 1;
constexpr std::uint64_t kRoundCount = 8;

struct Halves {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};
Halves split(std::uint64_t value) {
  return {value >> kHalfBits, value & kHalfMask};
}
std::uint64_t joined(const Halves& halves) {
  return halves.left << kHalfBits | halves.right;
}
std::uint64_t mixed(const SipKey& key, std::uint64_t round, std::uint64_t half) {
  return siphash(key, round << kHalfBits | half) & kHalfMask;
}

std::uint64_t forward(const SipKey& key, std::uint64_t value) {
  Halves now = split(value);
  for (std::uint64_t round = 0; round < kRoundCount; ++round) {
    now = {now.right, now.left ^ mixed(key, round, now.right)};
  }
  return joined(now);
}
std::uint64_t backward(const SipKey& key, std::uint64_t value) {
  Halves now = split(value);
  for (std::uint64_t round = kRoundCount; round-- > 0;) {
    now = {now.right ^ mixed(key, round, now.left), now.left};
  }
  return joined(now);
}

bool is_number(std::uint64_t value) {
  return value >= 1 && value <= kInstanceNumberMax;
}

}  // namespace

InstanceNumbers::InstanceNumbers(RandomSource& random) {
  std::array<std::uint64_t, 2> words{};
  random.fill(std::as_writable_bytes(std::span(words)));
  key_ = SipKey{words[0], words[1]};
}

std::uint64_t InstanceNumbers::of(InstanceId id) const {
  auto value = static_cast<std::uint64_t>(id);
  QUIRE_CHECK(value <= kInstanceNumberMax, "no server lives for so many launches");
  if (!key_ || value == 0) return value;
  do {
    value = forward(*key_, value);
  } while (!is_number(value));
  return value;
}

InstanceId InstanceNumbers::id_of(std::uint64_t number) const {
  if (!is_number(number)) return {};
  if (!key_) return InstanceId{number};
  do {
    number = backward(*key_, number);
  } while (!is_number(number));
  return InstanceId{number};
}

}  // namespace quire
