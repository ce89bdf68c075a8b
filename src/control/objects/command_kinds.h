#pragma once
// The properties of each command by its type: the rows of control/api/command_kinds.inc.
#include <array>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "control/objects/instance.h"

namespace quire::control {

// The steps that do the work of an operation (control/steps).
enum class Family : std::uint8_t {
  Front,    // No operation: the controller answers it, or a helper does.
  Host,     // Objects and contexts, without the device.
  Page,     // Pages by hand.
  Context,  // Tokens of a context are computed, and drawn.
  Forward,  // The low-level pass.
  Read,     // Outputs of passes are read.
  Matcher,
  Store,  // Snapshots.
};
inline constexpr std::size_t kFamilyCount = 8;

namespace needs {
inline constexpr std::uint16_t AtOnce = 0;              // No batch: done when its turn comes.
inline constexpr std::uint16_t Batch = 1u << 0;         // A batch that is being built.
inline constexpr std::uint16_t Rows = 1u << 1;          // Rows of it.
inline constexpr std::uint16_t OfContext = 1u << 2;     // Computes what is queued in a context.
inline constexpr std::uint16_t ReadsOutput = 1u << 3;   // Some form of an output; changes nothing.
inline constexpr std::uint16_t WritesOutput = 1u << 4;  // Its embeds say why, where it fails.
inline constexpr std::uint16_t Whole = 1u
                                       << 5;  // All that was ever written in its context is there.
// Gives something back: taken at any time. Each takes a handle that the guest has, and can be sent
// once for it; an export is named, by as many commands as one likes.
inline constexpr std::uint16_t GivesBack = 1u << 6;
}  // namespace needs

struct CommandKind {
  Family family;
  std::uint16_t needs;
};

namespace detail {
using namespace needs;  // NOLINT: the rows name them.
inline constexpr std::array<CommandKind, std::variant_size_v<CommandVariant>> kKinds{{
#define QUIRE_COMMAND(name, steps, wanted) {Family::steps, wanted},
#include "control/api/command_kinds.inc"
}};
}  // namespace detail
inline constexpr const auto& kCommandKinds = detail::kKinds;
static_assert(std::variant_size_v<CommandVariant> <= 256, "Operation::type is a byte");

inline bool needs_any(const CommandBody& body, std::uint16_t needs) {
  return (kCommandKinds[body.index()].needs & needs) != 0;
}
inline bool needs_any(const Operation& operation, std::uint16_t needs) {
  return (kCommandKinds[operation.type].needs & needs) != 0;
}
inline Family family_of(const Operation& operation) {
  return kCommandKinds[operation.type].family;
}
inline bool reads_output(const Operation& operation) {
  return needs_any(operation, needs::ReadsOutput);
}
inline bool computes_context(const Operation& operation) {
  return needs_any(operation, needs::OfContext);
}

// The place of a type in CommandBody.
template <typename T, std::size_t kIndex = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<kIndex, CommandVariant>>) {
    return kIndex;
  } else {
    return index_of<T, kIndex + 1>();
  }
}
template <typename T>
bool is(const Operation& operation) {
  return operation.type == index_of<T>();
}

// The body of an operation of that type. By the operation's own note of the type (O4): the body's
// lies in a line of its own.
template <typename T>
const T& body_of(const Operation& operation) {
  QUIRE_CHECK(is<T>(operation), "a body of another type");
  const T* body = std::get_if<T>(&operation.body);
  if (body == nullptr) __builtin_unreachable();
  return *body;
}

}  // namespace quire::control
