#pragma once
// Errors of a request: the message begins with the member that is wrong ("stop: at most 16 texts").
#include <string>
#include <string_view>

#include "quire/quire.h"

namespace endpoints {

using namespace quire;

inline Error wrong(std::string_view member, std::string_view reason,
                   ErrorCode code = ErrorCode::InvalidArgument) {
  return {code, std::string(member) + ": " + std::string(reason)};
}

// The member with which the message of a request's error begins; empty if it begins with none.
inline std::string_view member_of(std::string_view message) {
  const std::size_t end = message.find(": ");
  if (end == std::string_view::npos) return {};
  constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyz_0123456789.[]";
  const std::string_view member = message.substr(0, end);
  return member.find_first_not_of(kNames) == std::string_view::npos ? member : std::string_view();
}

// The error of a whole task, as one of the member that caused it.
inline Error blamed(std::string_view member, const Error& error) {
  return wrong(member, error.message, error.code);
}

// The error of making tokens of a prompt. A text that is too long for that is too long for the
// context.
inline Error prompt_error(std::string_view member, const Error& error) {
  if (error.code != ErrorCode::TooLarge) return blamed(member, error);
  return wrong(member, "prompt is too long: " + error.message, ErrorCode::OutOfRange);
}

}  // namespace endpoints
