#include "application/server/outlet.h"

#include <utility>

#include "base/check.h"

namespace quire::server {
namespace {

constexpr std::uint64_t kUsageBytes = 1024;  // For each tenant and instance in a status, about.

struct Charge {
  std::uint64_t operator()(const wire::Reply& reply) const {
    if (const auto* list = std::get_if<wire::InstanceList>(&reply.body)) {
      return list->instances.size() * kFrameOverheadBytes;
    }
    const auto* status = std::get_if<wire::StatusReply>(&reply.body);
    if (status == nullptr || !status->detail) return 0;
    return (status->detail->tenants.size() + status->detail->instances.size()) * kUsageBytes;
  }
  std::uint64_t operator()(const wire::MessageEvent& event) const { return event.bytes.size(); }
  std::uint64_t operator()(const wire::LogEvent& event) const { return event.line.size(); }
  std::uint64_t operator()(const wire::FileEvent& event) const { return event.part.bytes.size(); }
  std::uint64_t operator()(const wire::EndedEvent& event) const {
    return event.end.message.size() + event.end.result.size();
  }
  std::uint64_t operator()(const wire::FileDroppedEvent&) const { return 0; }
  std::uint64_t operator()(const wire::DetachedEvent& event) const { return event.message.size(); }
  std::uint64_t operator()(const wire::ShutdownEvent&) const { return 0; }
  std::uint64_t operator()(const wire::ErrorEvent&) const { return 0; }
};

}  // namespace

void Outlet::push(Peer& peer, wire::ServerFrame frame, std::optional<std::uint64_t> request_bytes) {
  const std::uint64_t charge = kFrameOverheadBytes + std::visit(Charge{}, frame);
  peer.pushed_bytes += charge;
  push_control({peer.connection, std::move(frame), charge, request_bytes});
}

void Outlet::push(Peer& peer, HttpFrame frame, std::optional<std::uint64_t> request_bytes) {
  std::uint64_t charge = kFrameOverheadBytes;
  if (std::holds_alternative<HttpAsk>(frame)) charge = 0;
  if (const auto* part = std::get_if<HttpResponsePart>(&frame)) charge += part->bytes.size();
  if (const auto* head = std::get_if<HttpResponseHead>(&frame)) charge += head->lines.size();
  if (const auto* answer = std::get_if<HttpAnswer>(&frame)) charge += answer->body.size();
  peer.pushed_bytes += charge;
  push_control({peer.connection, std::move(frame), charge, request_bytes});
}

void Outlet::push_control(Outbound outbound) {
  QUIRE_CHECK(link_.frames.try_push(std::move(outbound)), "link.h: who pushes has a slot");
  has_pushed_ = true;
}

void Outlet::hand_out() {
  if (std::exchange(has_pushed_, false)) link_.wake_io();
}

}  // namespace quire::server
