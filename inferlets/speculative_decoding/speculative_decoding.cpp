// speculative_decoding: guesses the next tokens, and checks a whole guess in one pass. It answers
// what text_completion --chat answers for the same options, byte for byte, in fewer passes.
#include "quire/quire.h"

using namespace quire;

using Tokens = std::vector<std::uint32_t>;

struct Options {
  PromptOption prompt;
  std::string draft_model;
  std::uint32_t drafts = 16;
  GenerateOptions generate;

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("draft-model", draft_model, "A small model, which guesses where the text does not");
    in.number("drafts", drafts, "Tokens of a guess at most", {1, 64});
    in.generation(generate);
  }
};

// Prompt lookup: what came next when the last few tokens came before. Longer matches go first.
Tokens looked_up(const Tokens& text, std::size_t count) {
  for (std::size_t length = std::min<std::size_t>(4, text.size() - 1); length > 1; --length) {
    const auto found = std::find_end(text.begin(), text.end() - 1, text.end() - length, text.end());
    if (found == text.end() - 1) continue;
    const auto next = found + length;
    return {next, next + std::min<std::size_t>(count, text.end() - next)};
  }
  return {};
}

// The tokens that the small model writes next, with the random numbers that the large one will use.
Task<Tokens> drafted(Context& small, Drawer drawer, Tokens text, std::size_t count) {
  if (text.size() + count > small.model().info().context_length) co_return Tokens();
  const auto same = std::ranges::mismatch(small.tokens(), text).in2;
  co_await small.rewind(same - text.begin());
  co_await small.append({same, text.end()});
  for (std::size_t i = 0; i < count; ++i) {
    co_await small.append((co_await small.draw(drawer)).token);
  }
  co_return Tokens(small.tokens().end() - count, small.tokens().end());
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(co_await options.prompt.text());
  const std::uint32_t length = (co_await context.prefill()).seq_len;
  std::optional<Context> small;
  if (!options.draft_model.empty()) {
    small = co_await Context::create(co_await Model::open(options.draft_model));
    const Tokens& text = context.tokens();
    if (co_await small->model().detokenize(text) != co_await context.model().detokenize(text)) {
      co_await fail(ErrorCode::InvalidArgument, "the draft model must have the same tokens");
    }
  }
  std::uint32_t pass_count = 0;
  options.generate.draft = [&](const Context& text) -> Task<Tokens> {
    ++pass_count;
    Tokens guess = looked_up(text.tokens(), options.drafts);
    if (!guess.empty() || !small) co_return guess;
    Drawer drawer(options.generate.rule(), options.generate.seed);
    drawer.skip(text.token_count() - length);
    co_return co_await drafted(*small, drawer, text.tokens(), options.drafts);
  };
  const Generation answer = co_await context.generate(options.generate).stream(session::send);
  runtime::log(LogLevel::Info, std::to_string(answer.drawn_count) + " tokens in " +
                                   std::to_string(pass_count) + " passes");
}

QUIRE_MAIN(program)
