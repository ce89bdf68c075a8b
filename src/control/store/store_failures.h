#pragma once
// StoreFailures: what goes wrong with the files of a store is said twice. A program, and with it a
// client, reads what failed and why, without the places of the server's files. The operator reads
// all of it.
//
// Thread   the one that does the jobs of the disk.
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "control/store/disk_jobs.h"

namespace quire::store {

class StoreFailures {
 public:
  // Called on the disk's thread, at most once in kTellIntervalNs; must not block.
  using Tell = std::function<void(const std::string& text)>;
  static constexpr std::uint64_t kTellIntervalNs = 1'000'000'000;

  // `folder` as the store was opened with; `tell` may be empty.
  StoreFailures(std::string folder, Tell tell, const Clock& clock)
      : folder_(std::move(folder)), tell_(std::move(tell)), clock_(clock) {}

  // Reports each failure of the answer to the operator, and removes the paths of files from its
  // texts.
  DiskAnswer for_programs(DiskAnswer answer);

 private:
  Error for_programs(Error error);
  template <typename T>
  void hide_places(Result<T>& result);
  void tell_operator(const Error& error);

  const std::string folder_;
  const Tell tell_;
  const Clock& clock_;
  std::uint64_t told_ns_ = 0;  // When the last line was reported; 0: never.
  std::uint64_t untold_count_ = 0;
};

}  // namespace quire::store
