#pragma once
// RemoteService is a Service on a server, over one connection. It also attaches to instances that
// another client launched.
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

// The notices that a server sends by itself.
struct Notices {
  // The server begins to shut down. After these milliseconds it stops the instances that still run.
  std::function<void(std::uint64_t)> shutdown;
  // Another client has taken the instance, of which nothing more is heard. The text says which.
  std::function<void(InstanceId, const std::string&)> detached;
};

class RemoteService final : public service::Service {
 public:
  RemoteService(std::unique_ptr<ServerClient> client, Notices notices);

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
  // Launches without attaching: no event of the instance comes here.
  void start(service::Launch launch, service::Then<wire::InstanceReply> then);
  // The instance is this client's from here on; the listener outlives it.
  void attach(wire::Attach attach, service::Listener& listener,
              service::Then<wire::InstanceReply> then);
  // The instance goes on without this client, which hears nothing more of it.
  void detach(InstanceId instance, service::Then<service::Done> then);
  // While a listener refuses what an instance says nothing more is read, so that the server waits.
  Result<bool> turn(std::chrono::nanoseconds time_max) override;

 private:
  struct Upload;
  using Answered = std::function<void(wire::ReplyBody)>;

  void ask(wire::RequestBody body, Answered answered);
  void ask_for_done(wire::RequestBody body, service::Then<service::Done> then);
  void upload_next(std::shared_ptr<Upload> upload);
  void ask_for_instance(wire::RequestBody body, const char* verb, service::Listener* listener,
                        service::Then<wire::InstanceReply> then);
  Result<bool> take(wire::ServerFrame frame);
  Result<void> take_reply(wire::Reply reply);
  bool tell(std::uint64_t instance, const service::Said& said);

  const std::unique_ptr<ServerClient> client_;
  const Notices notices_;
  std::unordered_map<std::uint64_t, Answered> asked_;  // By the request's id.
  std::unordered_map<InstanceId, service::Listener*> listeners_;
  std::optional<wire::ServerFrame> refused_;  // By its listener; it is offered again.
};

// TooLarge for a launch that is larger than a frame may be: a server would close the connection,
// which ends the programs that run already.
Result<void> check_launch(const service::Launch& launch);

}  // namespace quire::client
