#pragma once
// What the classes Context and Generator of JavaScript are behind: the SDK's, and who has their turn.
//
// Thread   a program has one.
#include <memory>
#include <optional>
#include <utility>

#include "bind.h"
#include "turns.h"

namespace quire::javascript {

struct ContextObject {
  explicit ContextObject(Context given) : context(std::move(given)) {}
  Context context;
  Turns turns;
  bool is_generating = false;  // A loop of the host runs: it may be forked meanwhile.
};

inline Object<ContextObject> context_object(Context context) {
  return std::make_shared<ContextObject>(std::move(context));
}

// For changes that take effect at once: they cannot wait for the calls before them.
inline Result<void> check_at_rest(const Object<ContextObject>& self) {
  if (!self->turns.is_taken()) return {};
  return Error{ErrorCode::Unavailable,
               "a call on this context is under way: await it before the context is changed"};
}

}  // namespace quire::javascript
