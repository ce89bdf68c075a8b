#pragma once
// Context: a text that the model has read, or is to read, with its keys and values in pages that
// the host keeps. Append to it, fork it, let the model go on with it (generate).
//
// What is appended is queued; flush, forward and generate compute it. Chat turns are queued too
// (system, user, assistant): the model's own template turns them into tokens when they are needed.
// A turn that is added later is appended behind what the context holds, so that a conversation
// prefills each turn once; where the template writes earlier turns differently by then, the context
// is begun anew and finds the pages that both versions share.
//
// Owns     the host's context and an embed for the last output. Movable; a move leaves it empty.
// Thread   a program has one. One task at a time may use a context; fork it for more.
// Errors   as interface/context.wit says; not-supported for chat turns of a model without template.
//
// Invariant  C1  tokens() are the tokens of the context in order, computed and queued.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bindings.h"
#include "quire/forward.h"
#include "quire/future.h"
#include "quire/model.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/task.h"

namespace quire {

// A context after flush, forward or truncate.
struct ContextCounters {
  std::uint32_t seq_len = 0;  // Tokens whose keys and values were written.
  std::uint32_t committed_page_count = 0;
  std::uint32_t working_page_count = 0;
  std::uint32_t working_page_token_count = 0;
  std::uint32_t found_token_count = 0;  // Tokens that were found in the cache, never computed.
};

template <>
struct FutureValue<ContextCounters> {
  static Result<ContextCounters> decode(std::span<const std::byte> bytes) {
    ContextCounters out;
    static_assert(sizeof out == 20);
    if (bytes.size() != sizeof out) {
      return Error{ErrorCode::Internal,
                   "counters of " + std::to_string(bytes.size()) + " bytes, not 20"};
    }
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

// A handle that a future gives (fork).
struct NewHandle {
  std::int32_t value = -1;
};
template <>
struct FutureValue<NewHandle> {
  static Result<NewHandle> decode(std::span<const std::byte> bytes) {
    NewHandle out;
    if (bytes.size() != 4) {
      return Error{ErrorCode::Internal, "a handle of " + std::to_string(bytes.size()) + " bytes"};
    }
    std::memcpy(&out.value, bytes.data(), 4);
    return out;
  }
};

class Generator;
struct GenerateOptions;

class Context {
 public:
  // An empty context. Contexts on one queue take turns; each gets a queue of its own unless given.
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

  // Queues tokens behind what is there.
  Result<void> append(std::span<const std::uint32_t> tokens) {
    TRY(checked(abi::context::append(handle(), tokens.data(), detail::count_of(tokens.size()))));
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    return {};
  }
  Result<void> append(std::uint32_t token) { return append(std::span(&token, 1)); }

  // Queues text. Special tokens in it are parsed; at the start of a context it begins with the
  // begin-of-text token, where the model wants one.
  Task<Result<void>> append_text(std::string text) {
    const std::vector<std::uint32_t> tokens =
        CO_TRY(co_await model_.tokenize(text, {.begin_of_text = tokens_.empty()}));
    co_return append(tokens);
  }

  // Queues a turn of a conversation; the host is not asked before the tokens are needed.
  void system(std::string_view content) { add("system", content); }
  void user(std::string_view content) { add("user", content); }
  void assistant(std::string_view content) { add("assistant", content); }
  void add(std::string_view role, std::string_view content) {
    messages_.push_back({std::string(role), std::string(content)});
  }

  // Turns the queued turns into queued tokens. With `answer_next` they end where the model's answer
  // begins. generate() calls it.
  Task<Result<void>> append_turns(bool answer_next) {
    if (messages_.size() == rendered_message_count_) co_return {};
    const std::vector<std::uint32_t> whole =
        CO_TRY(co_await model_.tokenize_chat(messages_, answer_next));
    std::size_t known = 0;
    if (rendered_message_count_ > 0) {
      // The turns that the context holds, as the template writes them now.
      const std::vector<ChatMessage> held(messages_.begin(),
                                          messages_.begin() + rendered_message_count_);
      const std::vector<std::uint32_t> before = CO_TRY(co_await model_.tokenize_chat(held, false));
      known = common_end(before, whole);
    }
    if (rendered_message_count_ == 0) chat_first_ = tokens_.size();
    // An answer that was asked for and never came to its end stands between.
    if (answer_open_) known = 0;
    if (rendered_message_count_ > 0 && known == 0) {
      CO_TRY(begin_anew(whole));
    } else {
      CO_TRY(append(std::span(whole).subspan(known)));
    }
    rendered_message_count_ = messages_.size();
    answer_open_ = answer_next;
    co_return {};
  }

  // Computes what is queued. Pages that exist already, in this context or any other that may be
  // shared, are found instead.
  Task<Result<ContextCounters>> flush() {
    CO_TRY(co_await append_turns(false));
    co_return co_await Future<ContextCounters>(abi::context::flush(handle()));
  }

  // Computes what is queued, and gives what may follow: the `top_k` most probable tokens (0: 256).
  // With nothing queued, what may follow the last token.
  Task<Result<Distribution>> next_distribution(std::uint32_t top_k = 0) {
    CO_TRY(co_await append_turns(true));
    co_return co_await Step(*this, top_k).result();
  }

  // The two commands of one step of the device, under way.
  class Step {
   public:
    Step(Context& context, std::uint32_t top_k)
        : computed_(abi::context::forward(context.handle(), context.output_.handles().data(), 1)),
          next_(get_next_dist(context.queue_, context.output_[0], top_k)) {}

    Task<Result<Distribution>> result() && { return both(std::move(computed_), std::move(next_)); }
    Task<Result<Distribution>>::Awaiter operator co_await() && {
      return std::move(*this).result().operator co_await();
    }

   private:
    // The error of the pass says more than that of the distribution behind it.
    static Task<Result<Distribution>> both(Future<ContextCounters> computed,
                                           Future<Distribution> next) {
      CO_TRY(co_await std::move(computed));
      co_return co_await std::move(next);
    }
    Future<ContextCounters> computed_;
    Future<Distribution> next_;
  };

  // A second context with the same content, computed and queued; it shares all pages, and each goes
  // on by itself. It costs the same however long the context is.
  Task<Result<Context>> fork() const {
    const NewHandle child = CO_TRY(co_await Future<NewHandle>(abi::context::fork(handle())));
    Context out;
    out.handle_ = detail::SharedHandle(child.value);
    out.model_ = model_;
    out.queue_ = queue_;
    out.output_ = CO_TRY(Embeds::allocate(queue_, 1));
    out.tokens_ = tokens_;
    out.messages_ = messages_;
    out.rendered_message_count_ = rendered_message_count_;
    out.chat_first_ = chat_first_;
    out.answer_open_ = answer_open_;
    co_return out;
  }

  // Drops the last `count` tokens: those queued first, then computed ones within the working tail;
  // out-of-range beyond it.
  Task<Result<ContextCounters>> truncate(std::uint32_t count) {
    const ContextCounters counters =
        CO_TRY(co_await Future<ContextCounters>(abi::context::truncate(handle(), count)));
    tokens_.resize(tokens_.size() - std::min<std::size_t>(count, tokens_.size()));
    co_return counters;
  }

  // Lets the model go on; see generate.h. The context outlives the generator.
  Generator generate(GenerateOptions options);

  // Of the host, now: tokens that are queued are not counted.
  Result<std::uint32_t> seq_len() const { return counter(abi::context::seq_len); }
  Result<std::uint32_t> page_size() const { return counter(abi::context::page_size); }
  Result<std::uint32_t> committed_page_count() const {
    return counter(abi::context::committed_page_count);
  }
  Result<std::uint32_t> working_page_count() const {
    return counter(abi::context::working_page_count);
  }
  Result<std::uint32_t> working_page_token_count() const {
    return counter(abi::context::working_page_token_count);
  }

  const std::vector<std::uint32_t>& tokens() const { return tokens_; }
  const std::vector<ChatMessage>& messages() const { return messages_; }
  const Model& model() const { return model_; }
  const Queue& queue() const { return queue_; }
  std::int32_t handle() const { return handle_.get(); }

 private:
  friend class Generator;
  Context() = default;

  Result<std::uint32_t> counter(std::int32_t (*call)(std::int32_t)) const {
    return static_cast<std::uint32_t>(TRY(checked(call(handle()))));
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
    const auto chat = std::span(tokens_).subspan(std::min(chat_first_, tokens_.size()));
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

  // A new context of the tokens before the conversation and the whole conversation.
  Result<void> begin_anew(std::span<const std::uint32_t> conversation) {
    std::vector<std::uint32_t> tokens(tokens_.begin(), tokens_.begin() + chat_first_);
    tokens.insert(tokens.end(), conversation.begin(), conversation.end());
    handle_ = detail::SharedHandle(TRY(checked(abi::context::create(queue_.handle()))));
    tokens_.clear();
    return append(tokens);
  }

  Model model_;
  Queue queue_;
  detail::SharedHandle handle_;
  Embeds output_;
  std::vector<std::uint32_t> tokens_;
  std::vector<ChatMessage> messages_;
  std::size_t rendered_message_count_ = 0;  // Those whose tokens are in tokens_.
  std::size_t chat_first_ = 0;              // Index of the conversation's first token.
  bool answer_open_ = false;                // It ends where an answer begins.
};

}  // namespace quire
