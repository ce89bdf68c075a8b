// ebnf_decoding: answers with a text of a grammar, whatever else the model would rather write.
#include "quire/quire.h"

using namespace quire;

// Sums of products. Each rule limits how often it repeats, so that a text of any model ends: none has
// more than 339 characters, and a token has one at least.
constexpr const char* kArithmetic = R"lark(
start: sum
sum: product (" " /[+-]/ " " product)~0..2
product: factor (" " /[*\/]/ " " factor)~0..2
factor: NUMBER | "(" NUMBER (" " /[-+*\/]/ " " NUMBER)~1..2 ")"
NUMBER: /(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?/
)lark";

struct Options {
  PromptOption prompt{"Three boxes hold 12 apples each, and a bag holds 7. Half of all are sold."};
  std::string system = "Write the arithmetic expression that the text describes, and no result.";
  std::string grammar = kArithmetic;
  GenerateOptions generate = {.max_tokens = 340};

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("system", system, "Instructions to the model");
    in.text("grammar", grammar, "What the answer may look like, in Lark's notation");
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  options.generate.grammar = co_await Grammar::lark(context.model(), options.grammar);
  context.system(options.system);
  context.user(co_await options.prompt.text());
  const Generation answer = co_await context.generate(options.generate).stream(session::send);
  // The model may end a text where the grammar lets it end; anything else has cut it.
  if (answer.finish_reason == FinishReason::Length) {
    co_await fail(ErrorCode::OutOfRange,
                  "the text is not complete after " + std::to_string(answer.tokens.size()) +
                      " tokens: give it more (--max-tokens), or limit the grammar");
  }
}

QUIRE_MAIN(program)
