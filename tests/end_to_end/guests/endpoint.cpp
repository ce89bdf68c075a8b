// endpoint answers HTTP requests. With "--hold" it computes the body of the request as a prompt,
// which takes pages. It sends the body back and then waits for the client to leave. Without it, the
// body comes back after the text of --greeting.
#include "quire/quire.h"

namespace {

using namespace quire;

struct Options {
  bool hold = false;
  std::string greeting = "hello, ";

  void read(OptionReader& in) {
    in.flag("hold", hold, "Hold pages until the client leaves");
    in.text("greeting", greeting, "What comes before the body");
  }
};

Task<> handle(serve::Request request, serve::Response response, Options options) {
  const std::string body = co_await request.body();
  if (!options.hold) {
    co_await response.send(200, options.greeting + body);
    co_return;
  }
  Context context = co_await Context::create();
  co_await context.append_text(body);
  co_await context.flush();
  const serve::EventStream events = co_await response.events();
  co_await events.send(body);
  co_await sleep(std::chrono::hours(1));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
