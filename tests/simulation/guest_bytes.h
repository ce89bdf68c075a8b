#pragma once
// How scripted guests use their memory, and read what is written there. For scripted_*.cc alone.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/scripted_guest.h"

namespace quire::simulation {

inline constexpr std::uint32_t kGivenBytes = 1024;   // Address of what a call is given,
inline constexpr std::uint32_t kTakenBytes = 32768;  // and of what it writes.
inline constexpr std::uint32_t kTakenBytesMax = 32768;
inline constexpr std::uint32_t kVocabularySize = 512;       // Of inference::simulated_model().
inline constexpr std::uint32_t kContentTokenCountMax = 72;  // Of one context.
inline constexpr std::uint32_t kTopCount = 4;  // Entries of a distribution that guests ask for.
inline constexpr std::int64_t kNotSupported = -static_cast<std::int64_t>(ErrorCode::NotSupported);

template <typename T>
T value_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
std::int64_t ScriptedGuest::put_list(const std::vector<T>& values) {
  return put_bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

// A double, as Wasm passes it.
inline std::int64_t bits(double value) {
  std::int64_t all = 0;
  std::memcpy(&all, &value, sizeof all);
  return all;
}

inline std::int64_t length_of(std::string_view bytes) {
  return static_cast<std::int64_t>(bytes.size());
}
template <typename T>
std::int64_t length_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.size());
}

// The token that a greedy draw gives after it.
inline std::uint32_t most_probable(const test::Content& content) {
  return test::top_tokens(test::output_after(content), kVocabularySize, 1).front();
}

// A name for what a context or a run of pages holds. Adapters are in it, if there are any.
inline std::string name_of_content(const char* prefix, const test::Content& content,
                                   std::uint32_t model) {
  std::uint64_t digest = model;
  for (const std::uint32_t token : content.tokens) digest = test::mix(digest, token);
  for (const test::Drop& drop : content.drops) {
    digest = test::mix(test::mix(test::mix(digest, drop.written), drop.begin), drop.end);
  }
  for (std::uint32_t slot = 0; slot <= content.length(); ++slot) {
    const std::uint64_t set = content.set_of(slot);
    if (set != 0) digest = test::mix(test::mix(digest, slot), set);
  }
  return prefix + std::to_string(digest);
}

}  // namespace quire::simulation
