#include "control/contexts/tail_tokens.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::control {

template <typename Token>
void TailTokens::push(std::span<const Token> tokens) {
  for (const Token token : tokens) tokens_.push_back(TokenId{token});
}

void TailTokens::append(std::span<const std::uint32_t> tokens, std::uint64_t room) {
  if (overflow_count_ > 0) room = 0;
  const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(room, tokens.size()));
  push(tokens.first(kept));
  overflow_count_ += tokens.size() - kept;
}

void TailTokens::append(std::span<const TokenId> tokens) {
  push(tokens);
}

void TailTokens::begin_flight(std::uint32_t count, std::span<const TokenId> drafts) {
  QUIRE_CHECK(count <= queued_count(), "X4");
  QUIRE_CHECK(drafts.empty() || count == queued_count(), "drafts come last");
  push(drafts);
  flight_count_ = count + static_cast<std::uint32_t>(drafts.size());
}

void TailTokens::end_flight(bool is_written, std::uint32_t rejected_count) {
  QUIRE_CHECK(rejected_count <= flight_count_, "X4");
  erase(count() - rejected_count, count());
  const std::uint32_t flown = std::exchange(flight_count_, 0) - rejected_count;
  if (!is_written) return;
  written_count_ += flown;
  lost_count_ -= std::min(lost_count_, flown);
}

void TailTokens::commit(std::uint32_t count) {
  written_count_ -= count;
  drop_front(count);
}

std::uint32_t TailTokens::find(std::uint32_t count) {
  const std::uint32_t found = count - std::exchange(written_count_, 0);
  lost_count_ -= std::min(lost_count_, found);
  drop_front(count);
  return found;
}

std::uint32_t TailTokens::truncate(std::uint32_t token_count) {
  const auto overflow = std::min<std::uint64_t>(overflow_count_, token_count);
  overflow_count_ -= overflow;
  const auto rest = static_cast<std::uint32_t>(token_count - overflow);
  const std::uint32_t own = own_count();
  const std::uint32_t queued = std::min(queued_count(), rest);
  erase(count() - queued, count());
  lost_count_ -= std::min(lost_count_, queued - std::min(own, queued));
  return rest - queued;
}

void TailTokens::cut_written(std::uint32_t count) {
  erase(count, written_count_);
  written_count_ = count;
}

void TailTokens::cut_queue(std::uint64_t kept, std::uint64_t overflow_count,
                           std::uint32_t lost_count_max) {
  overflow_count_ = overflow_count;
  erase(static_cast<std::uint32_t>(std::min<std::uint64_t>(count(), kept)), count());
  lost_count_ = std::min(lost_count_, lost_count_max);
}

void TailTokens::clear_queue() {
  erase(written_count_, count());
  lost_count_ = 0;
  overflow_count_ = 0;
}

void TailTokens::restart(std::span<const TokenId> written) {
  clear();
  push(written);
  written_count_ = static_cast<std::uint32_t>(written.size());
}

void TailTokens::lose_written() {
  lost_count_ += std::exchange(written_count_, 0);
}

void TailTokens::put_back(std::span<const TokenId> lost) {
  QUIRE_CHECK(written_count_ == 0 && flight_count_ == 0, "X4");
  push_front(lost);
  lost_count_ += static_cast<std::uint32_t>(lost.size());
}

void TailTokens::regain(std::uint32_t count) {
  QUIRE_CHECK(written_count_ == 0 && count <= lost_count_, "X4");
  written_count_ = count;
  lost_count_ -= count;
}

void TailTokens::fork_from(const TailTokens& parent) {
  QUIRE_CHECK(parent.flight_count_ == 0, "forked under a batch");
  clear();
  push(parent.all());
  written_count_ = parent.written_count_;
  lost_count_ = parent.lost_count_;
  overflow_count_ = parent.overflow_count_;
}

void TailTokens::clear() {
  erase(0, count());
  drop_front(0);
  written_count_ = flight_count_ = lost_count_ = 0;
  overflow_count_ = 0;
}

void TailTokens::verify() const {
  QUIRE_CHECK(first_ <= tokens_.size(), "X4");
  QUIRE_CHECK(written_count_ + std::uint64_t{flight_count_} <= count(), "X4");
  // Tokens in flight may still count as lost.
  QUIRE_CHECK(written_count_ + std::uint64_t{lost_count_} <= count(), "X4");
}

void TailTokens::push_front(std::span<const TokenId> tokens) {
  const auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(first_);
  if (tokens.size() <= first_) {
    first_ -= tokens.size();
    std::copy(tokens.begin(), tokens.end(), begin - static_cast<std::ptrdiff_t>(tokens.size()));
    return;
  }
  tokens_.insert(begin, tokens.begin(), tokens.end());
}

void TailTokens::erase(std::uint32_t begin, std::uint32_t end) {
  const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(first_);
  tokens_.erase(first + begin, first + end);
}

void TailTokens::drop_front(std::uint32_t count) {
  constexpr std::size_t kCompactBeyond = 4096;
  first_ += count;
  if (first_ == tokens_.size() || (first_ > kCompactBeyond && first_ * 2 > tokens_.size())) {
    tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace quire::control
