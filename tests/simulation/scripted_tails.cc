// Actions of scripted guests with the working pages of contexts, and checks of the counters.
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
          .token_count = counter("context.working-page-token-count"),
          .found_token_count = counter("context.found-token-count")};
}

// One whose counters are what it is.
ScriptedGuest::Context* ScriptedGuest::some_settled_context() {
  Context* context = look_for_context(true);
  if (context == nullptr || !context->is_known || !context->is_settled()) return nullptr;
  ++context->use_count;
  return context;
}

ScriptedGuest::ContextKey ScriptedGuest::key_of(const Context& context) const {
  const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                  [&](const auto& each) { return &each.second == &context; });
  return found->first;
}

void ScriptedGuest::look_at_context() {
  Context* context = some_settled_context();
  if (context == nullptr) return;
  context->answered_use = context->use_count;  // To look changes nothing.
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
  if (tail.found_token_count < context->found_token_count) {
    find(std::to_string(tail.found_token_count) + " tokens found, and " +
         std::to_string(context->found_token_count) + " before");
  }
}

// Full pages are committed already: so this does nothing, or is refused.
void ScriptedGuest::commit_pages() {
  Context* context = some_settled_context();
  if (context == nullptr) return;
  const Tail tail = tail_of(*context);
  const std::uint32_t count = dice_.below(tail.working_count + 1);
  edit("commit", key_of(*context), call("context.commit-working-pages", {context->handle, count}),
       [](test::Content&, std::uint32_t) {}, {ErrorCode::OutOfRange, ErrorCode::PageNotFull});
}

void ScriptedGuest::release_pages() {
  Context* context = some_settled_context();
  if (context == nullptr) return;
  const Tail tail = tail_of(*context);
  const std::uint32_t count = dice_.below(tail.working_count + 1);
  const std::uint32_t left = (tail.working_count - count) * town_.knobs.page_size;
  cut_tail("release", *context, call("context.release-working-pages", {context->handle, count}),
           tail, std::min(tail.token_count, left));
}

void ScriptedGuest::truncate_tail() {
  Context* context = some_settled_context();
  if (context == nullptr) return;
  const Tail tail = tail_of(*context);
  const std::uint32_t count = dice_.below(tail.token_count + 1);
  cut_tail("truncate-working-page-tokens", *context,
           call("context.truncate-working-page-tokens", {context->handle, count}), tail,
           tail.token_count - count);
}

// So many tokens of the working pages are left. The queued ones stay, under the same adapters.
void ScriptedGuest::cut_tail(const char* what, const Context& context, std::int64_t future,
                             const Tail& tail, std::uint32_t left) {
  const std::uint32_t end = tail.written - tail.token_count + left;
  edit(what, key_of(context), future,
       [this, what, end, written = tail.written](test::Content& content, std::uint32_t is) {
         if (is != end) {
           find(std::string(what) + ": " + std::to_string(is) + " tokens are left, not " +
                std::to_string(end));
         }
         const test::Content before = content;
         content.cut(end);
         for (std::uint32_t slot = written; slot < before.length(); ++slot) {
           content.use(before.set_of(slot));
           content.tokens.push_back(before.tokens[slot]);
         }
         content.use(before.set_of(before.length()));
       },
       {});
}

}  // namespace quire::simulation
