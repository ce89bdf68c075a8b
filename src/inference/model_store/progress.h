#pragma once
// How far a long copy or transfer is, and whether it goes on.
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace quire::inference {

// Called with the bytes that are done; bytes_expected is 0 while unknown. False stops the work.
using Progress = std::function<bool(std::uint64_t bytes_done, std::uint64_t bytes_expected)>;

// The progress of a copy or a check of several files.
struct Watched {
  const Progress& progress;
  std::uint64_t bytes_expected = 0;
  std::uint64_t bytes_done = 0;

  // `Cancelled` once the progress says so.
  Result<void> advance(std::uint64_t bytes) {
    bytes_done += bytes;
    if (!progress || progress(bytes_done, bytes_expected)) return {};
    return Error(ErrorCode::Cancelled, "stopped after " + std::to_string(bytes_done) + " of " +
                                           std::to_string(bytes_expected) + " bytes");
  }
};

}  // namespace quire::inference
