#pragma once
// quire::serve: responses whose clients never wait in silence. Clients, proxies and libraries give
// up on a connection that carries no byte for some time. These classes send a filler in each
// interval in which the program sends nothing, whatever the program waits for in the meantime.
//
//   serve::LiveEvents events = co_await serve::LiveEvents::open(response);
//   const std::string answer = co_await think_for_minutes();  // The client reads ": ping" lines.
//   co_await events.send(answer);
//   co_await events.finish();
//
//   serve::LiveBody body = co_await serve::LiveBody::open(response);
//   co_await body.json(co_await whole_answer());  // White space may stand before it.
//
// A filler is whole and stands between two parts: it never falls within an event. While an earlier
// write waits because the client takes nothing, no filler is added: at most one waits itself.
// Several tasks may send at a time; each event goes out in one piece. If the object is destroyed,
// its timer ends with it.
//
// Errors   of the response (serve.h). What the timer finds, the next send() reports.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "quire/future.h"
#include "quire/runtime.h"
#include "quire/serve.h"
#include "quire/task.h"
#include "quire/turn.h"

namespace quire::serve {

inline constexpr std::chrono::seconds kPingInterval{5};

struct KeepAlive {
  std::chrono::nanoseconds interval = kPingInterval;  // 0: no filler.
  std::string filler = ": ping\n\n";  // Clients of event streams pass over a comment.
  // The status and the headers go out after this time if no part brings them earlier. An error that
  // comes before has a status of its own.
  std::chrono::nanoseconds begin_after{0};
};

struct ResponseHead {
  std::uint32_t status = 200;
  Headers headers = {};
  AfterClient after = AfterClient::Stop;
};

// A response of any form, in parts.
class LiveResponse {
 public:
  static Task<LiveResponse> open(Response response, ResponseHead head, KeepAlive keep_alive) {
    LiveResponse live;
    live.state_ =
        std::make_unique<State>(std::move(response), std::move(head), std::move(keep_alive));
    live.timer_ = co_await spawn(keep(*live.state_));
    co_return live;
  }

  // All of the part, in one piece: no filler and no other part falls within it.
  Task<> write(std::string part) { return write_part(*state_, std::move(part)); }
  Task<> finish() { return finish_response(state_->response, begin(*state_), timer_); }
  // Ends the timer. True: the response has begun.
  bool stop() {
    timer_.drop();
    return state_->response.begun();
  }
  const Response& response() const { return state_->response; }

 private:
  struct State {
    State(Response given, ResponseHead begin, KeepAlive options)
        : response(std::move(given)), head(std::move(begin)), keep_alive(std::move(options)) {}

    Response response;
    ResponseHead head;
    KeepAlive keep_alive;
    Turn turn;                            // To write a part.
    std::chrono::nanoseconds written{0};  // When the last part or filler was.
  };

  static Result<void> begin(State& state) {
    if (state.response.begun()) return {};
    state.written = runtime::now();
    return state.response.begin(state.head.status, state.head.headers, state.head.after);
  }
  static Task<> write_part(State& state, std::string part) {
    const Turn::Hold hold = co_await state.turn.take();
    co_await begin(state);
    for (std::size_t at = 0; at < part.size(); at += kPartBytesMax) {
      state.written = runtime::now();
      co_await state.response.write(std::string_view(part).substr(at, kPartBytesMax));
    }
  }
  static Task<> finish_response(Response response, Result<void> begun, Task<>& timer) {
    timer.drop();
    co_await std::move(begun);
    co_await response.finish();
  }

  static Task<> keep(State& state) {
    co_await sleep(state.keep_alive.begin_after);
    co_await begin(state);
    const std::chrono::nanoseconds interval = state.keep_alive.interval;
    if (interval.count() <= 0) co_return;
    for (;;) {
      const std::chrono::nanoseconds rest = state.written + interval - runtime::now();
      if (rest.count() > 0) {
        co_await sleep(rest);
      } else if (!state.turn.is_free()) {  // The client has not taken what was written before.
        co_await sleep(interval);
      } else {
        co_await write_part(state, state.keep_alive.filler);
      }
    }
  }

  std::unique_ptr<State> state_;
  Task<> timer_;  // Declared after the state, which it uses.
};

// A response of type text/event-stream.
class LiveEvents {
 public:
  // Sends nothing by itself: the head goes out with the first event, or as `keep_alive` says.
  static Task<LiveEvents> open(Response response, KeepAlive keep_alive = {}, Headers headers = {},
                               AfterClient after = AfterClient::Stop) {
    detail::add_event_headers(headers);
    co_return LiveEvents(co_await LiveResponse::open(
        std::move(response), {.headers = std::move(headers), .after = after},
        std::move(keep_alive)));
  }

  // One event, whose data may have several lines. Ready once there is room for another.
  Task<> send(std::string data, Event event = {}) { return live_.write(event_text(data, event)); }
  Task<> finish() { return live_.finish(); }

 private:
  explicit LiveEvents(LiveResponse live) : live_(std::move(live)) {}

  LiveResponse live_;
};

// A response of type application/json, whose body may begin with white space.
class LiveBody {
 public:
  // Until `interval` has passed the client gets nothing, and an error may have its own status.
  static Task<LiveBody> open(Response response, std::chrono::nanoseconds interval = kPingInterval) {
    co_return LiveBody(co_await LiveResponse::open(
        std::move(response), {.headers = {{"content-type", "application/json"}}},
        {.interval = interval, .filler = " ", .begin_after = interval}));
  }

  // The whole answer. No more can follow.
  Task<> json(std::string text) { return end(live_, std::move(text)); }

 private:
  explicit LiveBody(LiveResponse live) : live_(std::move(live)) {}

  static Task<> end(LiveResponse& live, std::string text) {
    if (!live.stop()) co_return co_await live.response().json(200, std::move(text));
    co_await live.write(std::move(text));
    co_await live.finish();
  }

  LiveResponse live_;
};

}  // namespace quire::serve
