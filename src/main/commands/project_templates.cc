#include "main/commands/project_templates.h"

namespace quire {
namespace {

// In each text, NAME is the project's name and QUIRE_PATH the program that made it.
constexpr std::string_view kAnswer = R"cpp(// NAME: asks the model for an answer.
                                           //
                                           // It runs inside the server, next to the model. Change generate's options, fork the context, draw
                                           // tokens by a rule of your own, call tools between them: the loop is yours.
#include "quire/quire.h"

                                           namespace {

                                           using namespace quire;

                                           struct Options {
                                             std::string prompt = "Say hello in five words.";
                                             GenerateOptions generate = {.max_tokens = 64};

                                             void read(OptionReader& in) {
                                               in.text("prompt", prompt, "What the model answers");
                                               in.generation(generate);  // --max-tokens, --temperature, --seed and the like.
                                             }
                                           };

                                           Task<> program(Options options) {
                                             Context context = co_await Context::create();
                                             context.user(options.prompt);
                                             const Generation answer = co_await context.generate(options.generate).stream(session::send);

                                             runtime::log(LogLevel::Info, std::to_string(answer.tokens.size()) + " tokens");
                                           }

                                           }  // namespace

                                           QUIRE_MAIN(program)
)cpp";

constexpr std::string_view kChat = R"cpp(// NAME: a conversation. Each line that the client sends is a turn, and the answer streams back.
                                         //
                                         // One context holds the conversation beside the model, so that a turn costs its own tokens only.
#include "quire/quire.h"

                                         namespace {

                                         using namespace quire;

                                         struct Options {
                                           std::string system =
                                               "You answer in two or three "
                                               "sentences.";
                                           GenerateOptions generate = {.temperature = 0.7, .max_tokens = 256};

                                           void read(OptionReader& in) {
                                             in.text("system", system, "Instructions to the model");
                                             in.generation(generate);
                                           }
                                         };

                                         Task<> program(Options options) {
                                           Context context = co_await Context::create();
                                           context.system(options.system);
                                           for (;;) {
                                             const Result<std::string> line = co_await attempt(session::receive());
                                             if (!line.ok() && line.error().code == ErrorCode::Unavailable)
                                               co_return;  // The client is done.
                                             context.user(co_await line);
                                             co_await context.generate(options.generate).stream(session::send);
                                             co_await session::send("\n");
                                             options.generate.seed += 1;  // Another turn draws other numbers.
                                           }
                                         }

                                         }  // namespace

                                         QUIRE_MAIN(program)
)cpp";

constexpr std::string_view kAgent =
    R"cpp(// NAME: an agent. In each turn the model chooses to fetch a page or to answer, as one JSON object.
          //
          // The pages come from outside: `quire run` must allow the host (--allow-http). What goes wrong with
          // a page is what the model reads of it.
#include "quire/quire.h"

          namespace {

          using namespace quire;

          constexpr const char* kInstructions =
              "Answer the question of the user. In each turn write one JSON object with "
              "\"thought\", \"action\" and "
              "\"input\". The action \"fetch\" gets the page of the URL in input; the action "
              "\"answer\" ends with "
              "the answer in input.";

          constexpr const char* kTurn = R"({
  "type": "object",
  "properties": {
    "thought": {"type": "string", "maxLength": 200},
    "action": {"enum": ["fetch", "answer"]},
    "input": {"type": "string", "minLength": 1, "maxLength": 400}
  },
  "required": ["thought", "action", "input"],
  "additionalProperties": false
})";

          constexpr std::size_t kPageBytesMax = 2000;  // That the model reads.

          struct Options {
            std::string question = "What is a page table? Answer in one sentence.";
            std::uint32_t turns = 4;
            GenerateOptions generate = {.max_tokens = 300};

            void read(OptionReader& in) {
              in.words("question", question, "What the agent answers");
              in.number("turns", turns, "Turns of the agent at most", {1, 100});
              in.generation(generate);
            }
          };

          // A tool: gives what the model reads of it.
          Task<std::string> fetch(std::string url) {
            const Result<http::Response> page =
                co_await attempt(with_timeout(http::get(url), std::chrono::seconds(10)));
            if (!page.ok()) co_return "error: " + page.error().text();
            co_return valid_utf8(page.value().body.substr(0, kPageBytesMax));
          }

          Task<> program(Options options) {
            Context context = co_await Context::create();
            context.system(kInstructions);
            context.user(options.question);
            options.generate.grammar = co_await Grammar::json_schema(context.model(), kTurn);
            for (std::uint32_t turn = 0; turn < options.turns; ++turn) {
              const Generation written = co_await context.generate(options.generate);
              if (written.finish_reason == FinishReason::Length) {
                co_await fail(
                    ErrorCode::OutOfRange,
                    "a turn was cut at " + std::to_string(written.tokens.size()) + " tokens");
              }
              const Json action = co_await Json::parse(written.text);
              runtime::log(LogLevel::Info, action.text("thought"));
              if (action.text("action") == "answer") {
                co_await session::send(action.text("input") + "\n");
                co_return;
              }
              context.user("The page: " + co_await fetch(action.text("input")));
            }
            co_await fail(ErrorCode::OutOfRange, "no answer in " + std::to_string(options.turns) + " turns");
          }

          }  // namespace

          QUIRE_MAIN(program)
    )cpp";

constexpr std::string_view kSearch = R"cpp(// NAME: a search. Writes several answers side by side, has the model judge each, and gives the best.
                                           //
                                           // The question is computed once: each answer is a fork that shares its pages, and each verdict a fork
                                           // of an answer.
#include "quire/quire.h"

                                           namespace {

                                           using namespace quire;

                                           struct Options {
                                             std::string prompt =
                                                 "Think of a riddle about a "
                                                 "river, and write it down.";
                                             std::uint32_t n = 4;
                                             GenerateOptions generate = {.temperature = 0.9, .max_tokens = 80};

                                             void read(OptionReader& in) {
                                               in.words("prompt", prompt, "What the model answers");
                                               in.number("n", n, "Answers that are tried", {1, 64});
                                               in.generation(generate);
                                             }
                                           };

                                           // How probable the model finds "yes", in a fork: the verdict is no part of the answer.
                                           Task<double> judged(Context judge) {
                                             judge.user("Is this a good answer? Say yes or no.");
                                             const Choice verdict = co_await judge.choose({"yes", "no"});
                                             co_return verdict.probabilities[0];
                                           }

                                           Task<> program(Options options) {
                                             Context question = co_await Context::create();
                                             question.user(options.prompt);
                                             std::vector<Branch> answers = co_await question.sample(options.n, options.generate);
                                             std::vector<Task<double>> judgements;
                                             for (Branch& each : answers) judgements.push_back(judged(co_await each.context.fork()));
                                             const std::vector<double> scores = co_await gather(std::move(judgements));

                                             const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
                                             for (std::size_t i = 0; i < scores.size(); ++i) {
                                               runtime::log(LogLevel::Info, json_number(scores[i]) + "  " + answers[i].answer.text);
                                             }
                                             co_await session::send(answers[best].answer.text + "\n");
                                           }

                                           }  // namespace

                                           QUIRE_MAIN(program)
)cpp";

constexpr std::string_view kConstrained =
    R"cpp(// NAME: reads facts out of a text. The answer is JSON that follows a schema, whatever the model.
          //
          // Under a grammar the model draws only tokens with which the answer can still become one of its texts.
          // Grammar::regex and Grammar::lark take other notations.
#include "quire/quire.h"

          namespace {

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
            context.system(
                "Answer with one JSON object: the name, the age and the trade of the "
                "person.");
            context.user(options.text);
            options.generate.grammar = co_await Grammar::json_schema(context.model(), kSchema);
            const Generation answer = co_await context.generate(options.generate);
            if (answer.finish_reason == FinishReason::Length) {
              co_await fail(
                  ErrorCode::OutOfRange,
                  "the answer was cut at " + std::to_string(answer.tokens.size()) + " tokens");
            }
            const Json person = co_await Json::parse(answer.text);
            co_await session::send(person.text("name") + " is " +
                                   json_number(person.number("age")) +
                                   ", trade: " + person.text("trade") + "\n");
          }

          }  // namespace

          QUIRE_MAIN(program)
    )cpp";

constexpr std::string_view kReadme = R"(# NAME

A program for Quire: it runs as WebAssembly inside the server, next to the model.

    make          # builds NAME.wasm
    make run      # builds and runs it here, with the default model
    make run ARGS='EXAMPLE_ARGUMENTS --max-tokens 100'
    make help     # its options

While you work on it, `quire run main.cpp` compiles and runs it in one step, without optimizing.

The Makefile calls the `quire` that made this project. Another one, or another place:
`make QUIRE=/path/to/quire`. The same by hand, if `quire` is on your PATH:

    quire build main.cpp -o NAME.wasm
    quire run NAME.wasm RUN_FLAGS-- EXAMPLE_ARGUMENTS

`compile_flags.txt` lets editors with clangd find the headers. It has paths of this machine, so git
leaves it out; `quire new` writes one for each project.

Start reading in `main.cpp`. Everything that the SDK offers is in its headers: `quire/quire.h` lists
them. A call that fails ends the task that awaits it with an error, a code and a message that says
what, which and how much; it ends in the program's log. `co_await attempt(call)` gives the error to
the program instead.
)";

constexpr std::string_view kMakefile =
    R"make(# `make` builds NAME.wasm, `make run ARGS='--prompt TEXT'` runs it.
# The program that made this project; another: `make QUIRE=/path/to/quire`.
QUIRE ?= QUIRE_PATH
ARGS ?=
# Flags of quire run itself.
FLAGS ?= RUN_FLAGS

NAME.wasm: main.cpp
	"$(QUIRE)" build main.cpp -o $@

.PHONY: run help clean
run: NAME.wasm
	"$(QUIRE)" run NAME.wasm $(FLAGS) -- $(ARGS)

help: NAME.wasm
	"$(QUIRE)" run NAME.wasm --help

clean:
	rm -f NAME.wasm
)make";

constexpr ProjectTemplate kAnswerTemplate = {"", kAnswer, "", "--prompt \"What is a page table?\""};
constexpr ProjectTemplate kTemplates[] = {
    {"chat", kChat, "", "--system \"You are a poet.\""},
    {"agent", kAgent, "--allow-http en.wikipedia.org", "--turns 8"},
    {"search", kSearch, "", "--n 8"},
    {"constrained", kConstrained, "", "--text \"Jo is a carpenter of 30.\""},
};

}  // namespace

const ProjectTemplate* find_template(std::string_view name) {
  if (name.empty()) return &kAnswerTemplate;
  for (const ProjectTemplate& each : kTemplates) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const ProjectTemplate& each : kTemplates) names.emplace_back(each.name);
  return names;
}

std::string_view project_readme() {
  return kReadme;
}
std::string_view project_makefile() {
  return kMakefile;
}

}  // namespace quire
