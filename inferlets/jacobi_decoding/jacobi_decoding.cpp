// jacobi_decoding: greedy decoding in fewer passes, by guessing a block of tokens and correcting all of
// them at once until they stand.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"The days of the week are Monday, Tuesday,"};
  std::uint32_t block = 8;
  std::uint32_t max_tokens = 96;
  bool ignore_eos = false;

  void read(OptionReader& in) {
    prompt.read(in);
    in.number("block", block, "Tokens that are guessed at once", {0, 64});
    in.number("max-tokens", max_tokens, "Tokens of the text at most");
    in.flag("ignore-eos", ignore_eos, "Go on past tokens that end a text");
  }
};

// The next guess: what was said at each place, unless the text shows what followed the two tokens
// before it.
std::vector<std::uint32_t> guess_after(std::vector<std::uint32_t> text,
                                       std::span<const std::uint32_t> said, std::size_t count) {
  const std::size_t first = text.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto pair = std::span(text).last(std::min<std::size_t>(text.size(), 2));
    const auto known = std::span(text).first(first);
    const auto found = std::ranges::find_end(known.first(first - 1), pair);
    if (!found.empty()) {
      text.push_back(*found.end());
    } else {
      text.push_back(i < said.size() ? said[i] : text.back());
    }
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(first), text.end()};
}

// The tokens that the model writes after the last known token and after each token of the guess, in
// one pass.
Task<std::vector<std::uint32_t>> corrected(Context& context, std::vector<std::uint32_t> guess) {
  Drawer greedy;
  co_await context.append(guess);
  ContextOutputs outputs = co_await context.forward(static_cast<std::uint32_t>(guess.size() + 1));
  const Draws draws =
      co_await draw_tokens(context.model(), context.queue(), outputs.embeds.handles(), greedy);
  co_await std::move(outputs.passed);
  std::vector<std::uint32_t> tokens;
  for (const DrawnToken& each : draws.tokens) tokens.push_back(each.token);
  co_return tokens;
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  co_await context.append_text(co_await options.prompt.text());
  const Model model = context.model();
  const std::uint32_t length_max = model.info().context_length;
  StopRules rules(
      GenerateOptions{.max_tokens = options.max_tokens, .ignore_stop_tokens = options.ignore_eos}
          .stop_options(model.info()));
  std::vector<std::uint32_t> guess;
  std::uint32_t pass_count = 0;
  while (!rules.ended()) {
    const std::uint32_t known = context.token_count();
    const std::vector<std::uint32_t> next = co_await corrected(context, guess);
    pass_count += 1;
    // The first token is right, and so is each one after a guess that was right.
    std::size_t right = 0;
    while (right < guess.size() && guess[right] == next[right]) ++right;
    for (std::size_t i = 0; i <= right && rules.accept_token(next[i]); ++i) {
      const std::vector<std::uint32_t> one(1, next[i]);
      co_await session::send(rules.accept_bytes(co_await model.detokenize(one)));
    }
    co_await context.rewind(known + static_cast<std::uint32_t>(right));
    co_await context.append(next[right]);
    if (context.token_count() > length_max) rules.end_at_length();
    guess = guess_after(context.tokens(), std::span(next).subspan(right + 1),
                        std::min(options.block, length_max - context.token_count()));
  }
  co_await session::send(rules.finish());
  runtime::log(LogLevel::Info, std::to_string(rules.token_count()) + " tokens in " +
                                   std::to_string(pass_count) + " passes");
}

QUIRE_MAIN(program)
