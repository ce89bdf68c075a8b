#pragma once
// SharedHandle: what SDK types that stand for something of the host are made of.
#include <cstdint>
#include <memory>

#include "quire/bindings.h"

namespace quire {

namespace detail {

// A handle of the host that is dropped with its last owner.
class SharedHandle {
 public:
  SharedHandle() = default;
  explicit SharedHandle(std::int32_t handle) : owned_(std::make_shared<Owned>(handle)) {}
  std::int32_t get() const { return owned_ == nullptr ? -1 : owned_->handle; }

 private:
  struct Owned {
    explicit Owned(std::int32_t given) : handle(given) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { abi::future::drop(handle); }
    std::int32_t handle;
  };
  std::shared_ptr<Owned> owned_;
};

}  // namespace detail

}  // namespace quire
