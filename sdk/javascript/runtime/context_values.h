#pragma once
// Values of contexts and generations: counters, drawn tokens, answers, and options of their calls.
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

}  // namespace quire::javascript
