#include "inference/model_store/download.h"

#include <unistd.h>

#include <charconv>

#include "inference/model_store/http_exchange.h"
#include "inference/model_store/stored_files.h"

namespace quire::inference {
namespace {

// Writes the body to a file.
class FileReceiver final : public HttpReceiver {
 public:
  FileReceiver(int descriptor, const std::string& path, const DownloadOptions& options)
      : descriptor_(descriptor), path_(path), options_(options) {}

  Result<bool> begin(const std::vector<HttpHead>& heads) override {
    const HttpHead& head = heads.back();
    if (head.status != 200) {
      return Error(head.status == 404 ? ErrorCode::NotFound : ErrorCode::Unavailable,
                   "the server answered " + std::to_string(head.status));
    }
    const std::string length = head.field("content-length");
    std::from_chars(length.data(), length.data() + length.size(), bytes_expected_);
    if (bytes_expected_ > options_.bytes_max) return too_large();
    return true;
  }

  Result<void> receive(std::span<const std::byte> bytes) override {
    if (bytes.size() > options_.bytes_max - bytes_) return too_large();
    TRY(write_all(descriptor_, bytes, path_));
    bytes_ += bytes.size();
    if (!go_on()) return Error(ErrorCode::Cancelled, "stopped");
    return {};
  }

  bool go_on() const { return !options_.progress || options_.progress(bytes_, bytes_expected_); }

 private:
  Error too_large() const {
    return Error(ErrorCode::TooLarge, "more than " + std::to_string(options_.bytes_max) + " bytes");
  }

  const int descriptor_;
  const std::string& path_;
  const DownloadOptions& options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_expected_ = 0;
};

}  // namespace

Result<void> download(const std::string& url, const std::string& path,
                      const DownloadOptions& options) {
  bool is_ours = false;
  Result<void> stored = store_file(path, [&](int descriptor) {
    is_ours = true;
    FileReceiver receiver(descriptor, path, options);
    HttpRequest request{.url = url};
    request.go_on = [&receiver] { return receiver.go_on(); };
    return http_get(request, receiver);
  });
  if (stored.ok()) return {};
  if (is_ours) ::unlink(path.c_str());
  return std::move(stored).take_error().while_("cannot download " + url);
}

}  // namespace quire::inference
