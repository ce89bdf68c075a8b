#pragma once
// How long the commands that talk to a server wait for it.
#include <chrono>

namespace quire {

inline constexpr std::chrono::milliseconds kConnectTimeMax{10'000};
inline constexpr std::chrono::milliseconds kReplyTimeMax{30'000};  // To what it answers at once.

}  // namespace quire
