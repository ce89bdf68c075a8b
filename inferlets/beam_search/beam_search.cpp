// beam_search: follows the --width most probable texts side by side, and gives the best of them.
//
// Each beam is a context. A step asks the model, for all beams in one step of the device, what may
// follow each of them, and keeps the most probable of all continuations. Where several follow one
// beam, forks go on with the others: they share its pages, so a beam costs its own tokens only.
// With one beam this is greedy decoding.
#include <cmath>
#include <tuple>

#include "quire/quire.h"

namespace {

using namespace quire;

struct Options {
  std::uint32_t width = 4;
  std::uint32_t token_count_max = 64;
  double length_penalty = 1.0;
  std::vector<std::uint32_t> stop_tokens;
};

struct Beam {
  Context context;
  std::vector<std::uint32_t> ids;
  double log_probability = 0.0;  // Of all ids together, in nats.
};

// One way to go on with a beam.
struct Step {
  std::size_t beam = 0;
  std::size_t place = 0;  // Of the token among those that may follow the beam.
  std::uint32_t token = 0;
  double log_probability = 0.0;  // With the token.
};

struct Answer {
  std::vector<std::uint32_t> ids;
  double score = 0.0;
  FinishReason finish_reason = FinishReason::Length;
};

// Longer texts are less probable, so the log-probability is divided by its length to the power of
// the penalty: 1 compares the mean of a token, 0 whole texts.
double score_of(double log_probability, std::size_t token_count, const Options& options) {
  return log_probability / std::pow(static_cast<double>(token_count), options.length_penalty);
}

// Every way to go on that can be among the best, the most probable first.
Task<std::vector<Step>> steps_behind(std::vector<Beam>& beams, const Options& options) {
  // As many as there are beams may all follow one of them, besides what would end it.
  const auto wanted = static_cast<std::uint32_t>(options.width + options.stop_tokens.size());
  std::vector<Task<Distribution>> asked;
  for (Beam& each : beams) asked.push_back(each.context.next_distribution(wanted));
  std::vector<Result<Distribution>> answers = co_await when_all(std::move(asked));
  std::vector<Step> steps;
  for (std::size_t beam = 0; beam < beams.size(); ++beam) {
    const Distribution next = co_await std::move(answers[beam]);
    for (std::size_t i = 0; i < next.tokens.size(); ++i) {
      // A probability may be too small for a float.
      const double bits = sampling::log2(std::max(next.probabilities[i], 1e-30f));
      steps.push_back(
          {beam, i, next.tokens[i], beams[beam].log_probability + bits * 0.6931471805599453});
    }
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(b.log_probability, a.beam, a.place) <
           std::tie(a.log_probability, b.beam, b.place);
  });
  co_return steps;
}

// The beams that follow one: it takes the first step itself, and a fork each of the others.
Task<std::vector<Beam>> follow(Beam beam, std::vector<Step> steps) {
  std::vector<Beam> beams;
  beams.reserve(steps.size());
  beams.push_back(std::move(beam));
  while (beams.size() < steps.size()) {
    Context fork = co_await beams[0].context.fork();
    beams.push_back({std::move(fork), beams[0].ids, 0.0});
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    co_await beams[i].context.append(steps[i].token);
    beams[i].ids.push_back(steps[i].token);
    beams[i].log_probability = steps[i].log_probability;
  }
  co_return beams;
}

// All beams with their steps taken; one that nobody follows ends here.
Task<std::vector<Beam>> take_steps(std::vector<Beam> beams, const std::vector<Step>& steps) {
  std::vector<std::vector<Step>> of_each(beams.size());
  for (const Step& each : steps) of_each[each.beam].push_back(each);
  std::vector<Task<std::vector<Beam>>> tasks;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    if (!of_each[i].empty()) tasks.push_back(follow(std::move(beams[i]), std::move(of_each[i])));
  }
  beams.clear();
  for (Result<std::vector<Beam>>& each : co_await when_all(std::move(tasks))) {
    for (Beam& beam : co_await std::move(each)) beams.push_back(std::move(beam));
  }
  co_return beams;
}

// Answers by their score, the best first: as many as there are beams.
Task<std::vector<Answer>> search(Context context, Options options) {
  const auto& stops = options.stop_tokens;
  std::vector<Beam> beams;
  beams.push_back({std::move(context), {}, 0.0});
  std::vector<Answer> answers;
  for (std::uint32_t count = 1; count <= options.token_count_max; ++count) {
    const std::vector<Step> steps = co_await steps_behind(beams, options);
    std::vector<Step> chosen;
    for (const Step& each : steps) {
      if (chosen.size() == options.width || answers.size() == options.width) break;
      if (std::find(stops.begin(), stops.end(), each.token) == stops.end()) {
        chosen.push_back(each);
      } else {
        const double score = score_of(each.log_probability, count, options);
        answers.push_back({beams[each.beam].ids, score, FinishReason::StopToken});
      }
    }
    if (answers.size() == options.width) {
      beams.clear();  // Nothing is kept of those that have not ended.
      break;
    }
    beams = co_await take_steps(std::move(beams), chosen);
  }
  for (const Beam& each : beams) {
    const double score = score_of(each.log_probability, each.ids.size(), options);
    answers.push_back({each.ids, score, FinishReason::Length});
  }
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return std::tie(b.score, a.ids) < std::tie(a.score, b.ids);
  });
  if (answers.size() > options.width) answers.resize(options.width);
  co_return answers;
}

Task<std::string> text_of(const Model& model, const std::vector<std::uint32_t>& ids) {
  Utf8Stream characters;
  const std::string text = characters.push(co_await model.detokenize(ids));
  co_return text + characters.finish();
}

Task<std::string> json_of(const Model& model, std::vector<std::uint32_t> prompt,
                          std::vector<Answer> answers) {
  JsonWriter json;
  json.begin_object().key("prompt_ids").numbers(prompt).key("ids").numbers(answers[0].ids);
  json.key("answers").begin_array();
  for (const Answer& each : answers) {
    const std::string text = co_await text_of(model, each.ids);
    json.begin_object().key("micro_score").number(static_cast<std::int64_t>(each.score * 1e6));
    json.key("finish_reason").text(finish_reason_name(each.finish_reason));
    json.key("ids").numbers(each.ids).key("text").text(text).end_object();
  }
  co_return json.end_array().end_object().str();
}

Task<> program(std::vector<std::string> command_line) {
  const Arguments arguments = co_await Arguments::parse(
      command_line, {.values = {"prompt", "width", "max-tokens", "length-penalty"},
                     .flags = {"chat", "ignore-eos", "json"}});
  Options options;
  options.width = co_await arguments.count("width", options.width);
  options.token_count_max = co_await arguments.count("max-tokens", options.token_count_max);
  options.length_penalty = co_await arguments.number("length-penalty", options.length_penalty);
  if (!arguments.has("prompt") || options.width == 0 || options.token_count_max == 0) {
    co_await fail(ErrorCode::InvalidArgument,
                  "give --prompt TEXT, and a --width and --max-tokens of at least 1");
  }

  const Model model = co_await Model::open();
  if (!arguments.flag("ignore-eos")) options.stop_tokens = model.info().stop_tokens;
  Context context = co_await Context::create(model);
  if (arguments.flag("chat")) {
    context.user(arguments.text("prompt"));
    co_await context.prefill();
  } else {
    co_await context.append_text(arguments.text("prompt"));
  }
  const std::vector<std::uint32_t> prompt = context.tokens();
  // The last token of a beam is never computed, so a full context still gives one.
  const std::size_t room = model.info().context_length + std::size_t{1};
  if (prompt.size() < room) {
    options.token_count_max = static_cast<std::uint32_t>(
        std::min<std::size_t>(options.token_count_max, room - prompt.size()));
  }
  const std::vector<Answer> answers = co_await search(std::move(context), options);
  if (arguments.flag("json")) {
    co_return co_await session::send(co_await json_of(model, prompt, answers));
  }
  co_return co_await session::send(co_await text_of(model, answers[0].ids));
}

}  // namespace

QUIRE_MAIN(program)
