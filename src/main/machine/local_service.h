#pragma once
// LocalService is a Service in this process: an Application, whose loop its turns drive.
//
// Owns     the parts of files whose instance has no room for another yet.
// Thread   the main thread, which is the engine thread.
#include <chrono>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "main/machine/application.h"
#include "main/machine/machine.h"
#include "service/service.h"

namespace quire {

class LocalService final : public service::Service {
 public:
  // Both outlive the service. Launches get `limits`, and may ask for lower ones.
  LocalService(Application& application, Machine& machine, const lifecycle::InstanceLimits& limits,
               hostcalls::EnvironmentHandle environment = {})
      : application_(application),
        machine_(machine),
        limits_(limits),
        environment_(std::move(environment)) {}

  void find_program(const service::ProgramName& program,
                    service::Then<service::ProgramState> then) override;
  // Compiles before it returns.
  void upload(const Digest& program, std::string wasm, service::Then<service::Done> then) override;
  // By its digest, or by a name that the manager knows.
  void launch(service::Launch launch, service::Listener& listener,
              service::Then<InstanceId> then) override;
  void send(InstanceId instance, std::string message, service::Then<service::Done> then) override;
  void send_file(InstanceId instance, service::FilePart part,
                 service::Then<service::Done> then) override;
  void close_input(InstanceId instance, service::Then<service::Done> then) override;
  void kill(InstanceId instance, service::Then<service::Done> then) override;
  Result<bool> turn(std::chrono::nanoseconds time_max) override;

  // After each turn of the loop that did something.
  void watch(std::function<void()> look) { look_ = std::move(look); }
  // Until what programs launched has ended too.
  void run_until_idle();

 private:
  bool serve_files();

  Application& application_;
  Machine& machine_;
  const lifecycle::InstanceLimits limits_;
  const hostcalls::EnvironmentHandle environment_;
  std::unordered_map<InstanceId, service::Then<service::Done>> files_;
  std::function<void()> look_;
};

}  // namespace quire
