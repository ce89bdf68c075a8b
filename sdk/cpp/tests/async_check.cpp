// A program for inferlets_test.cc: the coroutines of the SDK over the real wait of the host. It
// sends one line with its findings; with --trap it misuses a Result after that.
#include "quire/quire.h"

namespace {

using namespace quire;
using namespace std::chrono_literals;

Task<int> slow(std::chrono::nanoseconds time, int value) {
  co_await sleep(time);
  co_return value;
}

struct Options {
  bool trap = false;

  void read(OptionReader& in) { in.flag("trap", trap, "End with a panic"); }
};

Task<> program(Options options) {
  std::string seen;
  const Result<int> late = co_await attempt(with_timeout(slow(60s, 1), 20ms));
  seen += late.ok() ? "late " : late.error().text();
  const Result<int> early = co_await attempt(with_timeout(slow(1ms, 2), 60s));
  seen += " | early " + std::to_string(co_await Result<int>(early));

  Task<int> dropped = co_await spawn(slow(60s, 5));
  dropped.drop();
  std::vector<Task<int>> many;
  for (int i = 0; i < 200; ++i) many.push_back(slow(std::chrono::milliseconds(i % 20), i));
  int sum = 0;
  for (Result<int>& each : co_await when_all(std::move(many))) sum += co_await std::move(each);
  seen += " | sum " + std::to_string(sum);

  const Result<std::string> message = co_await attempt(session::receive());
  seen += " | " + (message.ok() ? message.value() : message.error().text());
  co_await session::send(seen);

  const Result<Model> none = Model::open("nope");
  if (options.trap) (void)none.value();
}

}  // namespace

QUIRE_MAIN(program)
