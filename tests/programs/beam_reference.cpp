// beam_reference: beam search by its definition. Each step computes every text anew, in a context of
// its own, and looks at every token that could come next.
#include <algorithm>

#include "quire/quire.h"

using namespace quire;

struct Options {
  std::string prompt;
  std::uint32_t width = 4;
  std::uint32_t max_tokens = 3;

  void read(OptionReader& in) {
    in.words("prompt", prompt, "Text to go on with", Required::Yes);
    in.number("width", width, "Texts followed at once", {1, 64});
    in.number("max-tokens", max_tokens, "Tokens of a text", {1, 64});
  }
};

struct Text {
  std::vector<std::uint32_t> tokens;
  double log_probability = 0.0;
};

Task<> program(Options options) {
  std::vector<Text> texts(1);
  for (std::uint32_t count = 0; count < options.max_tokens; ++count) {
    std::vector<Text> longer;
    for (const Text& text : texts) {
      Context context = co_await Context::create();
      co_await context.append_text(options.prompt);
      co_await context.append(text.tokens);
      const Distribution next = co_await context.next_distribution(Sampler::kWholeVocabulary);
      for (std::size_t i = 0; i < next.size(); ++i) {
        longer.push_back({text.tokens, text.log_probability + next.log_probability(i)});
        longer.back().tokens.push_back(next.tokens[i]);
      }
    }
    std::ranges::sort(longer, std::greater(), &Text::log_probability);
    longer.resize(std::min<std::size_t>(longer.size(), options.width));
    texts = std::move(longer);
  }
  const Model model = co_await Model::open();
  co_await session::send(valid_utf8(co_await model.detokenize(texts[0].tokens)));
}

QUIRE_MAIN(program)
