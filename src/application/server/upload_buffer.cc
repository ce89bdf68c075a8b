#include "application/server/upload_buffer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace quire::server {

void UploadBuffer::drop() {
  give_all();
  program_bytes_ = 0;
  bytes_ = {};
  hash_ = Sha256();
}

void UploadBuffer::give_way() {
  drop();
  gave_way_ = true;
}

Result<void> UploadBuffer::begin(const wire::Upload& part) {
  drop();
  gave_way_ = false;
  if (part.program_bytes > limit_.bytes_max) {
    return Error(ErrorCode::TooLarge, std::string(limit_.name) + ": " + limit_.of + " of " +
                                          std::to_string(part.program_bytes) +
                                          " bytes, the limit is " +
                                          std::to_string(limit_.bytes_max));
  }
  digest_ = part.program;
  program_bytes_ = part.program_bytes;
  return {};
}

// Grows with what has come, so that what was only announced takes no memory.
Result<void> UploadBuffer::append(std::span<const std::byte> bytes, Time now) {
  if (!take(bytes.size(), now)) {
    return Error(ErrorCode::QuotaExceeded,
                 "upload_bytes_total_max: " + std::to_string(bytes.size()) +
                     " bytes more, beside " + std::to_string(tenant_bytes()) +
                     " of uploads under way, are more than the tenant's share");
  }
  const std::size_t wanted = bytes_.size() + bytes.size();
  if (wanted > bytes_.capacity()) {
    bytes_.reserve(std::min<std::size_t>(program_bytes_, std::max(wanted, 2 * bytes_.capacity())));
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return {};
}

// The refusal of a part that does not continue the upload.
Error UploadBuffer::refusal(const wire::Upload& part) const {
  if (gave_way_ && part.offset != 0) {
    return Error(
        ErrorCode::InvalidArgument,
        "upload_bytes_total_max: the upload gave way to another one: the tenant had more than "
        "its share, or no part came for a while. Begin it anew at offset 0");
  }
  if (program_bytes_ == 0 && part.offset != 0) {
    return Error(ErrorCode::InvalidArgument,
                 "no upload is under way: it was never begun; begin it at offset 0");
  }
  return Error(ErrorCode::InvalidArgument,
               "a part of " + std::to_string(part.bytes.size()) + " bytes at " +
                   std::to_string(part.offset) + " of " + std::to_string(part.program_bytes) +
                   " does not continue the upload, which has " + std::to_string(bytes_.size()) +
                   " of " + std::to_string(program_bytes_));
}

Result<std::optional<std::vector<std::byte>>> UploadBuffer::add(const wire::Upload& part,
                                                                Time now) {
  if (part.offset == 0) TRY(begin(part));
  const bool continues = program_bytes_ != 0 && part.program == digest_ &&
                         part.program_bytes == program_bytes_ && part.offset == bytes_.size() &&
                         part.bytes.size() <= program_bytes_ - bytes_.size();
  if (!continues) {
    Error error = refusal(part);
    drop();
    return error;
  }
  const auto bytes = std::as_bytes(std::span(part.bytes));
  Result<void> appended = append(bytes, now);
  if (!appended.ok()) {
    drop();
    return std::move(appended).take_error();
  }
  hash_.add(bytes);
  if (bytes_.size() < program_bytes_) return std::optional<std::vector<std::byte>>();
  const Digest digest = hash_.finish();
  std::vector<std::byte> program = std::move(bytes_);
  const Digest wanted = digest_;
  drop();
  if (digest != wanted) {
    return Error(ErrorCode::InvalidArgument,
                 "the bytes have the digest sha256:" + hex(digest) + ", not sha256:" + hex(wanted));
  }
  return std::optional(std::move(program));
}

}  // namespace quire::server
