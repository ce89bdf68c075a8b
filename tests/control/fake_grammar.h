#pragma once
// A grammar over the simulated device's vocabulary, for tests: the tokens that may come next are a
// hash of those before. They are about a third of all tokens, or at one place in five a single one,
// which is forced. After `length` tokens there are none.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inference/api/grammar.h"

namespace quire::control {

struct FakeGrammarOptions {
  std::uint64_t seed = 1;
  std::uint32_t vocabulary_size = 512;
  std::uint32_t length = 1000;
  bool has_forced = true;
  std::uint32_t dead_end = 1000;  // After so many tokens none is allowed.
};

inline std::uint64_t fake_hash(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

class FakeMatcher final : public inference::Matcher {
 public:
  explicit FakeMatcher(FakeGrammarOptions options) : options_(options) {}

  Result<void> fill_mask(std::span<std::uint32_t> words) override {
    std::fill(words.begin(), words.end(), 0u);
    for (std::uint32_t token = 0; token < options_.vocabulary_size; ++token) {
      if (allows(token)) words[token / 32] |= 1u << (token % 32);
    }
    return {};
  }
  Result<void> accept(std::span<const inference::TokenId> tokens) override {
    const std::size_t before = accepted_.size();
    for (const inference::TokenId token : tokens) {
      if (!allows(static_cast<std::uint32_t>(token))) {
        accepted_.resize(before);
        return Error(
            ErrorCode::InvalidArgument,
            "token " + std::to_string(static_cast<std::uint32_t>(token)) + " is not allowed");
      }
      accepted_.push_back(static_cast<std::uint32_t>(token));
    }
    return {};
  }
  Result<void> roll_back(std::uint32_t count) override {
    if (count > accepted_.size()) return Error(ErrorCode::OutOfRange, "fewer were accepted");
    accepted_.resize(accepted_.size() - count);
    return {};
  }
  std::vector<inference::TokenId> forced(std::size_t most) override {
    std::vector<inference::TokenId> tokens;
    const std::size_t before = accepted_.size();
    while (tokens.size() < most && is_forced() && !is_complete()) {
      accepted_.push_back(only());
      tokens.push_back(inference::TokenId{accepted_.back()});
    }
    accepted_.resize(before);
    return tokens;
  }
  bool is_complete() const override { return accepted_.size() >= options_.length; }
  bool may_end() const override { return is_complete(); }
  std::uint32_t accepted_count() const override {
    return static_cast<std::uint32_t>(accepted_.size());
  }
  std::size_t memory_bytes() const override { return 1000 + accepted_.size(); }
  std::unique_ptr<inference::Matcher> fork() const override {
    return std::make_unique<FakeMatcher>(*this);
  }
  const std::vector<std::uint32_t>& accepted() const { return accepted_; }

 private:
  std::uint64_t state() const {
    std::uint64_t state = options_.seed;
    for (const std::uint32_t token : accepted_) state = fake_hash(state + token + 1);
    return state;
  }
  bool is_forced() const {
    return options_.has_forced && accepted_.size() != options_.dead_end &&
           fake_hash(state() ^ 77) % 5 < 2;
  }
  std::uint32_t only() const {
    return static_cast<std::uint32_t>(fake_hash(state() ^ 5) % options_.vocabulary_size);
  }
  bool allows(std::uint32_t token) const {
    if (is_complete() || accepted_.size() == options_.dead_end) return false;
    if (is_forced()) return token == only();
    return fake_hash(state() * 31 + token) % 3 == 0;
  }

  const FakeGrammarOptions options_;
  std::vector<std::uint32_t> accepted_;
};

class FakeGrammar final : public inference::Grammar {
 public:
  explicit FakeGrammar(FakeGrammarOptions options) : options_(options) {}
  Result<std::unique_ptr<inference::Matcher>> matcher() const override {
    return std::unique_ptr<inference::Matcher>(std::make_unique<FakeMatcher>(options_));
  }
  // Each text is a token whose number is its length.
  Result<bool> fits(std::string_view text) const override {
    FakeMatcher matcher(options_);
    const inference::TokenId token{static_cast<std::uint32_t>(text.size())};
    return matcher.accept(std::span(&token, 1)).ok();
  }
  std::size_t memory_bytes() const override { return sizeof(*this); }

 private:
  const FakeGrammarOptions options_;
};

}  // namespace quire::control
