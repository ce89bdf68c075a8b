// output_validation: checks a text while it is written. At a word that must not come it goes back to
// the last valid token, and goes on from there in another way.
#include <map>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Describe the sea in two sentences."};
  std::vector<std::string> never = {"vast", "blue", "deep"};
  std::uint32_t max_tokens = 64;
  std::uint32_t returns = 100;

  void read(OptionReader& in) {
    prompt.read(in);
    in.texts("never", never, "A text that must not come; may be given several times");
    in.number("max-tokens", max_tokens, "Tokens of a text at most");
    in.number("returns", returns, "How often the text goes back at most", {0, 1000});
  }
};

// How much of the text is valid. Any function of the text can stand here.
std::size_t valid_bytes(const std::string& text, const std::vector<std::string>& never) {
  std::size_t bytes = text.size();
  for (const std::string& each : never) bytes = std::min(bytes, text.find(each));
  return bytes;
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(co_await options.prompt.text());
  const std::uint32_t begin = (co_await context.prefill()).seq_len;
  const ModelInfo& model = context.model().info();
  // The last token is never computed, so that a full context still gives one.
  options.max_tokens = std::min(options.max_tokens, model.context_length + 1 - begin);
  std::string text;
  std::vector<std::size_t> ends = {0};                      // Of the text, after each token.
  std::map<std::uint32_t, std::vector<LogitBias>> refused;  // Tokens that failed at a position.
  std::uint32_t returns = 0, wasted = 0;
  while (ends.size() <= options.max_tokens) {
    Drawer drawer({.logit_bias = refused[context.token_count()]});
    const std::uint32_t token = (co_await context.draw(drawer)).token;
    if (std::ranges::find(model.stop_tokens, token) != model.stop_tokens.end()) break;
    co_await context.append(token);
    text += co_await context.model().detokenize({token});
    ends.push_back(text.size());
    const std::size_t valid = valid_bytes(text, options.never);
    if (valid == text.size()) continue;
    if (++returns > options.returns) co_await fail(ErrorCode::OutOfRange, "found no valid text");
    while (ends.back() > valid) ends.pop_back();
    text.resize(ends.back());
    const std::uint32_t position = begin + ends.size() - 1;
    refused[position].push_back({context.tokens()[position], -kLogitBiasMost});
    refused.erase(refused.upper_bound(position), refused.end());
    wasted += context.token_count() - 1 - position;  // The last one was only drawn.
    co_await context.rewind(position);
  }
  co_await session::send(valid_utf8(text) + "\n");
  runtime::log(LogLevel::Info, std::to_string(wasted) + " tokens were computed and discarded");
}

QUIRE_MAIN(program)
