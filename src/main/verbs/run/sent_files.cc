#include "main/verbs/run/sent_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include "base/guest_name.h"

namespace quire {

std::string media_type_of(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 14> kTypes = {{
      {".txt", "text/plain"},
      {".md", "text/markdown"},
      {".csv", "text/csv"},
      {".html", "text/html"},
      {".json", "application/json"},
      {".jsonl", "application/jsonl"},
      {".pdf", "application/pdf"},
      {".wasm", "application/wasm"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".jpeg", "image/jpeg"},
      {".wav", "audio/wav"},
      {".mp4", "video/mp4"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

Result<std::vector<FileToSend>> open_files_to_send(const std::vector<std::string>& paths) {
  std::vector<FileToSend> files;
  for (const std::string& path : paths) {
    std::string name = std::filesystem::path(path).filename().string();
    TRY(check_guest_name(name, path + ": its name"));
    std::string media_type = media_type_of(name);
    files.push_back({TRY(File::open(path)), std::move(name), std::move(media_type)});
  }
  return files;
}

std::uint64_t FileSender::part_bytes() const {
  return std::min(kPartBytes, (*files_)[index_].file.bytes() - offset_);
}

Result<service::FilePart> FileSender::part() const {
  const FileToSend& next = (*files_)[index_];
  std::string bytes(part_bytes(), '\0');
  TRY(next.file.read(offset_, std::as_writable_bytes(std::span(bytes))));
  return service::FilePart{next.name, next.media_type, next.file.bytes(), offset_,
                           std::move(bytes)};
}

void FileSender::taken() {
  offset_ += part_bytes();
  if (offset_ == (*files_)[index_].file.bytes()) skip();
}

void FileSender::skip() {
  offset_ = 0;
  ++index_;
}

}  // namespace quire
