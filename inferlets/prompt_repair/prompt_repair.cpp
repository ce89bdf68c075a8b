// prompt_repair: finds the lines of a prompt in which only a number changes from turn to turn, such as
// the time, and moves them to its end. What is before them stays the same, and the cache finds it.
#include "line_repair.h"
#include "quire/quire.h"

using namespace quire;

// A coding agent that sends all of its prompt in each turn, with the time near its beginning.
std::vector<std::string> example_turns() {
  std::string head = "You are a coding agent. You work in the repository of a small web shop.\n";
  std::string rules =
      "Read a file before you change it.\nChange as little as you can.\n"
      "Run the tests after each change.\nNever delete a file.\n"
      "The tools are: read FILE, write FILE, run COMMAND, search TEXT.\n"
      "A tool call is one line that begins with the name of the tool.\n"
      "The folders are: cart, catalog, checkout, mail, search, tests.\n";
  std::vector<std::string> turns;
  for (const char* each : {"Which file holds the cart?", "Where is the price added up?",
                           "How is the sum rounded?", "Which test covers that?"}) {
    rules += std::string("The user asks: ") + each + "\n";
    turns.push_back(head + "The time is 10:3" + std::to_string(turns.size()) + ".\n" + rules);
  }
  return turns;
}

struct Options {
  std::vector<std::string> turns = example_turns();
  bool as_is = false;
  GenerateOptions generate = {.max_tokens = 24};

  void read(OptionReader& in) {
    in.texts("turn", turns, "The whole prompt of a turn; may be given several times");
    in.flag("as-is", as_is, "Repair nothing, to compare");
    in.generation(generate);
  }
};

// The prompt with the changing lines at its end.
std::string repaired(repair::LineRepair& repair, std::string prompt) {
  repair.see(prompt);
  const std::string moved = repair.take(prompt);
  if (!moved.empty() && !prompt.ends_with('\n')) prompt += '\n';
  return prompt + moved;
}

Task<> program(Options options) {
  repair::LineRepair repair;
  for (const std::string& turn : options.turns) {
    Context context = co_await Context::create();
    context.user(options.as_is ? turn : repaired(repair, turn));
    const ContextCounters prompt = co_await context.prefill();
    co_await context.generate(options.generate).stream(session::send);
    co_await session::send("\n");
    runtime::log(LogLevel::Info, std::to_string(prompt.found_token_count) + " of " +
                                     std::to_string(prompt.seq_len) +
                                     " tokens of the prompt found");
  }
}

QUIRE_MAIN(program)
