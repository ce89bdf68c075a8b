// Edits of contexts and snapshots: what the program believes of a context is what the host holds.
#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/context.h"
#include "quire/generate.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;

class ContextEdit : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.next = [](const std::vector<std::uint32_t>&) {
      return std::vector<std::pair<std::uint32_t, float>>{{'!', 1.0f}};
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  // Runs `body` on a context that has computed `text`.
  template <typename Body>
  static void with_context(std::string text, Body body) {
    const auto program = [&]() -> Task<> {
      const Model model = co_await Model::open();
      Context context = co_await Context::create(model);
      co_await context.append_text(text);
      co_await context.flush();
      co_return co_await body(context);
    };
    const Result<void> result = run(program());
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  }

  static std::string text_of(const std::vector<std::uint32_t>& tokens) {
    return std::string(tokens.begin(), tokens.end());
  }
  // Computed and queued.
  static std::string held_by(const Context& context) {
    const auto& held = host.contexts.at(context.handle());
    return text_of(held.computed) + "|" + text_of(held.queued);
  }
};

const std::string kLong = "0123456789abcdef0123456789abcdefXYZ";  // Two pages and three tokens.

TEST_F(ContextEdit, RewindGoesBackOverCommittedPagesAndQueuedTokens) {
  with_context(kLong, [](Context& context) -> Task<> {
    co_await context.append_text("queued");
    ContextCounters counters = co_await context.rewind(37);
    EXPECT_EQ(counters.seq_len, 35u);
    EXPECT_EQ(held_by(context), kLong + "|qu");
    EXPECT_EQ(context.token_count(), 37u);
    counters = co_await context.rewind(5);
    EXPECT_EQ(counters.committed_page_count, 0u);
    EXPECT_EQ(held_by(context), "01234|");
    EXPECT_EQ(text_of(context.tokens()), "01234");
    EXPECT_EQ((co_await attempt(context.rewind(6))).error().code, ErrorCode::OutOfRange);
    EXPECT_EQ(context.token_count(), 5u);
    co_return;
  });
}

TEST_F(ContextEdit, DropRangeFreesWholePagesAndKeepsTheNumbering) {
  with_context(kLong, [](Context& context) -> Task<> {
    const ContextCounters counters = co_await context.drop_range(4, 33);
    EXPECT_EQ(counters.seq_len, 35u);
    EXPECT_EQ(counters.committed_page_count, 1u);
    EXPECT_EQ(context.committed_page_count(), 1u);
    EXPECT_EQ(text_of(context.tokens()), kLong);
    EXPECT_EQ((co_await attempt(context.drop_range(0, 36))).error().code, ErrorCode::OutOfRange);
    co_return;
  });
}

TEST_F(ContextEdit, SpliceQueuesTokensOfAnotherContextOrOfItself) {
  with_context("abcdef", [](Context& context) -> Task<> {
    Context other = co_await Context::create(context.model());
    co_await other.append_text("x");
    co_await other.splice(context, 2, 5);
    co_await other.splice(other, 0, 2);
    EXPECT_EQ(held_by(other), "|xcdexc");
    EXPECT_EQ(text_of(other.tokens()), "xcdexc");
    EXPECT_EQ((co_await attempt(other.splice(context, 5, 7))).error().code, ErrorCode::OutOfRange);
    EXPECT_EQ(other.token_count(), 6u);
    co_return;
  });
}

TEST_F(ContextEdit, WorkingPagesAreReservedReleasedAndCut) {
  with_context(kLong, [](Context& context) -> Task<> {
    ContextCounters counters = co_await context.reserve_working_pages(2);
    EXPECT_EQ(counters.working_page_count, 3u);
    co_await context.append_text("queued");
    counters = co_await context.truncate_working_page_tokens(1);
    EXPECT_EQ(counters.working_page_token_count, 2u);
    EXPECT_EQ(text_of(context.tokens()), kLong.substr(0, 34) + "queued");
    counters = co_await context.release_working_pages(3);
    EXPECT_EQ(counters.working_page_count, 0u);
    EXPECT_EQ(text_of(context.tokens()), kLong.substr(0, 32) + "queued");
    EXPECT_EQ(held_by(context), kLong.substr(0, 32) + "|queued");
    EXPECT_EQ((co_await attempt(context.release_working_pages(1))).error().code,
              ErrorCode::OutOfRange);
    EXPECT_EQ((co_await attempt(context.commit_working_pages(1))).error().code,
              ErrorCode::PageNotFull);
    EXPECT_EQ((co_await context.commit_working_pages(0)).committed_page_count, 2u);
    co_return;
  });
}

TEST_F(ContextEdit, WhatAStepThatWasDroppedWroteIsForgottenWithItsPage) {
  with_context("abc", [](Context& context) -> Task<> {
    {
      Generator generator = context.generate({});
      co_await generator.next();  // The next step is dropped.
    }
    co_await context.release_working_pages(1);
    EXPECT_EQ(held_by(context), "|");
    EXPECT_EQ(context.token_count(), 0u);
    co_return;
  });
}

TEST_F(ContextEdit, HintsAndTheContextFlagReachTheHostAndOutliveABeginning) {
  with_context("abc", [](Context& context) -> Task<> {
    co_await context.hint(ContextHint::Keep, 60s);
    co_await context.allow_beyond_context();
    EXPECT_EQ(context.hint(ContextHint::Keep, 2'000'000h).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(context.hint(ContextHint::Keep, -1s).error().code, ErrorCode::InvalidArgument);
    const std::int32_t before = context.handle();
    context.user("one");
    co_await context.next_distribution();
    context.assistant("said otherwise");
    co_await context.flush();  // The context cannot go on after the open answer.
    EXPECT_NE(context.handle(), before);
    const auto& held = host.contexts.at(context.handle());
    EXPECT_EQ(held.hint, static_cast<std::uint32_t>(ContextHint::Keep));
    EXPECT_EQ(held.hint_seconds, 60u);
    EXPECT_TRUE(held.beyond_context);
    co_return;
  });
}

TEST_F(ContextEdit, AConversationThatWasCutIsWrittenAnewBehindWhatWasBeforeIt) {
  with_context("before", [](Context& context) -> Task<> {
    context.user("one");
    co_await context.flush();
    co_await context.rewind(8);
    context.user("two");
    co_await context.flush();
    EXPECT_EQ(held_by(context), "before\1uone\2\n\1utwo\2\n|");
    co_return;
  });
}

TEST_F(ContextEdit, ASnapshotIsOpenedTakenListedAndRemoved) {
  with_context("abcd", [](Context& context) -> Task<> {
    co_await context.append_text("ef");
    const SaveOptions as_tokens = {.overwrite = true, .time_to_live = 2h, .compute = false};
    co_await context.save("one", {.time_to_live = 1h, .compute = false});
    EXPECT_EQ((co_await attempt(context.save("one"))).error().code, ErrorCode::AlreadyExists);
    co_await context.rewind(4);
    co_await context.append_text("ef");
    co_await context.save("one", as_tokens);
    co_await context.save("two", {.compute = false});
    const SnapshotList list = co_await Context::list();
    EXPECT_EQ(list.bytes, 200u);
    EXPECT_EQ(list.snapshots.size(), 2u);
    EXPECT_EQ(list.snapshots[0].name, "one");
    EXPECT_EQ(list.snapshots[0].expires_unix_ms, 1000u + 7'200'000u);
    EXPECT_EQ(list.snapshots[1].expires_unix_ms, 0u);
    EXPECT_EQ(list.snapshots[1].token_count, 4u);

    Context opened = co_await Context::open(context.model(), "one");
    EXPECT_EQ(held_by(opened), "abcd|ef");
    EXPECT_EQ(opened.token_count(), 6u);
    EXPECT_EQ(opened.unknown_token_count(), 6u);
    Context taken = co_await Context::take(context.model(), context.queue(), "two");
    EXPECT_EQ(held_by(taken), "abcd|ef");
    EXPECT_FALSE(host.snapshots.contains("two"));
    co_await Context::remove("one");
    EXPECT_EQ((co_await attempt(Context::open(context.model(), "one"))).error().code,
              ErrorCode::NotFound);
    EXPECT_EQ((co_await attempt(Context::remove("one"))).error().code, ErrorCode::NotFound);
    EXPECT_TRUE((co_await Context::list()).snapshots.empty());
    co_return;
  });
}

TEST_F(ContextEdit, SaveComputesTheTextAndTheTurnsThatAreQueued) {
  with_context("ab", [](Context& context) -> Task<> {
    co_await context.append_text("cd");
    context.user("one");
    co_await context.save("chat");
    EXPECT_EQ(held_by(context), "abcd\1uone\2\n|");
    EXPECT_EQ(text_of(host.snapshots["chat"].context.computed), "abcd\1uone\2\n");
    EXPECT_TRUE(host.snapshots["chat"].context.queued.empty());
  });
}

TEST_F(ContextEdit, AnAnswerBeginsAfterATurnThatWasFlushedOrSavedBefore) {
  with_context("ab", [](Context& context) -> Task<> {
    context.user("one");
    co_await context.flush();
    co_await context.save("s");
    co_await context.prefill();
    EXPECT_EQ(held_by(context), "ab\1uone\2\n\1a|");
    co_await context.prefill();
    EXPECT_EQ(held_by(context), "ab\1uone\2\n\1a|") << "it has begun";
  });
  with_context("ab", [](Context& context) -> Task<> {
    context.user("one");
    co_await context.flush();
    co_await context.append_text("text that the program appends itself");
    co_await context.prefill();
    EXPECT_EQ(held_by(context), "ab\1uone\2\ntext that the program appends itself|");
  });
  with_context("ab", [](Context& context) -> Task<> {
    context.user("one");
    context.assistant("two");
    co_await context.flush();
    co_await context.prefill();
    EXPECT_EQ(held_by(context), "ab\1uone\2\n\1atwo\2\n|") << "it is answered";
  });
}

TEST_F(ContextEdit, SaveWithoutComputingKeepsWhatIsQueuedAsTokens) {
  with_context("", [](Context& context) -> Task<> {
    context.user("one");
    co_await context.save("chat", {.compute = false});
    EXPECT_EQ(text_of(host.snapshots["chat"].context.queued), "\1uone\2\n");
    EXPECT_TRUE(host.snapshots["chat"].context.computed.empty());
    co_return;
  });
}

TEST_F(ContextEdit, AFullContextIsSavedWithTheTokensThatDoNotFit) {
  host.context_length = 6;
  with_context("abcdef", [](Context& context) -> Task<> {
    co_await context.append_text("g");
    co_await context.save("full");
    EXPECT_EQ(text_of(host.snapshots["full"].context.computed), "abcdef");
    EXPECT_EQ(text_of(host.snapshots["full"].context.queued), "g");
  });
}

TEST_F(ContextEdit, SaveOfAContextThatCannotBeComputedIsAnErrorAndSavesNothing) {
  with_context("ab", [](Context& context) -> Task<> {
    host.compute_error = ErrorCode::QuotaExceeded;
    co_await context.append_text("c");
    EXPECT_EQ((co_await attempt(context.save("s"))).error().code, ErrorCode::QuotaExceeded);
    EXPECT_TRUE(host.snapshots.empty());
    host.compute_error.reset();
    co_await context.save("s");
    EXPECT_EQ(text_of(host.snapshots["s"].context.computed), "abc");
  });
}

// Until the loop is done the context may be read, and a save reads it.
TEST_F(ContextEdit, SaveWhileALoopOfTheHostRunsKeepsWhatThereIs) {
  with_context("ab", [](Context& context) -> Task<> {
    bool is_saved = false;
    const auto show = [&](std::string_view) -> Task<> {
      if (!std::exchange(is_saved, true)) co_await context.save("s");
    };
    co_await context.generate({.max_tokens = 3}).stream(show);
    EXPECT_EQ(text_of(host.snapshots["s"].context.computed).substr(0, 2), "ab");
  });
}

// The known tokens of an opened context are those that came since.
TEST_F(ContextEdit, AnOpenedContextGoesOnBehindTokensThatItsProgramNeverSaw) {
  with_context("abcd", [](Context& context) -> Task<> {
    co_await context.save("s");
    Context opened = co_await Context::open(context.model(), "s");
    opened.user("one");
    const Generation answer = co_await opened.generate({.max_tokens = 2}).collect();
    EXPECT_EQ(answer.text, "!!");
    EXPECT_EQ(text_of(opened.tokens()), "\1uone\2\n\1a!!");
    opened.user("two");  // The answer was cut short: it is closed, and the conversation goes on.
    co_await opened.flush();
    EXPECT_EQ(held_by(opened), "abcd\1uone\2\n\1a!!\2\n\1utwo\2\n|");
    co_await opened.rewind(10);
    opened.user("three");  // Begun anew after the snapshot's own tokens, in the same context.
    co_await opened.flush();
    EXPECT_EQ(held_by(opened), "abcd\1uone\2\n\1a!!\2\n\1utwo\2\n\1uthree\2\n|");
    co_await opened.rewind(2);
    EXPECT_EQ(opened.unknown_token_count(), 2u);
    EXPECT_EQ(opened.token_count(), 2u);
    Context other = co_await Context::create(context.model());
    co_await other.append_text("x");
    co_await other.splice(opened, 1, 2);
    EXPECT_EQ(held_by(other), "|xb");
    EXPECT_EQ(other.unknown_token_count(), 2u);
    EXPECT_EQ(other.token_count(), 2u);
    co_return;
  });
}

TEST_F(ContextEdit, AListThatIsCutShortIsAnError) {
  std::string whole(16 + 36 + 3, '\0');
  whole[0] = 1;
  whole[48] = 3;
  const auto decoded = [](std::string_view bytes) {
    return FutureValue<SnapshotList>::decode(std::as_bytes(std::span(bytes)));
  };
  EXPECT_EQ(decoded(whole).value().snapshots[0].name.size(), 3u);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(decoded(std::string_view(whole).substr(0, bytes)).error().code, ErrorCode::Internal);
  }
}

}  // namespace
}  // namespace quire
