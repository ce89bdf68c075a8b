// agent_react: reasons, calls a tool, reads what came of it, and goes on until it can answer. All of
// it is one context beside the model, so each step costs its own tokens only.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Multiply 17 by 23 and add 4. Then divide the result by 5. What comes out?"};
  std::string system =
      "You answer questions step by step. Call the calculator for every calculation, one call at a "
      "time, and read its result before you go on. Then answer in one sentence.";
  GenerateOptions generate = {.max_tokens = 512};

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("system", system, "Instructions to the model");
    in.generation(generate);
  }
};

// The value of what stands at `at`: a sum on level 0, a product on 1, a number or brackets on 2.
double value_at(const char*& at, int level = 0) {
  at += std::strspn(at, " ");
  if (level == 2 && *at == '(') {
    const double value = value_at(++at);
    return *at == ')' ? ++at, value : std::nan("");
  }
  if (level == 2) return std::strtod(at, const_cast<char**>(&at));
  double value = value_at(at, level + 1);
  while (*(at += std::strspn(at, " ")) != '\0' && std::strchr(level == 0 ? "+-" : "*/", *at)) {
    const char sign = *at;
    const double other = value_at(++at, level + 1);
    value = sign == '+'   ? value + other
            : sign == '-' ? value - other
            : sign == '*' ? value * other
                          : value / other;
  }
  return value;
}

Task<std::string> calculate(Json arguments) {
  const char* at = arguments.text("expression").c_str();
  const double value = value_at(at);
  if (*at == '\0' && std::isfinite(value)) co_return json_number(value);
  co_await fail(ErrorCode::InvalidArgument, "not an expression of numbers, + - * / and brackets");
}

Task<std::string> fetch(Json arguments) {
  co_return (co_await http::get(arguments.text("url"))).body;
}

void report(const ToolRun& run) {
  const std::string result = run.result.ok() ? run.result.value() : run.result.error().text();
  runtime::log(LogLevel::Info, run.call.name + run.call.arguments.str() + " -> " + result);
}

Task<> program(Options options) {
  const Tool calculator{
      "calculator", "Computes an expression such as (2 + 3) * 4.",
      R"({"properties": {"expression": {"type": "string"}}, "required": ["expression"]})",
      calculate};
  const Tool web{"fetch", "Gets the page at a URL.",
                 R"({"properties": {"url": {"type": "string"}}, "required": ["url"]})", fetch};
  Context context = co_await Context::create();
  context.system(options.system);
  const Tools tools = co_await Tools::offer(context, {calculator, web}, {.observe = report});
  context.user(co_await options.prompt.text());
  co_await tools.answer(context, options.generate, session::send);
}

QUIRE_MAIN(program)
