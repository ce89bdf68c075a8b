#pragma once
// TailTokens are the tokens of a context after its committed pages: those written, those in flight,
// and those queued. All tokens of a context go in and out here. What else a slot has, such as the
// adapters of its token, is in a SlotRuns of ContextParts.
//
// The first of the queued tokens may be lost ones, which were written before their pages went.
// Tokens over the limit of a queue are only counted: the overflow.
//
// Thread   engine thread only.
// Errors   none; a request that cannot be met is a bug, and stops the process.
//
// Invariant X4 of context.h, checked by verify().
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/api/batch.h"

namespace quire::control {

class TailTokens {
 public:
  using TokenId = inference::TokenId;

  bool is_empty() const { return tokens_.empty(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(tokens_.size() - first_); }
  std::uint32_t written_count() const { return written_count_; }
  std::uint32_t flight_count() const { return flight_count_; }
  // Neither written nor in flight; those lost are among them.
  std::uint32_t queued_count() const { return count() - written_count_ - flight_count_; }
  std::uint32_t lost_count() const { return lost_count_; }
  std::uint32_t own_count() const { return queued_count() - lost_count_; }  // That were queued.
  std::uint64_t overflow_count() const { return overflow_count_; }
  std::span<const TokenId> all() const { return std::span(tokens_).subspan(first_); }
  std::span<const TokenId> written() const { return all().first(written_count_); }
  std::span<const TokenId> unwritten() const { return all().subspan(written_count_); }

  // Queues the first `room` tokens, and counts the rest. While tokens are only counted, all further
  // ones are.
  void append(std::span<const std::uint32_t> tokens, std::uint64_t room);
  // Queues tokens that another context had queued.
  void append(std::span<const TokenId> tokens);

  // The next `count` queued tokens are in flight, and so are `drafts`, which then come last.
  void begin_flight(std::uint32_t count, std::span<const TokenId> drafts);
  // Tokens in flight become written, except for the last `rejected_count`, which are removed. If
  // `is_written` is false, they are queued again.
  void end_flight(bool is_written, std::uint32_t rejected_count);

  // The first `count` tokens, which are written, are the committed pages' now.
  void commit(std::uint32_t count);
  // Pages were found that hold all written tokens and the first queued ones, `count` together.
  // Returns how many queued ones.
  std::uint32_t find(std::uint32_t count);

  // Takes the last `count` tokens back, the overflow first, as far as they are queued. Returns how
  // many are left, to be cut from those written.
  std::uint32_t truncate(std::uint32_t count);
  // Keeps the first `count` written tokens; queued ones move up.
  void cut_written(std::uint32_t count);
  // Keeps the first `count` of all tokens, and `overflow_count` beyond them. At most
  // `lost_count_max` stay lost.
  void cut_queue(std::uint64_t count, std::uint64_t overflow_count, std::uint32_t lost_count_max);
  // Nothing is left but what is written.
  void clear_queue();
  // `written` is all that is left.
  void restart(std::span<const TokenId> written);

  // The pages of the written tokens went.
  void lose_written();
  // Committed pages went, with these tokens, which come before all others. Requires: nothing is
  // written.
  void put_back(std::span<const TokenId> lost);
  // The first `count` of those lost have their pages again.
  void regain(std::uint32_t count);

  // Becomes what `parent` is. Requires: nothing is in flight there.
  void fork_from(const TailTokens& parent);
  void clear();

  void verify() const;

 private:
  template <typename Token>
  void push(std::span<const Token> tokens);
  void push_front(std::span<const TokenId> tokens);
  void erase(std::uint32_t begin, std::uint32_t end);
  void drop_front(std::uint32_t count);

  std::size_t first_ = 0;  // tokens_[first_ ..] are the context's.
  std::uint32_t written_count_ = 0;
  std::uint32_t flight_count_ = 0;
  std::uint32_t lost_count_ = 0;
  std::uint64_t overflow_count_ = 0;
  std::vector<TokenId> tokens_;
};

}  // namespace quire::control
