#pragma once
// Memory that has held a secret, such as a client's key, is wiped once the secret is not needed. An
// attacker who can read the memory of the process then finds none.
//
// Thread   any.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace quire {

// Overwrites the bytes with zeros. The compiler cannot leave it out, although nothing reads them.
void wipe(void* bytes, std::size_t count);
// The text is empty after it, and its old bytes are gone, also those beyond its end.
void wipe(std::string& text);
// Wipes the stack below the caller, where calls that have returned may have left a secret, and the
// registers through which memory was copied last: the loader and signals save these to the stack.
void wipe_stack();

// Each block is wiped before it is released: at its owner's end, and when its owner takes another.
template <typename T>
struct WipingAllocator {
  using value_type = T;

  WipingAllocator() = default;
  template <typename Other>
  WipingAllocator(const WipingAllocator<Other>&) {}

  T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* block, std::size_t count) {
    wipe(static_cast<void*>(block), count * sizeof(T));
    std::allocator<T>().deallocate(block, count);
  }
  bool operator==(const WipingAllocator&) const { return true; }
};

// Texts of up to 15 bytes are in the string itself, and are not wiped: a key has more.
using WipedString = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;
using WipedBytes = std::vector<char, WipingAllocator<char>>;

}  // namespace quire
