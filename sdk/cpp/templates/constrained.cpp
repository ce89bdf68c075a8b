// NAME: reads facts out of a text. The answer is JSON that follows a schema, whatever the model.
//
// Under a grammar the model draws only tokens with which the answer can still become one of its
// texts. Grammar::regex and Grammar::lark take other notations.
#include "quire/quire.h"

using namespace quire;

constexpr const char* kSchema = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 60},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "trade": {"enum": ["baker", "carpenter", "teacher", "other"]}
  },
  "required": ["name", "age", "trade"],
  "additionalProperties": false
})";

struct Options {
  std::string text = "Ada Kowalski, 41, bakes bread in the old mill.";
  GenerateOptions generate = {.max_tokens = 200};

  void read(OptionReader& in) {
    in.words("text", text, "A text about a person");
    in.generation(generate);
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.system("Answer with one JSON object: the name, the age and the trade of the person.");
  context.user(options.text);
  options.generate.grammar = co_await Grammar::json_schema(context.model(), kSchema);
  const Generation answer = co_await context.generate(options.generate);
  if (answer.finish_reason == FinishReason::Length) {
    co_await fail(ErrorCode::OutOfRange, "the answer is not complete after " +
                                             std::to_string(answer.tokens.size()) +
                                             " tokens: give it more (--max-tokens)");
  }
  const Json person = co_await Json::parse(answer.text);
  co_await session::send(std::string(person.text("name")) + " is " + person["age"].str() +
                         ", trade: " + std::string(person.text("trade")) + "\n");
}

QUIRE_MAIN(program)
