#pragma once
// The desk's state of a client and an instance, for client_desk.cc and client_requests.cc alone.
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "application/server/client_desk.h"

namespace quire::server {

struct ClientDesk::Client {
  Peer peer;
  std::set<lifecycle::InstanceId> instances;
  std::deque<lifecycle::InstanceId> refused;  // Have more to say than the socket takes.
  // Instances that other clients took, by number, while the socket took no notice of it. A
  // client is not read meanwhile, so these are instances that it had.
  std::map<std::uint64_t, std::string> notices;

  const service::Principal& caller() const { return *peer.connection->caller; }
};

struct ClientDesk::Instance {
  lifecycle::InstanceId id{};
  std::uint64_t number = 0;  // By which its client knows it.
  std::string name;
  control::TenantId tenant{};
  Digest program{};
  std::string key_name;  // Of the client that launched it.
  Client* client = nullptr;
  bool is_detached = false;   // Outlives its client.
  bool is_refused = false;    // Among the client's `refused`.
  bool is_discarded = false;  // No client will take its output.
  std::optional<std::uint64_t> deadline_ns;
};

inline wire::ReplyBody failure(const Error& error,
                               std::optional<std::uint64_t> retry_after_ms = std::nullopt) {
  return service::failure_of(error, retry_after_ms);
}

// The reply to a part of a file that no program will read.
inline wire::ReplyBody has_ended() {
  return failure(Error(ErrorCode::NotFound, "the program has ended"));
}

}  // namespace quire::server
