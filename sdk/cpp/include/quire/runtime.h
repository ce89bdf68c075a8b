#pragma once
// quire::runtime and quire::session: the instance, its launcher and its client.
//
// Errors   as interface/runtime.wit and interface/session.wit say.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/result.h"

namespace quire {

// Why tokens were computed although a page that holds them was looked up; interface/runtime.wit has
// the numbers and their meaning.
enum class MissReason : std::uint32_t {
  NeverSeen,
  Differs,
  Evicted,
  NotInPool,
  Opaque = 5,
  InFlight,
  Off,
  NoState
};
enum class MissField : std::uint32_t { None, Token, Position, View, Image };

struct Miss {
  MissReason reason = MissReason::NeverSeen;
  MissField field = MissField::None;  // Differs: what.
  std::uint32_t position = 0;         // Of the first token that was computed.
  std::uint32_t token_count = 0;      // Computed.
  std::uint32_t slot = 0;             // Differs: the place in the page,
  std::uint32_t here = 0;             // what was wanted there,
  std::uint32_t there = 0;            // and what the most similar page has.
  std::uint32_t gone_ms = 0;          // Evicted: for how long the page had been gone.
};

enum class LogLevel : std::uint32_t {
  Debug,
  Info,
  Warning,
  Error,
  Failure = Error,  // Its former name.
};

namespace detail {

inline const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}
inline std::uint32_t count_of(std::size_t count) {
  if (count > UINT32_MAX) panic("a list of more than 2^32 elements");
  return static_cast<std::uint32_t>(count);
}

// Calls `call(buffer, capacity)` until the text fits.
template <typename Call>
Result<std::string> text_from(Call call) {
  std::string text(256, '\0');
  for (;;) {
    const std::int32_t wanted =
        TRY(checked(call(text.data(), static_cast<std::uint32_t>(text.size()))));
    const bool fits = static_cast<std::size_t>(wanted) <= text.size();
    text.resize(static_cast<std::size_t>(wanted));
    if (fits) return text;
  }
}

}  // namespace detail

namespace runtime {

// The arguments of the launch, without the program's name.
inline Result<std::vector<std::string>> arguments() {
  std::vector<std::string> out;
  const std::int32_t count = TRY(checked(abi::runtime::get_arg_count()));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
    out.push_back(TRY(detail::text_from([&](void* buffer, std::uint32_t capacity) {
      return abi::runtime::get_arg(i, buffer, capacity);
    })));
  }
  return out;
}

inline Result<std::string> version() {
  return detail::text_from(abi::runtime::get_version);
}

// No other instance of this server has had it.
inline std::int64_t instance_id() {
  return abi::runtime::get_instance_id();
}

// The tenant that this program belongs to.
inline Result<std::string> tenant() {
  return detail::text_from(abi::runtime::get_tenant);
}

// A line for each limit of this program: its name, the maximum, what is used.
inline Result<std::string> limits() {
  return detail::text_from(abi::runtime::limits);
}

// The latest misses of this program. not-supported: the server does not explain them.
inline Result<std::vector<Miss>> misses() {
  static_assert(sizeof(Miss) == 32);
  const std::string bytes = TRY(detail::text_from(abi::runtime::misses));
  std::vector<Miss> all(bytes.size() / sizeof(Miss));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Miss));
  return all;
}

// One line; over 4,096 bytes it is cut.
inline void log(LogLevel level, std::string_view text) {
  abi::runtime::log(static_cast<std::uint32_t>(level), detail::bytes_of(text),
                    detail::count_of(text.size()));
}

// Sets the result that the launcher gets when the program ends; the last one counts.
inline Result<void> set_result(std::string_view result) {
  return checked_empty(
      abi::runtime::set_result(detail::bytes_of(result), detail::count_of(result.size())));
}

// Time since some moment in the past; it never goes back.
inline std::chrono::nanoseconds now() {
  return std::chrono::nanoseconds(abi::runtime::clock_now());
}

inline Result<void> random(std::span<std::byte> buffer) {
  return checked_empty(abi::runtime::random(buffer.data(), detail::count_of(buffer.size())));
}

}  // namespace runtime

namespace session {

// One message to the client. quota-exceeded: it has not taken enough of the earlier ones.
inline Result<void> send(std::string_view message) {
  return checked_empty(
      abi::session::send(detail::bytes_of(message), detail::count_of(message.size())));
}

// One message of the client. Error unavailable: it has ended its side.
inline Future<std::string> receive() {
  return Future<std::string>(abi::session::receive());
}

}  // namespace session

}  // namespace quire
