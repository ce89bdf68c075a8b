// flood: messages of 64 KiB, as fast as they are taken, until it is ended. It asks again after a millisecond where its
// outbox is full.
#include "quire/quire.h"
using namespace quire;
namespace {
constexpr std::size_t kMessageBytes = 64 << 10;
Task<> program(std::vector<std::string>) {
  const std::string message(kMessageBytes, 'x');
  for (;;) {
    if (!session::send(message).ok()) co_await sleep(std::chrono::milliseconds(1));
  }
}
}  // namespace
QUIRE_MAIN(program)
