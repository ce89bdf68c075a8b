#pragma once
// Class Generator of JavaScript: an asynchronous iterator of pieces, and a whole answer where it is
// awaited; see generate.h of the SDK.
#include "bind.h"
#include "context_calls.h"

namespace quire::javascript {

// A generation that begins with the first call. It refers to the context, which it keeps.
struct GeneratorObject {
  Object<ContextObject> context;
  GenerateArguments arguments;
  std::optional<Generator> generator;
  bool was_given_away = false;  // To collect() or stream(), which end it.

  Task<> begin() {
    if (was_given_away) {
      co_await fail(ErrorCode::InvalidArgument,
                    "this generation was collected or streamed: generate() begins another");
    }
    if (generator) co_return;
    if (arguments.source.kind != GrammarSource::Kind::None) {
      if (arguments.options.grammar) {
        co_await fail(ErrorCode::InvalidArgument,
                      "a generation has one grammar: use one of grammar, schema, regex and lark");
      }
      arguments.options.grammar =
          co_await compiled(context->context.model(), std::move(arguments.source));
    }
    generator.emplace(context->context, arguments.options);
  }
};

template <>
struct HeldByCall<Object<GeneratorObject>> {
  static std::shared_ptr<void> of(const Object<GeneratorObject>& generator) {
    return HeldByCall<Object<ContextObject>>::of(generator->context);
  }
};

inline JSValue to_js(JSContext* js, const Piece& piece) {
  return ObjectMaker(js)
      .set("token", piece.token)
      .set("text", piece.text)
      .set("probability", piece.probability)
      .set("logProbability", piece.log_probability())
      .set("isForced", piece.is_forced)
      .set("top", piece.top)
      .take();
}

// The result of an iterator's next().
struct Step {
  std::optional<Piece> piece;
};
inline JSValue to_js(JSContext* js, const Step& step) {
  return ObjectMaker(js).set("value", step.piece).set("done", !step.piece.has_value()).take();
}

namespace calls {

using Generating = Object<GeneratorObject>;

inline JSValue context_generate(JSContext* js, Value self, Value options) {
  Self context;
  auto made = std::make_shared<GeneratorObject>();
  const char* wrong = FromJs<Self>::read(js, self.get(), made->context);
  if (wrong != nullptr) return JS_ThrowTypeError(js, "Context.generate: not called on a Context");
  wrong = read_generate(js, options.get(), self.get(), made->arguments);
  if (wrong == kThrown) return JS_EXCEPTION;
  if (wrong != nullptr) {
    return JS_ThrowTypeError(js, "Context.generate: argument 1 must be %s", wrong);
  }
  return to_js(js, std::move(made));
}

inline Task<Step> generator_next(Generating self) {
  const Turn::Hold hold = co_await self->context->turn.take();
  co_await self->begin();
  co_return Step{co_await self->generator->next()};
}
inline Task<> generator_end(Generating self) {
  const Turn::Hold hold = co_await self->context->turn.take();
  if (self->was_given_away || !self->generator) co_return;
  co_await self->generator->end();
}

// The context may be forked while a loop of the host runs on it.
class GeneratingWatch {
 public:
  explicit GeneratingWatch(ContextObject& context) : context_(context) {
    context_.is_generating = true;
  }
  GeneratingWatch(const GeneratingWatch&) = delete;
  GeneratingWatch& operator=(const GeneratingWatch&) = delete;
  ~GeneratingWatch() { context_.is_generating = false; }

 private:
  ContextObject& context_;
};

inline Task<Generation> generator_collect(Generating self) {
  const Turn::Hold hold = co_await self->context->turn.take();
  co_await self->begin();
  self->was_given_away = true;
  const GeneratingWatch watch(*self->context);
  co_return co_await std::move(*self->generator).collect();
}

// Show gives the pieces of a text to a function of the script, and awaits the function's promise.
struct Show {
  Engine* engine;
  Function function;
  Task<> operator()(std::string_view text) const {
    return shown(engine, function, text_value(text));
  }

 private:
  Value text_value(std::string_view text) const {
    return {engine->js(), to_js(engine->js(), text)};
  }
  static Task<> shown(Engine* engine, Function function, Value text) {
    std::vector<Value> arguments(1, std::move(text));
    co_await engine->call(std::move(function), std::move(arguments));
  }
};

inline Task<Generation> generator_stream(JSContext* js, Generating self, Function show) {
  const Turn::Hold hold = co_await self->context->turn.take();
  co_await self->begin();
  self->was_given_away = true;
  const GeneratingWatch watch(*self->context);
  co_return co_await std::move(*self->generator).stream(Show{&Engine::of(js), std::move(show)});
}
inline Result<Generation> generator_answer(Generating self) {
  if (self->was_given_away) {
    return Error{ErrorCode::InvalidArgument, "collect() and stream() give the answer themselves"};
  }
  return self->generator ? self->generator->answer() : Generation{};
}

}  // namespace calls

inline void define_generators(JSContext* js, JSValueConst space) {
  using namespace calls;
  define_class<GeneratorObject>(
      js, space, "Generator",
      {method<"Generator.next", generator_next>(), method<"Generator.end", generator_end>(),
       method<"Generator.collect", generator_collect>(),
       method<"Generator.stream", generator_stream>(),
       getter<"Generator.answer", generator_answer>()});
}

}  // namespace quire::javascript
