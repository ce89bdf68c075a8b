#pragma once
// Descriptor owns an open file's number, and closes it.
#include <unistd.h>

#include <utility>

namespace quire {

class Descriptor {
 public:
  Descriptor() = default;  // Of no file.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return number_; }                   // Negative: of no file.
  int release() { return std::exchange(number_, -1); }  // The caller closes it.
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace quire
