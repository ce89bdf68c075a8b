#include "base/wipe.h"

#include <string.h>

#include <array>

namespace quire {
namespace {

constexpr std::size_t kStackBytes = 32u << 10;  // Reading a head takes less.
constexpr std::size_t kRegisterBytes = 512;     // memmove() loads this much before it stores it.

}  // namespace

void wipe(void* bytes, std::size_t count) {
  explicit_bzero(bytes, count);
}

void wipe(std::string& text) {
  // The whole block becomes part of the text, so that writing to it is defined.
  text.resize(text.capacity());
  wipe(text.data(), text.size());
  text.clear();
}

[[gnu::noinline]] void wipe_stack() {
  std::array<char, kStackBytes> below;
  wipe(below.data(), below.size());
  void* (*volatile const move)(void*, const void*, std::size_t) = memmove;
  move(below.data(), below.data() + kRegisterBytes, kRegisterBytes);
}

}  // namespace quire
