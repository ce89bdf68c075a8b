// self_consistency: reasons towards an answer several times and gives the answer that most of them
// reach. It stops as soon as the others cannot change which answer that is.
#include <map>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"What is 7 plus 5?"};
  std::uint32_t paths = 9;
  std::uint32_t at_once = 4;
  std::string answer = "-?[0-9]{1,4}";
  GenerateOptions reasoning = {.temperature = 0.7, .max_tokens = 96};

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("paths", paths, "Ways to reason that are tried at most", {1, 1000});
    in.number("at-once", at_once, "Ways that are followed side by side", {1, 1000});
    in.text("answer", answer, "What an answer looks like, as a regular expression");
    in.generation(reasoning);
  }
};

struct Poll {
  std::map<std::string, std::uint32_t> votes;
  std::uint32_t begun = 0;  // Paths.
  std::uint32_t cast = 0;   // Votes.
  bool is_decided = false;

  void vote(const std::string& answer, std::uint32_t path_count) {
    if (is_decided) return;
    cast += 1;
    votes[answer] += 1;
    std::vector<std::uint32_t> counts = {0};
    for (const auto& [text, count] : votes) counts.push_back(count);
    std::ranges::sort(counts, std::greater());
    // The second answer does not overtake the first, even with all votes that are left.
    is_decided = counts[0] > counts[1] + (path_count - cast);
  }
};

// Follows one path after another until the poll is decided, which ends a path at its next token.
Task<> follow(Context question, Grammar grammar, Options options, Poll& poll) {
  while (!poll.is_decided && poll.begun < options.paths) {
    Context path = co_await question.fork();
    GenerateOptions how = options.reasoning;
    how.seed += poll.begun++;
    Generator generator = path.generate(how);
    while (!poll.is_decided && co_await generator.next()) {
    }
    if (poll.is_decided) break;
    path.user("So what is the answer? Give only the answer.");
    poll.vote((co_await path.generate({.grammar = grammar})).text, options.paths);
  }
}

Task<> program(Options options) {
  Context question = co_await Context::create();
  question.user(co_await options.prompt.text() + " Think step by step.");
  const Grammar grammar = co_await Grammar::regex(question.model(), options.answer);
  co_await question.prefill();  // Computed once: each path is a fork.
  Poll poll;
  std::vector<Task<>> followers;
  for (std::uint32_t i = 0; i < std::min(options.at_once, options.paths); ++i) {
    followers.push_back(follow(co_await question.fork(), grammar, options, poll));
  }
  co_await gather(std::move(followers));
  const auto count_of = [](const auto& each) { return each.second; };
  const auto& [answer, count] = *std::ranges::max_element(poll.votes, {}, count_of);
  co_await session::send(answer + "\n");
  // How many votes were cast by then depends on the pace of the paths; the answer does not.
  runtime::log(LogLevel::Info, std::to_string(count) + " of " + std::to_string(poll.cast) +
                                   " votes; " + std::to_string(poll.begun) + " paths begun");
}

QUIRE_MAIN(program)
