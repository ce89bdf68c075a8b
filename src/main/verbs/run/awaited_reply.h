#pragma once
// Waits for one reply of a Service, for callers that have nothing else to do meanwhile.
//
// Thread   that of the service.
// Errors   those of the reply and of the service; Unavailable if no reply comes in time.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "service/service.h"

namespace quire {

// How long a full service is asked again while none of our programs runs.
inline constexpr std::chrono::milliseconds kFullTimeMax{30'000};
inline constexpr std::chrono::milliseconds kTurnTimeMax{10};
inline constexpr std::chrono::milliseconds kCompileTimeMax{600'000};

// Asks and takes turns until the reply is there.
template <typename T, typename Ask>
Result<service::Reply<T>> await_reply(service::Service& service, std::chrono::milliseconds time_max,
                                      Ask ask) {
  // Shared, because a reply that comes too late must find a place too.
  const auto reply = std::make_shared<std::optional<service::Reply<T>>>();
  ask([reply](service::Reply<T> given) { *reply = std::move(given); });
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (!*reply) {
    if (std::chrono::steady_clock::now() >= end) {
      return Error(ErrorCode::Unavailable,
                   "no reply in " + std::to_string(time_max.count()) + " ms");
    }
    TRY(service.turn(kTurnTimeMax));
  }
  return std::move(**reply);
}

// The same, with a failure as an error.
template <typename T, typename Ask>
Result<T> wait_for(service::Service& service, std::chrono::milliseconds time_max, Ask ask) {
  service::Reply<T> reply = TRY(await_reply<T>(service, time_max, std::move(ask)));
  if (auto* failure = std::get_if<service::Failure>(&reply)) return error_of(*failure);
  return std::get<T>(std::move(reply));
}

}  // namespace quire
