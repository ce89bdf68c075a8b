// A program for http_inferlets_test.cc: exchanges over the real client. Its argument is the address
// of the test's server. It sends one line for each thing seen.
#include "quire/quire.h"

namespace {

using namespace quire;
using namespace std::chrono_literals;

template <typename T>
Result<void> say(const std::string& what, const Result<T>& result) {
  return session::send(what + ": " +
                       (result.ok() ? "well" : abi::error_code_name(result.error().code)) + "\n");
}
Result<void> say(const std::string& what, bool holds) {
  return session::send(what + ": " + (holds ? "yes" : "no") + "\n");
}

Task<> upload(std::string server) {
  const http::Exchange exchange = co_await http::Exchange::open(
      {.method = "PUT", .url = server + "/echo", .body_bytes = http::kUnknownBodyBytes});
  const std::string piece(200'000, 'p');
  for (int i = 0; i < 5; ++i) co_await exchange.write(piece);
  co_await exchange.finish();
  const std::string echoed = co_await http::read_all(exchange, 2'000'000);
  co_return co_await say("an upload comes back whole",
                         echoed == piece + piece + piece + piece + piece);
}

// A read that is given up loses nothing.
Task<> slow_read(std::string server) {
  const http::Exchange exchange = co_await http::Exchange::open({.url = server + "/slow"});
  std::string all;
  int late = 0;
  for (;;) {
    const Result<std::string> piece = co_await attempt(with_timeout(exchange.read(), 5ms));
    if (!piece.ok() && piece.error().code == ErrorCode::Timeout) {
      late += 1;
      continue;
    }
    if ((co_await Result<std::string>(piece)).empty()) break;
    all += piece.value();
  }
  co_await say("what came late came", all == "one two three ");
  co_return co_await say("and it was late", late > 0);
}

Task<> program(std::vector<std::string> arguments) {
  const std::string server = arguments.at(0);
  co_await upload(server);
  co_await slow_read(server);
  std::vector<Task<http::Response>> many;
  for (int i = 0; i < 8; ++i) many.push_back(task_of(http::get(server + "/n" + std::to_string(i))));
  bool in_order = true;
  int at = 0;
  for (Result<http::Response>& each : co_await when_all(std::move(many))) {
    in_order = in_order && (co_await std::move(each)).body == "/n" + std::to_string(at++);
  }
  co_await say("eight at once come each to its own", in_order);
  co_await say("one given up", co_await attempt(with_timeout(http::get(server + "/silent"), 20ms)));
  // The slots of the exchanges are free again.
  for (int i = 0; i < 20; ++i) {
    const Result<http::Response> gone =
        co_await attempt(with_timeout(http::get(server + "/silent"), 1ms));
    if (gone.ok() || gone.error().code != ErrorCode::Timeout) co_await say("given up", gone);
  }
  co_await say("another port", co_await attempt(http::get("http://127.0.0.1:1/")));
  co_await say("another scheme", co_await attempt(http::get("file:///etc/passwd")));
  co_await say("a redirect elsewhere", co_await attempt(http::get(server + "/elsewhere")));
  co_await say("a connection that breaks", co_await attempt(http::get(server + "/broken")));
  const Result<http::Response> last = co_await attempt(http::get(server + "/last"));
  co_await say("the last", last);
  // Ends with one under way.
  const Task<http::Response> left = co_await spawn(http::get(server + "/silent"));
}

}  // namespace

QUIRE_MAIN(program)
