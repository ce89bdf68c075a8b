// json_extract: finds in a text what a JSON schema asks for. The answer is an instance of the schema.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption text;
  std::string schema;
  std::string instructions = "Find the values in the text. Give each as its schema says.";
  GenerateOptions generate = {.max_tokens = 1024};

  void read(OptionReader& in) {
    text.read(in);
    in.text("schema", schema, "The JSON schema of the answer", Required::Yes);
    in.text("instructions", instructions, "What else the model should know");
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  // The model reads the schema, so that it knows what is asked for; the grammar sees to the form.
  options.generate.grammar = co_await Grammar::json_schema(context.model(), options.schema);
  context.system(options.instructions + "\nJSON schema of the answer:\n" + options.schema);
  context.user(co_await options.text.text());
  const Generation answer = co_await context.generate(options.generate).collect();
  if (answer.finish_reason == FinishReason::Length) {
    co_await fail(ErrorCode::OutOfRange,
                  "the answer is not complete after " + std::to_string(answer.tokens.size()) +
                      " tokens: give it more (--max-tokens), or give strings a maxLength");
  }
  co_await session::send(answer.text);
}

QUIRE_MAIN(program)
