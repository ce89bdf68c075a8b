// agent_react: thinks, acts and reads what it observes, step by step, until it can answer. A grammar
// gives each step its form, so no model writes an action that cannot be read.
#include "quire/quire.h"

using namespace quire;

constexpr const char* kStep = R"lark(
step: "Thought: " TEXT "\nAction: calculator[" /[-+*\/(). 0-9]{1,100}/ "]" | last_step
last_step: "Thought: " TEXT "\nAnswer: " TEXT
TEXT: /[^\n]{4,240}/)lark";
constexpr int kStepCountMax = 8;

// Small models follow an example better than instructions.
constexpr const char* kExample[] = {
    "Answer in steps, and compute nothing yourself. What are 12 boxes of 5 eggs, if 7 broke?",
    "Thought: First I compute the eggs in the boxes.\nAction: calculator[12 * 5]",
    "12 * 5 = 60",
    "Thought: Then I take away those that broke.\nAction: calculator[60 - 7]",
    "60 - 7 = 53",
    "Thought: All is computed.\nAnswer: There are 53 eggs.",
};

struct Options {
  PromptOption prompt{"Multiply 17 by 23 and add 4. Then divide the result by 5. What comes out?"};
  GenerateOptions generate = {.max_tokens = 2048};

  void read(OptionReader& in) {
    prompt.read(in);
    in.generation(generate);
  }
};

// The value of what stands at `at`: a sum on level 0, a product on 1, a number or brackets on 2.
double value_at(const char*& at, int level = 0) {
  at += std::strspn(at, " ");
  if (level == 2 && *at != '(') return std::strtod(at, const_cast<char**>(&at));
  double value = level == 2 ? value_at(++at) : value_at(at, level + 1);
  if (level == 2) return *at == ')' ? ++at, value : std::nan("");
  while (*(at += std::strspn(at, " ")) != '\0' && std::strchr(level == 0 ? "+-" : "*/", *at)) {
    const char sign = *at;
    const double other = value_at(++at, level + 1);
    if (level == 0) value += sign == '+' ? other : -other;
    if (level == 1) value = sign == '*' ? value * other : value / other;
  }
  return value;
}

std::string observed(const std::string& expression) {
  const char* at = expression.c_str();
  const double value = value_at(at);
  if (*at == '\0' && std::isfinite(value)) return expression + " = " + json_number(value);
  return "error: " + expression + " is not an expression of numbers, + - * / and brackets";
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  for (int i = 0; i < 6; ++i) context.add(i % 2 == 0 ? "user" : "assistant", kExample[i]);
  context.user(co_await options.prompt.text());
  for (int i = 1; i <= kStepCountMax; ++i) {
    // The last step is an answer, so that an agent that acts in circles comes to an end.
    const char* start = i < kStepCountMax ? "\nstart: step" : "\nstart: last_step";
    options.generate.grammar = co_await Grammar::lark(context.model(), std::string(kStep) + start);
    const Generation step = co_await context.generate(options.generate).stream(session::send);
    if (step.finish_reason == FinishReason::Length) break;
    const std::size_t action = step.text.find("\nAction: ");
    if (action == std::string::npos) co_return;  // It is the answer.
    const std::size_t input = step.text.find('[', action) + 1;
    context.user(observed(step.text.substr(input, step.text.size() - 1 - input)));
    co_await session::send("\n" + context.messages().back().content + "\n");
  }
  co_await fail(ErrorCode::OutOfRange, "no room for an answer: give it more tokens (--max-tokens)");
}

QUIRE_MAIN(program)
