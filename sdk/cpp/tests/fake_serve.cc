// FakeHost's request: FakeHost::request, and what the program responds is FakeHost::response.
#include <cstring>

#include "fake_host.h"

namespace quire::abi::serve {
namespace {

using test::host;

std::string text(const std::uint8_t* bytes, std::uint32_t count) {
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

std::int32_t not_served() {
  return host.refuse(ErrorCode::NotSupported, "no HTTP request launched this instance");
}

}  // namespace

std::int32_t request_head(void* buffer, std::uint32_t capacity) {
  if (!host.request) return not_served();
  const test::FakeHost::HttpServed& request = *host.request;
  const std::uint32_t counts[3] = {static_cast<std::uint32_t>(request.method.size()),
                                   static_cast<std::uint32_t>(request.target.size()),
                                   static_cast<std::uint32_t>(request.headers.size())};
  const std::string bytes = std::string(reinterpret_cast<const char*>(counts), sizeof counts) +
                            request.method + request.target + request.headers;
  if (bytes.size() <= capacity) std::memcpy(buffer, bytes.data(), bytes.size());
  return static_cast<std::int32_t>(bytes.size());
}

std::int32_t read_request() {
  if (!host.request) return not_served();
  std::deque<std::string>& parts = host.request->parts;
  if (parts.empty()) return host.request->is_body_open ? host.new_future() : host.ready_future("");
  std::string part = std::move(parts.front());
  parts.pop_front();
  return host.ready_future(std::move(part));
}

std::int32_t respond(std::uint32_t status, const std::uint8_t* headers, std::uint32_t count,
                     std::uint32_t flags) {
  if (!host.request) return not_served();
  if (host.response.status != 0) {
    return host.refuse(ErrorCode::AlreadyExists, "the program has responded");
  }
  if (status < 200 || status > 599) return host.refuse(ErrorCode::InvalidArgument, "the status");
  host.response.status = status;
  host.response.headers = text(headers, count);
  host.response.flags = flags;
  return 0;
}

std::int32_t write_response(const std::uint8_t* bytes, std::uint32_t count) {
  if (!host.request) return not_served();
  if (host.response.status == 0 || host.response.is_finished) {
    return host.refuse(ErrorCode::InvalidArgument, "the response is not begun, or is finished");
  }
  if (host.is_client_gone) return host.refuse(ErrorCode::Unavailable, "the client is gone");
  host.response.parts.push_back(text(bytes, count));
  return host.response.has_room ? host.ready_future("") : host.new_future();
}

std::int32_t finish_response() {
  if (!host.request) return not_served();
  if (host.response.status == 0 || host.response.is_finished) {
    return host.refuse(ErrorCode::InvalidArgument, "the response is not begun, or is finished");
  }
  host.response.is_finished = true;
  return 0;
}

}  // namespace quire::abi::serve
