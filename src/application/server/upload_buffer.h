#pragma once
// UploadBuffer puts one program together from the parts that a connection sends, in order, and
// hashes them as they come.
//
// Owns     the bytes that have come, charged to a budget that all connections share. Who sends no
//          part for a while gives way to another that finds no room.
// Thread   io thread only.
// Errors   InvalidArgument for a part that does not continue, or bytes of another digest; TooLarge
//          for a program over the limit; QuotaExceeded when the budget is used up.
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "wire/frames.h"

namespace quire::server {

class UploadBuffer;

struct UploadBudget {
  std::uint64_t program_bytes_max = 0;
  std::uint64_t total_bytes_max = 0;
  std::chrono::milliseconds idle_time_max{};
  std::uint64_t used_bytes = 0;        // By programs that are not complete.
  std::set<UploadBuffer*> users = {};  // Those with such a program.
};

class UploadBuffer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit UploadBuffer(UploadBudget& budget) : budget_(budget) {}
  ~UploadBuffer() { drop(); }
  UploadBuffer(const UploadBuffer&) = delete;
  UploadBuffer& operator=(const UploadBuffer&) = delete;

  // The program once its last part is here; a part at offset 0 begins anew. What fails is dropped.
  Result<std::optional<std::vector<std::byte>>> add(const wire::Upload& part, Time now);
  std::uint64_t received_bytes() const { return bytes_.size(); }

 private:
  Result<void> begin(const wire::Upload& part, Time now);
  Error refusal(const wire::Upload& part) const;
  void drop();

  UploadBudget& budget_;
  Digest digest_{};
  std::uint64_t program_bytes_ = 0;  // In all; 0: none is under way.
  Time part_at_{};                   // When the last part came.
  std::vector<std::byte> bytes_;
  Sha256 hash_;
};

}  // namespace quire::server
