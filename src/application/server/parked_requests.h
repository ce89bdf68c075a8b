#pragma once
// ParkedRequests are requests of clients that wait for a program to be compiled: the upload itself,
// and launches after it. Their number and the bytes of their arguments are limited, and each tenant
// has its share (control/api/tenant_shares.h).
//
// Thread   engine thread only.
// Errors   Unavailable names the limit and what the tenant has of its share.
//
// Invariant, checked by verify():
//   PR1  The counts of the shares are those of the list.
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "application/lifecycle/program_store.h"
#include "application/server/link.h"
#include "application/server/server_limits.h"
#include "base/result.h"
#include "control/api/tenant_shares.h"
#include "wire/frames.h"

namespace quire::server {

struct ParkedRequest {
  ConnectionId connection{};
  control::TenantId tenant{};
  std::uint64_t id = 0;
  lifecycle::ProgramId program{};
  Digest digest{};
  std::optional<wire::Launch> launch;  // None: the program's own upload.

  std::uint64_t argument_bytes() const;
};

class ParkedRequests {
 public:
  using Requests = std::list<ParkedRequest>;  // In the order in which they came.

  explicit ParkedRequests(const ServiceLimits& limits)
      : counts_(limits.waiting_request_count_max), bytes_(limits.waiting_request_bytes_max) {}

  // `are_several`: the server knows more than one tenant; else the one may have all.
  Result<void> add(ParkedRequest request, bool are_several);
  // Takes one out; `at` becomes the next one.
  ParkedRequest take(Requests::iterator& at);
  void drop_of(ConnectionId connection);

  Requests::iterator begin() { return requests_.begin(); }
  Requests::iterator end() { return requests_.end(); }
  std::size_t size() const { return requests_.size(); }
  void verify() const;

 private:
  Requests requests_;
  control::TenantShares counts_;
  control::TenantShares bytes_;
};

}  // namespace quire::server
