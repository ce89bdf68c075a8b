// NAME: an agent. The model fetches pages until it can answer.
//
// The pages come from outside: `quire run` must allow the host (--allow-http). If a page cannot be
// fetched, the model reads the error. Small models hardly call tools: give --model one of 1B or more.
#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string question = "What does https://en.wikipedia.org/wiki/Page_table say?";
  std::uint32_t turns = 4;
  GenerateOptions generate = {.max_tokens = 300};

  void read(OptionReader& in) {
    in.words("question", question, "What the agent answers");
    in.number("turns", turns, "Maximum number of turns of the model", {1, 100});
    in.generation(generate);
  }
};

Task<std::string> fetch(Json arguments) {
  const http::Response page = co_await http::get(std::string(arguments.text("url")));
  co_return page.body;
}

// Writes each call into the program's log.
void report(const ToolRun& run) {
  const std::string result = run.result.ok() ? std::to_string(run.result_bytes) + " bytes"
                                             : "error: " + run.result.error().text();
  runtime::log(LogLevel::Info, run.call.name + run.call.arguments.str() + " -> " + result);
}

Task<> program(Options options) {
  const Tool fetcher{
      .name = "fetch",
      .description = "Gets the page of a URL.",
      .schema = R"({"type": "object", "properties": {"url": {"type": "string"}},
                    "required": ["url"]})",
      .run = fetch,
  };
  Context context = co_await Context::create();
  context.system("Fetch the pages that you need. Then answer in one or two sentences.");
  const Tools tools = co_await Tools::offer(
      context, {fetcher},
      {.rounds_max = options.turns, .result_bytes_max = 4'000, .observe = report});
  // Small models follow an example better than instructions.
  context.user("What does http://example.com/ say?");
  co_await tools.show(context, "I fetch the page.", "fetch", R"({"url": "http://example.com/"})",
                      "This domain is for use in examples.");
  context.assistant("It says that its domain is for use in examples.");
  context.user(options.question);
  co_await tools.answer(context, options.generate, session::send);
}

QUIRE_MAIN(program)
