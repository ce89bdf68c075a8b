#pragma once
// The limits of a server. A refusal names the limit that would be exceeded.
#include <chrono>
#include <cstdint>
#include <map>

#include "application/access/rate.h"
#include "application/lifecycle/launch.h"
#include "application/server/environments.h"
#include "base/server_limits.h"
#include "wire/frames.h"

namespace quire::server {

// Bytes that the operator gives a tenant of a limit that all share, in place of half of what the others leave.
using TenantBytes = std::map<control::TenantId, std::uint64_t>;

// The limits of sockets, and of what waits between them and the engine.
struct SocketLimits {
  std::uint32_t connection_count_max =
      default_of<ServerLimit::ConnectionCountMax>();  // connection_table.h says what happens at it.
  // Places above that, for clients whose key may operate; for their one head they have reserve_time_max.
  std::uint32_t reserve_count_max = default_of<ServerLimit::ReserveCountMax>();
  std::chrono::milliseconds reserve_time_max{1'000};
  // From the connection, or the first byte of a further request, to the end of the HTTP head; to close.
  std::chrono::milliseconds handshake_time_max{10'000};
  // From a response to the first byte of the next request. Clients keep connections for 5 to 60 s.
  std::chrono::milliseconds keep_alive_time_max{75'000};
  std::chrono::milliseconds idle_time_max{60'000};  // Without a word or a pong; pings at its half.
  // The same while the server does not read the client, and so sees no pongs: the client takes no
  // replies, or the engine is late.
  std::chrono::milliseconds stalled_time_max{600'000};
  std::uint64_t engine_turn_ns_max =
      20'000'000'000;  // Beyond which the engine stands (engine_pulse.h).
  std::uint32_t http_header_bytes_max = 8192;
  // The body of a request to an endpoint, as it was sent and once it is decoded.
  std::uint64_t request_body_bytes_max = 32u << 20;
  std::uint32_t decompression_ratio_max = 100;           // Of such a body (body_decoder.h).
  std::chrono::milliseconds body_part_time_max{30'000};  // For each 64 KiB that a program wants.
  std::chrono::milliseconds response_part_time_max{30'000};  // For a client to take 64 KiB.
  // Requests that were read and not yet looked at by the engine.
  std::uint32_t pending_request_count_max = 256;  // Of a connection.
  std::uint64_t pending_request_bytes_max = 4u << 20;
  std::uint32_t pending_request_count_total_max =
      default_of<ServerLimit::PendingRequestCountTotalMax>();
  std::uint64_t pending_request_bytes_total_max =
      default_of<ServerLimit::PendingRequestBytesTotalMax>();
  // All frames that are not complete.
  std::uint64_t partial_frame_bytes_total_max =
      default_of<ServerLimit::PartialFrameBytesTotalMax>();
  // Frames that the socket has not taken. One more frame, and replies, may come on top.
  std::uint64_t unwritten_bytes_max = 256u << 10;
  std::uint64_t program_bytes_max = 0;  // What the runtime compiles: Server::open() asks it.
  // All uploads of programs and adapters that are not complete.
  std::uint64_t upload_bytes_total_max = default_of<ServerLimit::UploadBytesTotalMax>();
  TenantBytes upload_shares = {};
  TenantBytes partial_frame_shares = {};
  std::chrono::milliseconds upload_idle_time_max{
      60'000};  // Without a part, while another upload wants room.
};

// Default and maximum of these tenants' launches, in place of ServiceLimits::instance.
using TenantInstances = std::map<control::TenantId, lifecycle::InstanceLimits>;

// The limits of instances. The manager limits their number (AdmissionLimits).
struct ServiceLimits {
  // How long an instance outlives its client, unless it is detached.
  std::chrono::milliseconds grace{10'000};
  // How long the last output of a detached instance is kept after its end.
  std::chrono::milliseconds keep{600'000};
  // Requests that wait for a program to be compiled, and the bytes of their arguments.
  std::uint32_t waiting_request_count_max = default_of<ServerLimit::WaitingRequestCountMax>();
  std::uint64_t waiting_request_bytes_max = default_of<ServerLimit::WaitingRequestBytesMax>();
  // Names of programs, the operator's included.
  std::uint32_t program_name_count_max = default_of<ServerLimit::ProgramNameCountMax>();
  // The limits on adapters that wait to be read, and on their bytes.
  std::uint32_t loading_adapter_count_max = default_of<ServerLimit::LoadingAdapterCountMax>();
  std::uint64_t loading_adapter_bytes_max = default_of<ServerLimit::LoadingAdapterBytesMax>();
  lifecycle::InstanceLimits instance = {};  // What a launch gets, and at most.
  TenantInstances tenant_instances = {};
  Environments environments = {};
  access::TenantRateLimits tenant_rates = {};
};

}  // namespace quire::server
