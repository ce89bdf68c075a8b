// WASI preview 1 for a guest. It has three streams, clocks, randomness, arguments, and variables
// that its operator gives it. There are no files. stdout and stderr go to the instance's log; stdin
// is at its end.
#include "application/hostcalls/wasi_calls.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kStreamCount = 3;
constexpr std::uint32_t kStdin = 0;
constexpr std::uint32_t kStdout = 1;
constexpr std::uint32_t kRealtime = 0;
constexpr std::uint32_t kMonotonic = 1;
constexpr std::uint32_t kBufferCountMax = 1024;
constexpr std::uint32_t kSubscriptionCountMax = 1024;
constexpr std::uint32_t kSubscriptionBytes = 48;
constexpr std::uint32_t kEventBytes = 32;
constexpr std::uint64_t kWasiRandomBytesMax = 1u << 20;
constexpr std::string_view kProgramName = "program";

template <typename T>
bool store(const HostCall& call, GuestAddress address, T value) {
  Result<std::span<std::byte>> into = call.memory.range<T>(address, 1, "result");
  if (!into.ok()) return false;
  std::memcpy(into.value().data(), &value, sizeof value);
  return true;
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Errno fault_unless(bool stored) {
  return stored ? Errno::Success : Errno::Fault;
}

// The program's name, and its arguments.
std::vector<std::string> words_of(const HostCall& call) {
  std::vector<std::string> words = {std::string(kProgramName)};
  const std::vector<std::string>& arguments = call.guest.identity.arguments;
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// Each as NAME=VALUE.
std::vector<std::string> variables_of(const HostCall& call) {
  std::vector<std::string> texts;
  const EnvironmentHandle& environment = call.guest.identity.environment;
  if (environment == nullptr) return texts;
  for (const EnvironmentVariable& each : *environment)
    texts.push_back(each.name + "=" + each.value);
  return texts;
}

// With the zero after each.
std::uint32_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& each : texts) bytes += each.size() + 1;
  return static_cast<std::uint32_t>(bytes);
}

Errno give_sizes(HostCall& call, const std::vector<std::string>& texts, GuestAddress count,
                 GuestAddress bytes) {
  return fault_unless(store(call, count, static_cast<std::uint32_t>(texts.size())) &&
                      store(call, bytes, bytes_of(texts)));
}

// The texts at `bytes`, each with a zero after it, and the address of each at `pointers`.
Errno give_texts(HostCall& call, const std::vector<std::string>& texts, GuestAddress pointers,
                 GuestAddress bytes) {
  auto pointer_range = call.memory.range<std::uint32_t>(
      pointers, static_cast<std::uint32_t>(texts.size()), "addresses");
  auto byte_range = call.memory.range<std::uint8_t>(bytes, bytes_of(texts), "texts");
  if (!pointer_range.ok() || !byte_range.ok()) return Errno::Fault;
  std::byte* pointer_at = pointer_range.value().data();
  std::byte* byte_at = byte_range.value().data();
  auto address = static_cast<std::uint32_t>(bytes);
  for (const std::string& each : texts) {
    std::memcpy(pointer_at, &address, sizeof address);
    std::memcpy(byte_at, each.c_str(), each.size() + 1);
    pointer_at += sizeof address;
    byte_at += each.size() + 1;
    address += static_cast<std::uint32_t>(each.size() + 1);
  }
  return Errno::Success;
}

std::uint64_t wall_ns(const GuestState& guest) {
  return guest.host.clock.now_ns() + static_cast<std::uint64_t>(guest.host.wall_offset_ns);
}

}  // namespace

Errno wasi_args_sizes_get(HostCall& call, GuestAddress count, GuestAddress bytes) {
  return give_sizes(call, words_of(call), count, bytes);
}

Errno wasi_args_get(HostCall& call, GuestAddress pointers, GuestAddress bytes) {
  return give_texts(call, words_of(call), pointers, bytes);
}

Errno wasi_environ_sizes_get(HostCall& call, GuestAddress count, GuestAddress bytes) {
  return give_sizes(call, variables_of(call), count, bytes);
}

Errno wasi_environ_get(HostCall& call, GuestAddress pointers, GuestAddress bytes) {
  return give_texts(call, variables_of(call), pointers, bytes);
}

Errno wasi_clock_res_get(HostCall& call, std::uint32_t clock, GuestAddress resolution) {
  if (clock != kRealtime && clock != kMonotonic) return Errno::Invalid;
  return fault_unless(store(call, resolution, std::uint64_t{1}));
}

Errno wasi_clock_time_get(HostCall& call, std::uint32_t clock, std::uint64_t, GuestAddress time) {
  if (clock != kRealtime && clock != kMonotonic) return Errno::Invalid;
  const std::uint64_t now_ns =
      clock == kRealtime ? wall_ns(call.guest) : call.guest.host.clock.now_ns();
  return fault_unless(store(call, time, now_ns));
}

Errno wasi_random_get(HostCall& call, GuestAddress buffer, std::uint32_t bytes) {
  if (bytes > kWasiRandomBytesMax) return Errno::Invalid;
  Result<std::span<std::byte>> into = call.memory.range<std::uint8_t>(buffer, bytes, "buffer");
  if (!into.ok()) return Errno::Fault;
  call.guest.random().fill(into.value());
  return Errno::Success;
}

Errno wasi_fd_close(HostCall&, std::uint32_t descriptor) {
  return descriptor < kStreamCount ? Errno::Success : Errno::BadDescriptor;
}

Errno wasi_fd_fdstat_get(HostCall& call, std::uint32_t descriptor, GuestAddress status) {
  if (descriptor >= kStreamCount) return Errno::BadDescriptor;
  constexpr std::uint8_t kCharacterDevice = 2;
  constexpr std::uint64_t kRightRead = 1u << 1;
  constexpr std::uint64_t kRightWrite = 1u << 6;
  auto into = call.memory.range<std::uint8_t>(status, 24, "status");
  if (!into.ok()) return Errno::Fault;
  const std::uint64_t rights = descriptor == kStdin ? kRightRead : kRightWrite;
  std::memset(into.value().data(), 0, 24);
  std::memcpy(into.value().data(), &kCharacterDevice, 1);
  std::memcpy(into.value().data() + 8, &rights, sizeof rights);
  return Errno::Success;
}

Errno wasi_fd_seek(HostCall&, std::uint32_t descriptor, std::uint64_t, std::uint32_t,
                   GuestAddress) {
  return descriptor < kStreamCount ? Errno::SeekOnPipe : Errno::BadDescriptor;
}

Errno wasi_fd_tell(HostCall&, std::uint32_t descriptor, GuestAddress) {
  return descriptor < kStreamCount ? Errno::SeekOnPipe : Errno::BadDescriptor;
}

Errno wasi_fd_read(HostCall& call, std::uint32_t descriptor, GuestAddress, std::uint32_t,
                   GuestAddress bytes_read) {
  if (descriptor != kStdin) return Errno::BadDescriptor;
  return fault_unless(store(call, bytes_read, std::uint32_t{0}));
}

Errno wasi_fd_write(HostCall& call, std::uint32_t descriptor, GuestAddress buffers,
                    std::uint32_t buffer_count, GuestAddress bytes_written) {
  if (descriptor == kStdin || descriptor >= kStreamCount) return Errno::BadDescriptor;
  if (buffer_count > kBufferCountMax) return Errno::Invalid;
  auto list = call.memory.range<std::uint64_t>(buffers, buffer_count, "buffers");
  if (!list.ok() || !call.memory.range<std::uint32_t>(bytes_written, 1, "count").ok()) {
    return Errno::Fault;
  }
  const std::size_t bytes_max = call.guest.identity.limits.text_bytes_max;
  std::string text;
  for (std::uint32_t i = 0; i < buffer_count && text.size() < bytes_max; ++i) {
    const std::byte* entry = list.value().data() + std::size_t{8} * i;
    const GuestAddress address{load<std::uint32_t>(entry)};
    auto bytes = call.memory.range<std::uint8_t>(address, load<std::uint32_t>(entry + 4), "buffer");
    if (!bytes.ok()) return Errno::Fault;
    // A write may be short: the rest is the caller's to write again.
    const std::size_t count = std::min(bytes.value().size(), bytes_max - text.size());
    text.append(reinterpret_cast<const char*>(bytes.value().data()), count);
  }
  const LogSource stream = descriptor == kStdout ? LogSource::Stdout : LogSource::Stderr;
  const Result<std::size_t> written = call.guest.session.write(stream, text);
  if (!written.ok()) return Errno::Quota;
  return fault_unless(store(call, bytes_written, static_cast<std::uint32_t>(written.value())));
}

Errno wasi_fd_prestat_get(HostCall&, std::uint32_t, GuestAddress) {
  return Errno::BadDescriptor;
}

Errno wasi_sched_yield(HostCall&) {
  return Errno::Success;
}

Exit wasi_proc_exit(HostCall&, std::uint32_t code) {
  return Exit{static_cast<std::int32_t>(code)};
}

namespace {

enum class EventType : std::uint8_t { Clock, Read, Write };

struct Subscription {
  std::uint64_t user_data = 0;
  EventType type = EventType::Clock;
  Errno error = Errno::Success;
  std::uint64_t deadline_ns = 0;  // Of a clock, on the engine's clock.
};

Subscription parse_subscription(const GuestState& guest, const std::byte* from) {
  Subscription subscription;
  subscription.user_data = load<std::uint64_t>(from);
  const auto tag = load<std::uint8_t>(from + 8);
  const auto subject = load<std::uint32_t>(from + 16);  // A clock, or a descriptor.
  if (tag != 0) {
    subscription.type = tag == 1 ? EventType::Read : EventType::Write;
    const bool stream = subject < kStreamCount && (subject == kStdin) == (tag == 1);
    subscription.error =
        tag > 2 ? Errno::Invalid : (stream ? Errno::Success : Errno::BadDescriptor);
    return subscription;
  }
  if (subject != kRealtime && subject != kMonotonic) {
    subscription.error = Errno::Invalid;
    return subscription;
  }
  const auto timeout_ns = load<std::uint64_t>(from + 24);
  const bool absolute = (load<std::uint16_t>(from + 40) & 1) != 0;
  const std::uint64_t now_ns = guest.host.clock.now_ns();
  const std::uint64_t clock_now_ns = subject == kRealtime ? wall_ns(guest) : now_ns;
  std::uint64_t left_ns = timeout_ns;
  if (absolute) left_ns = timeout_ns > clock_now_ns ? timeout_ns - clock_now_ns : 0;
  subscription.deadline_ns = now_ns + std::min(left_ns, UINT64_MAX - now_ns);
  return subscription;
}

void write_event(std::byte* into, const Subscription& subscription) {
  std::memset(into, 0, kEventBytes);
  std::memcpy(into, &subscription.user_data, sizeof subscription.user_data);
  const auto error = static_cast<std::uint16_t>(subscription.error);
  std::memcpy(into + 8, &error, sizeof error);
  std::memcpy(into + 10, &subscription.type, sizeof subscription.type);
}

Suspension suspension(Errno code) {
  return static_cast<std::int32_t>(code);
}

}  // namespace

// The event that will come is known before the wait begins, so it is written now: the memory of a
// parked guest must not be written.
Result<Suspension> wasi_poll_oneoff(HostCall& call, GuestAddress subscriptions, GuestAddress events,
                                    std::uint32_t count, GuestAddress event_count) {
  if (count == 0 || count > kSubscriptionCountMax) return suspension(Errno::Invalid);
  auto from = call.memory.range<std::uint8_t>(subscriptions, count * kSubscriptionBytes, "in");
  auto into = call.memory.range<std::uint8_t>(events, count * kEventBytes, "out");
  if (!from.ok() || !into.ok()) return suspension(Errno::Fault);
  std::vector<Subscription> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(
        parse_subscription(call.guest, from.value().data() + std::size_t{kSubscriptionBytes} * i));
  }
  std::uint32_t written = 0;
  const Subscription* earliest = nullptr;
  for (const Subscription& each : all) {
    if (each.type != EventType::Clock || each.error != Errno::Success) {
      write_event(into.value().data() + std::size_t{kEventBytes} * written++, each);
    } else if (earliest == nullptr || each.deadline_ns < earliest->deadline_ns) {
      earliest = &each;
    }
  }
  const bool sleeps = written == 0;
  if (sleeps) write_event(into.value().data() + std::size_t{kEventBytes} * written++, *earliest);
  if (!store(call, event_count, written)) return suspension(Errno::Fault);
  if (!sleeps || earliest->deadline_ns <= call.guest.host.clock.now_ns()) {
    return suspension(Errno::Success);
  }
  call.guest.futures.begin_wait({}, earliest->deadline_ns);
  call.guest.futures.wait_is_poll = true;
  return Suspension();
}

}  // namespace quire::hostcalls
