// Uploads of scripted guests to servers outside: bodies, whole and in pieces. A server that answers
// has had the whole body, once; a server that had it got all of it from the sender (World).
#include <algorithm>

#include "simulation/guest_bytes.h"
#include "simulation/servers.h"

namespace quire::simulation {
namespace {

constexpr std::uint32_t kBodyBytesMax = 8'000;
constexpr std::uint32_t kPieceBytesMax = 4'000;
constexpr std::int64_t kUnknownBytes = -1;

}  // namespace

// No other is like it.
std::string ScriptedGuest::some_body() {
  return message_text(instance_, message_count_++) + " " + file_part(0, dice_.below(kBodyBytesMax));
}

void ScriptedGuest::post() {
  const FakeServer* server = &fake_servers()[dice_.below(fake_servers().size())];
  const std::string body = some_body();
  const std::int64_t url = put_bytes(server->url);
  const std::int64_t bytes = put_bytes(body);
  const bool made =
      expect("http-post",
             call("net.http-post", {url, length_of(server->url), 0, 0, bytes, length_of(body)}),
             Comes::Surely,
             [this, server, body](const Taken& taken) {
               if (!taken.ok()) {
                 if (!is_allowed(*taken.error, {server->error, timeout_after_jump()})) {
                   find(std::string(server->url) + " fails: " + taken.bytes);
                 }
                 return;
               }
               town_.answered.insert(body);
               const auto header_bytes = value_at<std::uint32_t>(taken.bytes, 4);
               if (taken.bytes.substr(8 + std::size_t{header_bytes}) != body_of(*server)) {
                 find(std::string(server->url) + " gives another body");
               }
             },
             {}, {ErrorCode::QuotaExceeded, ErrorCode::Unavailable});
  if (made) town_.posted.insert(body);
}

void ScriptedGuest::upload() {
  const FakeServer* server = &fake_servers()[dice_.below(fake_servers().size())];
  const std::string body = some_body();
  const std::int64_t method = put_bytes("POST");
  const std::int64_t url = put_bytes(server->url);
  const std::int64_t exchange =
      call("net.http-request", {method, 4, url, length_of(server->url), 0, 0,
                                dice_.one_in(2) ? kUnknownBytes : length_of(body)});
  if (!check("net.http-request", exchange, {ErrorCode::QuotaExceeded, ErrorCode::Unavailable})) {
    return;
  }
  write_upload(static_cast<std::int32_t>(exchange), server, body, 0);
}

void ScriptedGuest::drop_exchange(std::int32_t exchange) {
  check("future.drop", call("future.drop", {exchange}));
  stale_.push_back(exchange);
}

// A guest that is slow to write runs into the limits on time, whatever the server does. Writes the
// next piece, and reads the answer after the last; now and then it gives up in the middle.
void ScriptedGuest::write_upload(std::int32_t exchange, const FakeServer* server, std::string body,
                                 std::size_t done) {
  const auto drop = [this, exchange] { drop_exchange(exchange); };
  if (done == body.size()) {
    if (!check("net.finish-body", call("net.finish-body", {exchange}))) return drop();
    return read_answer(exchange, server, body);
  }
  if (dice_.one_in(12)) return drop();
  const std::size_t count =
      std::min<std::size_t>(body.size() - done, dice_.between(1, kPieceBytesMax));
  const std::int64_t piece = put_bytes(std::string_view(body).substr(done, count));
  if (done + count == body.size()) town_.posted.insert(body);
  const bool made = expect(
      "write-body", call("net.write-body", {exchange, piece, static_cast<std::int64_t>(count)}),
      Comes::Surely,
      [this, exchange, server, body, drop, end = done + count](const Taken& taken) {
        if (taken.ok()) return write_upload(exchange, server, body, end);
        if (!is_allowed(*taken.error, {ErrorCode::Timeout})) {
          find("write-body to " + std::string(server->url) + " fails: " + taken.bytes);
        }
        drop();
      },
      drop);
  if (!made) drop();
}

void ScriptedGuest::read_answer(std::int32_t exchange, const FakeServer* server, std::string body) {
  const auto drop = [this, exchange] { drop_exchange(exchange); };
  const bool made = expect(
      "response-head", call("net.response-head", {exchange}), Comes::Surely,
      [this, exchange, drop, server, body](const Taken& taken) {
        if (taken.ok()) {
          town_.answered.insert(body);
          return read_stream(exchange, server, "");
        }
        if (!is_allowed(*taken.error, {server->error, ErrorCode::Timeout})) {
          find(std::string(server->url) + " fails: " + taken.bytes);
        }
        drop();
      },
      drop);
  if (!made) drop();
}

}  // namespace quire::simulation
