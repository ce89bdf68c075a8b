#pragma once
// How a program is named, and what a service knows of it.
#include <cstdint>
#include <optional>
#include <string>

#include "base/sha256.h"

namespace quire::service {

// A program is named by its content, "sha256:" and 64 hex digits, or by the name that the operator
// or a client gave it.
struct ProgramName {
  std::optional<Digest> digest;
  std::string name;  // Empty where there is a digest.
  bool operator==(const ProgramName&) const = default;
};
std::string program_text(const ProgramName& program);

enum class ProgramState : std::uint8_t { Unknown, Partial, Compiling, Ready };

}  // namespace quire::service
