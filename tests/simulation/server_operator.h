#pragma once
// ServerOperator: what runs a server from outside. Some worlds have one. It reads the server's
// standard error or does not, sends signals, and probes the health, also of an engine that stands
// for a while.
//
// All of it is drawn from a stream of its own, so that a seed whose world has no operator gives the
// trace that it gave before there were any.
//
// Thread   the world's.
#include <cstdint>
#include <string>
#include <vector>

#include "application/server/end_deadline.h"
#include "application/server/engine_pulse.h"
#include "application/server/gateway.h"
#include "application/server/log_queue.h"
#include "simulation/town.h"

namespace quire::simulation {

class ServerOperator {
 public:
  ServerOperator(Town& town, const server::Link& link, std::uint64_t turn_ns_max,
                 std::uint64_t seed);

  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  // Requires: !is_done().
  void act(server::Gateway& gateway);
  // Takes an event of the server.
  void told(const server::LogEvent& event) {
    if (is_there_) log(event.name);
  }
  // The world is over.
  void check_over(const server::Gateway& gateway);

 private:
  void log(const std::string& text);
  void read_some();
  void write_some();
  void send_signal(server::Gateway& gateway);
  void probe();
  void hold_engine();
  void check_lines();

  Town& town_;
  const server::Link& link_;
  const std::uint64_t turn_ns_max_;
  Dice dice_;
  bool is_there_ = false;  // Else it does nothing at all.
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;

  // Standard error: a pipe, whose reader may stand still, or a file on a disk that may be full.
  const std::size_t queue_bytes_max_;
  const std::size_t pipe_bytes_max_;
  server::LogQueue queue_;
  bool is_reading_ = true;
  bool is_full_ = false;           // The disk.
  std::string pipe_;               // Written and not read.
  std::string read_;               // All that was read.
  std::vector<bool> was_taken_;    // Of each line, in their order, whether the queue took it.
  std::uint64_t taken_bytes_ = 0;  // Of lines.
  std::uint64_t written_bytes_ = 0;

  server::EndDeadline deadline_;
  server::EnginePulse pulse_;
};

}  // namespace quire::simulation
