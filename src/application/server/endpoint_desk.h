#pragma once
// EndpointDesk serves the HTTP requests of endpoints: each becomes a launch of the endpoint's program,
// its body the program's input, and what the program responds the response. AdapterForms answers
// the requests about adapters.
//
// Owns     which connection waits for which instance.
// Thread   engine thread only.
// Errors   of a request become its response; nothing here fails.
//
// Invariants, all checked by verify():
//   ED1  A connection has at most one instance, and that instance has the connection.
//   ED2  Only an instance with a connection is refused or asks for a part of the body.
//   ED3  The open requests that are counted are the instances with a connection.
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "application/server/adapter_forms.h"
#include "application/server/endpoint_figures.h"
#include "application/server/gateway_parts.h"
#include "application/server/log_event.h"
#include "application/server/outlet.h"
#include "application/server/program_names.h"
#include "application/server/server_limits.h"
#include "service/listener.h"

namespace quire::server {

class EndpointDesk final : public service::Listener {
 public:
  // All of it outlives the desk.
  EndpointDesk(const GatewayParts& parts, Outlet& outlet, ProgramNames& programs,
               const ServiceLimits& limits, RequestCounts& counts, access::TenantRates& rates,
               AdapterDesk& adapters, std::function<HttpAnswer()> metrics);
  ~EndpointDesk() override;

  // Whether it is for this desk: a request to an endpoint or for metrics, or word of a connection that
  // sent one.
  bool takes(const Inbound& inbound) const;
  void handle(Inbound& inbound);
  // Does what is due without a request. True if anything was done.
  bool turn();
  bool heard(lifecycle::InstanceId instance, const service::Said& said) override;

  // At a shutdown, in this order.
  void refuse_launches() { takes_launches_ = false; }
  void stop_all(const char* reason);
  void discard_all();

  const EndpointFigures& figures() const { return figures_; }

  struct Counts {
    std::size_t connections = 0, instances = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;
  void verify() const;

 private:
  struct Caller;
  struct Exchange;

  Caller& caller_of(const ConnectionHandle& connection);
  void request(Caller& caller, HttpRequest& request, std::uint64_t bytes);
  void adapter_form(Caller& caller, HttpRequest& request, std::uint64_t bytes);
  Result<lifecycle::InstanceId> launch(HttpRequest& request);
  void body_part(Caller& caller, HttpBodyPart& part, std::uint64_t bytes);
  void gone(const ConnectionHandle& connection);
  // The response is over: the connection may bring the next request.
  void part(Exchange& exchange, RequestOutcome outcome);

  void count(const EndpointRule& rule, RequestOutcome outcome);
  static LogFields request_fields(const Exchange& exchange, const service::End& end,
                                  const control::InstanceStatistics& used);
  bool may_push(Exchange& exchange);
  bool offer_again();
  bool ask_for_parts();

  void hear(Exchange& exchange, const service::ResponsePart& said);
  void hear(Exchange& exchange, const service::LogLine& said);
  void hear(Exchange& exchange, const service::Ended& said);
  void tell_line(const Exchange& exchange, Severity severity, std::string_view line);
  // Errors that were held back, but for those that are the reason of the end.
  void tell_held(Exchange& exchange, std::string_view reason = {});
  // A program that a request launched has neither messages nor files.
  void hear(Exchange&, const service::Message&) {}
  void hear(Exchange&, const service::SentPart&) {}
  void hear(Exchange&, const service::DroppedFile&) {}

  const GatewayParts parts_;
  Outlet& outlet_;
  ProgramNames& programs_;
  const ServiceLimits limits_;
  RequestCounts& counts_;
  access::TenantRates& rates_;
  AdapterForms forms_;
  const std::function<HttpAnswer()> metrics_;
  EndpointFigures figures_;
  std::unordered_map<ConnectionId, std::unique_ptr<Caller>> callers_;
  std::unordered_map<lifecycle::InstanceId, std::unique_ptr<Exchange>> exchanges_;
  std::set<ConnectionId>
      reading_;  // Whose bodies are not whole, and of which no part is asked for.
  std::set<lifecycle::InstanceId> holding_;  // Errors of their logs.
  RefusedPeers refusing_;
  bool takes_launches_ = true;
};

}  // namespace quire::server
