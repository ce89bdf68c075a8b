// beam_search: follows the --width most probable texts side by side, and gives the best of them.
#include <cmath>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"The capital of France is"};
  bool chat = false;
  bool ignore_eos = false;
  std::uint32_t width = 4;
  std::uint32_t max_tokens = 64;
  double length_penalty = 1.0;

  void read(OptionReader& in) {
    prompt.read(in);
    in.flag("chat", chat, "Answer the prompt instead of continuing it");
    in.flag("ignore-eos", ignore_eos, "Go on past tokens that end a text");
    in.number("width", width, "Texts followed at once", {1, 1000});
    in.number("max-tokens", max_tokens, "Tokens of a text at most", {1, 1'000'000});
    in.number("length-penalty", length_penalty, "1: compare the mean of a token; 0: whole texts");
  }
};

struct Beam {
  Context context;
  std::vector<std::uint32_t> ids;
  double log_probability = 0.0;
};
struct Step {
  std::size_t beam = 0;
  std::uint32_t token = 0;
  double log_probability = 0.0;  // With the token.
};
struct Answer {
  std::vector<std::uint32_t> ids;
  double score = 0.0;
};

// Every step that can be among the best, the most probable first; all beams share one device step.
Task<std::vector<Step>> steps_of(std::vector<Beam>& beams, std::size_t wanted) {
  std::vector<Task<Distribution>> asked;
  for (Beam& each : beams) asked.push_back(each.context.next_distribution(wanted));
  const std::vector<Distribution> next = co_await gather(std::move(asked));
  std::vector<Step> steps;
  for (std::size_t beam = 0; beam < beams.size(); ++beam) {
    for (std::size_t i = 0; i < next[beam].size(); ++i) {
      const double together = beams[beam].log_probability + next[beam].log_probability(i);
      steps.push_back({beam, next[beam].tokens[i], together});
    }
  }
  std::ranges::sort(steps, [](const Step& a, const Step& b) {
    return std::tie(b.log_probability, a.beam, a.token) <
           std::tie(a.log_probability, b.beam, b.token);
  });
  co_return steps;
}

// A fork for each step; a beam that no step follows ends here, and its pages are free.
Task<std::vector<Beam>> take(std::vector<Beam> beams, std::vector<Step> chosen) {
  std::vector<Beam> next;
  for (const Step& step : chosen) {
    Beam& from = beams[step.beam];
    next.push_back({co_await from.context.fork(), from.ids, step.log_probability});
    co_await next.back().context.append(step.token);
    next.back().ids.push_back(step.token);
  }
  co_return next;
}

Task<Answer> search(Context context, Options options) {
  std::vector<std::uint32_t> stops;
  if (!options.ignore_eos) stops = context.model().info().stop_tokens;
  std::vector<Answer> answers;
  const auto keep = [&](const Beam& beam, double log_probability, std::uint32_t count) {
    answers.push_back({beam.ids, log_probability / std::pow(count, options.length_penalty)});
  };
  std::vector<Beam> beams;
  beams.push_back({std::move(context), {}});
  for (std::uint32_t count = 1; count <= options.max_tokens && answers.size() < options.width;
       ++count) {
    std::vector<Step> chosen;
    for (const Step& step : co_await steps_of(beams, options.width + stops.size())) {
      if (chosen.size() == options.width || answers.size() == options.width) break;
      if (std::ranges::find(stops, step.token) == stops.end()) {
        chosen.push_back(step);
      } else {
        keep(beams[step.beam], step.log_probability, count);
      }
    }
    beams = co_await take(std::move(beams), std::move(chosen));
  }
  if (answers.size() < options.width) {
    for (const Beam& each : beams) keep(each, each.log_probability, options.max_tokens);
  }
  co_return *std::ranges::max_element(answers, {}, &Answer::score);
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  const std::string prompt = co_await options.prompt.text();
  options.chat ? context.user(prompt) : co_await context.append_text(prompt);
  const std::uint32_t length = (co_await context.prefill()).seq_len;
  const Model model = context.model();
  // The last token of a beam is never computed, so a full context still gives one.
  options.max_tokens = std::min(options.max_tokens, model.info().context_length + 1 - length);
  const Answer best = co_await search(std::move(context), std::move(options));
  co_await session::send(valid_utf8(co_await model.detokenize(best.ids)));
}

QUIRE_MAIN(program)
