#pragma once
// OutputMeter counts what one instance gave out, in all: messages to its client, log lines, and
// parts of files. Output that waits for the client has limits of its own; this one is of all output
// ever.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names output_bytes_max.
#include <cstdint>
#include <string>

#include "application/hostcalls/guest_limits.h"
#include "base/result.h"

namespace quire::hostcalls {

class OutputMeter {
 public:
  explicit OutputMeter(const GuestLimits& limits) : limits_(limits) {}

  Result<void> check(std::uint64_t bytes) const {
    if (bytes <= limits_.output_bytes_max - bytes_) return {};
    return Error(ErrorCode::QuotaExceeded,
                 "output_bytes_max: " + std::to_string(bytes) + " bytes wanted, " +
                     std::to_string(bytes_) + " of " + std::to_string(limits_.output_bytes_max) +
                     " went out in messages, log and files; launch with a higher --output-max");
  }
  // Checked before.
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const GuestLimits& limits_;
  std::uint64_t bytes_ = 0;
};

}  // namespace quire::hostcalls
