#pragma once
// Generator: lets a model go on with a context, token by token.
//
//   const Generation answer = co_await context.generate({.temperature = 0.7}).collect();
//
//   co_await context.generate(options).stream(session::send);  // Text as it comes.
//
//   Generator generator = context.generate(options);
//   while (std::optional<Piece> piece = co_await generator.next()) use(piece->text);
//
// A generator refers to its context, wherever that is moved to; the context outlives it and its
// task. If a context is for the generation alone, the generator owns it:
//
//   tasks.push_back(std::move(fork).generate(options).collect());
//
// collect() and stream() let the loop of the host run if they can: it draws the next token while
// the program shows the last one. Until they are done, the context may be read and forked, not
// changed. With next() and `reshape` each step begins when the program asks for it: it has the
// context and the distribution between two tokens. Both draw the same tokens.
//
// A program can also take part in each draw:
//
//   options.logits = [&](std::span<float> logits) -> Task<> {  // Away from what another one says.
//     const std::vector<float> without = co_await plain.next_logits();
//     for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += logits[i] - without[i];
//   };
//   options.on_token = [&](std::uint32_t token) { return plain.append(token); };
//
// When it ends, the context holds the answer and, as its last token, what ended it. A stop text is
// in the context too, unless `cut_stop_text` ends the context with the text that is shown. A
// token that is not read need not be paid for: dropping the generator drops the step under way.
//
// A context that is full ends a generation as max_tokens does, with FinishReason::Length: the token
// drawn last is queued, but cannot be computed before the program drops or rewinds earlier ones.
//
// Errors   those of the calls; after one the generator is ended. invalid-argument: a number of the
//          options is out of its range, options exclude each other, or the context is gone.
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/context.h"
#include "quire/draft_source.h"
#include "quire/draw_arithmetic.h"
#include "quire/drawing.h"
#include "quire/grammar.h"
#include "quire/hook.h"
#include "quire/outputs.h"
#include "quire/sampling.h"
#include "quire/stop.h"

namespace quire {

class Generator;

namespace detail {

// The code of an option that few programs use is only in the modules that set it: setting the
// option refers to it, and nothing else does.
template <typename Shape>
class DrawHook {
 public:
  DrawHook() = default;
  template <typename Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, DrawHook> &&
             std::invocable<Function&, Shape>)
  DrawHook(Function function) : hook_(std::move(function)), draw_(&draw_shaped) {}

  explicit operator bool() const { return static_cast<bool>(hook_); }
  // The next token of a generator, which the context has then.
  Task<DrawnToken> draw(Generator& generator) const { return draw_(generator, hook_); }

 private:
  static Task<DrawnToken> draw_shaped(Generator& generator, const Hook<Shape>& hook);

  Hook<Shape> hook_;
  Task<DrawnToken> (*draw_)(Generator&, const Hook<Shape>&) = nullptr;
};

class Healing {
 public:
  Healing(bool is_on) : begin_(is_on ? &begin_healing : nullptr) {}
  explicit operator bool() const { return begin_ != nullptr; }
  // Takes text back from the context. The drawer then allows only tokens that may begin it.
  Task<std::string> begin(Context& context, Drawer& drawer) const {
    return begin_(context, drawer);
  }

 private:
  static Task<std::string> begin_healing(Context& context, Drawer& drawer);
  Task<std::string> (*begin_)(Context&, Drawer&);
};

}  // namespace detail

struct GenerateOptions {
  double temperature = 0.0;  // 0: the most probable token. At most 1,000,000.
  std::uint32_t top_k = 0;   // Draw among the k most probable tokens; 0: among all.
  double top_p = 1.0;        // 0 to 1: among the fewest tokens that hold this share; 1: among all.
  double min_p = 0.0;        // 0 to 1: of at least this share of the most probable; 0: among all.
  // Further rules of a draw, as draw_rule.h says; none of them changes anything by default.
  double typical_p = 1.0;
  double top_n_sigma = 0.0;
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;
  double dry_multiplier = 0.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::uint32_t penalty_first = 0;  // The last two count tokens of the context from there on.
  std::vector<LogitBias> logit_bias = {};
  std::uint64_t seed = 0;
  std::uint32_t max_tokens = 128;
  Grammar grammar = {};  // The answer is one of its texts, and ends with it.
  std::uint32_t top_logprobs =
      0;  // So many of the most probable tokens come with each, at most 64.
  std::vector<std::string> stop = {};            // Texts that end it; they are not shown.
  bool cut_stop_text = false;                    // The context ends with what is shown.
  bool ignore_stop_tokens = false;               // Go on past tokens that end a text or a turn.
  bool keep_special = false;                     // Special tokens are part of the text,
  std::vector<std::uint32_t> kept_special = {};  // or these alone.
  // Changes the distribution (the top_k most probable tokens; under a grammar, those of it that may
  // come) before a token is drawn from it: sets
  // probabilities, drops tokens. They need not add up to 1, nor fall.
  detail::DrawHook<Distribution&> reshape = {};
  // Changes the logits of the whole vocabulary before the rule and a grammar act on them. What is
  // reported as probable stays what the model said.
  detail::DrawHook<std::span<float>> logits = {};
  // Called with each token that the context gets, also with the one that ends it, before its text
  // is shown. A second context can follow the first by it. It must not change the first one.
  Hook<std::uint32_t> on_token = {};
  // Guesses what comes next: at most 64 tokens, or none. The guess is computed in one pass with the
  // next draw; each of its tokens that is drawn saves a pass. It never changes what is drawn. It
  // may read the context, and must not change it. `drafts_from` (prompt_drafts.h) guesses from the
  // text of the context. The host may ignore drafts.
  DraftSource draft = {};
  // Token healing: the end of a prompt may have cut a token in two, as "http:" cuts "http://". The
  // last token of the context is taken back, and the first one that is drawn begins with its bytes;
  // the rest of it is text of the answer. Nothing happens after a special token or a turn of a
  // conversation, or where no other token begins so.
  detail::Healing heal = false;

  DrawRule rule() const {
    DrawRule rule;
    rule.temperature = temperature;
    rule.top_k = top_k;
    rule.top_p = top_p;
    rule.min_p = min_p;
    rule.typical_p = typical_p;
    rule.top_n_sigma = top_n_sigma;
    rule.xtc_probability = xtc_probability;
    rule.xtc_threshold = xtc_threshold;
    rule.dry_multiplier = dry_multiplier;
    rule.repetition_penalty = repetition_penalty;
    rule.presence_penalty = presence_penalty;
    rule.frequency_penalty = frequency_penalty;
    if (presence_penalty != 0.0 || frequency_penalty != 0.0) rule.penalty_first = penalty_first;
    rule.logit_bias = logit_bias;
    return rule;
  }
  // When the text ends, for a loop that draws by hand.
  StopOptions stop_options(const ModelInfo& info) const {
    return {.token_count_max = max_tokens,
            .stop_tokens = ignore_stop_tokens ? std::vector<std::uint32_t>{} : info.stop_tokens,
            .stop_texts = stop};
  }
};

// One token, and the text that may be shown now that it is known (often none, see stop.h).
struct Piece {
  std::uint32_t token = 0;
  float probability = 0.0f;  // Of the full softmax, before temperature and the like.
  std::string text;
  bool is_forced = false;                  // The grammar left no choice.
  std::vector<TokenProbability> top = {};  // As GenerateOptions::top_logprobs asks for.

  double log_probability() const { return quire::log_probability(probability); }
};

struct Generation {
  std::vector<std::uint32_t> tokens;  // Without the token that ended it.
  std::string text;
  FinishReason finish_reason = FinishReason::Running;
  // The log-probability of all drawn tokens, with the one that ended it, in nats.
  double log_probability = 0.0;
  std::uint32_t drawn_count = 0;

  // The mean of one token; 0 if none was drawn.
  double mean_log_probability() const {
    return drawn_count == 0 ? 0.0 : log_probability / drawn_count;
  }
};

namespace detail {

template <typename Show>
Task<> show_text(Show& show, std::string_view text) {
  if (text.empty()) co_return;
  if constexpr (std::is_void_v<decltype(show(text))>) {
    show(text);
  } else {
    co_await show(text);
  }
}

}  // namespace detail

class [[nodiscard("a Generator does nothing until it is awaited or asked for its next()")]]
Generator {
 public:
  Generator(Context& context, GenerateOptions options)
      : place_(context.place()),
        options_(std::move(options)),
        drawer_(options_.rule(), options_.seed),
        rules_(options_.stop_options(context.model().info())) {}
  // The generator owns the context, which ends with it.
  Generator(Context&& context, GenerateOptions options)
      : Generator(std::make_unique<Context>(std::move(context)), std::move(options)) {}

  // The next token; nothing when the generation has ended. The token that ends it is given only
  // when text was still held back. If the context was full, that piece repeats the last token.
  Task<std::optional<Piece>> next() {
    if (closed_) co_return std::nullopt;
    closed_ = true;  // Until this step has gone well.
    co_await begin();
    if (ends_after_) rules_.end_of_grammar();
    if (rules_.ended()) {
      co_await close({});
      co_return std::nullopt;
    }
    Result<DrawnToken> drawn = co_await attempt(draw());
    if (is_full(drawn)) {
      rules_.end_at_length();
      co_return given(co_await close(piece_of(last_)));
    }
    last_ = co_await std::move(drawn);
    if (rules_.ended())
      co_return given(co_await close(piece_of(last_)));  // The grammar is complete.
    if (options_.on_token) co_await options_.on_token(last_.token);
    Piece piece = piece_of(last_);
    if (!accepts(last_)) co_return given(co_await close(std::move(piece)));
    Future<std::string> bytes = context().model().detokenize({piece.token}, keeps(piece.token));
    // The device goes on while the text is made and shown, unless the text may be the end.
    const bool goes_on = begins_ahead() && !rules_.full();
    if (goes_on && !rules_.watches_text()) co_await begin_step();
    piece.text = accept_bytes(co_await std::move(bytes));
    if (rules_.ended()) co_return co_await close(std::move(piece));
    if (goes_on && options_.draft && !has_step()) co_await begin_step();
    answer_.text += piece.text;
    closed_ = false;
    co_return piece;
  }

  // Ends it before its end: the context ends with the last token that was given.
  Task<> end() {
    if (closed_) co_return;
    co_await check_context();
    reshaping_.reset();
    logits_.reset();
    co_await forget_pending();
    rules_.stop();
    co_await close({});
  }

  // All of it. Awaiting the generator does the same.
  Task<Generation> collect() && {
    return whole(std::move(*this), [](std::string_view) {});
  }
  Task<Generation>::Awaiter operator co_await() && {
    return std::move(*this).collect().operator co_await();
  }
  operator Generation() const QUIRE_DELETE("co_await the Generator: that generates the text");

  // All of it, while each text that may be shown is given to `show` as it comes: a function that
  // takes a std::string_view and returns nothing or what can be awaited, such as session::send.
  template <typename Show>
  Task<Generation> stream(Show show) && {
    return whole(std::move(*this), std::move(show));
  }

  // The answer that was generated so far.
  const Generation& answer() const QUIRE_LIFETIME_BOUND { return answer_; }

 private:
  template <typename Shape>
  friend class detail::DrawHook;

  Generator(std::unique_ptr<Context> owned, GenerateOptions options)
      : Generator(*owned, std::move(options)) {
    owned_ = std::move(owned);
  }

  // A task of it may begin when the context has ended, and stay when it ends.
  static constexpr const char* kContextIsGone =
      "the context of a generator is gone: it must live as long as the generator and its task, or "
      "belong to it, as in std::move(context).generate(options)";
  bool has_context() const { return place_ != nullptr && *place_ != nullptr; }
  Result<void> check_context() const {
    if (has_context()) return {};
    return Error{ErrorCode::InvalidArgument, kContextIsGone};
  }
  Context& context() const {
    if (!has_context()) panic(kContextIsGone);
    return **place_;
  }

  template <typename Show>
  static Task<Generation> whole(Generator self, Show show) {
    co_await self.check_context();
    if (self.uses_host_loop()) {
      co_await self.begin();
      Result<detail::HostLoop> loop =
          detail::HostLoop::start(self.context().model(), self.context().handle(), self.drawer_,
                                  self.options_.max_tokens, self.stop_tokens());
      if (loop.ok()) {
        co_await self.follow(std::move(loop).take(), show);
        co_return std::move(self.answer_);
      }
      // As many loops as the host allows are running; this one is the program's own.
      if (loop.error().code != ErrorCode::QuotaExceeded) co_await std::move(loop);
    }
    while (const std::optional<Piece> piece = co_await self.next()) {
      co_await detail::show_text(show, piece->text);
    }
    co_return std::move(self.answer_);
  }

  // Nothing between two tokens is the program's business, and no step of its own has begun.
  bool uses_host_loop() const {
    return !draws_itself() && !options_.draft && !options_.heal && !closed_ && !has_step() &&
           answer_.tokens.empty() && !rules_.ended();
  }
  std::vector<std::uint32_t> stop_tokens() const {
    return options_.ignore_stop_tokens ? std::vector<std::uint32_t>{}
                                       : context().model().info().stop_tokens;
  }

  // The loop of the host, to its end or that of the text.
  template <typename Show>
  Task<> follow(detail::HostLoop loop, Show& show) {
    closed_ = true;
    Context::LoopWatch watch(context());
    Piece last;
    DrawEnd end = DrawEnd::None;
    while (end == DrawEnd::None && !rules_.ended()) {
      const Draws more = co_await loop.next();
      end = more.end;
      for (const DrawnToken& each : more.tokens) {
        context().note_drawn(each.token);
        if (options_.on_token) co_await options_.on_token(each.token);
        last = piece_of(each);
        if (!accepts(each)) break;
        const std::vector<std::uint32_t> one(1, each.token);
        last.text = accept_bytes(co_await context().model().detokenize(one, keeps(each.token)));
        if (rules_.ended()) break;
        answer_.text += last.text;
        co_await detail::show_text(show, last.text);
        last.text.clear();
      }
    }
    if (end == DrawEnd::Length) rules_.end_at_length();
    if (!rules_.ended()) co_await note_end(end);
    loop = {};
    // Tokens that were drawn after a stop text are taken back before the context is used again.
    watch.end(rules_.reason() != FinishReason::StopText);
    last = co_await close(std::move(last));
    co_await detail::show_text(show, last.text);
  }

  bool keeps(std::uint32_t token) const {
    return options_.keep_special ||
           std::ranges::find(options_.kept_special, token) != options_.kept_special.end();
  }

  // Handles an end that the grammar caused.
  Task<> note_end(DrawEnd end) {
    if (end == DrawEnd::GrammarComplete) rules_.end_of_grammar();
    if (end == DrawEnd::NoTokenAllowed) {
      is_stuck_ = true;
      co_await fail(ErrorCode::OutOfRange, "no token can go on with this text under the grammar");
    }
  }

  // The turns are tokens, and the numbers of the options are in their range.
  Task<> begin() {
    co_await check_context();
    co_await drawer_.rule_handle(context().model());
    co_await check_options();
    if (!is_prepared_) {
      is_prepared_ = true;
      drawer_.report_top(options_.top_logprobs);
      if (context().matcher()) drawer_.constrain(context().matcher());
      if (options_.grammar) drawer_.constrain(co_await options_.grammar.matcher());
    }
    // While the host holds tokens that are not given yet, nothing is queued.
    if (pending_.empty() && !verifying_) co_await context().queue_turns(true);
    if (std::exchange(heals_, false) && !context().answer_open_) {
      healed_ = co_await options_.heal.begin(context(), drawer_);
    }
  }

  // The options do not exclude each other.
  Result<void> check_options() const {
    const auto refused = [](std::string why) {
      return Error{ErrorCode::InvalidArgument, std::move(why) + ": use one or the other"};
    };
    if (options_.reshape && adjusts_logits(drawer_.rule())) {
      return refused(
          "reshape works on probabilities; penalties, logit_bias, top_n_sigma and DRY work on "
          "logits");
    }
    if (options_.reshape && options_.logits) {
      return refused("reshape works on probabilities, and logits on what they are made of");
    }
    if (draws_itself() && options_.draft) {
      return refused(std::string(options_.reshape ? "reshape changes" : "logits changes") +
                     " each draw, and draft needs several in one pass");
    }
    if (heals_ && (options_.grammar || context().matcher())) {
      return refused("heal changes the last token of the prompt, which no grammar knows");
    }
    return {};
  }

  bool is_healing() const { return !drawer_.mask().empty(); }

  bool is_constrained() const { return !drawer_.matchers().empty(); }
  // The program takes part in each draw.
  bool draws_itself() const { return options_.reshape || options_.logits; }
  // A pass may bring several tokens.
  bool draws_several() const { return is_constrained() || options_.draft; }
  // The next step begins before the program asks for it.
  bool begins_ahead() const {
    // A matcher of the context may be wanted between two steps, and a step would use it.
    if (options_.draft) return pending_.empty() && !context().matcher();
    return !draws_several();
  }
  bool has_step() const { return drawing_ || verifying_ || reshaping_ || logits_; }
  void begin_reshaping(std::uint32_t top_k) { reshaping_.emplace(context().begin_step(top_k)); }
  Task<> begin_step() {
    if (options_.logits) {
      logits_.emplace(context().begin_logits());
    } else if (options_.reshape) {
      begin_reshaping(options_.top_k == 0 ? Sampler::kWholeVocabulary : options_.top_k);
    } else {
      std::vector<std::uint32_t> drafts;
      if (options_.draft && !is_healing()) drafts = useful(co_await options_.draft(context()));
      pending_from_ = context().token_count();
      if (!drafts.empty() || is_constrained())
        co_return co_await begin_verifying(std::move(drafts));
      drawing_.emplace(
          co_await detail::forward_draw(context().model(), context().handle(), drawer_, false));
    }
  }
  // A step that queues tokens which are not given yet.
  Result<void> begin_verifying(std::vector<std::uint32_t> drafts) {
    Future<Draws> draws =
        TRY(detail::verify(context().model(), context().handle(), drawer_, drafts));
    verifying_.emplace(std::move(draws), std::move(drafts));
    context().note_dropped_loop();
    return {};
  }
  // The part of a guess that can save a pass: fewer tokens than are still wanted, and none that
  // ends the text.
  std::vector<std::uint32_t> useful(std::vector<std::uint32_t> drafts) const {
    const std::size_t left = options_.max_tokens - answer_.tokens.size();
    drafts.resize(std::min(drafts.size(), std::max<std::size_t>(left, 1) - 1));
    const std::vector<std::uint32_t> stops = stop_tokens();
    drafts.erase(std::ranges::find_first_of(drafts, stops), drafts.end());
    return drafts;
  }

  // The next token, which the context has then.
  Task<DrawnToken> draw() {
    DrawnToken drawn = co_await drawn_next();
    if (is_healing()) drawer_.allow({});  // The first token alone.
    co_return drawn;
  }
  Task<DrawnToken> drawn_next() {
    if (draws_several() && !draws_itself()) co_return co_await drawn_of_several();
    if (options_.logits) co_return co_await options_.logits.draw(*this);
    if (options_.reshape) co_return co_await options_.reshape.draw(*this);
    if (!has_step()) co_await begin_step();
    co_return co_await drawn_of_step();
  }
  Task<DrawnToken> drawn_of_step() {
    Draws draws = co_await *std::exchange(drawing_, std::nullopt);
    drawer_.note(draws);
    DrawnToken drawn = std::move(draws.tokens.at(0));
    co_await context().append(drawn.token);
    co_return drawn;
  }

  // A pass may bring several tokens: drafts that stand, and forced ones. The context records each
  // when the program gets it, and is out of step until the last of them.
  Task<DrawnToken> drawn_of_several() {
    if (has_drawn_ahead() && !is_untouched()) co_await forget_pending();
    while (pending_.empty()) {
      if (!has_step()) {
        co_await context().queue_turns(true);
        co_await begin_step();
      }
      if (drawing_) co_return co_await drawn_of_step();
      Verifying step = *std::exchange(verifying_, std::nullopt);
      Draws draws = co_await std::move(step.draws);
      if (!context().is_out_of_step_ || context().token_count() != pending_from_) {
        co_await roll_back(draws.tokens.size());  // Another task used the context meanwhile.
        continue;
      }
      drawer_.note(draws);
      note_drafts(step.drafts, draws);
      if (draws.tokens.empty()) {
        context().is_out_of_step_ = false;
        co_await note_end(draws.end);
        co_return last_;
      }
      pending_.assign(draws.tokens.begin(), draws.tokens.end());
    }
    DrawnToken drawn = std::move(pending_.front());
    pending_.pop_front();
    context().give_drawn(drawn.token, pending_.empty());
    pending_from_ = context().token_count();
    co_return drawn;
  }
  // The program did not use the context since the generator did.
  bool is_untouched() const {
    const bool holds_more = !pending_.empty() || verifying_;
    return context().token_count() == pending_from_ && context().is_out_of_step_ == holds_more;
  }
  bool has_drawn_ahead() const { return !pending_.empty() || verifying_ || drawing_; }
  void note_drafts(const std::vector<std::uint32_t>& drafts, const Draws& draws) const {
    if (drafts.empty()) return;
    const auto differs = std::ranges::mismatch(drafts, draws.tokens, {}, {}, &DrawnToken::token);
    options_.draft.note({.computed = draws.draft_count,
                         .accepted = static_cast<std::uint32_t>(differs.in1 - drafts.begin())});
  }

  // The tokens that were drawn and not given count as not drawn.
  Task<> forget_pending() {
    std::size_t gone = pending_.size();
    drawing_.reset();
    if (gone > 0) drawer_.take_back(pending_);
    pending_.clear();
    if (verifying_ && is_constrained()) {  // The matchers advance by the tokens of the pass.
      Verifying step = *std::exchange(verifying_, std::nullopt);
      const Result<Draws> draws = co_await attempt(std::move(step.draws));
      if (draws.ok()) gone = draws.value().tokens.size();
    }
    verifying_.reset();
    co_await roll_back(gone);
  }
  Task<> roll_back(std::size_t count) const {
    if (count == 0) co_return;
    for (const Matcher& each : drawer_.matchers()) {
      co_await each.roll_back(static_cast<std::uint32_t>(count));
    }
  }

  // The context and the matchers get a token that the program drew.
  Task<> take(std::uint32_t token) {
    co_await context().append(token);
    bool is_complete = false;
    for (const Matcher& each : drawer_.matchers()) {
      std::vector<std::uint32_t> came(1, token);  // No list in braces: g++ 12 takes none here.
      is_complete = co_await each.accept(std::move(came)) || is_complete;
    }
    ends_after_ = is_complete;
  }
  static Piece piece_of(const DrawnToken& drawn) {
    Piece piece;
    piece.token = drawn.token;
    piece.probability = drawn.probability;
    piece.is_forced = drawn.is_forced;
    piece.top = drawn.top;
    return piece;
  }

  // The step does not fit the context any more; those before it did. (A context that the program
  // emptied meanwhile is out-of-range too.)
  bool is_full(const Result<DrawnToken>& drawn) const {
    return !drawn.ok() && drawn.error().code == ErrorCode::OutOfRange && !is_stuck_ &&
           !answer_.tokens.empty() && context().token_count() > 0;
  }
  // The last piece, if it brings any text.
  static std::optional<Piece> given(Piece last) {
    if (last.text.empty()) return std::nullopt;
    return last;
  }

  // False: the token ends it.
  bool accepts(const DrawnToken& drawn) {
    answer_.log_probability += drawn.log_probability();
    answer_.drawn_count += 1;
    if (!rules_.accept_token(drawn.token)) return false;
    answer_.tokens.push_back(drawn.token);
    return true;
  }
  std::string accept_bytes(std::string bytes) {
    if (answer_.tokens.size() == 1) bytes.erase(0, healed_.size());
    std::string shown = rules_.accept_bytes(bytes);
    if (options_.cut_stop_text) bytes_.push_back(std::move(bytes));
    return shown;
  }

  // Ends the generation; the piece takes the text that was held back.
  Task<Piece> close(Piece piece) {
    closed_ = true;
    piece.text += rules_.finish();
    answer_.text += piece.text;
    answer_.finish_reason = rules_.reason();
    if (options_.cut_stop_text && rules_.reason() == FinishReason::StopText) co_await cut();
    context().note_answer(answer_.text);
    co_return piece;
  }

  // The context and the answer end with the text that is shown. The token in which it ends gives
  // way to tokens of its first part.
  Task<> cut() {
    std::size_t kept = 0;
    std::string_view rest = answer_.text;
    while (kept < bytes_.size() && rest.starts_with(bytes_[kept])) {
      rest.remove_prefix(bytes_[kept++].size());
    }
    // The prompt keeps the bytes that the first token begins with.
    std::string text(kept == 0 ? healed_ : "");
    text += rest;
    const auto count = static_cast<std::uint32_t>(answer_.tokens.size() - kept);
    co_await context().rewind(context().token_count() - count);
    answer_.tokens.resize(kept);
    if (text.empty()) co_return;
    const std::vector<std::uint32_t> tokens =
        co_await context().model().tokenize(text, {.parse_special = false});
    co_await context().append(tokens);
    answer_.tokens.insert(answer_.tokens.end(), tokens.begin(), tokens.end());
  }

  struct Verifying {
    Future<Draws> draws;
    std::vector<std::uint32_t> drafts;
  };

  std::unique_ptr<Context> owned_;  // None: the program owns it.
  detail::Placed<Context>::Place place_;
  GenerateOptions options_;
  Drawer drawer_;
  StopRules rules_;
  std::optional<Future<Draws>> drawing_;                  // The step under way,
  std::optional<Verifying> verifying_;                    // or one that queues what it draws,
  std::optional<Context::Step<Distribution>> reshaping_;  // or that of a distribution,
  std::optional<Context::Step<Numbers>> logits_;          // or that of logits.
  std::deque<DrawnToken> pending_;                        // Drawn, and not given yet,
  std::uint32_t pending_from_ = 0;                        // after so many tokens of the context.
  bool heals_ = static_cast<bool>(options_.heal);         // It has still to begin,
  std::string healed_;  // with the bytes of the prompt that its first token begins with.
  bool is_prepared_ = false;
  bool ends_after_ = false;  // The grammar is complete with the token that was given last.
  bool is_stuck_ = false;    // It allows no token.
  DrawnToken last_;
  Generation answer_;
  std::vector<std::string> bytes_;  // Of each of its tokens, where they may be cut.
  bool closed_ = false;
};

inline Generator Context::generate(GenerateOptions options) & {
  return Generator(*this, std::move(options));
}
inline Generator Context::generate() & {
  return generate(GenerateOptions{});
}
inline Generator Context::generate(GenerateOptions options) && {
  return Generator(std::move(*this), std::move(options));
}
inline Generator Context::generate() && {
  return std::move(*this).generate(GenerateOptions{});
}

}  // namespace quire

#include "quire/generate_hooks.h"
