#pragma once
// The options of a generation as JavaScript gives them: the names of GenerateOptions in camelCase.
// Their functions (reshape, logits, onToken, draft) may return promises.
//
// Errors   a TypeError that names the option.
#include "bind.h"
#include "context_object.h"

namespace quire::javascript {

// A grammar that is compiled when the generation begins.
struct GrammarSource {
  enum class Kind : std::uint8_t { None, JsonSchema, Regex, Lark };
  Kind kind = Kind::None;
  std::string text;
};

struct GenerateArguments {
  GenerateOptions options;
  GrammarSource source;
};

template <>
struct FromJs<LogitBias> {
  static const char* read(JSContext* js, JSValueConst value, LogitBias& into) {
    double bias = 0.0;
    ObjectReader in(js, value);
    in.read("token", into.token).read("bias", bias);
    into.bias = static_cast<float>(bias);
    return in.finish();
  }
};

// A JSON schema: its text, or the object itself.
inline const char* read_schema(JSContext* js, JSValueConst value, std::string& into) {
  if (JS_IsString(value)) return FromJs<std::string>::read(js, value, into);
  if (!JS_IsObject(value) && !JS_IsBool(value)) return "a JSON schema, as an object or a string";
  const Value text(js, JS_JSONStringify(js, value, JS_UNDEFINED, JS_UNDEFINED));
  if (text.is_exception()) return kThrown;
  if (!JS_IsString(text.get())) return "a JSON schema, as an object or a string";
  return read_text(js, text.get(), into) ? nullptr : kThrown;
}

// The hooks of GenerateOptions, each of which calls a function of the script.
struct TokenHook {
  Engine* engine;
  Function function;
  Task<> operator()(std::uint32_t token) const {
    JSContext* js = engine->js();
    std::vector<Value> arguments;
    arguments.emplace_back(js, JS_NewUint32(js, token));
    co_await engine->call(function, std::move(arguments));
  }
};

struct LogitsHook {
  Engine* engine;
  Function function;
  Task<> operator()(std::span<float> logits) const {
    JSContext* js = engine->js();
    const std::vector<float> before(logits.begin(), logits.end());
    const Value array(js, typed_array(js, before, JS_TYPED_ARRAY_FLOAT32));
    std::vector<Value> arguments(1, array);
    co_await engine->call(function, std::move(arguments));
    const ByteView after = byte_view(js, array.get());
    if (after.bytes != logits.size_bytes() || after.data == nullptr) {
      co_await fail(ErrorCode::InvalidArgument, "logits: the array was taken away");
    }
    std::memcpy(logits.data(), after.data, after.bytes);
  }
};

inline JSValue to_js(JSContext* js, const Distribution& distribution) {
  return ObjectMaker(js)
      .set("tokens", distribution.tokens)
      .set("probabilities", distribution.probabilities)
      .take();
}

struct ReshapeHook {
  Engine* engine;
  Function function;
  Task<> operator()(Distribution& distribution) const {
    JSContext* js = engine->js();
    const Value object(js, to_js(js, distribution));
    std::vector<Value> arguments(1, object);
    co_await engine->call(function, std::move(arguments));
    std::vector<double> probabilities;
    const bool is_read = FromJs<std::vector<std::uint32_t>>::read(js, object.member("tokens").get(),
                                                                  distribution.tokens) == nullptr &&
                         FromJs<std::vector<double>>::read(js, object.member("probabilities").get(),
                                                           probabilities) == nullptr;
    if (!is_read || probabilities.size() != distribution.tokens.size()) {
      if (JS_HasException(js)) JS_FreeValue(js, JS_GetException(js));
      co_await fail(ErrorCode::InvalidArgument,
                    "reshape left tokens and probabilities that are not two arrays of numbers of "
                    "one length");
    }
    distribution.probabilities.assign(probabilities.begin(), probabilities.end());
  }
};

struct DraftHook {
  Engine* engine;
  Function function;
  Value context;
  Task<std::vector<std::uint32_t>> operator()(const Context&) const {
    JSContext* js = engine->js();
    std::vector<Value> arguments(1, context);
    const Value drafts = co_await engine->call(function, std::move(arguments));
    std::vector<std::uint32_t> tokens;
    if (drafts.is_undefined()) co_return tokens;
    if (FromJs<std::vector<std::uint32_t>>::read(js, drafts.get(), tokens) != nullptr) {
      if (JS_HasException(js)) JS_FreeValue(js, JS_GetException(js));
      co_await fail(ErrorCode::InvalidArgument, "draft must give an array of token ids");
    }
    co_return tokens;
  }
};

inline void read_rule(ObjectReader& in, GenerateOptions& options) {
  in.read("temperature", options.temperature).read("topK", options.top_k);
  in.read("topP", options.top_p).read("minP", options.min_p);
  in.read("typicalP", options.typical_p).read("topNSigma", options.top_n_sigma);
  in.read("xtcProbability", options.xtc_probability).read("xtcThreshold", options.xtc_threshold);
  in.read("dryMultiplier", options.dry_multiplier);
  in.read("repetitionPenalty", options.repetition_penalty);
  in.read("presencePenalty", options.presence_penalty);
  in.read("frequencyPenalty", options.frequency_penalty);
  in.read("penaltyFirst", options.penalty_first).read("logitBias", options.logit_bias);
  in.read("seed", options.seed);
}

inline void read_grammar(JSContext* js, ObjectReader& in, GenerateArguments& into) {
  using Kind = GrammarSource::Kind;
  Object<Grammar> grammar;
  in.read("grammar", grammar);
  if (grammar != nullptr) into.options.grammar = *grammar;
  const Value schema = in.member("schema");
  if (!schema.is_undefined()) {
    const char* wrong = read_schema(js, schema.get(), into.source.text);
    into.source.kind = Kind::JsonSchema;
    if (wrong != nullptr) in.refuse("schema", wrong);
  }
  std::optional<std::string> regex, lark;
  in.read("regex", regex).read("lark", lark);
  if (regex) into.source = {Kind::Regex, *regex};
  if (lark) into.source = {Kind::Lark, *lark};
}

// Reads what draftsFrom(context) gave, of which each generation has a copy, or a function.
inline void read_draft(JSContext* js, ObjectReader& in, JSValueConst context,
                       GenerateOptions& options) {
  Object<PromptDrafts> drafts;
  if (FromJs<Object<PromptDrafts>>::read(js, in.member("draft").get(), drafts) == nullptr) {
    options.draft = *drafts;
    return;
  }
  std::optional<Function> function;
  in.read("draft", function);
  if (!function) return;
  options.draft = DraftHook{&Engine::of(js), *function, Value::copy(js, context)};
}

// `context` is the object of JavaScript whose context goes on.
inline const char* read_generate(JSContext* js, JSValueConst value, JSValueConst context,
                                 GenerateArguments& into) {
  GenerateOptions& options = into.options;
  ObjectReader in(js, value);
  read_rule(in, options);
  read_grammar(js, in, into);
  in.read("maxTokens", options.max_tokens).read("topLogprobs", options.top_logprobs);
  in.read("stop", options.stop).read("cutStopText", options.cut_stop_text);
  in.read("ignoreStopTokens", options.ignore_stop_tokens).read("keepSpecial", options.keep_special);
  in.read("keptSpecial", options.kept_special);
  bool heal = false;
  in.read("heal", heal);
  options.heal = heal;
  Engine* engine = &Engine::of(js);
  std::optional<Function> reshape, logits, on_token;
  in.read("reshape", reshape).read("logits", logits).read("onToken", on_token);
  if (reshape) options.reshape = ReshapeHook{engine, *reshape};
  if (logits) options.logits = LogitsHook{engine, *logits};
  if (on_token) options.on_token = TokenHook{engine, *on_token};
  read_draft(js, in, context, options);
  in.member("signal");  // The SDK's JavaScript listens to it.
  return in.finish();
}

inline Task<Grammar> compiled(Model model, GrammarSource source) {
  switch (source.kind) {
    case GrammarSource::Kind::JsonSchema:
      co_return co_await Grammar::json_schema(model, source.text);
    case GrammarSource::Kind::Regex:
      co_return co_await Grammar::regex(model, source.text);
    case GrammarSource::Kind::Lark:
      co_return co_await Grammar::lark(model, source.text);
    case GrammarSource::Kind::None:
      break;
  }
  co_return Grammar();
}

}  // namespace quire::javascript
