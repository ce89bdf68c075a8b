// best_of_n: N answers to one question at once, of which the most probable is given.
//
// The question is computed once; every answer is a fork that shares its pages. The forks run as
// tasks side by side, so that the server computes one token of each in one step. The score of an
// answer is the mean log-probability of its tokens.
#include "quire/quire.h"

namespace {

using namespace quire;

struct Candidate {
  std::string text;
  std::uint64_t seed = 0;
  std::uint32_t token_count = 0;
  double mean_log_probability = 0.0;
};

Task<Candidate> answer(Context fork, GenerateOptions options) {
  Candidate out;
  out.seed = options.seed;
  Generator generator = fork.generate(options);
  double sum = 0.0;
  while (const std::optional<Piece> piece = co_await generator.next()) {
    // In nats; the distribution never gives a sampled token the probability 0.
    sum += sampling::log2(std::max(piece->probability, 1e-30f)) * 0.6931471805599453;
  }
  out.text = generator.answer().text;
  out.token_count = static_cast<std::uint32_t>(generator.answer().tokens.size());
  if (out.token_count > 0) out.mean_log_probability = sum / out.token_count;
  co_return out;
}

std::string json_of(const std::vector<Candidate>& candidates, const Candidate& best) {
  JsonWriter json;
  json.begin_object().key("best").text(best.text).key("candidates").begin_array();
  for (const Candidate& each : candidates) {
    json.begin_object().key("seed").number(static_cast<std::int64_t>(each.seed));
    json.key("tokens").number(each.token_count).key("micro_nats_per_token");
    json.number(static_cast<std::int64_t>(each.mean_log_probability * 1e6));
    json.key("text").text(each.text).end_object();
  }
  return json.end_array().end_object().str();
}

Task<> program(std::vector<std::string> command_line) {
  const Arguments arguments = co_await Arguments::parse(
      command_line,
      {.values = {"prompt", "n", "max-tokens", "temperature", "seed"}, .flags = {"json"}});
  const std::uint32_t count = co_await arguments.count("n", 4);
  if (count == 0 || !arguments.has("prompt")) {
    co_await fail(ErrorCode::InvalidArgument, "give --prompt TEXT, and an --n of at least 1");
  }
  GenerateOptions options;
  options.max_tokens = co_await arguments.count("max-tokens", 64);
  use_sampler(co_await sampler_arguments(arguments, {.temperature = 0.8}), options);

  const Model model = co_await Model::open();
  Context context = co_await Context::create(model);
  context.user(arguments.text("prompt"));
  co_await context.prefill();
  std::vector<Task<Candidate>> tasks;
  for (std::uint32_t i = 0; i < count; ++i) {
    tasks.push_back(answer(co_await context.fork(), options));
    options.seed += 1;
  }
  std::vector<Candidate> candidates;
  for (Result<Candidate>& each : co_await when_all(std::move(tasks))) {
    candidates.push_back(co_await std::move(each));
  }
  const Candidate& best = *std::max_element(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.mean_log_probability < b.mean_log_probability;
      });
  co_return co_await session::send(arguments.flag("json") ? json_of(candidates, best) : best.text);
}

}  // namespace

QUIRE_MAIN(program)
