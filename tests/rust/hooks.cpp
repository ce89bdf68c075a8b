// The twin of the case "hooks" of tests/rust/calls: each line is what a generation gave in which
// the program took part.
#include <functional>

#include "quire/quire.h"

using namespace quire;

namespace {

constexpr const char* kText = "Once upon a time there was a small engine";

// One generation of the text, and what it gave: its tokens, and those that on_token got.
Task<> report(std::string name, std::function<void(GenerateOptions&)> change,
              GenerateOptions options) {
  Context context = co_await Context::create();
  co_await context.append_text(kText);
  change(options);
  std::vector<std::uint32_t> seen;
  options.on_token = [&seen](std::uint32_t token) { seen.push_back(token); };
  Result<Generation> answer = co_await attempt(context.generate(options).collect());
  if (!answer.ok()) {
    co_await session::print("{}: {}\n", name, answer.error().message);
    co_return;
  }
  std::string line;
  for (const std::uint32_t each : answer.value().tokens) line += " " + std::to_string(each);
  line += " |";
  for (const std::uint32_t each : seen) line += " " + std::to_string(each);
  co_await session::print("{}:{} | {} {}\n", name, line, answer.value().drawn_count,
                          context.token_count());
}

void sharpen(GenerateOptions& options) {
  options.logits = [](std::span<float> logits) {
    for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] += 1.5f;
  };
}
void halve(GenerateOptions& options) {
  options.reshape = [](Distribution& next) {
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (next.tokens[i] % 2 == 0) next.probabilities[i] *= 0.5f;
    }
  };
}
void drop_all(GenerateOptions& options) {
  options.reshape = [](Distribution& next) {
    const auto none = [](std::uint32_t, float) { return false; };
    next.keep_if(none);
  };
}

// Away from what the model says without the first words.
Task<> guidance() {
  Context context = co_await Context::create();
  co_await context.append_text(kText);
  Context plain = co_await Context::create();
  co_await plain.append_text("a small engine");
  GenerateOptions options = {.temperature = 0.8, .seed = 11, .max_tokens = 12};
  options.ignore_stop_tokens = true;
  options.logits = [&plain](std::span<float> logits) -> Task<> {
    const std::vector<float> without = co_await plain.next_logits();
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += logits[i] - without[i];
  };
  options.on_token = [&plain](std::uint32_t token) { return plain.append(token); };
  const Generation answer = co_await context.generate(options).collect();
  std::string line = "guidance:";
  for (const std::uint32_t each : answer.tokens) line += " " + std::to_string(each);
  co_await session::print("{} | {}\n", line, plain.token_count());
}

Task<> program() {
  const Model model = co_await Model::open();
  const Grammar letters = co_await Grammar::regex(model, "[a-z ]{9,20}");
  GenerateOptions drawn = {.temperature = 1.0, .top_p = 0.95, .seed = 4, .max_tokens = 16};
  drawn.ignore_stop_tokens = true;
  co_await report("logits", sharpen, drawn);
  GenerateOptions penalized = drawn;
  penalized.dry_multiplier = 0.8;
  penalized.repetition_penalty = 1.1;
  penalized.presence_penalty = 0.5;
  penalized.frequency_penalty = 0.3;
  penalized.top_n_sigma = 2.5;
  penalized.logit_bias = {{5, 4.0f}, {7, -3.0f}};
  co_await report("penalties", sharpen, penalized);
  GenerateOptions greedy = drawn;
  greedy.temperature = 0.0;
  co_await report("greedy", sharpen, greedy);
  GenerateOptions healed = drawn;
  healed.heal = true;
  co_await report("healed", sharpen, healed);
  GenerateOptions constrained = drawn;
  constrained.grammar = letters;
  co_await report("grammar", sharpen, constrained);
  GenerateOptions typical = drawn;
  typical.temperature = 0.9;
  typical.top_k = 40;
  typical.typical_p = 0.9;
  typical.xtc_probability = 0.5;
  co_await report("reshape", halve, typical);
  co_await report("reshape all", halve, drawn);
  co_await report("reshape under a grammar", halve, constrained);
  co_await report("reshape to nothing", drop_all, drawn);
  co_await report("reshape with penalties", halve, penalized);
  co_await guidance();
}

}  // namespace

QUIRE_MAIN(program)
