#pragma once
// Counts and times of HTTP requests to endpoints since the server began. The EndpointDesk counts, and
// the server's metrics show it.
//
// Thread   engine thread only.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "application/server/endpoint_table.h"
#include "base/histogram.h"

namespace quire::server {

enum class RequestOutcome : std::uint8_t {
  Ok,           // The program responded with a status below 400,
  ClientError,  // with one from 400 to 499,
  ServerError,  // or with a higher one; or it ended without a response.
  Broken,       // The program ended in the middle of its response.
  Abandoned,    // The client left before the response was whole.
  Refused,      // No program could be launched.
};
inline constexpr const char* kRequestOutcomeNames[] = {"ok",     "client_error", "server_error",
                                                       "broken", "abandoned",    "refused"};
inline constexpr std::size_t kRequestOutcomeCount = std::size(kRequestOutcomeNames);
static_assert(static_cast<std::size_t>(RequestOutcome::Refused) + 1 == kRequestOutcomeCount);

inline RequestOutcome outcome_of_status(std::uint32_t status) {
  if (status < 400) return RequestOutcome::Ok;
  return status < 500 ? RequestOutcome::ClientError : RequestOutcome::ServerError;
}

struct EndpointFigures {
  using Counts = std::array<std::uint64_t, kRequestOutcomeCount>;
  std::map<const EndpointRule*, Counts> counts;  // Rules of the router, which outlives the desk.
  Histogram first_byte_ns;  // From the request's head to the first byte of the response's body.
  Histogram request_ns;     // From the request's head to the end of the response.
};

}  // namespace quire::server
