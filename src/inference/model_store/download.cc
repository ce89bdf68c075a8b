#include "inference/model_store/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace quire::inference {
namespace {

constexpr long kRedirectCountMax = 10;
constexpr long kStalledBytesPerSecond = 1024;

struct CurlCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Curl = std::unique_ptr<CURL, CurlCleanup>;

struct Transfer {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
  int write_errno = 0;
  bool too_large = false;
  const Progress* progress = nullptr;
};

// libcurl takes anything but the byte count for a failure.
std::size_t write_some(char* data, std::size_t, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (count > transfer.bytes_max - transfer.bytes) {
    transfer.too_large = true;
    return 0;
  }
  for (std::size_t done = 0; done < count;) {
    const ssize_t written = ::write(transfer.descriptor, data + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      transfer.write_errno = errno;
      return 0;
    }
    done += static_cast<std::size_t>(written);
  }
  transfer.bytes += count;
  return count;
}

int report_progress(void* context, curl_off_t expected, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(context);
  const bool go_on =
      !*transfer.progress ||
      (*transfer.progress)(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(expected));
  return go_on ? 0 : 1;
}

void configure(CURL* curl, const std::string& url, const DownloadOptions& options,
               Transfer& transfer, char* message) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirectCountMax);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "quire/" QUIRE_VERSION);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_seconds_max));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kStalledBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stalled_seconds_max));
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options.bytes_max));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &write_some);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &report_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
}

Error failure(CURL* curl, CURLcode code, const std::string& url, const Transfer& transfer,
              const char* message) {
  const std::string text = "cannot download " + url + ": ";
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED) {
    return Error(ErrorCode::TooLarge,
                 text + "more than " + std::to_string(transfer.bytes_max) + " bytes");
  }
  if (transfer.write_errno != 0) {
    return Error(ErrorCode::Io, text + std::strerror(transfer.write_errno));
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error(ErrorCode::Cancelled, text + "stopped");
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_HTTP_RETURNED_ERROR) {
    return Error(status == 404 ? ErrorCode::NotFound : ErrorCode::Unavailable,
                 text + "the server answered " + std::to_string(status));
  }
  const char* reason = *message != '\0' ? message : curl_easy_strerror(code);
  return Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::Timeout : ErrorCode::Unavailable,
               text + reason);
}

}  // namespace

Result<void> download(const std::string& url, const std::string& path,
                      const DownloadOptions& options) {
  Curl curl(curl_easy_init());
  if (curl == nullptr) return Error(ErrorCode::Unavailable, "libcurl cannot be set up");
  Transfer transfer;
  transfer.bytes_max = options.bytes_max;
  transfer.progress = &options.progress;
  transfer.descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (transfer.descriptor < 0) {
    return Error(ErrorCode::Io, "cannot create " + path + ": " + std::strerror(errno));
  }
  char message[CURL_ERROR_SIZE] = "";
  configure(curl.get(), url, options, transfer, message);
  const CURLcode code = curl_easy_perform(curl.get());
  const bool stored = ::fsync(transfer.descriptor) == 0;
  const int number = errno;
  ::close(transfer.descriptor);
  if (code == CURLE_OK && stored) return {};
  ::unlink(path.c_str());
  if (code != CURLE_OK) return failure(curl.get(), code, url, transfer, message);
  return Error(ErrorCode::Io, "cannot store " + path + ": " + std::strerror(number));
}

}  // namespace quire::inference
