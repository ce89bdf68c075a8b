#include "application/server/parked_requests.h"

#include <utility>

#include "base/check.h"

namespace quire::server {
namespace {

std::string figures(const control::TenantShares& shares, control::TenantId tenant,
                    std::uint64_t more) {
  return std::to_string(more) + " more, beside " + std::to_string(shares.count_of(tenant)) +
         ", are more than the tenant's share";
}

}  // namespace

std::uint64_t ParkedRequest::argument_bytes() const {
  if (!launch) return 0;
  std::uint64_t bytes = 0;
  for (const std::string& each : launch->arguments) bytes += sizeof each + each.size();
  return bytes;
}

Result<void> ParkedRequests::add(ParkedRequest request, bool are_several) {
  counts_.set_several(are_several);
  bytes_.set_several(are_several);
  if (!counts_.may_take(request.tenant, 1)) {
    return Error(ErrorCode::Unavailable,
                 "waiting_request_count_max: requests that wait for programs to be compiled: " +
                     figures(counts_, request.tenant, 1));
  }
  const std::uint64_t bytes = request.argument_bytes();
  if (!bytes_.may_take(request.tenant, bytes)) {
    return Error(ErrorCode::Unavailable,
                 "waiting_request_bytes_max: bytes of arguments of launches that wait for programs "
                 "to be compiled: " +
                     figures(bytes_, request.tenant, bytes));
  }
  counts_.take(request.tenant, 1);
  bytes_.take(request.tenant, bytes);
  requests_.push_back(std::move(request));
  return {};
}

ParkedRequest ParkedRequests::take(Requests::iterator& at) {
  ParkedRequest request = std::move(*at);
  at = requests_.erase(at);
  counts_.give(request.tenant, 1);
  bytes_.give(request.tenant, request.argument_bytes());
  return request;
}

void ParkedRequests::drop_of(ConnectionId connection) {
  for (auto at = requests_.begin(); at != requests_.end();) {
    if (at->connection == connection) {
      take(at);
    } else {
      ++at;
    }
  }
}

void ParkedRequests::verify() const {
  control::TenantShares counts(counts_.count_max());
  control::TenantShares bytes(bytes_.count_max());
  for (const ParkedRequest& each : requests_) {
    counts.take(each.tenant, 1);
    bytes.take(each.tenant, each.argument_bytes());
  }
  QUIRE_CHECK(counts.counts() == counts_.counts() && bytes.counts() == bytes_.counts(), "PR1");
}

}  // namespace quire::server
