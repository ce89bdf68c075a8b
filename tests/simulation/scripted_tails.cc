// What the counters of contexts say, when nothing is under way.
#include <algorithm>

#include "simulation/guest_bytes.h"

namespace quire::simulation {

// The counters that a call gives at once.
ScriptedGuest::Tail ScriptedGuest::tail_of(const Context& context) {
  const auto counter = [&](const char* import) {
    const std::int64_t value = call(import, {context.handle});
    return check(import, value) ? static_cast<std::uint32_t>(value) : 0;
  };
  return {.written = counter("context.seq-len"),
          .committed_count = counter("context.committed-page-count"),
          .working_count = counter("context.working-page-count"),
          .token_count = counter("context.working-page-token-count")};
}

// One of which nothing is under way, not even what was dropped: its counters are what they are.
ScriptedGuest::Context* ScriptedGuest::some_settled_context() {
  Context* context = some_context(true);
  const bool fits = context != nullptr && context->is_known && context->pending_count == 0 &&
                    !context->has_loose_ends;
  return fits ? context : nullptr;
}

ScriptedGuest::ContextKey ScriptedGuest::key_of(const Context& context) const {
  const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                  [&](const auto& each) { return &each.second == &context; });
  return found->first;
}

void ScriptedGuest::look_at_context() {
  Context* context = some_settled_context();
  if (context == nullptr) return;
  const std::uint32_t page_size = town_.knobs.page_size;
  if (call("context.page-size", {context->handle}) != page_size) find("another page size");
  // Nothing here is as long as the model's context.
  const std::int64_t may = dice_.below(2);
  check("context.allow-beyond-context",
        call("context.allow-beyond-context", {context->handle, may}));
  const Tail tail = tail_of(*context);
  const bool has_all = context->content.drops.empty();  // Whole pages may be free otherwise.
  const std::uint32_t committed = tail.written - tail.token_count;
  if (tail.written > context->content.length() || tail.token_count > tail.written ||
      tail.token_count > tail.working_count * page_size || committed % page_size != 0 ||
      (has_all && committed != tail.committed_count * page_size)) {
    find("counters that do not fit: " + std::to_string(tail.written) + " tokens, " +
         std::to_string(tail.committed_count) + " pages committed, " +
         std::to_string(tail.working_count) + " working with " + std::to_string(tail.token_count));
  }
}

}  // namespace quire::simulation
