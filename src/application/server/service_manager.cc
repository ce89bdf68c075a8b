#include "application/server/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace quire::server {
namespace {

std::optional<std::int64_t> number_of(const char* text) {
  const std::string_view digits(text == nullptr ? "" : text);
  std::int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  return is_number && value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<ServiceManager> ServiceManager::open(const std::string& socket_name) {
  const bool is_address = !socket_name.empty() && (socket_name[0] == '/' || socket_name[0] == '@');
  if (!is_address || socket_name.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error(ErrorCode::InvalidArgument,
                 "NOTIFY_SOCKET is " + socket_name + "; a path, or @NAME, of less than " +
                     std::to_string(sizeof(sockaddr_un::sun_path)) + " bytes was expected");
  }
  Descriptor descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  timeval limit{};
  limit.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(kNotifyTimeMax).count();
  const bool is_open = descriptor.get() >= 0 && setsockopt(descriptor.get(), SOL_SOCKET,
                                                           SO_SNDTIMEO, &limit, sizeof limit) == 0;
  if (!is_open) return Error(ErrorCode::Io, std::string("NOTIFY_SOCKET: ") + std::strerror(errno));
  std::string address = socket_name;
  if (address[0] == '@') address[0] = '\0';
  return ServiceManager(std::move(descriptor), std::move(address));
}

Result<void> ServiceManager::tell(const std::string& state) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = sendto(descriptor_.get(), state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&to), bytes);
  if (sent == static_cast<ssize_t>(state.size())) return {};
  return Error(ErrorCode::Io, "the service manager did not receive " + state +
                                  " (NOTIFY_SOCKET): " + std::strerror(errno));
}

std::optional<std::chrono::microseconds> watchdog_time(const char* microseconds,
                                                       const char* process,
                                                       std::int64_t own_process) {
  const std::optional<std::int64_t> time = number_of(microseconds);
  if (!time || (process != nullptr && number_of(process) != own_process)) return std::nullopt;
  return std::chrono::microseconds(*time);
}

}  // namespace quire::server
