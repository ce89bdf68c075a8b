// evil_http: an endpoint that answers wrongly, by the path.
#include "quire/quire.h"
#include "quire/serve.h"
using namespace quire;
namespace {
std::string last_error() {
  std::string t(300, '\0');
  const auto n = abi::runtime::last_error(t.data(), 300);
  t.resize(n > 0 ? std::min(n, 300) : 0);
  return t;
}
std::int32_t respond(std::uint32_t status, std::string_view lines) {
  return abi::serve::respond(status, detail::bytes_of(lines), detail::count_of(lines.size()), 0);
}
std::int32_t write(std::string_view b) {
  return abi::serve::write_response(detail::bytes_of(b), detail::count_of(b.size()));
}
// A head as the host takes it, with a body, or 422 with the host's error about the head.
Task<> respond_by_hand(serve::Response response, std::uint32_t status, std::string lines) {
  if (respond(status, lines) < 0) {
    co_return co_await response.send(422, last_error());
  }
  if (lines.find("ontent-length") == std::string::npos) write("body");
  abi::serve::finish_response();
}

Task<> handle(serve::Request request, serve::Response response) {
  const std::string target(request.target());
  const std::string what = target.substr(6, target.find('?') - 6);
  const std::string q = target.find("?v=") == std::string::npos
                            ? ""
                            : serve::detail::decode_query(target.substr(target.find("?v=") + 3));
  if (what == "never") {
    co_await sleep(std::chrono::hours(10));
  }
  if (what == "spin") {
    for (volatile int i = 0;; i = i + 1) {
    }
  }
  if (what == "ends") {
    std::exit(0);
  }
  if (what == "traps") {
    __builtin_trap();
  }
  if (what == "twice") {
    respond(200, "content-length: 2\n");
    write("ok");
    abi::serve::finish_response();
    const auto a = respond(500, "x: y\n"), b = write("more"), c = abi::serve::finish_response();
    abi::runtime::log(
        1, detail::bytes_of("twice " + std::to_string(a) + std::to_string(b) + std::to_string(c)),
        8);
    co_return;
  }
  if (what == "gigabyte") {
    co_await response.begin(200);
    const std::string part(1 << 20, 'g');
    for (int i = 0; i < 1024; ++i) co_await response.write(part);
    co_await response.finish();
    co_return;
  }
  if (what == "flood") {
    respond(200, "");
    const std::string part(65536, 'f');
    int refused = 0;
    for (int i = 0; i < 100000; ++i) refused += write(part) < 0;
    abi::serve::finish_response();
    co_return;
  }
  if (what == "short") {
    respond(200, "content-length: 10\n");
    write("four");
    abi::serve::finish_response();
    co_return;
  }
  if (what == "long") {
    respond(200, "content-length: 4\n");
    write("four");
    write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
    abi::serve::finish_response();
    co_return;
  }
  if (what == "raw") {
    co_return co_await respond_by_hand(response, 200, q);
  }
  if (what == "status") {
    co_return co_await respond_by_hand(response, static_cast<std::uint32_t>(std::atoll(q.c_str())),
                                       "");
  }
  if (what == "sdk") {
    co_await response.send(200, "hello", {{"x-user", q}});
    co_return;
  }  // As one would write it: what the user says, in a header.
  if (what == "headers") {
    std::string lines;
    for (int i = 0; i < std::atoi(q.c_str()); ++i)
      lines += "x-" + std::to_string(i) + ": " + std::string(200, 'h') + "\n";
    co_return co_await respond_by_hand(response, 200, lines);
  }
  if (what == "request") {
    std::string all;
    for (const auto& h : request.headers()) all += h.name + ": " + h.value + "\n";
    co_await response.send(200, all);
    co_return;
  }
  co_await response.send(404, "?");
}
}  // namespace
QUIRE_HTTP_MAIN(handle)
