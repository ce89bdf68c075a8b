#pragma once
// download: one file over HTTP or HTTPS, through libcurl.
//
// Thread   any, but not the engine's: it blocks until the transfer ends.
// Errors   TooLarge beyond the limit; Timeout when the other side stalls; Cancelled when `progress`
//          says so; NotFound for 404; Unavailable for anything else that the network does.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

struct DownloadOptions {
  std::uint64_t bytes_max = std::uint64_t{256} << 30;
  std::uint32_t connect_seconds_max = 30;
  std::uint32_t stalled_seconds_max = 60;  // With less than 1 KiB/s.
  Progress progress;
};

// `url` begins with http:// or https://; redirects stay within those. Writes to `path`, which must
// not exist; on failure nothing is left there.
Result<void> download(const std::string& url, const std::string& path,
                      const DownloadOptions& options);

}  // namespace quire::inference
