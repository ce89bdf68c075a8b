// ssrf URL...: asks for each, and says what came.
#include "quire/http.h"
#include "quire/quire.h"
using namespace quire;
namespace {
Task<> program(std::vector<std::string> urls) {
  for (const std::string& url : urls) {
    if (url.starts_with("inject ")) {
      const Result<http::Response> r = co_await attempt(
          http::get(url.substr(7), {{"x-user", "a\nauthorization: Bearer injected"}}));
      co_await session::send(r.ok()
                                 ? "OK " + std::to_string(r.value().status) + " " + r.value().body
                                 : "NO " + r.error().message);
      continue;
    }
    const Result<http::Response> r =
        co_await attempt(with_timeout(http::get(url), std::chrono::seconds(6)));
    co_await session::send(r.ok() ? "OK " + std::to_string(r.value().status) + " " + r.value().body
                                  : "NO " + r.error().message);
  }
}
}  // namespace
QUIRE_MAIN(program)
