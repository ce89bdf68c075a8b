#pragma once
// ContextObject is the C++ object of JavaScript's class Context: the SDK's context, and the turn
// of the call that uses it.
//
// Thread   a program has one.
#include <memory>
#include <optional>
#include <utility>

#include "bind.h"
#include "quire/turn.h"

namespace quire::javascript {

struct ContextObject {
  explicit ContextObject(Context given) : context(std::move(given)) {}
  Context context;
  Turn turn;                     // A script need not await a call before it makes the next one.
  bool is_generating = false;    // A loop of the host runs: it may be forked meanwhile.
  std::uint32_t call_count = 0;  // Whose promises are not settled.
};

// Counts a call while it is under way.
template <>
struct HeldByCall<Object<ContextObject>> {
  static std::shared_ptr<void> of(const Object<ContextObject>& context) {
    context->call_count += 1;
    const auto end = [context](void*) { context->call_count -= 1; };
    return {context.get(), end};
  }
};

inline Object<ContextObject> context_object(Context context) {
  return std::make_shared<ContextObject>(std::move(context));
}

// For changes that take effect at once: they cannot wait for the calls before them.
inline Result<void> check_at_rest(const Object<ContextObject>& self) {
  if (self->call_count == 0) return {};
  return Error{ErrorCode::Unavailable,
               "a call on this context is under way: await it before the context is changed"};
}

}  // namespace quire::javascript
