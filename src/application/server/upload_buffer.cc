#include "application/server/upload_buffer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace quire::server {

void UploadBuffer::drop() {
  budget_.used_bytes -= program_bytes_;
  budget_.users.erase(this);
  program_bytes_ = 0;
  bytes_ = {};
  hash_ = Sha256();
}

// The whole size is charged at once, so that uploads that were begun can end.
Result<void> UploadBuffer::begin(const wire::Upload& part, Time now) {
  if (part.program_bytes > budget_.program_bytes_max) {
    return Error(ErrorCode::TooLarge,
                 "program_bytes_max: a program of " + std::to_string(part.program_bytes) +
                     " bytes, the limit is " + std::to_string(budget_.program_bytes_max));
  }
  const auto has_room = [&] {
    return part.program_bytes <= budget_.total_bytes_max - budget_.used_bytes;
  };
  if (!has_room()) {
    const std::set<UploadBuffer*> users = budget_.users;
    for (UploadBuffer* each : users) {
      if (now - each->part_at_ > budget_.idle_time_max) each->drop();
    }
  }
  if (!has_room()) {
    return Error(ErrorCode::QuotaExceeded,
                 "upload_bytes_total_max: " + std::to_string(part.program_bytes) +
                     " bytes wanted, and uploads under way leave less of the " +
                     std::to_string(budget_.total_bytes_max) + " that all have together");
  }
  digest_ = part.program;
  program_bytes_ = part.program_bytes;
  budget_.used_bytes += program_bytes_;
  if (program_bytes_ != 0) budget_.users.insert(this);
  bytes_.reserve(program_bytes_);
  return {};
}

// Of a part that does not continue.
Error UploadBuffer::refusal(const wire::Upload& part) const {
  if (program_bytes_ == 0 && part.offset != 0) {
    return Error(ErrorCode::InvalidArgument,
                 "no upload is under way: it was never begun, or sent no part for " +
                     std::to_string(budget_.idle_time_max.count()) +
                     " ms and gave way to others; begin it anew at offset 0");
  }
  return Error(ErrorCode::InvalidArgument,
               "a part of " + std::to_string(part.bytes.size()) + " bytes at " +
                   std::to_string(part.offset) + " of " + std::to_string(part.program_bytes) +
                   " does not continue the upload, which has " + std::to_string(bytes_.size()) +
                   " of " + std::to_string(program_bytes_));
}

Result<std::optional<std::vector<std::byte>>> UploadBuffer::add(const wire::Upload& part,
                                                                Time now) {
  if (part.offset == 0) {
    drop();
    TRY(begin(part, now));
  }
  part_at_ = now;
  const bool continues = program_bytes_ != 0 && part.program == digest_ &&
                         part.program_bytes == program_bytes_ && part.offset == bytes_.size() &&
                         part.bytes.size() <= program_bytes_ - bytes_.size();
  if (!continues) {
    Error error = refusal(part);
    drop();
    return error;
  }
  const auto bytes = std::as_bytes(std::span(part.bytes));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
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
