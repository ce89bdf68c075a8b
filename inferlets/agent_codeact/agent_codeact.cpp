// agent_codeact: answers questions by writing JavaScript, which runs in the program (QuickJS-ng). The
// model reads what came of its code, also an error, and tries again.
#include <quickjs.h>

#include "quire/quire.h"

using namespace quire;

constexpr const char* kExamples =
    "Question: What is the sum of 1 to 10?\n```js\nlet sum = 0;\nfor (let i = 1; i <= 10; i++) {"
    "\n  sum += i;\n}\nconsole.log(sum);\n```\nOutput: 55\nAnswer: 55\n\nQuestion: How long is "
    "the word banana?\n```js\nconsole.log('banana'.length);\n```\nOutput: 6\nAnswer: 6\n\n";

struct Options {
  PromptOption question{"What is 23 times 19?"};
  std::string code;
  std::uint32_t tries = 3;
  GenerateOptions generate = {.max_tokens = 96};

  void read(OptionReader& in) {
    question.read(in);
    in.text("code", code, "The first program, as if the model had written it");
    in.number("tries", tries, "Programs that the model may write", {1, 16});
    in.generation(generate);
  }
};

// The engine, which lives as long as the program. It interrupts code that takes too many steps. Code
// has neither a clock nor random numbers, so equal seeds give equal answers.
class JavaScript {
 public:
  JavaScript() {
    JS_SetMemoryLimit(runtime_, std::size_t{16} << 20);
    JS_SetMaxStackSize(runtime_, std::size_t{700} << 10);
    const auto over = [](JSRuntime*, void* left) -> int { return --*static_cast<int*>(left) < 0; };
    JS_SetInterruptHandler(runtime_, over, &turns_left_);
    JS_SetContextOpaque(context_, this);
    const JSValue global = JS_GetGlobalObject(context_);
    JS_SetPropertyStr(context_, global, "print", JS_NewCFunction(context_, print, "print", 1));
    JS_FreeValue(context_, global);
    run("globalThis.console = {log: print}; delete Date; delete performance; delete Math.random");
  }

  // Returns the text that the code prints; else its last value, or the error that ended it.
  std::pair<bool, std::string> run(const std::string& code) {
    output_.clear();
    turns_left_ = 1000;  // Of 10,000 steps each.
    JS_UpdateStackTop(runtime_);
    JSValue value = JS_Eval(context_, code.c_str(), code.size(), "code", JS_EVAL_TYPE_GLOBAL);
    const bool fails = JS_IsException(value);
    if (fails) value = JS_GetException(context_);
    if (fails || output_.empty()) print(context_, JS_UNDEFINED, 1, &value);
    JS_FreeValue(context_, value);
    return {fails, (fails ? "Error: " : "Output: ") + valid_utf8(output_.substr(0, 1000)) + "\n"};
  }

 private:
  static JSValue print(JSContext* context, JSValueConst, int count, JSValueConst* values) {
    std::string& output = static_cast<JavaScript*>(JS_GetContextOpaque(context))->output_;
    for (int i = 0; i < count; ++i) {
      const char* text = JS_ToCString(context, values[i]);
      output += (output.empty() ? "" : " ") + std::string(text == nullptr ? "no text" : text);
      JS_FreeCString(context, text);
    }
    return JS_UNDEFINED;
  }

  JSRuntime* runtime_ = JS_NewRuntime();
  JSContext* context_ = JS_NewContext(runtime_);
  std::string output_;
  int turns_left_ = 0;
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  std::string code = options.code.empty() ? "" : options.code + "\n";
  const std::string question = "Question: " + co_await options.question.text() + "\n";
  co_await context.append_text(kExamples + question + "```js\n" + code);
  JavaScript engine;
  GenerateOptions generate = options.generate;
  generate.stop.push_back("```");
  generate.cut_stop_text = true;
  for (bool fails = true; fails && options.tries > 0; --options.tries) {
    if (code.empty()) code = (co_await context.generate(generate).collect()).text;
    std::string result;
    // A block, so that the next piece of code may use the same names.
    std::tie(fails, result) = engine.run("{" + code + "}");
    co_await session::send(code + result);
    const bool goes_on = fails && options.tries > 1;
    co_await context.append_text("```\n" + result + (goes_on ? "```js\n" : "Answer:"));
    code.clear();
  }
  generate.stop.back() = "\n";
  co_await context.generate(generate).stream(session::send);
}

QUIRE_MAIN(program)
