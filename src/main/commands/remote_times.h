#pragma once
// How the commands that talk to a server find it, and how long they wait for it.
#include <chrono>
#include <string>

#include "wire/endpoint.h"

namespace quire {

inline constexpr std::chrono::milliseconds kConnectTimeMax{10'000};
inline constexpr std::chrono::milliseconds kReplyTimeMax{30'000};  // To what it answers at once.

// Of --server. InvalidArgument names the flag.
inline Result<wire::Endpoint> server_endpoint(const std::string& url) {
  Result<wire::Endpoint> endpoint = wire::parse_server_url(url);
  if (!endpoint.ok()) return std::move(endpoint).take_error().while_("--server");
  return endpoint;
}

}  // namespace quire
