#pragma once
// Service is what a client of programs may ask, whether the engine is in this process or on a server:
// find a program or bring it, launch it, send to it, and stop it. What instances say goes to the
// Listener of their launch.
//
// Thread   the caller's, one.
// Errors   Each call answers once through `then`, from inside the call or from a later turn().
#include <chrono>
#include <cstdint>
#include <string>

#include "base/instance_id.h"
#include "base/result.h"
#include "base/sha256.h"
#include "service/launch.h"
#include "service/listener.h"
#include "service/program.h"
#include "service/reply.h"
#include "service/said.h"

namespace quire::service {

class Service {
 public:
  virtual ~Service() = default;

  virtual void find_program(const ProgramName& program, Then<ProgramState> then) = 0;
  // The bytes of a module, whose digest that is; answers once it can be launched.
  virtual void upload(const Digest& program, std::string wasm, Then<Done> then) = 0;

  // The listener outlives the instance.
  virtual void launch(Launch launch, Listener& listener, Then<InstanceId> then) = 0;
  // The instance was launched by this service, and its Ended was not heard yet. QuotaExceeded: its
  // inbox is full until the program receives.
  virtual void send(InstanceId instance, std::string message, Then<Done> then) = 0;
  // The next part of the file that goes to it; answers once there is room for another part.
  virtual void send_file(InstanceId instance, FilePart part, Then<Done> then) = 0;
  virtual void close_input(InstanceId instance, Then<Done> then) = 0;
  virtual void kill(InstanceId instance, Then<Done> then) = 0;

  // Hands out replies and what instances say. Without any it waits, at most so long. True if
  // anything was done. An error says that the service is lost.
  virtual Result<bool> turn(std::chrono::nanoseconds time_max) = 0;
};

}  // namespace quire::service
