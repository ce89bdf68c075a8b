#include "simulation/server_operator.h"

#include <algorithm>
#include <cerrno>
#include <sstream>

namespace quire::simulation {
namespace {

constexpr std::uint64_t kOperatorStream = 0x6f70657261746fu;
constexpr std::uint32_t kWorldsPerOperator = 4;
constexpr std::uint64_t kOperatorPauseNsMax = 200 * kMillisecond;
constexpr const char* kNotice = "dropped ";

std::string notice(std::uint64_t count) {
  return kNotice + std::to_string(count) + "\n";
}

}  // namespace

ServerOperator::ServerOperator(Town& town, const server::Link& link, std::uint64_t turn_ns_max,
                               std::uint64_t seed)
    : town_(town),
      link_(link),
      turn_ns_max_(turn_ns_max),
      dice_(seed ^ kOperatorStream),
      queue_bytes_max_(dice_.between(200, 3'000)),
      pipe_bytes_max_(dice_.between(1, 500)),
      queue_(queue_bytes_max_, notice) {
  is_there_ = dice_.one_in(kWorldsPerOperator);
  if (is_there_) actions_left_ = dice_.between(10, 60);
}

void ServerOperator::act(server::Gateway& gateway) {
  --actions_left_;
  switch (dice_.below(8)) {
    case 0:
      is_reading_ = !is_reading_;
      break;
    case 1:
      is_full_ = !is_full_;
      break;
    case 2:
      probe();
      break;
    case 3:
      // Times of guests run out meanwhile, as where the machine sleeps.
      if (town_.knobs.trouble.clock_jump > 0 && dice_.one_in(4)) hold_engine();
      break;
    case 4:
      if (dice_.one_in(4)) send_signal(gateway);
      break;
    default:
      // These events are of parts of the server that no guest of this world reaches.
      for (std::uint32_t count = dice_.between(1, 12); count > 0; --count) log("event");
      break;
  }
  if (is_reading_) read_some();
  write_some();
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kOperatorPauseNsMax);
}

// ---- The log.

void ServerOperator::log(const std::string& text) {
  const std::string line = std::to_string(was_taken_.size()) + " " + text + "\n";
  was_taken_.push_back(queue_.push(line));
  if (was_taken_.back()) taken_bytes_ += line.size();
  town_.trace.note({"operator"}, "log", was_taken_.back() ? 1 : 0, line);
}

void ServerOperator::read_some() {
  const std::size_t bytes = dice_.below(pipe_.size() + 1);
  read_ += pipe_.substr(0, bytes);
  pipe_.erase(0, bytes);
}

// As LogWriter does, until standard error takes nothing more.
void ServerOperator::write_some() {
  while (!queue_.is_empty()) {
    const std::string_view front = queue_.front();
    const std::size_t room = pipe_bytes_max_ - pipe_.size();
    const std::size_t bytes = std::min(front.size(), room);
    if (bytes == 0) break;  // The writer waits for room.
    // A disk may be full in the middle of a line.
    const std::size_t taken = is_full_ ? dice_.below(bytes) : bytes;
    pipe_ += front.substr(0, taken);
    if (!front.starts_with(kNotice)) written_bytes_ += taken;
    if (queue_.wrote({taken, is_full_ ? ENOSPC : 0}) == server::LogNext::Retry) break;
  }
  // Notices are few bytes, which may have been written in parts and counted.
  if (taken_bytes_ > written_bytes_ + queue_bytes_max_) {
    town_.findings.add("the log holds " + std::to_string(taken_bytes_ - written_bytes_) +
                       " bytes, at most " + std::to_string(queue_bytes_max_));
  }
}

// The reader has each line once and whole, or its count at its place.
void ServerOperator::check_lines() {
  std::size_t at = 0;
  std::istringstream lines(read_);
  for (std::string line; std::getline(lines, line);) {
    const bool is_notice = line.starts_with(kNotice);
    const std::size_t count = is_notice ? std::stoul(line.substr(std::string(kNotice).size())) : 1;
    const bool is_next = at + count <= was_taken_.size() &&
                         std::all_of(was_taken_.begin() + static_cast<std::ptrdiff_t>(at),
                                     was_taken_.begin() + static_cast<std::ptrdiff_t>(at + count),
                                     [&](bool was_taken) { return was_taken != is_notice; }) &&
                         (is_notice || line.starts_with(std::to_string(at) + " "));
    if (!is_next) {
      town_.findings.add("the reader of the log expected line " + std::to_string(at) + " and got " +
                         line);
      return;
    }
    at += count;
  }
  if (at != was_taken_.size()) {
    town_.findings.add("of " + std::to_string(was_taken_.size()) + " lines of the log " +
                       std::to_string(at) + " were read or counted");
  }
}

// ---- Signals and health.

void ServerOperator::send_signal(server::Gateway& gateway) {
  town_.trace.note({"operator"}, "signal", deadline_.signal_count());
  deadline_.signaled(town_.clock.now_ns());
  gateway.request_shutdown();
}

void ServerOperator::probe() {
  const bool is_stalled =
      pulse_.finds_stalled(link_.engine_turn_ns, town_.clock.now_ns(), turn_ns_max_);
  town_.trace.note({"operator"}, "probe", is_stalled ? 1 : 0);
  if (is_stalled) town_.findings.add("health says that an engine stands which turns");
}

// The engine does not turn meanwhile.
void ServerOperator::hold_engine() {
  town_.clock.advance_ns(turn_ns_max_ + 1 + dice_.time_ns(kOperatorPauseNsMax));
  const std::uint64_t now_ns = town_.clock.now_ns();
  const std::uint64_t turn_ns = link_.engine_turn_ns;
  server::EnginePulse pulse;
  const bool first = pulse.finds_stalled(turn_ns, now_ns, turn_ns_max_);
  const bool second = pulse.finds_stalled(turn_ns, now_ns + 1, turn_ns_max_);
  town_.trace.note({"operator"}, "hold", static_cast<std::int64_t>(now_ns - turn_ns));
  if (first || !second) town_.findings.add("two probes do not notice an engine that stands");
}

void ServerOperator::check_over(const server::Gateway& gateway) {
  if (deadline_.signal_count() > 0 && !gateway.is_closed()) {
    town_.findings.add("the server was told to end and has not");
  }
  is_full_ = false;
  while (!queue_.is_empty() || !pipe_.empty()) {
    read_ += pipe_;
    pipe_.clear();
    write_some();
  }
  check_lines();
}

}  // namespace quire::simulation
