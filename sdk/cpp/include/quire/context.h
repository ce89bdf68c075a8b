#pragma once
// Context: a text that the model has read, or is to read, with its keys and values in pages that
// the host keeps. Append to it, fork it, let the model go on with it (generate).
//
//   Context context = co_await Context::create();
//   context.system("Answer in one sentence.");
//   context.user("What is a page table?");
//   const Generation answer = co_await context.generate({.max_tokens = 64}).collect();
//
// What is appended is queued; prefill, flush and generate compute it. Chat turns are queued too
// (system, user, assistant): the model's own template turns them into tokens when they are needed.
// A turn that is added later is appended after what the context holds, so that a conversation
// prefills each turn once. If the template writes earlier turns differently by then, the context is
// begun anew and finds the pages that both versions share.
//
// rewind, drop_range and splice edit what is there. save keeps it under a name, past the end of the
// program and of the server, and open brings it back. A conversation comes back with its turns: the
// next turn costs its own tokens, and its prompt is the same as without the break. If an edit cuts
// into a conversation, messages() stay and are written anew when another turn follows.
//
// Owns     the host's context and an embed for the last output. Movable; a move leaves it empty.
// Thread   a program has one. One task at a time may use a context; fork it for more.
// Errors   as interface/context.wit says; not-supported for chat turns of a model without template.
//
// Invariants:
//   CX1  The context holds unknown_token_count() tokens that this program never saw (of a
//        snapshot), then tokens(); computed, dropped and queued ones, in order.
//   CX2  The host's context holds the same, or it is out of step: a loop of the host that was
//        dropped may have queued more. Then tokens() from known_count_ on are not sent yet, and
//        settle(), with which every operation begins, mends both.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/adapters.h"
#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/context_results.h"
#include "quire/conversation_note.h"
#include "quire/drawing.h"
#include "quire/forward.h"
#include "quire/future.h"
#include "quire/grammar.h"
#include "quire/model.h"
#include "quire/outputs.h"
#include "quire/pages.h"
#include "quire/placed.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/return_places.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

class Generator;
struct Branch;
struct Choice;
struct GenerateOptions;
struct Score;

// The outputs of a pass for the tokens that were asked for, in order; see Context::forward.
struct ContextOutputs {
  Embeds embeds;
  Future<ContextCounters> passed;  // Dropping it cancels the pass.
};

class Context : private detail::Placed<Context> {
 public:
  // An empty context of the server's first model, or of the one given. Contexts on one queue take
  // turns; each gets a queue of its own unless given.
  static Result<Context> create() { return create(TRY(Model::open())); }
  static Result<Context> create(const Model& model) {
    return create(model, TRY(Queue::create(model)));
  }
  static Result<Context> create(const Model& model, const Queue& queue) {
    Context out;
    out.model_ = model;
    out.queue_ = queue;
    out.handle_ = detail::SharedHandle(TRY(checked(abi::context::create(queue.handle()))));
    out.output_ = TRY(Embeds::allocate(queue, 1));
    return out;
  }

  Context(Context&&) = default;
  Context& operator=(Context&&) = default;

  // Queues tokens after what is there. If there are more than one call takes and they find no room,
  // the first of them may be queued. invalid-argument while a grammar constrains the context: only
  // draws go on with it then.
  Result<void> append(std::span<const std::uint32_t> tokens) {
    if (matcher_) {
      return Error{ErrorCode::InvalidArgument,
                   "a grammar constrains the context: draw tokens, or unconstrain() it first"};
    }
    if (is_out_of_step_) {  // settle() sends them.
      tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
      return {};
    }
    do {
      const auto part = tokens.first(std::min(tokens.size(), kAppendCountMax));
      TRY(checked(abi::context::append(handle(), part.data(), detail::count_of(part.size()))));
      tokens_.insert(tokens_.end(), part.begin(), part.end());
      tokens = tokens.subspan(part.size());
    } while (!tokens.empty());
    return {};
  }
  Result<void> append(std::uint32_t token) { return append(std::span(&token, 1)); }

  // Queues text. Special tokens in it are parsed; at the start of a context it begins with the
  // begin-of-text token, where the model wants one.
  Task<> append_text(std::string text) {
    const std::vector<std::uint32_t> tokens =
        co_await model_.tokenize(text, {.begin_of_text = token_count() == 0});
    co_return co_await append(tokens);
  }

  // Queues a turn of a conversation; the host is not asked before the tokens are needed.
  void system(std::string_view content) { add("system", content); }
  void user(std::string_view content) { add("user", content); }
  void assistant(std::string_view content) { add("assistant", content); }
  void add(std::string_view role, std::string_view content) {
    add({std::string(role), std::string(content)});
  }
  void add(ChatMessage message) { messages_.push_back(std::move(message)); }

  // The turn that the model wrote last, in the parts that its template knows: a call of a tool is a
  // member of it. The tokens stay as the model wrote them, unless `rewrites`: then the next turn
  // begins the context anew, with this one as the template writes it.
  void amend_answer(ChatMessage message, bool rewrites = false) {
    if (messages_.empty()) return;
    messages_.back() = std::move(message);
    chat_cut_ = chat_cut_ || rewrites;
  }
  // Offers the model tools: a JSON array, which its template writes into the conversation.
  void offer_tools(std::string tools) {
    chat_cut_ = chat_cut_ || rendered_message_count_ > 0;  // Its turns were written without them.
    tools_ = std::move(tools);
  }

  // Computes what is queued, up to where the model's answer begins where a turn is to be answered.
  // Pages that exist already, in this context or any other that may be shared, are found instead.
  Task<ContextCounters> prefill() { return computed(true); }
  // The same, but a conversation ends after its last turn: more turns can follow, or its answer.
  Task<ContextCounters> flush() { return computed(false); }

  // Computes what is queued, and gives what may follow: the `top_k` most probable tokens (0: 256).
  // With nothing queued, what may follow the last token.
  Task<Distribution> next_distribution(std::uint32_t top_k = 0) {
    co_await queue_turns(true);
    co_return co_await begin_step(top_k);
  }

  // The same, as the logits of the whole vocabulary, in the order of ids.
  Task<std::vector<float>> next_logits() {
    co_await queue_turns(true);
    Numbers logits = co_await begin_logits();
    co_return std::move(logits.values);
  }

  // Computes what is queued, for a program that reads more than one distribution: what may follow
  // each of the last `count` queued tokens. With nothing queued and a count of 1 it is what may
  // follow the last token. The pass is under way when this is ready, so that what is read of the
  // outputs (outputs.h, draw_tokens) without waiting for it is the same step of the device.
  Task<ContextOutputs> forward(std::uint32_t count = 1) {
    co_await queue_turns(true);
    Embeds embeds = co_await Embeds::allocate(queue_, count);
    Future<ContextCounters> passed(abi::context::forward(handle(), embeds.handles().data(), count));
    co_return ContextOutputs{std::move(embeds), std::move(passed)};
  }

  // Computes what is queued and draws the next token, in one step of the device: the token that the
  // drawer's rule would draw from next_distribution(). It is not appended, and no matcher advances.
  // out-of-range where the drawer's matchers allow no token.
  Task<DrawnToken> draw(Drawer& drawer) {
    co_await queue_turns(true);
    Draws draws = co_await co_await detail::forward_draw(model_, handle(), drawer, false);
    if (draws.tokens.empty()) co_await fail(ErrorCode::OutOfRange, "no token may follow");
    drawer.note(draws);
    co_return std::move(draws.tokens.front());
  }

  // Draws the next tokens, and appends them; `drafts`, at most 64, are a guess at them. All drafts
  // are computed in one pass, which forks that verify at the same time share. Drafts that equal the
  // drawn tokens stand. The result is that of drawing and appending token by token: the drafts that
  // stand, and then a token that is not a draft.
  Task<Draws> verify(std::vector<std::uint32_t> drafts, Drawer& drawer) {
    co_await queue_turns(true);
    Future<Draws> step = co_await detail::verify(model_, handle(), drawer, drafts);
    LoopWatch watch(*this);  // The tokens are queued even if the caller does not wait.
    Draws draws = co_await std::move(step);
    for (const DrawnToken& each : draws.tokens) note_drawn(each.token);
    watch.end(true);
    drawer.note(draws);
    co_return draws;
  }

  // A second context with the same content, computed and queued; it shares all pages, and each goes
  // on by itself. It costs the same however long the context is.
  Task<Context> fork() {
    co_await settle();
    const std::uint32_t count = token_count();  // A loop of the host may go on meanwhile.
    const NewHandle child = co_await Future<NewHandle>(abi::context::fork(handle()));
    Context out;
    out.handle_ = detail::SharedHandle(child.value);
    out.model_ = model_;
    out.queue_ = queue_;
    out.output_ = co_await Embeds::allocate(queue_, 1);
    out.tokens_ = tokens_between(0, count);
    out.unknown_token_count_ = unknown_token_count_;
    if (is_looping_) out.note_dropped_loop();
    out.messages_ = messages_;
    out.tools_ = tools_;
    out.rendered_message_count_ = rendered_message_count_;
    out.chat_first_ = chat_first_;
    out.turns_end_ = turns_end_;
    out.answer_open_ = answer_open_;
    out.chat_cut_ = chat_cut_;
    out.beyond_context_ = beyond_context_;
    out.hint_ = hint_;
    out.hint_keep_ = hint_keep_;
    if (matcher_) {
      out.matcher_ = co_await matcher_.fork();
      out.constrained_from_ = constrained_from_;
    }
    co_return out;
  }

  // Drops the last `count` tokens: those queued first, then computed ones within the working tail;
  // out-of-range beyond it.
  Task<ContextCounters> truncate(std::uint32_t count) {
    co_await settle();
    co_await check_grammar_holds(token_count() - std::min(count, token_count()));
    const ContextCounters counters =
        co_await Future<ContextCounters>(abi::context::truncate(handle(), count));
    co_await roll_back(token_count() - std::min(count, token_count()));
    co_return counters;
  }

  // Tokens that are drawn from now on make a text of the grammar, from its beginning. A fork goes
  // on at the same place of it, and rewind and truncate go back in it too.
  Result<void> constrain(const Grammar& grammar) {
    matcher_ = TRY(grammar.matcher());
    constrained_from_ = token_count();
    return {};
  }
  void unconstrain() { matcher_ = Matcher(); }
  // False: everything may come.
  const Matcher& matcher() const QUIRE_LIFETIME_BOUND { return matcher_; }

  // Goes back to `length` tokens, over committed pages too; what is queued after them goes.
  // out-of-range when there are fewer.
  Task<ContextCounters> rewind(std::uint32_t length) {
    co_await settle();
    co_await check_grammar_holds(length);
    const ContextCounters counters =
        co_await Future<ContextCounters>(abi::context::rewind(handle(), length));
    co_await roll_back(length);
    co_return counters;
  }

  // Computed tokens [begin, end) are not seen by tokens to come; the others keep their positions,
  // and pages that no one can see any more are freed. They stay in tokens() and seq_len().
  Task<ContextCounters> drop_range(std::uint32_t begin, std::uint32_t end) {
    co_await settle();
    co_return co_await Future<ContextCounters>(abi::context::drop_range(handle(), begin, end));
  }

  // Queues tokens [begin, end) of `source` (queued ones count; it may be this context), of the same
  // model. Pages that exist for them here are found, the rest is computed.
  Task<ContextCounters> splice(const Context& source, std::uint32_t begin, std::uint32_t end) {
    co_await settle();
    // As they are now: `source` may go on, or end, while this waits.
    std::vector<std::uint32_t> tokens = source.tokens_between(begin, end);
    const ContextCounters counters = co_await Future<ContextCounters>(
        abi::context::splice(handle(), source.handle(), begin, end));
    if (tokens.size() == end - begin) {
      tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    } else {  // The source did not know them either.
      unknown_token_count_ = token_count() + (end - begin);
      tokens_.clear();
    }
    co_return counters;
  }

  // The published operations on working pages, for loops that are written by hand: flush and
  // generate do all of it. no-free-page or quota-exceeded when `count` pages cannot be had.
  Task<ContextCounters> reserve_working_pages(std::uint32_t count) {
    co_await settle();
    co_return co_await Future<ContextCounters>(
        abi::context::reserve_working_pages(handle(), count));
  }
  // page-not-full when one of the first `count` has a slot that was not written.
  Task<ContextCounters> commit_working_pages(std::uint32_t count) {
    co_await settle();
    co_return co_await Future<ContextCounters>(abi::context::commit_working_pages(handle(), count));
  }
  // Frees the last `count` with the tokens written to them; what is queued moves up. out-of-range
  // when there are fewer.
  Task<ContextCounters> release_working_pages(std::uint32_t count) {
    co_return co_await forget_written(abi::context::release_working_pages, count);
  }
  // Drops the last `count` tokens written to working pages; the pages stay, what is queued moves
  // up.
  Task<ContextCounters> truncate_working_page_tokens(std::uint32_t count) {
    co_return co_await forget_written(abi::context::truncate_working_page_tokens, count);
  }

  // Handles of the pages that hold tokens, for the low level; read-only. The context goes on by
  // itself.
  Task<SharedPages> pages() {
    co_await settle();
    // As it is now: a step that was dropped may have gone on unseen.
    const ContextCounters now =
        co_await Future<ContextCounters>(abi::context::truncate(handle(), 0));
    const std::uint32_t page_size = this->page_size();
    const std::uint32_t count =
        now.committed_page_count + (now.working_page_token_count + page_size - 1) / page_size;
    std::vector<std::int32_t> handles(count);
    const std::int32_t returned = abi::context::pages(handle(), 0, count, handles.data());
    co_return co_await detail::shared_pages(queue_, std::move(handles), returned);
  }
  // The way back: a context that holds what the pages hold, which is `tokens`.
  static Task<Context> from_pages(Model model, Queue queue, std::vector<std::int32_t> pages,
                                  std::vector<std::uint32_t> tokens) {
    const NewHandle made = co_await Future<NewHandle>(
        abi::context::from_pages(queue.handle(), pages.data(), detail::count_of(pages.size()),
                                 tokens.data(), detail::count_of(tokens.size())));
    Context out;
    out.handle_ = detail::SharedHandle(made.value);
    out.output_ = co_await Embeds::allocate(queue, 1);
    out.model_ = std::move(model);
    out.queue_ = std::move(queue);
    out.tokens_ = std::move(tokens);
    co_return out;
  }

  // Sets the program's hint for the time when the context's pages are no longer held; the latest
  // hint counts.
  Result<void> hint(ContextHint hint, std::chrono::seconds keep = std::chrono::seconds(0)) {
    const std::uint32_t seconds = TRY(detail::seconds_of(keep));
    TRY(checked_empty(abi::context::hint(handle(), static_cast<std::uint32_t>(hint), seconds)));
    hint_ = hint;
    hint_keep_ = keep;
    return {};
  }
  // Tokens appended from now on are computed under these adapters together; none: the model alone.
  // Forks and snapshots keep what is in force. not-found: Model::adapters() has no such name.
  Task<void> use(std::vector<AdapterUse> adapters) {
    co_await settle();
    co_await detail::use_adapters(handle(), adapters);
  }
  // Whether tokens to come may see tokens further back than the model's context length.
  Result<void> allow_beyond_context(bool allowed = true) {
    TRY(checked_empty(abi::context::allow_beyond_context(handle(), allowed ? 1 : 0)));
    beyond_context_ = allowed;
    return {};
  }

  // Marks the end of what the context has, queued tokens and turns included: the program will come
  // back there. A model with the trait "states" keeps its state. Other models do nothing.
  Task<> mark() {
    co_await queue_turns(false);
    co_return co_await checked_empty(abi::context::mark(handle()));
  }

  // Computes what is queued and keeps the context under `name`; ready when it is on disk. The context
  // may be used meanwhile. The last token of a context that is full stays a token, and so does all
  // that is queued without SaveOptions::compute. already-exists unless it overwrites.
  //
  // A conversation is saved with its turns and with the tokens that this program knows, as a note of
  // at most 1 MiB (too-large if it takes more), unless SaveOptions::turns is false. A grammar that
  // constrains the context is not saved.
  Task<> save(std::string name, SaveOptions options = {}) {
    co_await queue_turns(false);
    // While a loop of the host runs, the tokens that are queued are those that it draws.
    if (options.compute && !is_looping_) co_await compute_before_save();
    const std::uint32_t seconds = co_await detail::seconds_of(options.time_to_live);
    const std::string note = options.turns ? co_await conversation_note() : std::string();
    const std::uint32_t flags = options.overwrite ? 1 : 0;
    co_return co_await Future<void>(abi::context::save_with_note(
        handle(), detail::bytes_of(name), detail::count_of(name.size()), flags, seconds,
        detail::bytes_of(note), detail::count_of(note.size())));
  }
  // A new context with what was saved; the snapshot stays, or goes with take as soon as the program
  // has the context. If turns were saved, messages() and tokens() are what they were. Errors:
  // not-found; not-supported with the reason when it is of another model or format; corrupted;
  // unavailable where another program takes it.
  static Task<Context> open(Model model, std::string name) {
    Queue queue = co_await Queue::create(model);
    co_return co_await open(std::move(model), std::move(queue), std::move(name));
  }
  static Task<Context> open(Model model, Queue queue, std::string name) {
    return opened(abi::context::open, std::move(model), std::move(queue), std::move(name));
  }
  static Task<Context> take(Model model, std::string name) {
    Queue queue = co_await Queue::create(model);
    co_return co_await take(std::move(model), std::move(queue), std::move(name));
  }
  static Task<Context> take(Model model, Queue queue, std::string name) {
    return opened(abi::context::take, std::move(model), std::move(queue), std::move(name));
  }
  // open, or an empty context if no snapshot has that name: a conversation goes on, or begins.
  static Task<Context> open_or_create(Model model, std::string name) {
    const Queue queue = co_await Queue::create(model);
    Result<Context> opened = co_await attempt(open(model, queue, std::move(name)));
    if (opened.ok() || opened.error().code != ErrorCode::NotFound) {
      co_return co_await std::move(opened);
    }
    co_return co_await create(model, queue);
  }
  // Deletes a snapshot; contexts that were opened from it stay. not-found where there is none.
  static Future<void> remove(std::string_view name) {
    return Future<void>(
        abi::context::delete_(detail::bytes_of(name), detail::count_of(name.size())));
  }
  // The snapshots of this program's tenant.
  static Future<SnapshotList> list() { return Future<SnapshotList>(abi::context::list()); }

  // Lets the model go on; see generate.h. The context outlives the generator, or the generator owns
  // it: std::move(context).generate(options).
  Generator generate() & QUIRE_LIFETIME_BOUND;
  Generator generate(GenerateOptions options) & QUIRE_LIFETIME_BOUND;
  Generator generate() &&;
  Generator generate(GenerateOptions options) &&;
  // `count` ways to go on, side by side: forks that share all that is here, each with what it
  // generated; seeds count up from that of the options. See branch.h.
  Task<std::vector<Branch>> sample(std::uint32_t count, GenerateOptions options);
  // The one of `texts` that the model would rather write next, each as a whole; see choose.h.
  // Nothing is appended.
  Task<Choice> choose(std::vector<std::string> texts);
  // How probable it is that the model writes `text` next. Nothing is appended.
  Task<Score> score(std::string text);

  // Leaves the context under `name` for other programs of the tenant, its pages with their tokens;
  // see share.h. They stay when this program ends, until unshare.
  Task<> share(std::string name);
  static Task<Context> open_shared(Model model, std::string name);
  static Task<> unshare(std::string name);

  // The counters are the host's, now. seq_len() counts the tokens that are computed, and
  // token_count(), below, the queued ones too.
  std::uint32_t seq_len() const { return counter(abi::context::seq_len); }
  std::uint32_t page_size() const { return counter(abi::context::page_size); }
  std::uint32_t committed_page_count() const { return counter(abi::context::committed_page_count); }
  std::uint32_t working_page_count() const { return counter(abi::context::working_page_count); }
  // Held, committed and working ones together.
  std::uint32_t page_count() const { return committed_page_count() + working_page_count(); }
  std::uint32_t working_page_token_count() const {
    return counter(abi::context::working_page_token_count);
  }
  // Tokens that were found in the cache instead of computed.
  std::uint32_t found_token_count() const { return counter(abi::context::found_token_count); }

  const std::vector<std::uint32_t>& tokens() const QUIRE_LIFETIME_BOUND { return tokens_; }
  std::uint32_t unknown_token_count() const { return unknown_token_count_; }
  // All of them, queued and dropped ones too.
  std::uint32_t token_count() const {
    return unknown_token_count_ + static_cast<std::uint32_t>(tokens_.size());
  }
  const std::vector<ChatMessage>& messages() const QUIRE_LIFETIME_BOUND { return messages_; }
  const Model& model() const QUIRE_LIFETIME_BOUND { return model_; }
  const Queue& queue() const QUIRE_LIFETIME_BOUND { return queue_; }
  std::int32_t handle() const { return handle_.get(); }

 private:
  static constexpr std::size_t kAppendCountMax = 262'144;  // Of one call.

  friend class Generator;
  friend class detail::Placed<Context>;
  Context() = default;

  // Watches while the host queues tokens that it draws. The context is out of step if the task that
  // waits for them goes before every one is known.
  class LoopWatch {
   public:
    explicit LoopWatch(Context& context) : place_(context.place()) { context.is_looping_ = true; }
    LoopWatch(const LoopWatch&) = delete;
    LoopWatch& operator=(const LoopWatch&) = delete;
    ~LoopWatch() { end(false); }
    void end(bool all_known) {
      const Place place = std::exchange(place_, nullptr);
      if (place == nullptr || *place == nullptr) return;  // The context may go first.
      Context* context = *place;
      context->is_looping_ = false;
      if (!all_known) context->note_dropped_loop();
    }

   private:
    Place place_;
  };

  // The two commands of one step of the device, under way: the pass, and what may follow its last
  // token.
  template <typename Next>
  class Step {
   public:
    Step(Future<ContextCounters> computed, Future<Next> next)
        : computed_(std::move(computed)), next_(std::move(next)) {}

    typename Task<Next>::Awaiter operator co_await() && {
      return both(std::move(computed_), std::move(next_)).operator co_await();
    }

   private:
    // The error of the pass says more than that of a read after it.
    static Task<Next> both(Future<ContextCounters> computed, Future<Next> next) {
      co_await std::move(computed);
      co_return co_await std::move(next);
    }
    Future<ContextCounters> computed_;
    Future<Next> next_;
  };
  Future<ContextCounters> begin_pass() {
    return Future<ContextCounters>(abi::context::forward(handle(), output_.handles().data(), 1));
  }
  Step<Distribution> begin_step(std::uint32_t top_k) {
    Future<ContextCounters> computed = begin_pass();
    return {std::move(computed), get_next_dist(queue_, output_[0], top_k)};
  }
  Step<Numbers> begin_logits() {
    Future<ContextCounters> computed = begin_pass();
    return {std::move(computed), get_logits(queue_, output_[0])};
  }

  Task<ContextCounters> computed(bool answer_next) {
    co_await queue_turns(answer_next);
    co_return co_await Future<ContextCounters>(abi::context::flush(handle()));
  }

  // Computes the queued tokens, so that an open of the snapshot finds the pages of all of them. A
  // generation that filled the context left a token that does not fit any more (out-of-range): the
  // host saves it as a token, and refuses more of them.
  Task<> compute_before_save() {
    const Result<ContextCounters> computed =
        co_await attempt(Future<ContextCounters>(abi::context::flush(handle())));
    if (!computed.ok() && computed.error().code != ErrorCode::OutOfRange) {
      co_await fail(computed.error());
    }
  }

  // Turns the queued turns into queued tokens. With `answer_next` they end where the model's answer
  // begins.
  Task<> queue_turns(bool answer_next) {
    co_await settle();
    if (messages_.size() == rendered_message_count_ && !(answer_next && awaits_answer())) co_return;
    const std::vector<std::uint32_t> whole =
        co_await model_.tokenize_chat(messages_, answer_next, tools_);
    std::size_t known = 0;
    if (rendered_message_count_ > 0) {
      // The turns that the context holds, as the template writes them now.
      const std::vector<ChatMessage> held(messages_.begin(),
                                          messages_.begin() + rendered_message_count_);
      const std::vector<std::uint32_t> before = co_await model_.tokenize_chat(held, false, tools_);
      known = common_end(before, whole);
    }
    if (rendered_message_count_ == 0) chat_first_ = token_count();
    // An answer that was asked for and never came to its end stands between, or turns were cut.
    if (answer_open_ || chat_cut_) known = 0;
    if (rendered_message_count_ > 0 && known == 0) co_await begin_anew();
    co_await detail::append_conversation(*this, tools_, messages_, whole, known);
    rendered_message_count_ = messages_.size();
    turns_end_ = token_count();
    answer_open_ = answer_next;
    chat_cut_ = false;
  }

  // The context ends with a turn that is to be answered: it was written without the beginning of an
  // answer, and nothing came after it.
  bool awaits_answer() const {
    return !messages_.empty() && messages_.back().role != "assistant" && !answer_open_ &&
           token_count() == turns_end_;
  }

  // A loop of the host drew and queued `token`.
  void note_drawn(std::uint32_t token) { tokens_.push_back(token); }
  // The host has tokens that the program is given one after the other (CX2).
  void give_drawn(std::uint32_t token, bool is_last) {
    tokens_.push_back(token);
    known_count_ = token_count();
    if (is_last) is_out_of_step_ = false;
  }
  // A loop of the host was dropped, which may have queued more than is known (CX2).
  void note_dropped_loop() {
    known_count_ = token_count();
    is_out_of_step_ = true;
  }
  Task<> settle() {
    if (!is_out_of_step_) co_return;
    co_await Future<ContextCounters>(abi::context::rewind(handle(), known_count_));
    is_out_of_step_ = false;
    const std::vector<std::uint32_t> unsent = tokens_between(known_count_, token_count());
    tokens_.resize(tokens_.size() - unsent.size());
    co_await append(unsent);
  }

  // Tokens before the grammar began are none of its.
  Result<void> check_grammar_holds(std::uint32_t length) const {
    if (!matcher_ || length >= constrained_from_) return {};
    return Error{ErrorCode::InvalidArgument, "a grammar constrains the context from token " +
                                                 std::to_string(constrained_from_) +
                                                 " on: unconstrain() it first"};
  }
  Task<> roll_back(std::uint32_t length) {
    const std::uint32_t count = token_count();
    forget_tokens(length, count);
    if (matcher_ && length < count) co_await matcher_.roll_back(count - length);
  }

  // Only the counter of a context that was moved away fails.
  std::uint32_t counter(std::int32_t (*call)(std::int32_t)) const {
    const std::int32_t count = call(handle());
    if (count < 0) panic("a counter of a context that was moved away: " + last_error_message());
    return static_cast<std::uint32_t>(count);
  }

  static Task<Context> opened(std::int32_t (*call)(std::int32_t, const std::uint8_t*,
                                                   std::uint32_t),
                              Model model, Queue queue, std::string name) {
    const OpenedSnapshot snapshot = co_await Future<OpenedSnapshot>(
        call(queue.handle(), detail::bytes_of(name), detail::count_of(name.size())));
    Context out;
    out.handle_ = detail::SharedHandle(snapshot.handle);
    out.output_ = co_await Embeds::allocate(queue, 1);
    out.model_ = std::move(model);
    out.queue_ = std::move(queue);
    out.unknown_token_count_ = out.seq_len() + snapshot.queued_token_count;
    out.restore_conversation(name,
                             co_await detail::text_from([&out](void* note, std::uint32_t capacity) {
                               return abi::context::note_of(out.handle(), note, capacity);
                             }));
    co_return out;
  }

  // Empty where there is no conversation.
  Result<std::string> conversation_note() const {
    if (messages_.empty() && tools_.empty()) return std::string();
    return detail::checked_note(
        detail::note_of({.messages = messages_,
                         .tools = tools_,
                         .written_count = static_cast<std::uint32_t>(rendered_message_count_),
                         .first = chat_first_,
                         .end = turns_end_,
                         .unknown_token_count = unknown_token_count_,
                         .answer_open = answer_open_,
                         .is_cut = chat_cut_,
                         .beyond_context = beyond_context_,
                         .hint = static_cast<std::uint32_t>(hint_),
                         .hint_seconds = static_cast<std::uint32_t>(hint_keep_.count()),
                         .tokens = tokens_}));
  }

  // The conversation of the snapshot `name`, whose context this is. Without one, and where its note
  // cannot be read, the tokens are not known, and the next turn begins another conversation.
  void restore_conversation(const std::string& name, const std::string& note) {
    Result<std::optional<detail::ConversationNote>> read = detail::read_conversation_note(note);
    if (read.ok() && !read.value()) return;
    const auto fits = [this](const detail::ConversationNote& each) {
      return each.unknown_token_count + std::uint64_t{each.tokens.size()} <= unknown_token_count_ &&
             each.hint <= static_cast<std::uint32_t>(ContextHint::SharedPrefix);
    };
    if (!read.ok() || !fits(*read.value())) {
      runtime::log(LogLevel::Warning,
                   "the turns of the snapshot \"" + name + "\" cannot be read, and are left out");
      return;
    }
    detail::ConversationNote& is = *read.value();
    // A loop of the host had drawn more than its program knew when it saved.
    const std::uint32_t held_count = std::exchange(unknown_token_count_, is.unknown_token_count);
    tokens_ = std::move(is.tokens);
    if (token_count() < held_count) note_dropped_loop();
    messages_ = std::move(is.messages);
    tools_ = std::move(is.tools);
    rendered_message_count_ = is.written_count;
    chat_first_ = is.first;
    turns_end_ = is.end;
    answer_open_ = is.answer_open;
    chat_cut_ = is.is_cut;
    beyond_context_ = is.beyond_context;
    hint_ = ContextHint{is.hint};
    hint_keep_ = std::chrono::seconds(is.hint_seconds);
  }

  // The known ones of the tokens [begin, end).
  std::vector<std::uint32_t> tokens_between(std::uint32_t begin, std::uint32_t end) const {
    const std::uint32_t last = std::min(end, token_count());
    const std::uint32_t first = std::max(begin, unknown_token_count_);
    if (first >= last) return {};
    return {tokens_.begin() + (first - unknown_token_count_),
            tokens_.begin() + (last - unknown_token_count_)};
  }

  // The context holds tokens [begin, end) no more; those after them moved up.
  void forget_tokens(std::uint32_t begin, std::uint32_t end) {
    if (begin >= end) return;
    chat_cut_ = chat_cut_ || (rendered_message_count_ > 0 && end > chat_first_);
    const std::uint32_t known = unknown_token_count_;
    tokens_.erase(tokens_.begin() + (std::max(begin, known) - known),
                  tokens_.begin() + (std::max(end, known) - known));
    unknown_token_count_ -= std::min(end, known) - std::min(begin, known);
  }

  // An edit that drops written tokens from under those that are queued.
  Task<ContextCounters> forget_written(std::int32_t (*edit)(std::int32_t, std::uint32_t),
                                       std::uint32_t count) {
    co_await settle();
    // The tokens that are written now: a step that was dropped may have gone on unseen.
    const ContextCounters before =
        co_await Future<ContextCounters>(abi::context::truncate(handle(), 0));
    const ContextCounters after = co_await Future<ContextCounters>(edit(handle(), count));
    forget_tokens(after.seq_len, before.seq_len);
    co_return after;
  }

  // The model's answer is in the context already: it is a turn of the conversation, not to be
  // appended again.
  void note_answer(std::string_view content) {
    if (messages_.empty()) return;
    add("assistant", content);
    rendered_message_count_ = messages_.size();
    answer_open_ = false;
  }

  // How many tokens of `whole` the context holds already, given that it holds the turns `before`;
  // 0 when that cannot be said. An answer is in the context as it was sampled, which need not be
  // how the tokenizer would write it; what follows it can only be aligned at the token that ends a
  // turn.
  std::size_t common_end(std::span<const std::uint32_t> before,
                         std::span<const std::uint32_t> whole) const {
    if (before.size() > whole.size() || !std::equal(before.begin(), before.end(), whole.begin())) {
      return 0;
    }
    if (chat_first_ < unknown_token_count_) return 0;
    const std::vector<std::uint32_t> chat = tokens_between(chat_first_, token_count());
    if (std::ranges::equal(chat, before)) return before.size();
    const auto& stops = model_.info().stop_tokens;
    const auto ends_turn = [&](std::uint32_t token) {
      return std::find(stops.begin(), stops.end(), token) != stops.end();
    };
    for (std::size_t at = before.size(); at > 0; --at) {
      if (!ends_turn(before[at - 1])) continue;
      // With the token that ends the turn, or, when the answer was cut short, without.
      return !chat.empty() && chat.back() == before[at - 1] ? at : at - 1;
    }
    return 0;
  }

  // Leaves the tokens before the conversation. In a new context, which finds the pages that exist;
  // where those tokens are not known, in this one.
  Task<> begin_anew() {
    if (unknown_token_count_ > 0) {
      co_await rewind(std::min(chat_first_, token_count()));
      co_return;
    }
    const std::vector<std::uint32_t> tokens = tokens_between(0, chat_first_);
    handle_ = detail::SharedHandle(co_await checked(abi::context::create(queue_.handle())));
    tokens_.clear();
    if (beyond_context_) co_await allow_beyond_context();
    if (hint_ != ContextHint::None) co_await hint(hint_, hint_keep_);
    co_return co_await append(tokens);
  }

  Model model_;
  Queue queue_;
  detail::SharedHandle handle_;
  Embeds output_;
  std::vector<std::uint32_t> tokens_;
  std::uint32_t unknown_token_count_ = 0;  // Before those in tokens_.
  std::vector<ChatMessage> messages_;
  std::string tools_;                       // A JSON array, or nothing.
  std::size_t rendered_message_count_ = 0;  // Those whose tokens are in tokens_.
  std::uint32_t chat_first_ = 0;            // Where the conversation begins, in tokens,
  std::uint32_t turns_end_ = 0;             // and where it ended when turns were written last.
  bool answer_open_ = false;                // It ends where an answer begins.
  bool chat_cut_ = false;                   // Tokens of the conversation are gone.
  bool is_looping_ = false;                 // A loop of the host runs on it.
  bool is_out_of_step_ = false;
  std::uint32_t known_count_ = 0;  // While out of step: how many tokens the host has for certain.
  bool beyond_context_ = false;
  ContextHint hint_ = ContextHint::None;
  std::chrono::seconds hint_keep_{0};
  Matcher matcher_;                     // False: no grammar constrains it.
  std::uint32_t constrained_from_ = 0;  // The first token that is of the grammar's text.
};

}  // namespace quire
