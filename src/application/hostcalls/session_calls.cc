// session: what an instance and its client say to each other.
#include <utility>

#include "application/hostcalls/calls.h"
#include "base/guest_name.h"

namespace quire::hostcalls {
namespace {

// Refuses a call of session in an instance that answers a request: it has no other client.
Result<void> check_client(const HostCall& call) {
  if (!call.guest.served.is_served()) return {};
  return Error(ErrorCode::NotSupported,
               "an HTTP request launched this instance, whose client takes its response alone: "
               "serve.respond begins it");
}

Result<void> check_file_client(const HostCall& call) {
  TRY(check_client(call));
  if (call.guest.identity.limits.has_file_client) return {};
  return Error(ErrorCode::NotSupported,
               "the client of this instance is the program that launched it, which takes messages "
               "and no files");
}

Result<std::string> read_media_type(const HostCall& call, GuestList<std::uint8_t> text) {
  if (text.count > kMediaTypeBytesMax) {
    return Error(ErrorCode::InvalidArgument,
                 "media type of " + std::to_string(text.count) + " bytes; at most " +
                     std::to_string(kMediaTypeBytesMax) + " are allowed");
  }
  return call.memory.read_bytes(text, "media-type");
}

Result<std::int32_t> returned(Result<GuestHandle> handle) {
  if (!handle.ok()) return std::move(handle).take_error();
  return static_cast<std::int32_t>(handle.value());
}

}  // namespace

Result<std::int32_t> session_send(HostCall& call, GuestList<std::uint8_t> message) {
  TRY(check_client(call));
  TRY(check_text_bytes(call, message.count, "message"));
  std::string bytes = TRY(call.memory.read_bytes(message, "message"));
  TRY(call.guest.session.send(std::move(bytes)));
  return 0;
}

Result<std::int32_t> session_receive(HostCall& call) {
  TRY(call.guest.check_future_room());
  const GuestHandle handle = call.guest.futures.add(FuturePurpose::Receive).handle;
  call.guest.receivers.push_back(handle);
  call.guest.serve_receivers();
  return static_cast<std::int32_t>(handle);
}

Result<std::int32_t> session_send_file(HostCall& call, GuestList<std::uint8_t> name,
                                       GuestList<std::uint8_t> media_type,
                                       std::uint64_t file_bytes) {
  TRY(check_file_client(call));
  std::string file_name = TRY(read_name(call, name, "file name"));
  std::string type = TRY(read_media_type(call, media_type));
  return returned(call.guest.files.send_file(std::move(file_name), std::move(type), file_bytes));
}

Result<std::int32_t> session_write_file(HostCall& call, GuestHandle file,
                                        GuestList<std::uint8_t> part) {
  TRY(check_text_bytes(call, part.count, "part"));
  TRY(call.guest.check_future_room());
  std::string bytes = TRY(call.memory.read_bytes(part, "part"));
  return returned(call.guest.files.write_file(file, std::move(bytes)));
}

Result<std::int32_t> session_receive_file(HostCall& call) {
  TRY(check_file_client(call));
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(call.guest.files.receive_file());
}

Result<std::int32_t> session_read_file(HostCall& call, GuestHandle file) {
  TRY(call.guest.check_future_room());
  return returned(call.guest.files.read_file(file));
}

}  // namespace quire::hostcalls
