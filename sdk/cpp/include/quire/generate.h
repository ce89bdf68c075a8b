#pragma once
// Generator: the loop that lets a model go on with a context, token by token.
//
//   Generation answer = co_await context.generate({.sampler = {.temperature = 0.7}});
//
//   Generator generator = context.generate(options);
//   while (std::optional<Piece> piece = co_await generator.next()) use(piece->text);
//
// The next step of the device is under way while the text of a token is made and shown, unless the
// text itself may end the generation. When it ends, the token sampled last is queued in the
// context: the token that ended the text, or the last of the answer. What a program does not read
// it need not pay for: dropping the generator drops the step under way.
//
// A context that is full ends a generation as token_count_max does, with FinishReason::Length: the
// token drawn last is queued, but cannot be computed before the program drops or rewinds others.
//
// Errors   those of the calls; after one the generator is ended.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quire/context.h"
#include "quire/sampling.h"
#include "quire/stop.h"

namespace quire {

struct GenerateOptions {
  SamplerOptions sampler = {};
  std::uint32_t token_count_max = 128;
  bool ignore_stop_tokens = false;           // Go on past tokens that end a text or a turn.
  std::vector<std::string> stop_texts = {};  // Not shown themselves.
};

// One token, and the text that may be shown now that it is known (often none, see stop.h).
struct Piece {
  std::uint32_t token = 0;
  float probability = 0.0f;  // Of the full softmax, before temperature and the like.
  std::string text;
};

struct Generation {
  std::vector<std::uint32_t> prompt;  // All of the context when the generation began.
  std::vector<std::uint32_t> tokens;  // Without the token that ended it.
  std::string text;
  FinishReason finish_reason = FinishReason::Running;
};

class [[nodiscard("a Generator does nothing until it is awaited or asked for its next()")]]
Generator {
 public:
  Generator(Context& context, GenerateOptions options)
      : context_(&context),
        sampler_(options.sampler),
        rules_({.token_count_max = options.token_count_max,
                .stop_tokens = options.ignore_stop_tokens ? std::vector<std::uint32_t>{}
                                                          : context.model().info().stop_tokens,
                .stop_texts = std::move(options.stop_texts)}) {}

  // The next token; nothing when the generation has ended. The token that ends it is given only
  // when text was still held back. If the context was full, that piece repeats the last token.
  Task<std::optional<Piece>> next() {
    if (closed_) co_return std::nullopt;
    closed_ = true;  // Until this step has gone well.
    co_await context_->append_turns(true);
    if (answer_.tokens.empty()) answer_.prompt = context_->tokens();
    if (rules_.ended()) {
      close({});
      co_return std::nullopt;
    }
    if (!step_) begin_step();
    Result<DrawnToken> drawn = co_await attempt(*std::exchange(step_, std::nullopt));
    if (is_full(drawn)) {
      rules_.end_at_length();
      co_return given(close({last_.token, last_.probability, ""}));
    }
    last_ = co_await std::move(drawn);
    Piece piece{last_.token, last_.probability, ""};
    co_await context_->append(piece.token);
    if (!rules_.accept_token(piece.token)) co_return given(close(std::move(piece)));
    answer_.tokens.push_back(piece.token);
    Future<std::string> bytes = context_->model().detokenize({piece.token});
    if (!rules_.full() && !rules_.watches_text()) begin_step();
    piece.text = rules_.accept_bytes(co_await std::move(bytes));
    if (rules_.ended()) co_return close(std::move(piece));
    answer_.text += piece.text;
    closed_ = false;
    co_return piece;
  }

  // All of it. Awaiting the generator does the same.
  Task<Generation> collect() && {
    return each(std::move(*this), [](std::string_view) { return Result<void>(); });
  }

  Task<Generation>::Awaiter operator co_await() && {
    return std::move(*this).collect().operator co_await();
  }

  // All of it, while each text that may be shown is given to `show` as it comes: a function that
  // takes a std::string_view and returns a Result<void>, such as session::send.
  template <typename Show>
  Task<Generation> stream(Show show) && {
    return each(std::move(*this), std::move(show));
  }

  // What was generated so far.
  const Generation& answer() const { return answer_; }

 private:
  template <typename Show>
  static Task<Generation> each(Generator generator, Show show) {
    while (std::optional<Piece> piece = co_await generator.next()) {
      if (!piece->text.empty()) co_await show(std::string_view(piece->text));
    }
    co_return std::move(generator.answer_);
  }

  // The step does not fit the context any more; those before it did. (A context that the program
  // emptied meanwhile is out-of-range too.)
  bool is_full(const Result<DrawnToken>& drawn) const {
    return !drawn.ok() && drawn.error().code == ErrorCode::OutOfRange && !answer_.tokens.empty() &&
           context_->token_count() > 0;
  }
  // The last piece, if it brings any text.
  static std::optional<Piece> given(Piece last) {
    if (last.text.empty()) return std::nullopt;
    return last;
  }

  void begin_step() { step_.emplace(context_->forward_sample(sampler_)); }

  // Ends the generation; the piece takes the text that was held back.
  Piece close(Piece piece) {
    closed_ = true;
    piece.text += rules_.finish();
    answer_.text += piece.text;
    answer_.finish_reason = rules_.reason();
    context_->note_answer(answer_.text);
    return piece;
  }

  Context* context_;
  Sampler sampler_;
  StopRules rules_;
  std::optional<Future<DrawnToken>> step_;
  DrawnToken last_;
  Generation answer_;
  bool closed_ = false;
};

inline Generator Context::generate(GenerateOptions options) {
  return Generator(*this, std::move(options));
}

}  // namespace quire
