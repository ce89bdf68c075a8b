// FakeHost's HTTP: servers are FakeHost::serve, and answer when the request is whole.
#include <cstring>

#include "fake_host.h"

namespace quire::abi::net {
namespace {

using test::host;
using Exchange = test::FakeHost::HttpExchange;

std::string text(const std::uint8_t* bytes, std::uint32_t count) {
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

std::string head_bytes(const test::FakeHost::HttpAnswer& answer) {
  const std::uint32_t record[2] = {answer.status,
                                   static_cast<std::uint32_t>(answer.headers.size())};
  return std::string(reinterpret_cast<const char*>(record), sizeof record) + answer.headers;
}

std::int32_t refuse() {
  return host.refuse(ErrorCode::PermissionDenied, "outbound HTTP is off for this program");
}

std::int32_t whole(const test::FakeHost::HttpAsked& asked) {
  if (!host.serve) return refuse();
  const test::FakeHost::HttpAnswer answer = host.serve(asked);
  std::string bytes = head_bytes(answer);
  for (const std::string& piece : answer.pieces) bytes += piece;
  return host.ready_future(bytes);
}

Exchange* find(std::int32_t exchange) {
  const auto found = host.exchanges.find(exchange);
  return found == host.exchanges.end() ? nullptr : &found->second;
}

std::int32_t unknown() {
  return host.refuse(ErrorCode::NotFound, "no such exchange");
}

}  // namespace

std::int32_t http_get(const std::uint8_t* url, std::uint32_t url_count, const std::uint8_t* headers,
                      std::uint32_t headers_count) {
  return whole({"GET", text(url, url_count), text(headers, headers_count), ""});
}

std::int32_t http_post(const std::uint8_t* url, std::uint32_t url_count,
                       const std::uint8_t* headers, std::uint32_t headers_count,
                       const std::uint8_t* body, std::uint32_t body_count) {
  return whole(
      {"POST", text(url, url_count), text(headers, headers_count), text(body, body_count)});
}

std::int32_t http_request(const std::uint8_t* method, std::uint32_t method_count,
                          const std::uint8_t* url, std::uint32_t url_count,
                          const std::uint8_t* headers, std::uint32_t headers_count,
                          std::int64_t body_bytes) {
  if (!host.serve) return refuse();
  const std::int32_t handle = host.new_handle("exchange");
  Exchange& exchange = host.exchanges[handle];
  exchange.asked = {text(method, method_count), text(url, url_count), text(headers, headers_count),
                    ""};
  if (body_bytes == 0) exchange.answer = host.serve(exchange.asked);
  return handle;
}

std::int32_t write_body(std::int32_t handle, const std::uint8_t* bytes, std::uint32_t count) {
  Exchange* exchange = find(handle);
  if (exchange == nullptr) return unknown();
  exchange->asked.body += text(bytes, count);
  return host.ready_future("");
}

std::int32_t finish_body(std::int32_t handle) {
  Exchange* exchange = find(handle);
  if (exchange == nullptr) return unknown();
  if (exchange->answer) return host.refuse(ErrorCode::OutOfRange, "finished before");
  exchange->answer = host.serve(exchange->asked);
  return 0;
}

std::int32_t response_head(std::int32_t handle) {
  Exchange* exchange = find(handle);
  if (exchange == nullptr) return unknown();
  if (!exchange->answer) return host.new_future();  // It is never made ready.
  return host.ready_future(head_bytes(*exchange->answer));
}

std::int32_t read_body(std::int32_t handle) {
  Exchange* exchange = find(handle);
  if (exchange == nullptr) return unknown();
  if (!exchange->answer) return host.new_future();
  if (exchange->piece_count == exchange->answer->pieces.size()) return host.ready_future("");
  return host.ready_future(exchange->answer->pieces[exchange->piece_count++]);
}

}  // namespace quire::abi::net
