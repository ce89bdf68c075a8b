#pragma once
// RemoteService is a Service on a server, over one connection.
//
// Owns     the connection, the requests without a reply, and who listens to which instance.
// Thread   the caller's, one.
// Errors   those of ServerClient end the service: turn() returns them.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "client/server_client.h"
#include "service/service.h"

namespace quire::client {

class RemoteService final : public service::Service {
 public:
  // The service calls `on_shutdown` when the server begins to shut down, with the milliseconds after
  // which the server stops the instances that still run.
  RemoteService(std::unique_ptr<ServerClient> client,
                std::function<void(std::uint64_t)> on_shutdown);

  void find_program(const service::ProgramName& program,
                    service::Then<service::ProgramState> then) override;
  void upload(const Digest& program, std::string wasm, service::Then<service::Done> then) override;
  void launch(service::Launch launch, service::Listener& listener,
              service::Then<InstanceId> then) override;
  void send(InstanceId instance, std::string message, service::Then<service::Done> then) override;
  void send_file(InstanceId instance, service::FilePart part,
                 service::Then<service::Done> then) override;
  void close_input(InstanceId instance, service::Then<service::Done> then) override;
  void kill(InstanceId instance, service::Then<service::Done> then) override;
  // While a listener refuses what an instance says nothing more is read, so that the server waits.
  Result<bool> turn(std::chrono::nanoseconds time_max) override;

 private:
  struct Upload;
  using Answered = std::function<void(wire::ReplyBody)>;

  void ask(wire::RequestBody body, Answered answered);
  void ask_for_done(wire::RequestBody body, service::Then<service::Done> then);
  void upload_next(std::shared_ptr<Upload> upload);
  Result<bool> take(wire::ServerFrame frame);
  Result<void> take_reply(wire::Reply reply);
  bool tell(std::uint64_t instance, const service::Said& said);

  const std::unique_ptr<ServerClient> client_;
  const std::function<void(std::uint64_t)> on_shutdown_;
  std::unordered_map<std::uint64_t, Answered> asked_;  // By the request's id.
  std::unordered_map<InstanceId, service::Listener*> listeners_;
  std::optional<wire::ServerFrame> refused_;  // By its listener; it is offered again.
};

// TooLarge for a launch that is larger than a frame may be: a server would close the connection,
// which ends the programs that run already.
Result<void> check_launch(const service::Launch& launch);

}  // namespace quire::client
