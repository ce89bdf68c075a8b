#pragma once
// Gateway is the engine's end of the server. In each turn of the loop it hands each request to the desk
// of its kind, and the frames of the desks to the sockets. It shuts the server down on request.
//
// Thread   engine thread, except request_shutdown() and replace_program().
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "application/lifecycle/engine_loop.h"
#include "application/server/adapter_desk.h"
#include "application/server/client_desk.h"
#include "application/server/endpoint_desk.h"
#include "application/server/gateway_parts.h"
#include "application/server/outlet.h"
#include "application/server/program_names.h"
#include "application/server/server_limits.h"

namespace quire::server {

class Gateway final : public lifecycle::FrontDoor {
 public:
  Gateway(const GatewayParts& parts, const SocketLimits& sockets, const ServiceLimits& limits);

  // A loaded program that clients, and programs, may launch by this name, which is the operator's.
  // AlreadyExists.
  Result<void> name_program(const std::string& name, lifecycle::ProgramId program,
                            const Digest& digest);

  // The same for the program of an endpoint: a client may give the name to another program, which then
  // answers the next request.
  Result<void> name_endpoint_program(const std::string& name, lifecycle::ProgramId program,
                                     const Digest& digest);
  // Any thread. The operator's program of that name has another module from one of the next turns
  // on. Instances that run keep the one that they began with. A module that cannot be used changes
  // nothing. The log has a line for either.
  void replace_program(std::string name, std::string wasm);
  bool has_program(const std::string& name) const { return programs_.has_name(name); }

  // Any thread. The gateway takes no more launches, notifies the clients, gives the instances
  // `grace` to end, stops the rest, and then stops the loop. A second call stops the rest at once.
  void request_shutdown();

  bool take_requests() override;
  void hand_out() override { outlet_.hand_out(); }
  std::optional<std::uint64_t> next_timer_ns() const override;

  // For tests.
  bool is_closed() const { return stage_ == Stage::Closed; }
  using Counts = ClientDesk::Counts;
  Counts counts() const { return clients_.counts(); }
  EndpointDesk::Counts endpoint_counts() const { return endpoints_.counts(); }
  void verify() const {
    clients_.verify();
    endpoints_.verify();
  }

 private:
  bool turn_shutdown();
  bool turn_replacements();
  HttpAnswer metrics() const;

  const GatewayParts parts_;
  const ServiceLimits limits_;
  Outlet outlet_;
  ProgramNames programs_;
  RequestCounts requests_;
  access::TenantRates rates_;
  AdapterDesk adapters_;
  ClientDesk clients_;
  EndpointDesk endpoints_;

  enum class Stage : std::uint8_t { Serving, Draining, Stopping, Closed };
  Stage stage_ = Stage::Serving;
  std::uint64_t stage_deadline_ns_ = 0;
  std::atomic<std::uint32_t> shutdown_requests_{0};
  struct Replacement {
    std::string name;
    std::string wasm;
  };
  std::atomic<bool> has_replacements_{false};
  std::mutex replacements_mutex_;
  std::vector<Replacement> replacements_;  // Guarded by the mutex.
};

}  // namespace quire::server
