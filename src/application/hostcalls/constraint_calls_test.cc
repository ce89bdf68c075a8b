// The calls of interface constraint: what is checked at once, and what the futures give.
#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kSource = 64;
constexpr std::uint32_t kTokens = 512;

class ConstraintCalls : public HostCalls {
 protected:
  std::int64_t compile(std::string_view source, std::int64_t kind = 1) {
    host->put(kSource, source);
    return call("constraint", "compile-grammar",
                {model, kind, kSource, static_cast<std::int64_t>(source.size())});
  }
  std::int64_t compiled() {
    const std::int64_t future = compile("a*");
    answer(control::AnswerBody(control::CompiledGrammar{some_grammar()}));
    EXPECT_EQ(take(future), 4);
    return number_at(kBuffer);
  }
  std::int64_t grammars() const { return state->handles.count(HandleKind::Grammar); }
  std::int64_t reserved() const { return state->handles.count(HandleKind::ReservedGrammar); }
};

TEST_F(ConstraintCalls, AGrammarIsAHandleFromTheTimeItsFutureIsTaken) {
  const std::int64_t future = compile("a*", 2);
  EXPECT_EQ(last_command<control::CompileGrammar>().source, "a*");
  EXPECT_EQ(static_cast<int>(last_command<control::CompileGrammar>().kind), 2);
  EXPECT_EQ(reserved(), 1);
  answer(control::AnswerBody(control::CompiledGrammar{some_grammar()}));
  EXPECT_EQ(grammars(), 0);
  EXPECT_EQ(take(future), 4);
  EXPECT_EQ(grammars(), 1);
  EXPECT_EQ(reserved(), 0);
  const std::int64_t grammar = number_at(kBuffer);
  EXPECT_GT(call("constraint", "create-matcher", {grammar}), 0);
  EXPECT_NE(last_command<control::CreateMatcher>().grammar, nullptr);
  EXPECT_EQ(call("future", "drop", {grammar}), 0);
  EXPECT_EQ(call("constraint", "create-matcher", {grammar}), minus(ErrorCode::NotFound));
}

TEST_F(ConstraintCalls, AGrammarThatNobodyTakesLeavesNothing) {
  const std::int64_t pending = compile("a*");
  EXPECT_EQ(call("future", "drop", {pending}), 0);
  EXPECT_EQ(reserved(), 0);
  control.commands.clear();
  const std::int64_t ready = compile("a*");
  answer(control::AnswerBody(control::CompiledGrammar{some_grammar()}));
  EXPECT_EQ(call("future", "drop", {ready}), 0);
  EXPECT_EQ(reserved(), 0);
  const std::int64_t failed = compile("a**");
  answer(Error(ErrorCode::InvalidArgument, "at 2: nothing to repeat"));
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(take(failed), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(grammars() + reserved(), 0);
}

TEST_F(ConstraintCalls, GrammarsOfAProgramHaveALimitOfBytesTogether) {
  GuestLimits limits;
  limits.held_grammar_bytes_max = 100;
  restart(limits, {});
  const auto answer_bytes = [&](std::uint64_t bytes) {
    answer(control::AnswerBody(control::CompiledGrammar{some_grammar(), bytes}));
  };
  const std::int64_t first = compile("a*");
  answer_bytes(60);
  EXPECT_EQ(take(first), 4);
  const std::int64_t grammar = number_at(kBuffer);
  const std::int64_t second = compile("b*");
  answer_bytes(41);
  EXPECT_EQ(take(second), minus(ErrorCode::QuotaExceeded));
  EXPECT_NE(state->last_error.find("held_grammar_bytes_max: the grammar has 41 bytes"),
            std::string::npos)
      << state->last_error;
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(call("future", "drop", {grammar}), 0);
  EXPECT_EQ(state->draws.grammar_bytes(), 0u);
  const std::int64_t third = compile("b*");
  answer_bytes(100);
  EXPECT_EQ(take(third), 4);
  const std::int64_t untaken = compile("c");
  answer_bytes(0);
  EXPECT_EQ(call("future", "drop", {untaken}), 0);
  EXPECT_EQ(state->draws.grammar_bytes(), 100u);
}

TEST_F(ConstraintCalls, WhatIsNoGrammarIsRefusedAtOnce) {
  EXPECT_EQ(compile("a", 3), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(compile("a\xff"), minus(ErrorCode::InvalidArgument));
  EXPECT_NE(state->last_error.find("bytes from 1 on"), std::string::npos);
  EXPECT_EQ(call("constraint", "compile-grammar", {model, 1, 0, (256 << 10) + 1}),
            minus(ErrorCode::TooLarge));
  EXPECT_EQ(call("constraint", "compile-grammar", {queue, 1, 0, 1}), minus(ErrorCode::NotFound));
  control.give_traits(0, {"allocate", "forward"});
  EXPECT_EQ(compile("a"), minus(ErrorCode::NotSupported));
}

TEST_F(ConstraintCalls, ATextIsAskedAboutWithTheGrammarAndTheVerdictIsANumber) {
  const std::int64_t grammar = compiled();
  const auto asked = [&](std::string_view text) {
    host->put(kSource, text);
    return call("constraint", "fits", {grammar, kSource, static_cast<std::int64_t>(text.size())});
  };
  for (const bool fits : {true, false}) {
    const std::int64_t future = asked("a\xff");  // What is not UTF-8 is a text that does not fit.
    EXPECT_EQ(last_command<control::CheckText>().text, "a\xff");
    EXPECT_NE(last_command<control::CheckText>().grammar, nullptr);
    answer(control::AnswerBody(control::TextChecked{fits}));
    EXPECT_EQ(take(future), 4);
    EXPECT_EQ(number_at(kBuffer), fits ? 1 : 0);
  }
  const std::int64_t late = asked("");
  EXPECT_EQ(call("future", "drop", {grammar}), 0);  // The command has a share of its own.
  answer(Error(ErrorCode::Timeout, "the text takes over 100 ms"));
  EXPECT_EQ(take(late), minus(ErrorCode::Timeout));
  EXPECT_EQ(asked("a"), minus(ErrorCode::NotFound));
}

TEST_F(ConstraintCalls, ATextOfTooManyBytesOrOfNoGrammarIsRefusedAtOnce) {
  const std::int64_t grammar = compiled();
  EXPECT_EQ(call("constraint", "fits", {grammar, kSource, (1 << 20) + 1}),
            minus(ErrorCode::TooLarge));
  EXPECT_NE(state->last_error.find("text: 1048577 bytes; at most 1048576"), std::string::npos)
      << state->last_error;
  const std::int64_t matcher = call("constraint", "create-matcher", {grammar});
  for (const std::int64_t wrong : {std::int64_t{0}, matcher, std::int64_t{queue}}) {
    EXPECT_EQ(call("constraint", "fits", {wrong, kSource, 1}), minus(ErrorCode::NotFound)) << wrong;
  }
}

TEST_F(ConstraintCalls, EachCallOnAMatcherIsACommandInItsOrder) {
  const std::int64_t matcher = call("constraint", "create-matcher", {compiled()});
  const std::int64_t child = call("constraint", "fork-matcher", {matcher});
  EXPECT_EQ(last_command<control::ForkMatcher>().child,
            control::ObjectId{static_cast<std::uint32_t>(child)});
  control.commands.clear();
  const std::int64_t mask = call("constraint", "token-mask", {matcher});
  answer(control::AnswerBody(control::TokenMaskWords{{5, 0, 0, 8}}));
  EXPECT_EQ(take(mask), 16);
  EXPECT_EQ(number_at(kBuffer + 12), 8);
  put(kTokens, {1, 2});
  const std::int64_t accepted = call("constraint", "accept-tokens", {matcher, kTokens, 2});
  EXPECT_EQ(last_command<control::AcceptTokens>().tokens, (std::vector<std::uint32_t>{1, 2}));
  answer(control::AnswerBody(control::Accepted{true}));
  EXPECT_EQ(take(accepted), 4);
  EXPECT_EQ(number_at(kBuffer), 1);
  const std::int64_t back = call("constraint", "roll-back", {matcher, 2});
  EXPECT_EQ(last_command<control::RollBackMatcher>().count, 2u);
  answer(control::AnswerBody(control::Done{}));
  EXPECT_EQ(take(back), 0);
  const std::int64_t forced = call("constraint", "forced-tokens", {matcher, 0xffffffff});
  EXPECT_EQ(last_command<control::GetForcedTokens>().count_max, 4096u);
  answer(control::AnswerBody(control::Tokens{{7, 8, 9}}));
  EXPECT_EQ(take(forced), 12);
  EXPECT_EQ(call("future", "drop", {child}), 0);
  EXPECT_EQ(last_command<control::DropMatcher>().matcher,
            control::ObjectId{static_cast<std::uint32_t>(child)});
}

TEST_F(ConstraintCalls, TokensThatComeAreOfTheVocabularyAndNotTooMany) {
  const std::int64_t matcher = call("constraint", "create-matcher", {compiled()});
  put(kTokens, {1, 100});
  EXPECT_EQ(call("constraint", "accept-tokens", {matcher, kTokens, 2}),
            minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("constraint", "accept-tokens", {matcher, kTokens, 65'537}),
            minus(ErrorCode::TooLarge));
  const std::int64_t grammar = compiled();
  for (const char* name : {"token-mask", "fork-matcher"}) {
    EXPECT_EQ(call("constraint", name, {grammar}), minus(ErrorCode::NotFound)) << name;
  }
  EXPECT_EQ(call("constraint", "create-matcher", {matcher}), minus(ErrorCode::NotFound));
}

}  // namespace
}  // namespace quire::hostcalls
