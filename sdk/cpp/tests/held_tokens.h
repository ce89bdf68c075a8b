#pragma once
// The content of a context, as text of one byte for each token: for the fake host, and for the
// program.
#include <string>

#include "fake_host.h"
#include "quire/context.h"

namespace quire::test {

// Computed and queued.
inline std::string held(const Context& context) {
  const auto& at = host.contexts.at(context.handle());
  std::string out(at.computed.begin(), at.computed.end());
  return out + std::string(at.queued.begin(), at.queued.end());
}
inline std::string known(const Context& context) {
  return {context.tokens().begin(), context.tokens().end()};
}

}  // namespace quire::test
