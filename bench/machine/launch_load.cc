#include "bench/machine/launch_load.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/sha256.h"
#include "main/verbs/shared/remote_times.h"

namespace quire {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
// The last bytes of a program. All connections launch it as soon as these are sent.
constexpr std::size_t kLastPartBytes = 16;
constexpr std::size_t kNonceBytes = 16;
constexpr std::uint32_t kRequestCountMax = 1000;  // Of one launch.

Digest digest_of(const std::string& wasm) {
  return sha256(std::as_bytes(std::span(wasm)));
}

double ms_between(SteadyTime::time_point from, SteadyTime::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

Result<std::unique_ptr<LaunchLoad>> LaunchLoad::connect(const wire::Endpoint& endpoint,
                                                        std::size_t connection_count,
                                                        std::string wasm,
                                                        std::vector<std::string> arguments) {
  std::unique_ptr<client::ServerClients> clients =
      TRY(client::ServerClients::connect(endpoint, connection_count, kConnectTimeMax));
  return std::unique_ptr<LaunchLoad>(
      new LaunchLoad(std::move(clients), std::move(wasm), std::move(arguments)));
}

// The same code with a custom section that makes it another program.
std::string LaunchLoad::never_seen() {
  std::string nonce(kNonceBytes, '\0');
  random_.fill(std::as_writable_bytes(std::span(nonce)));
  const std::string name = "nonce";
  std::string section;
  section += static_cast<char>(name.size());
  section += name + nonce;
  return wasm_ + '\0' + static_cast<char>(section.size()) + section;
}

std::uint64_t LaunchLoad::upload(std::size_t client, const std::string& wasm, std::size_t begin,
                                 std::size_t end) {
  const Digest digest = digest_of(wasm);
  std::uint64_t request = 0;
  for (std::size_t at = begin; at < end; at += wire::kPayloadBytesMax) {
    const std::size_t bytes = std::min<std::size_t>(wire::kPayloadBytesMax, end - at);
    request = clients_->send(client, wire::Upload{digest, wasm.size(), at, wasm.substr(at, bytes)});
  }
  return request;
}

Result<client::ServerClients::Received> LaunchLoad::next() {
  std::optional<client::ServerClients::Received> received = TRY(clients_->receive(kPatience));
  if (received) return *std::move(received);
  return Error(ErrorCode::Timeout,
               "the server said nothing for " + std::to_string(kPatience.count()) + " s");
}

// The replies to all parts that were sent.
Result<void> LaunchLoad::wait_for_program(std::size_t client) {
  while (true) {
    const client::ServerClients::Received received = TRY(next());
    const auto* reply = std::get_if<wire::Reply>(&received.frame);
    if (reply == nullptr || received.client != client) continue;
    if (const auto* failure = std::get_if<wire::Failure>(&reply->body)) {
      return Error(failure->code, failure->message);
    }
    const auto* program = std::get_if<wire::ProgramReply>(&reply->body);
    if (program != nullptr && program->state == wire::ProgramState::Ready) return {};
    const bool is_last =
        program != nullptr && program->received_bytes + kLastPartBytes >= wasm_.size();
    if (is_last) return {};
  }
}

void LaunchLoad::launch(std::size_t client) {
  Launch& launch = launches_[client];
  launch.request_count += 1;
  launch.request = clients_->send(client, wire::Launch{launch.program, arguments_, {}, false});
}

// Whether one more is acknowledged.
Result<bool> LaunchLoad::take(client::ServerClients::Received received, LaunchTimes& times) {
  if (received.client >= launches_.size()) return false;
  Launch& launch = launches_[received.client];
  if (const auto* reply = std::get_if<wire::Reply>(&received.frame)) {
    if (reply->id != launch.request) return false;  // To an upload or an abort.
    if (const auto* instance = std::get_if<wire::InstanceReply>(&reply->body)) {
      launch.instance = instance->instance;
      times.replied_ms.push_back(ms_between(launch.begun, received.at));
      return false;
    }
    const auto* failure = std::get_if<wire::Failure>(&reply->body);
    if (failure == nullptr) return Error(ErrorCode::Internal, "a launch got another's reply");
    // The launch overtook the last part of the upload, which came on another connection.
    if (failure->code != ErrorCode::NotFound || launch.request_count >= kRequestCountMax) {
      return Error(failure->code, failure->message);
    }
    this->launch(received.client);
    return false;
  }
  if (std::holds_alternative<wire::MessageEvent>(received.frame)) {
    if (std::exchange(launch.is_acknowledged, true)) return false;
    times.acknowledged_ms.push_back(ms_between(launch.begun, received.at));
    return true;
  }
  if (const auto* ended = std::get_if<wire::EndedEvent>(&received.frame)) {
    launch.has_ended = true;
    if (launch.is_acknowledged) return false;
    return Error(ErrorCode::Unavailable,
                 "the program ended before it sent a message: " + ended->end.message);
  }
  return false;
}

Result<void> LaunchLoad::wait_until_acknowledged(LaunchTimes& times) {
  std::size_t count = 0;
  while (count < launches_.size()) {
    client::ServerClients::Received received = TRY(next());
    const bool is_one = TRY(take(std::move(received), times));
    count += is_one ? 1 : 0;
  }
  return {};
}

// So that the next round finds an idle server.
Result<void> LaunchLoad::end_all() {
  LaunchTimes ignored;
  for (std::size_t client = 0; client < launches_.size(); ++client) {
    if (!launches_[client].has_ended) {
      clients_->send(client, wire::Abort{launches_[client].instance});
    }
  }
  while (!std::all_of(launches_.begin(), launches_.end(),
                      [](const Launch& each) { return each.has_ended; })) {
    client::ServerClients::Received received = TRY(next());
    TRY(take(std::move(received), ignored));
  }
  launches_.clear();
  return {};
}

Result<void> LaunchLoad::warm(std::size_t count, LaunchTimes& times) {
  launches_.assign(count, {.program = {digest_of(wasm_), {}}});
  for (std::size_t client = 0; client < count; ++client) {
    launches_[client].begun = SteadyTime::now();
    launch(client);
  }
  TRY(wait_until_acknowledged(times));
  return end_all();
}

Result<void> LaunchLoad::cold(std::size_t count, LaunchTimes& times) {
  const std::string wasm = never_seen();
  launches_.assign(count, {.program = {digest_of(wasm), {}}, .begun = SteadyTime::now()});
  upload(0, wasm, 0, wasm.size() - kLastPartBytes);
  TRY(wait_for_program(0));
  upload(0, wasm, wasm.size() - kLastPartBytes, wasm.size());
  for (std::size_t client = 0; client < count; ++client) launch(client);
  TRY(wait_until_acknowledged(times));
  return end_all();
}

Result<void> LaunchLoad::cold_different(std::size_t count, LaunchTimes& times) {
  launches_.assign(count, {});
  for (std::size_t client = 0; client < count; ++client) {
    const std::string wasm = never_seen();
    launches_[client].program = {digest_of(wasm), {}};
    launches_[client].begun = SteadyTime::now();
    upload(client, wasm, 0, wasm.size());
    launch(client);
  }
  TRY(wait_until_acknowledged(times));
  return end_all();
}

}  // namespace quire
