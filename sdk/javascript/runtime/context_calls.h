#pragma once
// Class Context of JavaScript: each function is one of the SDK's, in its turn.
#include "bind.h"
#include "context_object.h"
#include "generate_options.h"
#include "model_calls.h"

namespace quire::javascript {

inline JSValue to_js(JSContext* js, const ContextCounters& counters) {
  return ObjectMaker(js)
      .set("seqLen", counters.seq_len)
      .set("committedPageCount", counters.committed_page_count)
      .set("workingPageCount", counters.working_page_count)
      .set("workingPageTokenCount", counters.working_page_token_count)
      .set("foundTokenCount", counters.found_token_count)
      .take();
}
inline JSValue to_js(JSContext* js, const TokenProbability& each) {
  return ObjectMaker(js)
      .set("token", each.token)
      .set("probability", each.probability)
      .set("logProbability", each.log_probability())
      .take();
}
inline JSValue to_js(JSContext* js, const DrawnToken& drawn) {
  return ObjectMaker(js)
      .set("token", drawn.token)
      .set("probability", drawn.probability)
      .set("logProbability", drawn.log_probability())
      .set("isForced", drawn.is_forced)
      .set("top", drawn.top)
      .take();
}
inline JSValue to_js(JSContext* js, const Score& score) {
  return ObjectMaker(js)
      .set("logProbability", score.log_probability)
      .set("tokenCount", score.token_count)
      .set("meanLogProbability", score.mean_log_probability())
      .take();
}
inline JSValue to_js(JSContext* js, const Choice& choice) {
  return ObjectMaker(js)
      .set("index", static_cast<std::uint32_t>(choice.index))
      .set("text", choice.text())
      .set("texts", choice.texts)
      .set("scores", choice.scores)
      .set("probabilities", choice.probabilities)
      .take();
}
inline JSValue to_js(JSContext* js, const SnapshotInfo& info) {
  return ObjectMaker(js)
      .set("name", info.name)
      .set("createdUnixMs", info.created_unix_ms)
      .set("expiresUnixMs", info.expires_unix_ms)
      .set("tokenCount", info.token_count)
      .set("bytes", info.bytes)
      .take();
}
inline JSValue to_js(JSContext* js, const SnapshotList& list) {
  return ObjectMaker(js).set("snapshots", list.snapshots).set("bytes", list.bytes).take();
}
inline const char* reason_text(FinishReason reason) {
  switch (reason) {
    case FinishReason::Running:
      return "running";
    case FinishReason::StopToken:
      return "stop-token";
    case FinishReason::StopText:
      return "stop-text";
    case FinishReason::Length:
      return "length";
    case FinishReason::Grammar:
      return "grammar";
    case FinishReason::Stopped:
      return "stopped";
  }
  return "running";
}
inline JSValue to_js(JSContext* js, const Generation& answer) {
  return ObjectMaker(js)
      .set("text", answer.text)
      .set("tokens", answer.tokens)
      .set("finishReason", reason_text(answer.finish_reason))
      .set("logProbability", answer.log_probability)
      .set("meanLogProbability", answer.mean_log_probability())
      .set("drawnCount", answer.drawn_count)
      .take();
}

// A fork, and what it generated.
struct BranchObject {
  Object<ContextObject> context;
  Generation answer;
};
inline JSValue to_js(JSContext* js, const BranchObject& branch) {
  return ObjectMaker(js).set("context", branch.context).set("answer", branch.answer).take();
}

template <>
struct FromJs<SaveOptions> {
  static const char* read(JSContext* js, JSValueConst value, SaveOptions& into) {
    ObjectReader in(js, value);
    std::uint32_t seconds = 0;
    in.read("overwrite", into.overwrite).read("timeToLiveSeconds", seconds);
    in.read("compute", into.compute).read("turns", into.turns);
    into.time_to_live = std::chrono::seconds(seconds);
    return in.finish();
  }
};

template <>
struct FromJs<ContextHint> {
  static const char* read(JSContext* js, JSValueConst value, ContextHint& into) {
    constexpr const char* kNames[] = {"none", "will-resume", "done", "keep", "shared-prefix"};
    const std::string name = JS_IsString(value) ? text_of(js, value) : "";
    for (std::uint32_t i = 0; i < 5; ++i) {
      if (name != kNames[i]) continue;
      into = ContextHint{i};
      return nullptr;
    }
    return "\"none\", \"will-resume\", \"done\", \"keep\" or \"shared-prefix\"";
  }
};

// Text of a turn, or a message of a conversation.
struct MessageArgument {
  ChatMessage message;
};
template <>
struct FromJs<MessageArgument> {
  static const char* read(JSContext* js, JSValueConst value, MessageArgument& into) {
    if (JS_IsString(value)) return FromJs<std::string>::read(js, value, into.message.role);
    return FromJs<ChatMessage>::read(js, value, into.message);
  }
};

namespace calls {

using Self = Object<ContextObject>;

inline Task<Self> context_create(ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::create(model));
}
inline Task<Self> context_open(std::string name, ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::open(model, name));
}
inline Task<Self> context_take(std::string name, ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::take(model, name));
}
inline Task<Self> context_open_or_create(std::string name, ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::open_or_create(model, name));
}
inline Task<Self> context_open_shared(std::string name, ModelArgument which) {
  const Model model = co_await which.open();
  co_return context_object(co_await Context::open_shared(model, name));
}
inline Task<> context_unshare(std::string name) {
  return Context::unshare(std::move(name));
}
inline Future<void> context_remove(std::string name) {
  return Context::remove(name);
}
inline Future<SnapshotList> context_list() {
  return Context::list();
}

inline Result<void> context_append(Self self, std::vector<std::uint32_t> tokens) {
  TRY(check_at_rest(self));
  return self->context.append(tokens);
}
inline Task<> context_append_text(Self self, std::string text) {
  const Turns::Turn turn = co_await self->turns.take();
  co_await self->context.append_text(text);
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

inline Task<ContextCounters> context_prefill(Self self) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.prefill();
}
inline Task<ContextCounters> context_flush(Self self) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.flush();
}
inline Task<Value> context_next_distribution(JSContext* js, Self self,
                                             std::optional<std::uint32_t> top_k) {
  const Turns::Turn turn = co_await self->turns.take();
  const Distribution next = co_await self->context.next_distribution(top_k.value_or(0));
  co_return Value(js, to_js(js, next));
}
inline Task<Value> context_next_logits(JSContext* js, Self self) {
  const Turns::Turn turn = co_await self->turns.take();
  const std::vector<float> logits = co_await self->context.next_logits();
  co_return Value(js, typed_array(js, logits, JS_TYPED_ARRAY_FLOAT32));
}
inline Task<Self> context_fork(Self self) {
  if (self->is_generating) co_return context_object(co_await self->context.fork());
  const Turns::Turn turn = co_await self->turns.take();
  co_return context_object(co_await self->context.fork());
}
inline Task<ContextCounters> context_truncate(Self self, std::uint32_t count) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.truncate(count);
}
inline Task<ContextCounters> context_rewind(Self self, std::uint32_t length) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.rewind(length);
}
inline Task<ContextCounters> context_drop_range(Self self, std::uint32_t begin, std::uint32_t end) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.drop_range(begin, end);
}
inline Task<ContextCounters> context_splice(Self self, Self source, std::uint32_t begin,
                                            std::uint32_t end) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.splice(source->context, begin, end);
}
inline Task<ContextCounters> context_reserve_working_pages(Self self, std::uint32_t count) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.reserve_working_pages(count);
}
inline Task<ContextCounters> context_commit_working_pages(Self self, std::uint32_t count) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.commit_working_pages(count);
}
inline Task<ContextCounters> context_release_working_pages(Self self, std::uint32_t count) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.release_working_pages(count);
}
inline Task<ContextCounters> context_truncate_working_page_tokens(Self self, std::uint32_t count) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.truncate_working_page_tokens(count);
}
inline Result<void> context_hint(Self self, ContextHint hint,
                                 std::optional<std::uint32_t> keep_seconds) {
  return self->context.hint(hint, std::chrono::seconds(keep_seconds.value_or(0)));
}
inline Result<void> context_allow_beyond_context(Self self, std::optional<bool> allowed) {
  return self->context.allow_beyond_context(allowed.value_or(true));
}
inline Task<> context_save(Self self, std::string name, SaveOptions options) {
  const Turns::Turn turn = co_await self->turns.take();
  co_await self->context.save(name, options);
}
inline Task<> context_share(Self self, std::string name) {
  const Turns::Turn turn = co_await self->turns.take();
  co_await self->context.share(name);
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
inline Task<Choice> context_choose(Self self, std::vector<std::string> texts) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.choose(std::move(texts));
}
inline Task<Score> context_score(Self self, std::string text) {
  const Turns::Turn turn = co_await self->turns.take();
  co_return co_await self->context.score(std::move(text));
}
inline Task<std::vector<BranchObject>> sampled(Self self, std::uint32_t count,
                                               GenerateArguments arguments) {
  const Turns::Turn turn = co_await self->turns.take();
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

inline Result<std::uint32_t> context_seq_len(Self self) {
  return self->context.seq_len();
}
inline Result<std::uint32_t> context_page_size(Self self) {
  return self->context.page_size();
}
inline Result<std::uint32_t> context_committed_page_count(Self self) {
  return self->context.committed_page_count();
}
inline Result<std::uint32_t> context_working_page_count(Self self) {
  return self->context.working_page_count();
}
inline Result<std::uint32_t> context_working_page_token_count(Self self) {
  return self->context.working_page_token_count();
}
inline Result<std::uint32_t> context_page_count(Self self) {
  return self->context.page_count();
}
inline Result<std::uint32_t> context_found_token_count(Self self) {
  return self->context.found_token_count();
}
inline std::vector<std::uint32_t> context_tokens(Self self) {
  return self->context.tokens();
}
inline std::uint32_t context_token_count(Self self) {
  return self->context.token_count();
}
inline std::uint32_t context_unknown_token_count(Self self) {
  return self->context.unknown_token_count();
}
inline std::vector<ChatMessage> context_messages(Self self) {
  return self->context.messages();
}
inline Object<Model> context_model(Self self) {
  return std::make_shared<Model>(self->context.model());
}
inline std::int32_t context_handle(Self self) {
  return self->context.handle();
}

}  // namespace calls

}  // namespace quire::javascript
