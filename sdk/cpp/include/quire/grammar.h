#pragma once
// Grammar is the form that a text must have: a JSON Schema, a regular expression or a grammar in
// Lark's notation. Matcher is a place in one.
//
//   const Grammar person = co_await Grammar::json_schema(context.model(), kSchema);
//   const Generation answer = co_await context.generate({.grammar = person}).collect();
//
// A grammar is compiled once, for one model; copies share it. A generation under a grammar draws
// only tokens with which the text can still become one of its texts. It ends when no token may
// follow. Matchers by hand are for loops of a program's own: they advance by the tokens that a draw
// queues, and by accept().
//
// Owns     handles of the host; copies share them. A fork of a Matcher is a second one.
// Errors   json_schema and the like: invalid-argument with the place in the source and the reason;
//          not-supported names what is not supported; too-large and timeout name the limit. fits: a
//          text that cannot be asked about, which leaves the grammar as it was.
//          Matcher: unavailable while a draw uses it; timeout where a mask took too long, after
//          which the matcher cannot be used any more.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quire/bindings.h"
#include "quire/context_results.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/model.h"
#include "quire/result.h"
#include "quire/task.h"

namespace quire {

class Matcher {
 public:
  Matcher() = default;

  // A second one in the same place.
  Result<Matcher> fork() const {
    return Matcher(TRY(checked(abi::constraint::fork_matcher(handle()))));
  }
  // The tokens that may come next: bit i % 32 of word i / 32 is token i.
  Future<std::vector<std::uint32_t>> token_mask() const {
    return Future<std::vector<std::uint32_t>>(abi::constraint::token_mask(handle()));
  }
  // The tokens came; true when nothing may follow. invalid-argument: one of them may not come, and
  // then none did.
  Task<bool> accept(std::vector<std::uint32_t> tokens) const {
    const Matcher self = *this;
    const std::vector<std::uint32_t> complete =
        co_await Future<std::vector<std::uint32_t>>(abi::constraint::accept_tokens(
            self.handle(), tokens.data(), detail::count_of(tokens.size())));
    co_return !complete.empty() && complete.front() != 0;
  }
  // The last `count` tokens did not come.
  Future<void> roll_back(std::uint32_t count) const {
    return Future<void>(abi::constraint::roll_back(handle(), count));
  }
  // Tokens that must come next, at most `count_max`.
  Future<std::vector<std::uint32_t>> forced(std::uint32_t count_max = 64) const {
    return Future<std::vector<std::uint32_t>>(abi::constraint::forced_tokens(handle(), count_max));
  }

  explicit operator bool() const { return handle() >= 0; }
  std::int32_t handle() const { return handle_.get(); }

 private:
  friend class Grammar;
  explicit Matcher(std::int32_t handle) : handle_(handle) {}

  detail::SharedHandle handle_;
};

class Grammar {
 public:
  Grammar() = default;  // None: everything may come.

  static Task<Grammar> json_schema(const Model& model, std::string_view schema) {
    return compile(model, Kind::JsonSchema, schema);
  }
  // The whole text matches the expression.
  static Task<Grammar> regex(const Model& model, std::string_view expression) {
    return compile(model, Kind::Regex, expression);
  }
  static Task<Grammar> lark(const Model& model, std::string_view source) {
    return compile(model, Kind::Lark, source);
  }

  // Whether `text` is one of its texts as a whole, also if no model wrote it. For a JSON Schema:
  // whether it is JSON and an instance of the schema, with its members in any order, any blanks,
  // and `1.0` for an integer.
  // Errors: too-large if it is over 1 MiB, or nested deeper than 128; timeout if it takes too long.
  Task<bool> fits(std::string_view text) const {
    return fitting(*this, Future<std::vector<std::uint32_t>>(abi::constraint::fits(
                              handle(), detail::bytes_of(text), detail::count_of(text.size()))));
  }

  // At its beginning.
  Result<Matcher> matcher() const {
    return Matcher(TRY(checked(abi::constraint::create_matcher(handle_.get()))));
  }

  explicit operator bool() const { return handle() >= 0; }
  std::int32_t handle() const { return handle_.get(); }

 private:
  enum class Kind : std::uint32_t { JsonSchema, Regex, Lark };

  static Task<Grammar> compile(const Model& model, Kind kind, std::string_view source) {
    return compiled(Future<NewHandle>(abi::constraint::compile_grammar(
        model.handle(), static_cast<std::uint32_t>(kind), detail::bytes_of(source),
        detail::count_of(source.size()))));
  }
  static Task<Grammar> compiled(Future<NewHandle> compiling) {
    const NewHandle made = co_await std::move(compiling);
    Grammar grammar;
    grammar.handle_ = detail::SharedHandle(made.value);
    co_return grammar;
  }

  // The grammar is held while it is asked.
  static Task<bool> fitting(Grammar, Future<std::vector<std::uint32_t>> asked) {
    const std::vector<std::uint32_t> fits = co_await std::move(asked);
    co_return !fits.empty() && fits.front() != 0;
  }

  detail::SharedHandle handle_;
};

}  // namespace quire
