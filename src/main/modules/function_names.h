#pragma once
// Names of functions as a backtrace should show them: without the types of parameters and without
// the arguments of templates, which are most of a mangled name.
//
// Thread   any; plain functions.
// Errors   InvalidArgument says what is wrong with a section of names, at which of its bytes.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::modules {

// "quire::Generator::next" for "_ZN5quire9Generator4nextEv" or "quire::Generator::next()". The part of
// a coroutine that destroys its frame is "quire::Generator::next (destroy)". What is not the name of a
// C++ function stays as it is. At most kReadableNameBytesMax bytes.
std::string readable_name(std::string_view symbol);
inline constexpr std::size_t kReadableNameBytesMax = 96;

// The content of a section "name" with the names of functions alone, each readable.
Result<std::string> readable_names(std::string_view content);

}  // namespace quire::modules
