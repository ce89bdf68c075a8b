#pragma once
// UploadBuffer puts one program, or one adapter, together from the parts that a connection sends,
// in order, and hashes them as they come.
//
// Owns     the bytes that have come, charged to the tenant's share of what all connections may hold (shared_bytes.h).
//          It may have to give way to another one.
// Thread   io thread only.
// Errors   InvalidArgument for a part that does not continue, or bytes of another digest; TooLarge
//          for one over the limit; QuotaExceeded when the tenant's share is used up.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "application/server/shared_bytes.h"
#include "base/result.h"
#include "base/sha256.h"
#include "wire/frames.h"

namespace quire::server {

class UploadBuffer final : private SharedBytes::Holder {
 public:
  using Time = SharedBytes::Time;
  struct Limit {
    const char* name;
    const char* of;  // "a program".
    std::uint64_t bytes_max;
  };

  UploadBuffer(SharedBytes& all, control::TenantId tenant, const Limit& limit)
      : Holder(all, tenant), limit_(limit) {}

  // The program once its last part is here; a part at offset 0 begins anew. What fails is dropped.
  Result<std::optional<std::vector<std::byte>>> add(const wire::Upload& part, Time now);
  std::uint64_t received_bytes() const { return bytes_.size(); }

 private:
  Result<void> begin(const wire::Upload& part);
  Result<void> append(std::span<const std::byte> bytes, Time now);
  Error refusal(const wire::Upload& part) const;
  void drop();
  void give_way() override;

  const Limit limit_;
  Digest digest_{};
  std::uint64_t program_bytes_ = 0;  // In all; 0: none is under way.
  bool gave_way_ = false;            // Since the last one began.
  std::vector<std::byte> bytes_;
  Sha256 hash_;
};

}  // namespace quire::server
