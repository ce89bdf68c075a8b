#pragma once
// AnyHandler is one handler of Asio, whatever its type, so that what takes it is compiled once and not anew for each
// handler. It costs an allocation for each operation, which a call of the system dwarfs.
//
// The handler runs on the executor of the stream that it is given to: an executor, an allocator or a cancellation slot
// of its own would be lost.
//
// Thread   that of the operation.
#include <memory>
#include <utility>

namespace quire::transport {

template <typename... Arguments>
class AnyHandler {
 public:
  template <typename Handler>
  explicit AnyHandler(Handler handler)
      : held_(std::make_unique<Held<Handler>>(std::move(handler))) {}

  // Once.
  void operator()(Arguments... arguments) {
    // The handler may end what holds this one.
    const std::unique_ptr<Callable> held = std::move(held_);
    held->call(std::move(arguments)...);
  }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual void call(Arguments... arguments) = 0;
  };
  template <typename Handler>
  struct Held final : Callable {
    explicit Held(Handler given) : handler(std::move(given)) {}
    void call(Arguments... arguments) override { std::move(handler)(std::move(arguments)...); }
    Handler handler;
  };

  std::unique_ptr<Callable> held_;
};

}  // namespace quire::transport
