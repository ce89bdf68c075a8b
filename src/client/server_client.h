#pragma once
// ServerClient is a client's end of one connection to a server: requests out, replies and events
// in.
//
// Owns     the socket and the keeper, a thread that keeps the connection alive while the caller is
//          busy elsewhere, for as long as it likes. Nothing else happens in the background:
//          receive() runs the connection. It reads no further frame before the last one was taken,
//          so that a slow caller slows the server.
// Thread   the caller's, one. It shares the connection with the keeper under a mutex, which the
//          keeper holds for at most 100 ms.
// Errors   Unavailable when the connection is refused or ends; what the server says where it
//          refuses the connection.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/endpoint.h"
#include "wire/frames.h"

namespace quire::client {

// How the two ends know of each other that they are there.
struct LivenessTimes {
  std::chrono::milliseconds idle_time_max{60'000};  // Of the server, while something is read.
  // Between pongs of the keeper: much less than half of the server's SocketLimits::idle_time_max.
  std::chrono::milliseconds stay_period{10'000};
};

class ServerClient {
 public:
  // With the key that the server wants; empty: none.
  static Result<std::unique_ptr<ServerClient>> connect(const wire::Endpoint& endpoint,
                                                       std::chrono::milliseconds time_max,
                                                       const LivenessTimes& times = {},
                                                       const std::string& key = "");
  ~ServerClient();  // Closes the connection without waiting for the server's farewell.
  ServerClient(const ServerClient&) = delete;
  ServerClient& operator=(const ServerClient&) = delete;

  // Queued; receive() writes it. Returns the request's id.
  std::uint64_t send(wire::RequestBody body);
  std::size_t unsent_count() const;

  // The next frame; none when that time is over without one.
  Result<std::optional<wire::ServerFrame>> receive(std::chrono::nanoseconds time_max);

  // Sends and waits for the reply. For connections without instances: an event that comes instead
  // is an error.
  Result<wire::ReplyBody> ask(wire::RequestBody body, std::chrono::milliseconds time_max);

 private:
  struct Implementation;
  explicit ServerClient(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

// ServerClients is many connections to one server that one thread runs, each with the rules of
// ServerClient but without a keeper: what measures a server.
class ServerClients {
 public:
  struct Received {
    std::size_t client = 0;
    wire::ServerFrame frame;
    std::chrono::steady_clock::time_point at;  // When it was read.
  };

  static Result<std::unique_ptr<ServerClients>> connect(const wire::Endpoint& endpoint,
                                                        std::size_t count,
                                                        std::chrono::milliseconds time_max);
  ~ServerClients();
  ServerClients(const ServerClients&) = delete;
  ServerClients& operator=(const ServerClients&) = delete;

  // Written at once where the socket takes it; returns the request's id on that connection.
  std::uint64_t send(std::size_t client, wire::RequestBody body);
  // The next frame of any; none when that time is over without one.
  Result<std::optional<Received>> receive(std::chrono::nanoseconds time_max);

 private:
  struct Implementation;
  explicit ServerClients(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire::client
