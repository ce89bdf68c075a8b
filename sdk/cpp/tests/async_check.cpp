// A program for inferlets_test.cc: the coroutines of the SDK over the real wait of the host. It
// sends one line that says what it saw; with --trap it misuses a Result behind that.
#include "quire/quire.h"

namespace {

using namespace quire;
using namespace std::chrono_literals;

Task<Result<int>> slow(std::chrono::nanoseconds time, int value) {
  CO_TRY(co_await sleep(time));
  co_return value;
}

Task<Result<void>> program(std::vector<std::string> command_line) {
  const Arguments arguments = CO_TRY(Arguments::parse(command_line, {.flags = {"trap"}}));
  std::string seen;
  const Result<int> late = co_await with_timeout(slow(60s, 1), 20ms);
  seen += late.ok() ? "late " : late.error().text();
  const Result<int> early = co_await with_timeout(slow(1ms, 2), 60s);
  seen += " | early " + std::to_string(CO_TRY(Result<int>(early)));

  Task<Result<int>> dropped = co_await spawn(slow(60s, 5));
  dropped.drop();
  std::vector<Task<Result<int>>> many;
  for (int i = 0; i < 200; ++i) many.push_back(slow(std::chrono::milliseconds(i % 20), i));
  int sum = 0;
  for (Result<int>& each : co_await when_all(std::move(many))) sum += CO_TRY(std::move(each));
  seen += " | sum " + std::to_string(sum);

  const Result<std::string> message = co_await session::receive();
  seen += " | " + (message.ok() ? message.value() : message.error().text());
  CO_TRY(session::send(seen));

  const Result<Model> none = Model::open("nope");
  if (arguments.flag("trap")) (void)none.value();
  co_return {};
}

}  // namespace

QUIRE_MAIN(program)
