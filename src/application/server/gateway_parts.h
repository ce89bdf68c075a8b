#pragma once
// What the gateway knows of a client and of an instance. For gateway*.cc alone.
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "application/server/gateway.h"

namespace quire::server {

inline constexpr std::uint64_t kTakeNsMax = 2'000'000;  // Of requests in one turn.

struct Gateway::Client {
  ConnectionHandle connection;
  std::uint64_t pushed_bytes = 0;  // Charges of all frames.
  std::set<lifecycle::InstanceId> instances;
  std::deque<lifecycle::InstanceId> refused;  // Have more to say than the socket takes.
};

struct Gateway::Instance {
  lifecycle::InstanceId id{};
  std::string name;
  Digest program{};
  Client* client = nullptr;
  bool is_detached = false;   // Outlives its client.
  bool is_refused = false;    // Among the client's `refused`.
  bool is_discarded = false;  // Nobody will come for its words.
  std::optional<std::uint64_t> deadline_ns;

  std::uint64_t number() const { return static_cast<std::uint64_t>(id); }
};

// A request that waits for a program to be compiled.
struct Gateway::Waiting {
  ConnectionId connection{};
  std::uint64_t id = 0;
  lifecycle::ProgramId program{};
  Digest digest{};
  std::optional<wire::Launch> launch;  // None: the program's own upload.

  std::uint64_t argument_bytes() const {
    if (!launch) return 0;
    std::uint64_t bytes = 0;
    for (const std::string& each : launch->arguments) bytes += sizeof each + each.size();
    return bytes;
  }
};

inline wire::ReplyBody failure(const Error& error,
                               std::optional<std::uint64_t> retry_after_ms = std::nullopt) {
  return wire::Failure{error.code(), std::string(error.message()), retry_after_ms};
}

// To a part of a file that nobody reads any more.
inline wire::ReplyBody has_ended() {
  return failure(Error(ErrorCode::NotFound, "the program has ended"));
}

}  // namespace quire::server
