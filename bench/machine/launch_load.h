#pragma once
// LaunchLoad launches programs on a server from many connections at once, and times when each is
// acknowledged: by the server's reply, and by the program's first message.
//
// Owns     the connections.
// Thread   one, which is not the server's.
// Errors   what the server refuses; Unavailable for a program that ends before it says a word;
//          Timeout.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "client/server_client.h"

namespace quire {

// The times of every launch, in ms from its request or from the begin of its upload.
struct LaunchTimes {
  std::vector<double> replied_ms;
  std::vector<double> acknowledged_ms;
};

class LaunchLoad {
 public:
  static Result<std::unique_ptr<LaunchLoad>> connect(const wire::Endpoint& endpoint,
                                                     std::size_t connection_count, std::string wasm,
                                                     std::vector<std::string> arguments);

  // `count` launches at once, of the program, which the server has.
  Result<void> warm(std::size_t count, LaunchTimes& times);
  // `count` launches at once, of a program that the server has never seen. The first connection
  // uploads it, and all launch it as soon as its last part is sent. Times count from the first byte
  // of the upload.
  Result<void> cold(std::size_t count, LaunchTimes& times);
  // Each connection uploads and launches a program of its own.
  Result<void> cold_different(std::size_t count, LaunchTimes& times);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Launch {
    wire::ProgramName program{};
    Time begun{};
    std::uint64_t request = 0;
    std::uint32_t request_count = 0;
    std::uint64_t instance = 0;
    bool is_acknowledged = false;
    bool has_ended = false;
  };

  LaunchLoad(std::unique_ptr<client::ServerClients> clients, std::string wasm,
             std::vector<std::string> arguments)
      : clients_(std::move(clients)), wasm_(std::move(wasm)), arguments_(std::move(arguments)) {}

  std::string never_seen();
  std::uint64_t upload(std::size_t client, const std::string& wasm, std::size_t begin,
                       std::size_t end);
  Result<client::ServerClients::Received> next();
  Result<void> wait_for_program(std::size_t client);
  void launch(std::size_t client);
  Result<void> wait_until_acknowledged(LaunchTimes& times);
  Result<bool> take(client::ServerClients::Received received, LaunchTimes& times);
  Result<void> end_all();

  const std::unique_ptr<client::ServerClients> clients_;
  const std::string wasm_;
  const std::vector<std::string> arguments_;
  SystemRandom random_;
  std::vector<Launch> launches_;  // Of the round, by client.
};

}  // namespace quire
