#pragma once
// How the endpoints keep the connection of a client that waits: the first bytes of a stream, pings
// in it, and white space before a whole answer (quire/keep_alive.h).
#include <chrono>
#include <string>
#include <utility>

#include "errors.h"
#include "members.h"
#include "quire/keep_alive.h"

namespace endpoints {

// A limit or quota that refuses a request does so within this time, and the refusal has a status.
// After it the client reads status 200.
inline constexpr std::chrono::milliseconds kRefusalTime{50};

// The options of each program whose answers a model writes.
struct LiveOptions {
  double ping_seconds = static_cast<double>(serve::kPingInterval.count());
  bool pads_json = false;

  void read(OptionReader& in) {
    in.number("ping-seconds", ping_seconds,
              "Send a ping in each of these times in which a stream has no event; 0: send none",
              {0, 3600});
    in.flag("pad-json", pads_json,
            "Begin an answer of JSON with a space in each of these times; its status is then 200");
  }

  std::chrono::nanoseconds interval() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(ping_seconds));
  }
  // Begins a stream for a request that is good.
  Task<serve::LiveEvents> open(serve::Response response, std::string ping = ": ping\n\n",
                               serve::AfterClient after = serve::AfterClient::Stop) const {
    return serve::LiveEvents::open(
        std::move(response),
        {.interval = interval(), .filler = std::move(ping), .begin_after = kRefusalTime}, {},
        after);
  }
};

// Responds with JSON that `work` makes for a request that is good.
inline Task<> respond_whole(serve::Response response, LiveOptions options, Task<std::string> work) {
  if (!options.pads_json || options.interval().count() == 0) {
    co_return co_await response.json(200, co_await std::move(work));
  }
  serve::LiveBody body = co_await serve::LiveBody::open(response, options.interval());
  co_await body.json(co_await std::move(work));
}

// Ends a response that had begun when `error` came, with `event` of a stream or with `json` as the
// body. An error of the server also ends the program, so that the log has it. After one of this
// program the connection breaks off.
inline Task<> end_begun(serve::Response response, std::string event, std::string json,
                        Error error) {
  if (!response.finished()) co_await response.write(response.has_events() ? event : json);
  if (!response.finished() && !is_internal(error)) co_await response.finish();
  if (row_of(error).status >= 500) co_await fail(error);
}

}  // namespace endpoints
