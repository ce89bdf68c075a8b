#pragma once
// Class Tools of JavaScript: functions of the script that the model calls; see tool.h of the SDK.
#include "bind.h"
#include "generator_calls.h"

namespace quire::javascript {

// The result of a tool or of a program: a text as it is, anything else as JSON. An Error: there is
// no memory for it.
inline Result<std::string> result_text(Engine& engine, const Value& value) {
  JSContext* js = engine.js();
  std::string text;
  if (JS_IsString(value.get())) {
    if (read_text(js, value.get(), text)) return text;
    return engine.error_of(Value(js, JS_GetException(js)));
  }
  const Value json(js, JS_JSONStringify(js, value.get(), JS_UNDEFINED, JS_UNDEFINED));
  if (!JS_IsString(json.get())) return shown_text_of(js, value.get());
  if (read_text(js, json.get(), text)) return text;
  return engine.error_of(Value(js, JS_GetException(js)));
}

struct ToolFunction {
  Engine* engine;
  Function function;
  Task<std::string> operator()(Json arguments) const {
    return run(engine, function, arguments.str());
  }

 private:
  static Task<std::string> run(Engine* engine, Function function, std::string arguments) {
    JSContext* js = engine->js();
    std::vector<Value> given;
    given.emplace_back(js, JS_ParseJSON(js, arguments.c_str(), arguments.size(), "arguments"));
    if (given.front().is_exception()) {
      co_await fail(engine->error_of(Value(js, JS_GetException(js))));
    }
    const Value result = co_await engine->call(std::move(function), std::move(given));
    co_return co_await result_text(*engine, result);
  }
};

// The schema of the arguments is called `schema`, or `parameters` as elsewhere.
template <>
struct FromJs<Tool> {
  static const char* read(JSContext* js, JSValueConst value, Tool& into) {
    ObjectReader in(js, value);
    Function run;
    in.read("name", into.name).read("description", into.description).read("run", run);
    Value schema = in.member("schema");
    const Value parameters = in.member("parameters");
    if (schema.is_undefined()) schema = parameters;
    const char* wrong = in.finish();
    if (wrong != nullptr) return wrong;
    if (run.value.is_undefined()) return "tools {name, description, schema, run}";
    into.run = ToolFunction{&Engine::of(js), run};
    into.schema = R"({"type":"object","properties":{}})";
    return schema.is_undefined() ? nullptr : read_schema(js, schema.get(), into.schema);
  }
};

template <>
struct FromJs<ToolOptions> {
  static const char* read(JSContext* js, JSValueConst value, ToolOptions& into) {
    ObjectReader in(js, value);
    double time_max_ms = 30'000.0;
    std::uint32_t result_bytes_max = static_cast<std::uint32_t>(into.result_bytes_max);
    in.read("roundsMax", into.rounds_max).read("callsMax", into.calls_max);
    in.read("oneCallATurn", into.one_call_a_turn).read("timeMaxMs", time_max_ms);
    in.read("resultBytesMax", result_bytes_max).read("endsAtError", into.ends_at_error);
    if (!(time_max_ms >= 0.0 && time_max_ms <= 1e12)) in.refuse("timeMaxMs", "from 0 to 1e12");
    into.result_bytes_max = result_bytes_max;
    into.time_max = std::chrono::nanoseconds(static_cast<std::int64_t>(time_max_ms * 1e6));
    return in.finish();
  }
};

inline JSValue to_js(JSContext* js, const ToolRun& run) {
  ObjectMaker out(js);
  const std::string arguments = run.call.arguments.is_object() ? run.call.arguments.str() : "{}";
  out.set("name", run.call.name);
  out.put("arguments", JS_ParseJSON(js, arguments.c_str(), arguments.size(), "arguments"));
  if (run.result.ok()) {
    out.set("result", run.result.value());
  } else {
    out.set("error", run.result.error().text());
  }
  return out.take();
}
inline JSValue to_js(JSContext* js, const ToolAnswer& answer) {
  return ObjectMaker(js)
      .set("text", answer.text)
      .set("reasoning", answer.reasoning)
      .set("runs", answer.runs)
      .set("finishReason", reason_text(answer.finish_reason))
      .take();
}

namespace calls {

inline Task<Object<Tools>> tools_offer(Self context, std::vector<Tool> tools, ToolOptions options) {
  const Turn::Hold hold = co_await context->turn.take();
  co_return std::make_shared<Tools>(
      co_await Tools::offer(context->context, std::move(tools), std::move(options)));
}
inline Task<ToolAnswer> answered(JSContext* js, Object<Tools> self, Self context,
                                 GenerateArguments arguments, std::optional<Function> show) {
  const Turn::Hold hold = co_await context->turn.take();
  if (!show) co_return co_await self->answer(context->context, arguments.options);
  co_return co_await self->answer(context->context, arguments.options,
                                  Show{&Engine::of(js), std::move(*show)});
}
inline JSValue tools_answer(JSContext* js, Object<Tools> self, Self context, Value options,
                            std::optional<Function> show) {
  GenerateArguments arguments;
  const char* wrong = read_generate(js, options.get(), JS_UNDEFINED, arguments);
  if (wrong == kThrown) return JS_EXCEPTION;
  if (wrong != nullptr) return JS_ThrowTypeError(js, "Tools.answer: argument 2 must be %s", wrong);
  return returned(
      js, answered(js, std::move(self), std::move(context), std::move(arguments), std::move(show)));
}
inline Task<> shown_call(Object<Tools> self, Self context, std::string thought, std::string name,
                         std::string arguments, std::string result) {
  const Turn::Hold hold = co_await context->turn.take();
  co_await self->show(context->context, thought, name, arguments, result);
}
inline JSValue tools_show(JSContext* js, Object<Tools> self, Self context, std::string thought,
                          std::string name, Value arguments, std::string result) {
  Result<std::string> text = result_text(Engine::of(js), arguments);
  if (!text.ok()) return Engine::of(js).throw_error(text.error());
  return returned(js, shown_call(std::move(self), std::move(context), std::move(thought),
                                 std::move(name), std::move(text).take(), std::move(result)));
}

}  // namespace calls

inline void define_tools(JSContext* js, JSValueConst space) {
  define_class<Tools>(
      js, space, "Tools",
      {function<"Tools.offer", calls::tools_offer>(), method<"Tools.answer", calls::tools_answer>(),
       method<"Tools.show", calls::tools_show>()});
}

}  // namespace quire::javascript
