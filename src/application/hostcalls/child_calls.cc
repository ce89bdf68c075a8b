// runtime: what an instance may have, and the instances that it launches.
#include <cstring>
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kSharePercentMax = 100;

// For each argument u32 bytes, then its bytes.
Result<std::vector<std::string>> split_arguments(const std::string& bytes) {
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t length = 0;
    const std::size_t left = bytes.size() - at;
    if (left >= sizeof length) std::memcpy(&length, bytes.data() + at, sizeof length);
    if (left < sizeof length || length > left - sizeof length) {
      return Error(ErrorCode::InvalidArgument, "arguments: argument " +
                                                   std::to_string(arguments.size()) + " at byte " +
                                                   std::to_string(at) + " is longer than the " +
                                                   std::to_string(left) + " bytes that are left");
    }
    if (arguments.size() == kArgumentCountMax) {
      return Error(ErrorCode::TooLarge,
                   "arguments: more than " + std::to_string(kArgumentCountMax));
    }
    arguments.push_back(bytes.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return arguments;
}

}  // namespace

Result<std::int32_t> runtime_limits(HostCall& call, GuestAddress buffer, std::uint32_t capacity) {
  std::vector<LimitUse> all = call.guest.host.launcher.limits(call.guest.identity.instance);
  for (LimitUse& each : all) {  // Only here the memory can be looked at.
    if (each.name == "memory_bytes_max") each.used = call.memory.bytes();
  }
  for (LimitUse& each : own_limits(call.guest)) all.push_back(std::move(each));
  std::string text;
  for (const LimitUse& each : all) {
    text += each.name + " " + std::to_string(each.maximum) + " " +
            (each.used ? std::to_string(*each.used) : "-") + "\n";
  }
  return give_bytes(call, text, buffer, capacity);
}

Result<std::int32_t> runtime_get_tenant(HostCall& call, GuestAddress buffer,
                                        std::uint32_t capacity) {
  const auto tenant = static_cast<std::uint32_t>(call.guest.identity.tenant);
  return give_bytes(call, std::to_string(tenant), buffer, capacity);
}

Result<std::int32_t> runtime_launch(HostCall& call, GuestList<std::uint8_t> program,
                                    GuestList<std::uint8_t> arguments, std::uint32_t share) {
  if (share > kSharePercentMax) {
    return Error(ErrorCode::InvalidArgument,
                 "share: " + std::to_string(share) +
                     " percent is not from 1 to 100, or 0 for a child without a share of its own");
  }
  ChildLaunch launch{.program = {}, .arguments = {}, .share_percent = share, .handle = {}};
  if (program.count > 0) launch.program = TRY(read_name(call, program, "program"));
  const std::uint32_t bytes_max = call.guest.identity.limits.argument_bytes_max;
  if (arguments.count > bytes_max) {
    return Error(ErrorCode::TooLarge, "arguments: " + std::to_string(arguments.count) +
                                          " bytes, argument_bytes_max is " +
                                          std::to_string(bytes_max));
  }
  const std::string bytes = TRY(call.memory.read_bytes(arguments, "arguments"));
  launch.arguments = TRY(split_arguments(bytes));
  return static_cast<std::int32_t>(TRY(call.guest.children.launch(std::move(launch))));
}

Result<std::int32_t> runtime_wait_child(HostCall& call, GuestHandle child) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.children.wait(child)));
}

Result<std::int32_t> runtime_kill_child(HostCall& call, GuestHandle child) {
  TRY(call.guest.children.kill(child));
  return 0;
}

Result<std::int32_t> runtime_send_child(HostCall& call, GuestHandle child,
                                        GuestList<std::uint8_t> message) {
  TRY(check_text_bytes(call, message.count, "message"));
  std::string bytes = TRY(call.memory.read_bytes(message, "message"));
  TRY(call.guest.children.send(child, std::move(bytes)));
  return 0;
}

Result<std::int32_t> runtime_receive_child(HostCall& call, GuestHandle child) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.children.receive(child)));
}

}  // namespace quire::hostcalls
