// Begins its response at once, and ends it two seconds later.
#include "quire/quire.h"

using namespace quire;

Task<> slow(serve::Request, serve::Response response) {
  const serve::EventStream events = co_await response.events();
  co_await events.send("begin");
  co_await sleep(std::chrono::seconds(2));
  co_await events.send("end");
  co_await events.finish();
}
QUIRE_HTTP_MAIN(slow)
