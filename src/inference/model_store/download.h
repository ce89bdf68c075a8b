#pragma once
// download: fetches one file over HTTP or HTTPS, of which nothing is known before.
//
// Thread   any, but not the engine's: it blocks until the transfer ends.
// Errors   TooLarge beyond the limit; `Cancelled` when `progress` says so; NotFound for 404;
//          Unavailable for any other answer of the server; Io for the disk; and those of
//          http_get().
#include <cstdint>
#include <string>

#include "base/result.h"
#include "inference/model_store/progress.h"

namespace quire::inference {

struct DownloadOptions {
  std::uint64_t bytes_max = std::uint64_t{256} << 30;
  Progress progress;
};

// `url` begins with http:// or https://. Writes to `path`, which must not exist; on failure nothing
// is left there.
Result<void> download(const std::string& url, const std::string& path,
                      const DownloadOptions& options);

}  // namespace quire::inference
