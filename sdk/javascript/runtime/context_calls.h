#pragma once
// Class Context of JavaScript: each function is one of the SDK's, in its turn.
#include "bind_methods.h"
#include "context_values.h"

namespace quire::javascript {

namespace calls {

using Self = Object<ContextObject>;

// A method of the SDK's Context, in its turn: a task waits for the calls before it.
template <auto kMethod, typename T, typename... A>
Task<T> call_in_turn(Self self, A... arguments) {
  const Turn::Hold hold = co_await self->turn.take();
  co_return co_await (self->context.*kMethod)(std::move(arguments)...);
}
template <auto kMethod>
struct InTurn;
template <typename T, typename... A, Task<T> (Context::*kMethod)(A...)>
struct InTurn<kMethod> {
  static Task<T> call(Self self, typename Kept<A>::Type... arguments) {
    return call_in_turn<kMethod, T>(std::move(self), std::move(arguments)...);
  }
};

// A value of the context that needs no wait.
template <auto kMethod>
struct Read;
template <typename R, R (Context::*kMethod)() const>
struct Read<kMethod> {
  static std::remove_cvref_t<R> call(Self self) { return (self->context.*kMethod)(); }
};

// The overloaded functions of Context.
inline Task<Context> open_one(Model model, std::string name) {
  return Context::open(std::move(model), std::move(name));
}
inline Task<Context> take_one(Model model, std::string name) {
  return Context::take(std::move(model), std::move(name));
}
// A context that is opened by a name, of a model or the first.
template <auto kOpen>
Task<Self> context_named(std::string name, ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await kOpen(model, name));
}

inline Task<Self> context_create(ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::create(model));
}
inline Future<void> context_remove(std::string name) {
  return Context::remove(name);
}

inline Result<void> context_append(Self self, std::vector<std::uint32_t> tokens) {
  TRY(check_at_rest(self));
  return self->context.append(tokens);
}
inline Result<void> add_message(const Self& self, ChatMessage message) {
  TRY(check_at_rest(self));
  self->context.add(std::move(message));
  return {};
}
inline Result<void> context_system(Self self, std::string content) {
  return add_message(self, {"system", std::move(content)});
}
inline Result<void> context_user(Self self, std::string content) {
  return add_message(self, {"user", std::move(content)});
}
inline Result<void> context_assistant(Self self, std::string content) {
  return add_message(self, {"assistant", std::move(content)});
}
// add(role, content), or add({role, content, ...}).
inline Result<void> context_add(Self self, MessageArgument message,
                                std::optional<std::string> content) {
  if (content) message.message.content = *content;
  return add_message(self, std::move(message.message));
}

inline Task<Value> context_next_distribution(JSContext* js, Self self,
                                             std::optional<std::uint32_t> top_k) {
  const Turn::Hold hold = co_await self->turn.take();
  const Distribution next = co_await self->context.next_distribution(top_k.value_or(0));
  co_return Value(js, to_js(js, next));
}
inline Task<Value> context_next_logits(JSContext* js, Self self) {
  const Turn::Hold hold = co_await self->turn.take();
  const std::vector<float> logits = co_await self->context.next_logits();
  co_return Value(js, typed_array(js, logits, JS_TYPED_ARRAY_FLOAT32));
}
inline Task<Self> context_fork(Self self) {
  if (self->is_generating) co_return context_object(co_await self->context.fork());
  const Turn::Hold hold = co_await self->turn.take();
  co_return context_object(co_await self->context.fork());
}
inline Task<ContextCounters> context_splice(Self self, Self source, std::uint32_t begin,
                                            std::uint32_t end) {
  const Turn::Hold hold = co_await self->turn.take();
  co_return co_await self->context.splice(source->context, begin, end);
}
inline Result<void> context_hint(Self self, ContextHint hint,
                                 std::optional<std::uint32_t> keep_seconds) {
  return self->context.hint(hint, std::chrono::seconds(keep_seconds.value_or(0)));
}
inline Result<void> context_allow_beyond_context(Self self, std::optional<bool> allowed) {
  return self->context.allow_beyond_context(allowed.value_or(true));
}
inline Result<void> context_constrain(Self self, Object<Grammar> grammar) {
  TRY(check_at_rest(self));
  return self->context.constrain(*grammar);
}
inline Result<void> context_unconstrain(Self self) {
  TRY(check_at_rest(self));
  self->context.unconstrain();
  return {};
}
inline Task<std::vector<BranchObject>> sampled(Self self, std::uint32_t count,
                                               GenerateArguments arguments) {
  const Turn::Hold hold = co_await self->turn.take();
  if (arguments.source.kind != GrammarSource::Kind::None) {
    arguments.options.grammar =
        co_await compiled(self->context.model(), std::move(arguments.source));
  }
  std::vector<Branch> branches = co_await self->context.sample(count, arguments.options);
  std::vector<BranchObject> out;
  for (Branch& each : branches) {
    out.push_back({context_object(std::move(each.context)), std::move(each.answer)});
  }
  co_return out;
}
inline JSValue context_sample(JSContext* js, Self self, std::uint32_t count, Value options) {
  GenerateArguments arguments;
  const char* wrong = read_generate(js, options.get(), JS_UNDEFINED, arguments);
  if (wrong == kThrown) return JS_EXCEPTION;
  if (wrong != nullptr) {
    return JS_ThrowTypeError(js, "Context.sample: argument 2 must be %s", wrong);
  }
  std::shared_ptr<void> held = HeldByCall<Self>::of(self);
  return returned(js, sampled(std::move(self), count, std::move(arguments)), std::move(held));
}

inline Object<Model> context_model(Self self) {
  return std::make_shared<Model>(self->context.model());
}

}  // namespace calls

}  // namespace quire::javascript
