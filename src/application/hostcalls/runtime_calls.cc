// runtime: what an instance may know of itself, time and randomness.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kRandomBytesMax = 1u << 16;  // A call holds the engine under 100 us.
constexpr std::uint32_t kLogLevelCount = 4;

}  // namespace

Result<std::int32_t> runtime_get_arg_count(HostCall& call) {
  return count_result(call.guest.identity.arguments.size());
}

Result<std::int32_t> runtime_get_arg(HostCall& call, std::uint32_t index, GuestAddress buffer,
                                     std::uint32_t capacity) {
  const std::vector<std::string>& arguments = call.guest.identity.arguments;
  if (index >= arguments.size()) {
    return Error(ErrorCode::OutOfRange,
                 "argument " + std::to_string(index) + " of " + std::to_string(arguments.size()));
  }
  return give_bytes(call, arguments[index], buffer, capacity);
}

Result<std::int32_t> runtime_get_version(HostCall& call, GuestAddress buffer,
                                         std::uint32_t capacity) {
  return give_bytes(call, QUIRE_VERSION, buffer, capacity);
}

Result<std::int32_t> runtime_misses(HostCall& call, GuestAddress buffer, std::uint32_t capacity) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const std::optional<std::vector<control::InstanceMiss>> misses =
      call.guest.host.control.misses(call.guest.identity.instance);
  if (!misses) {
    return Error(ErrorCode::NotSupported,
                 "the server does not explain misses; start it with --explain-misses");
  }
  std::vector<std::uint32_t> words;
  for (const control::InstanceMiss& each : *misses) {
    const std::uint64_t gone_ms = std::min<std::uint64_t>(each.gone_ns / kNsPerMs, UINT32_MAX);
    words.insert(words.end(),
                 {static_cast<std::uint32_t>(each.reason), static_cast<std::uint32_t>(each.field),
                  each.position, each.token_count, each.slot, each.here, each.there,
                  static_cast<std::uint32_t>(gone_ms)});
  }
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  return give_bytes(call, {bytes, words.size() * sizeof(std::uint32_t)}, buffer, capacity);
}

Result<std::int64_t> runtime_get_instance_id(HostCall& call) {
  const GuestState& guest = call.guest;
  return static_cast<std::int64_t>(guest.host.numbers.of(guest.identity.instance));
}

Result<std::int32_t> runtime_log(HostCall& call, std::uint32_t level,
                                 GuestList<std::uint8_t> text) {
  if (level >= kLogLevelCount) {
    return Error(ErrorCode::InvalidArgument, "log level " + std::to_string(level) + " of 0 to 3");
  }
  TRY(check_text_bytes(call, text.count, "text"));
  const std::string bytes = TRY(call.memory.read_bytes(text, "text"));
  if (static_cast<LogLevel>(level) == LogLevel::Error) call.guest.session.note_failure(bytes);
  TRY(call.guest.session.log(static_cast<LogLevel>(level), bytes));
  return 0;
}

Result<std::int32_t> runtime_set_result(HostCall& call, GuestList<std::uint8_t> result) {
  const std::uint32_t bytes_max = call.guest.identity.limits.result_bytes_max;
  if (result.count > bytes_max) {
    return Error(ErrorCode::QuotaExceeded, "result_bytes_max: " + std::to_string(result.count) +
                                               " bytes, the limit is " + std::to_string(bytes_max));
  }
  call.guest.result = TRY(call.memory.read_bytes(result, "result"));
  return 0;
}

Result<std::int64_t> runtime_clock_now(HostCall& call) {
  return static_cast<std::int64_t>(call.guest.host.clock.now_ns());
}

Result<std::int32_t> runtime_sleep(HostCall& call, std::int64_t duration_ns) {
  if (duration_ns < 0) {
    return Error(ErrorCode::InvalidArgument,
                 "duration-ns: " + std::to_string(duration_ns) + " is negative");
  }
  TRY(call.guest.check_future_room());
  FutureRecord& sleep = call.guest.futures.add(FuturePurpose::Sleep);
  call.guest.futures.arm(sleep,
                         call.guest.host.clock.now_ns() + static_cast<std::uint64_t>(duration_ns));
  return static_cast<std::int32_t>(sleep.handle);
}

Result<std::int32_t> runtime_random(HostCall& call, GuestAddress buffer, std::uint32_t capacity) {
  if (capacity > kRandomBytesMax) {
    return Error(ErrorCode::TooLarge, "random: " + std::to_string(capacity) + " bytes, at most " +
                                          std::to_string(kRandomBytesMax) + " a call");
  }
  const std::span<std::byte> into =
      TRY(call.memory.range<std::uint8_t>(buffer, capacity, "buffer"));
  call.guest.random().fill(into);
  return static_cast<std::int32_t>(capacity);
}

Result<std::int32_t> runtime_last_error(HostCall& call, GuestAddress buffer,
                                        std::uint32_t capacity) {
  return give_bytes(call, call.guest.last_error, buffer, capacity);
}

}  // namespace quire::hostcalls
