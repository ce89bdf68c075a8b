// The calls on contexts and snapshots: what is checked at once, what is counted, and what a command
// and its result look like.
#include <limits>

#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls {
namespace {

class ContextCalls : public HostCalls {
 protected:
  void SetUp() override {
    HostCalls::SetUp();
    context = call("context", "create", {queue});
  }
  void limit(const GuestLimits& limits, const control::InstanceLimits& control_limits = {}) {
    restart(limits, control_limits);
    context = call("context", "create", {queue});
  }

  // Appends `count` tokens; whether there was room.
  bool append(std::int64_t to, std::int64_t count) {
    const std::int64_t result = call("context", "append", {to, 8192, count});
    EXPECT_TRUE(result == 0 || result == minus(ErrorCode::QuotaExceeded)) << result;
    return result == 0;
  }
  std::uint64_t queued(std::int64_t of) const {
    return state->contexts.at(static_cast<std::uint32_t>(of)).queued_tokens();
  }
  void answer_state(std::uint32_t seq_len = 0, std::uint32_t queued_count = 0) {
    answer(control::AnswerBody(control::ContextState{
        .context = {}, .counters = {.seq_len = seq_len, .queued_token_count = queued_count}}));
  }
  void answer_opened(std::uint32_t seq_len, std::uint32_t queued_count, std::string note = "") {
    answer(control::AnswerBody(
        control::Opened{.context = last_command<control::ContextOpen>().context,
                        .counters = {.seq_len = seq_len, .queued_token_count = queued_count},
                        .note = std::move(note)}));
  }
  std::int64_t put_name(std::string_view name) { return host->put(64, name); }
  std::int64_t open(std::string_view name, const char* how = "open") {
    put_name(name);
    return call("context", how, {queue, 64, static_cast<std::int64_t>(name.size())});
  }
  template <typename T>
  T value_at(std::uint32_t address) {
    T value{};
    std::memcpy(&value, host->memory().data() + address, sizeof value);
    return value;
  }

  std::int64_t context = 0;
};

constexpr std::int64_t kEveryBit = std::numeric_limits<std::uint32_t>::max();

TEST_F(ContextCalls, EachEditIsACommandWithTheCountersAsItsResult) {
  struct Edit {
    const char* name;
    control::ContextEditKind kind;
  };
  for (const Edit& each :
       {Edit{"truncate", control::ContextEditKind::Truncate},
        Edit{"rewind", control::ContextEditKind::Rewind},
        Edit{"reserve-working-pages", control::ContextEditKind::ReservePages},
        Edit{"commit-working-pages", control::ContextEditKind::CommitPages},
        Edit{"release-working-pages", control::ContextEditKind::ReleasePages},
        Edit{"truncate-working-page-tokens", control::ContextEditKind::TruncatePageTokens}}) {
    SCOPED_TRACE(each.name);
    const std::int64_t future = call("context", each.name, {context, kEveryBit});
    const auto& edit = last_command<control::ContextEdit>();
    EXPECT_EQ(edit.kind, each.kind);
    EXPECT_EQ(edit.count, UINT32_MAX);
    answer(control::AnswerBody(control::ContextState{.context = {}, .counters = {18, 1, 1, 2, 3}}));
    EXPECT_EQ(take(future), 20);
    EXPECT_EQ(number_at(kBuffer + 16), 3);
    EXPECT_EQ(call("context", "seq-len", {context}), 18);
  }
}

TEST_F(ContextCalls, RangesEndBehindTheirBegin) {
  EXPECT_EQ(call("context", "drop-range", {context, 3, 2}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(state->last_error, "drop_range: begin 3 is after end 2");
  EXPECT_EQ(call("context", "splice", {context, context, 3, 2}), minus(ErrorCode::OutOfRange));
  EXPECT_FALSE(control.waits());
  EXPECT_GT(call("context", "drop-range", {context, 2, 2}), 0);
  EXPECT_EQ(last_command<control::ContextDropRange>().end, 2u);
}

TEST_F(ContextCalls, HintsAndFlagsHaveOnlyTheirDocumentedValues) {
  for (std::int64_t kind = 0; kind <= 4; ++kind) {
    EXPECT_EQ(call("context", "hint", {context, kind, 0}), 0);
    EXPECT_EQ(static_cast<int>(last_command<control::ContextHint>().kind), kind);
  }
  EXPECT_EQ(call("context", "hint", {context, 3, 60}), 0);
  EXPECT_EQ(last_command<control::ContextHint>().seconds, 60u);
  EXPECT_EQ(call("context", "hint", {context, 5, 0}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "hint", {context, 256, 0}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "hint", {context, 1, 60}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "allow-beyond-context", {context, 1}), 0);
  EXPECT_TRUE(last_command<control::ContextBeyond>().is_allowed);
  EXPECT_EQ(call("context", "allow-beyond-context", {context, 2}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "mark", {context}), 0);
  last_command<control::ContextMark>();
  put_name("a");
  EXPECT_EQ(call("context", "save", {context, 64, 1, 2, 0}), minus(ErrorCode::InvalidArgument));
}

TEST_F(ContextCalls, StaleForeignAndForgedHandlesAreNotFound) {
  put_name("a");
  const std::int64_t stale = call("context", "create", {queue});
  ASSERT_EQ(call("future", "drop", {stale}), 0);
  for (const std::int64_t each : {stale, queue, model, std::int64_t{0}, std::int64_t{-1},
                                  std::int64_t{INT32_MAX}, context + 1}) {
    SCOPED_TRACE(each);
    const auto refused = [&](const char* name, std::initializer_list<std::int64_t> arguments) {
      EXPECT_EQ(call("context", name, arguments), minus(ErrorCode::NotFound)) << name;
    };
    for (const char* name : {"rewind", "reserve-working-pages", "commit-working-pages",
                             "release-working-pages", "truncate-working-page-tokens"}) {
      refused(name, {each, 1});
    }
    refused("drop-range", {each, 0, 1});
    refused("splice", {each, context, 0, 1});
    refused("splice", {context, each, 0, 1});
    refused("hint", {each, 1, 0});
    refused("allow-beyond-context", {each, 1});
    refused("mark", {each});
    refused("save", {each, 64, 1, 0, 0});
    refused("save-with-note", {each, 64, 1, 0, 0, 64, 1});
    refused("note-of", {each, 64, 1});
    if (each == queue) continue;
    refused("open", {each, 64, 1});
    refused("take", {each, 64, 1});
  }
}

TEST_F(ContextCalls, ContextOfADestroyedQueueTakesNoCommandButIsASource) {
  const std::int64_t other_queue = call("queue", "create-queue", {model, 1});
  const std::int64_t other = call("context", "create", {other_queue});
  ASSERT_EQ(call("queue", "destroy-queue", {other_queue}), 0);
  EXPECT_EQ(call("context", "rewind", {other, 0}), minus(ErrorCode::NotFound));
  EXPECT_NE(state->last_error.find("the queue of the context"), std::string::npos);
  EXPECT_EQ(call("context", "hint", {other, 1, 0}), minus(ErrorCode::NotFound));
  EXPECT_GT(call("context", "splice", {context, other, 0, 1}), 0);
}

TEST_F(ContextCalls, BadNamesAreRefusedAtOnceAndGoodOnesGoThroughAsTheyAre) {
  const std::string longest(255, 'n');
  const std::string over(256, 'n');
  const std::string far_over(4096, 'n');
  for (const char* how : {"open", "take"}) {
    EXPECT_GT(open(longest, how), 0);
    EXPECT_EQ(last_command<control::ContextOpen>().name, longest);
    EXPECT_EQ(last_command<control::ContextOpen>().takes, std::string_view(how) == "take");
    EXPECT_EQ(open(over, how), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(open(far_over, how), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(state->last_error, "snapshot name has 4096 bytes; at most 255 are allowed");
  }
  EXPECT_EQ(call("context", "save", {context, 64, 4096, 0, 0}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "delete", {64, 4096}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "delete", {64, kEveryBit}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("context", "delete", {65535, 2}), minus(ErrorCode::OutOfRange));
  control.commands.clear();
  for (const std::string& name :
       {std::string(".."), std::string("a\0b", 3), std::string("\xff"), std::string()}) {
    EXPECT_EQ(open(name), minus(ErrorCode::InvalidArgument));
  }
  EXPECT_TRUE(control.commands.empty());
  for (const std::string& name : {std::string("..."), std::string(" "), std::string("\xc3\xbc")}) {
    EXPECT_GT(open(name), 0);
    EXPECT_EQ(last_command<control::ContextOpen>().name, name);
  }
}

TEST_F(ContextCalls, TimeToLiveIsCountedFromTheTimeOfDay) {
  wall_clock.set_unix_ms(1'000'000);
  put_name("name");
  const std::int64_t future = call("context", "save", {context, 64, 4, 1, 60});
  const auto save = last_command<control::ContextSave>();
  EXPECT_EQ(save.name, "name");
  EXPECT_TRUE(save.overwrites);
  EXPECT_EQ(save.expires_unix_ms, 1'060'000u);
  ASSERT_GT(call("context", "save", {context, 64, 4, 0, kEveryBit}), 0);
  EXPECT_EQ(last_command<control::ContextSave>().expires_unix_ms, 1'000'000u + 4'294'967'295'000u);
  ASSERT_GT(call("context", "save", {context, 64, 4, 0, 0}), 0);
  EXPECT_EQ(last_command<control::ContextSave>().expires_unix_ms, 0u);
  EXPECT_FALSE(last_command<control::ContextSave>().overwrites);
  while (control.waits()) answer(control::AnswerBody(control::Done{}));
  EXPECT_EQ(take(future), 0);
}

TEST_F(ContextCalls, ANoteGoesWithItsSaveAndItsBytesPend) {
  GuestLimits few;
  few.pending_bytes_max = 100;
  limit(few);
  put_name("name");
  host->put(128, "turns");
  ASSERT_GT(call("context", "save-with-note", {context, 64, 4, 1, 0, 128, 5}), 0);
  EXPECT_EQ(last_command<control::ContextSave>().name, "name");
  EXPECT_EQ(last_command<control::ContextSave>().note, "turns");
  EXPECT_TRUE(last_command<control::ContextSave>().overwrites);
  ASSERT_GT(call("context", "save-with-note", {context, 64, 4, 0, 0, 0, 0}), 0);
  EXPECT_EQ(last_command<control::ContextSave>().note, "");
  EXPECT_EQ(call("context", "save-with-note", {context, 64, 4, 0, 0, 128, 97}),
            minus(ErrorCode::QuotaExceeded));
  constexpr std::int64_t kMost = 1 << 20;
  EXPECT_EQ(call("context", "save-with-note", {context, 64, 4, 0, 0, 128, kMost + 1}),
            minus(ErrorCode::TooLarge));
  EXPECT_EQ(state->last_error, "note: 1048577 bytes; 1048576 at most");
  EXPECT_EQ(call("context", "save-with-note", {context, 64, 4, 0, 0, 65535, 2}),
            minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("context", "save-with-note", {context, 64, 4, 2, 0, 128, 5}),
            minus(ErrorCode::InvalidArgument));
}

TEST_F(ContextCalls, TheNoteOfAnOpenedContextIsGivenOnce) {
  const std::int64_t future = open("name");
  answer_opened(18, 0, "the turns");
  ASSERT_EQ(take(future), 8);
  const std::int64_t opened = number_at(kBuffer);
  EXPECT_EQ(state->futures.held_bytes(), 9u);
  EXPECT_EQ(call("context", "note-of", {opened, 128, 0}), 9);
  EXPECT_EQ(call("context", "note-of", {opened, 128, 3}), 9) << "it does not fit, and stays";
  EXPECT_EQ(call("context", "note-of", {opened, 65535, 9}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("context", "note-of", {opened, 128, 9}), 9);
  EXPECT_EQ(host->get(128, 9), "the turns");
  EXPECT_EQ(state->futures.held_bytes(), 0u);
  EXPECT_EQ(call("context", "note-of", {opened, 128, 9}), 0);
  EXPECT_EQ(call("context", "note-of", {context, 128, 9}), 0) << "it was opened from nothing";
  state->verify();
}

TEST_F(ContextCalls, ANoteThatNobodyReadsGoesWithItsContextItsFutureOrItsProgram) {
  const std::string note(5000, 'n');
  const std::int64_t dropped = open("name");
  answer_opened(18, 0, note);
  EXPECT_EQ(state->futures.held_bytes(), note.size() + 8);
  EXPECT_EQ(call("future", "drop", {dropped}), 0);
  EXPECT_EQ(state->futures.held_bytes(), 0u);
  const std::int64_t taken = open("name");
  answer_opened(18, 0, note);
  ASSERT_EQ(take(taken), 8);
  EXPECT_EQ(call("future", "drop", {number_at(kBuffer)}), 0);
  EXPECT_EQ(state->futures.held_bytes(), 0u);
  open("name");
  answer_opened(18, 0, note);
  state->drop_untaken();
  EXPECT_EQ(state->futures.held_bytes(), 0u);
  state->verify();
}

TEST_F(ContextCalls, AnOpenFailsWhereItsNoteFindsNoRoomAmongTheResults) {
  GuestLimits few;
  few.held_result_bytes_max = 9000;
  limit(few);
  const std::int64_t first = open("one");
  answer_opened(18, 0, std::string(5000, 'n'));
  ASSERT_EQ(take(first), 8);
  const std::int64_t opened = number_at(kBuffer);
  const std::int64_t second = open("two");
  const control::ObjectId child = last_command<control::ContextOpen>().context;
  answer_opened(18, 0, std::string(5000, 'n'));
  EXPECT_EQ(take(second), minus(ErrorCode::QuotaExceeded));
  EXPECT_NE(state->last_error.find("held_result_bytes_max"), std::string::npos);
  const auto* drop = std::get_if<control::ContextDrop>(&control.commands.back().body);
  EXPECT_TRUE(drop != nullptr && drop->context == child);
  EXPECT_EQ(call("context", "note-of", {opened, 8192, 5000}), 5000);
  const std::int64_t third = open("two");
  answer_opened(18, 0, std::string(5000, 'n'));
  EXPECT_EQ(take(third), 8);
  state->verify();
}

TEST_F(ContextCalls, OpenedContextIsUnknownUntilItIsOpenAndBringsItsQueue) {
  const std::int64_t future = open("name");
  const auto handle = static_cast<std::int64_t>(last_command<control::ContextOpen>().context);
  EXPECT_EQ(call("context", "flush", {handle}), minus(ErrorCode::NotFound));
  answer_opened(18, 5);
  EXPECT_EQ(take(future), 8);
  EXPECT_EQ(number_at(kBuffer), handle);
  EXPECT_EQ(number_at(kBuffer + 4), 5);
  EXPECT_EQ(call("context", "seq-len", {handle}), 18);
  EXPECT_EQ(queued(handle), 5u);
  ASSERT_GT(call("context", "flush", {handle}), 0);
  answer_state(23);
  EXPECT_EQ(queued(handle), 0u);
}

TEST_F(ContextCalls, OpenThatFailedOrIsDroppedLeavesNoContextOnEitherSide) {
  const auto dropped_last = [&](control::ObjectId child) {
    const auto* drop = std::get_if<control::ContextDrop>(&control.commands.back().body);
    return drop != nullptr && drop->context == child;
  };
  const std::int64_t failed = open("name");
  control::ObjectId child = last_command<control::ContextOpen>().context;
  answer(Error(ErrorCode::NotFound, "no snapshot \"name\""));
  EXPECT_TRUE(dropped_last(child)) << "the control layer keeps an empty context";
  EXPECT_EQ(take(failed), minus(ErrorCode::NotFound));
  const std::int64_t dropped = open("name", "take");
  child = last_command<control::ContextOpen>().context;
  EXPECT_EQ(call("future", "drop", {dropped}), 0);
  EXPECT_TRUE(dropped_last(child));
  EXPECT_EQ(state->handles.count(HandleKind::Context), 1u);
  EXPECT_EQ(state->handles.count(HandleKind::ReservedContext), 0u);
}

TEST_F(ContextCalls, OpenNeedsRoomForAContextAFutureAndAToken) {
  control::InstanceLimits two;
  two.context_count_max = 2;
  limit({}, two);
  ASSERT_GT(open("one"), 0);
  EXPECT_EQ(open("two"), minus(ErrorCode::QuotaExceeded));
  GuestLimits few;
  few.future_count_max = 1;
  limit(few);
  ASSERT_GT(open("one"), 0);
  EXPECT_EQ(open("two"), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->handles.count(HandleKind::ReservedContext), 1u);
  GuestLimits short_queue;
  short_queue.queued_token_count_max = 8;
  limit(short_queue);
  const std::int64_t future = open("one");
  answer_opened(16, 100);  // More than may be queued: nothing more is, until it is computed.
  ASSERT_EQ(take(future), 8);
  EXPECT_FALSE(append(context, 1));
  EXPECT_EQ(open("two"), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(call("future", "drop", {number_at(kBuffer)}), 0);
  EXPECT_TRUE(append(context, 8));
  EXPECT_EQ(open("two"), minus(ErrorCode::QuotaExceeded));
}

TEST_F(ContextCalls, PipelinedFlushesEachCoverOnlyWhatCameBeforeThem) {
  ASSERT_TRUE(append(context, 10));
  ASSERT_GT(call("context", "flush", {context}), 0);
  ASSERT_TRUE(append(context, 5));
  ASSERT_GT(call("context", "flush", {context}), 0);
  answer_state(10);
  EXPECT_EQ(queued(context), 5u);
  ASSERT_TRUE(append(context, 100));
  answer_state(15);
  EXPECT_EQ(queued(context), 100u);
}

TEST_F(ContextCalls, TokensOfAFailedFlushStayQueued) {
  GuestLimits few;
  few.queued_token_count_max = 10;
  limit(few);
  ASSERT_TRUE(append(context, 10));
  ASSERT_GT(call("context", "flush", {context}), 0);
  answer(Error(ErrorCode::QuotaExceeded, "page_count_max"));
  EXPECT_FALSE(append(context, 1));
  ASSERT_GT(call("context", "truncate", {context, 10}), 0);
  answer_state();
  EXPECT_TRUE(append(context, 10));
}

TEST_F(ContextCalls, CutTokensAreQueuedNoMore) {
  ASSERT_TRUE(append(context, 10));
  ASSERT_GT(call("context", "truncate", {context, 4}), 0);
  ASSERT_TRUE(append(context, 3));  // Comes after the cut, which must not count it.
  ASSERT_GT(call("context", "truncate", {context, 100}), 0);
  answer_state();
  EXPECT_EQ(queued(context), 9u);
  answer(Error(ErrorCode::OutOfRange, "beyond the tail"));
  EXPECT_EQ(queued(context), 9u);
  // 11 of 20 tokens are written and 9 queued. So 15 are left, 4 of them queued.
  ASSERT_GT(call("context", "rewind", {context, 15}), 0);
  answer_state(11);
  EXPECT_EQ(queued(context), 4u);
  ASSERT_GT(call("context", "rewind", {context, 7}), 0);
  answer_state(7);
  EXPECT_EQ(queued(context), 0u);
}

TEST_F(ContextCalls, SplicedTokensCountAsQueuedUnlessItFails) {
  GuestLimits few;
  few.queued_token_count_max = 10;
  limit(few);
  const std::int64_t source = call("context", "create", {queue});
  EXPECT_EQ(call("context", "splice", {context, source, 0, 11}), minus(ErrorCode::QuotaExceeded));
  ASSERT_GT(call("context", "splice", {context, source, 5, 15}), 0);
  EXPECT_FALSE(append(context, 1));
  answer(Error(ErrorCode::OutOfRange, "the source has 3 tokens"));
  EXPECT_EQ(queued(context), 0u);
  ASSERT_GT(call("context", "splice", {context, source, 0, 6}), 0);
  answer_state(0, 6);
  EXPECT_EQ(queued(context), 6u);
  ASSERT_GT(call("context", "flush", {context}), 0);
  answer_state(6);
  EXPECT_EQ(queued(context), 0u);
}

TEST_F(ContextCalls, SpliceIsWithinOneModel) {
  control.give_traits(1, {"allocate", "forward"});
  host->put(64, "mute");
  const std::int64_t mute = call("models", "get-model", {64, 4});
  const std::int64_t other = call("context", "create", {call("queue", "create-queue", {mute, 1})});
  ASSERT_GT(other, 0);
  EXPECT_EQ(call("context", "splice", {context, other, 0, 1}), minus(ErrorCode::InvalidArgument));
}

TEST_F(ContextCalls, ListIsARecordForEachSnapshot) {
  const std::int64_t future = call("context", "list", {});
  ASSERT_TRUE(std::holds_alternative<control::SnapshotList>(control.commands.back().body));
  answer(control::AnswerBody(control::Snapshots{
      {{"a", 1, 2, 3, 4}, {"long name", 5, 0, std::uint64_t{7} << 40, 8}}, 1'000'000'000'000}));
  EXPECT_EQ(take(future), 16 + 36 + 1 + 36 + 9);
  EXPECT_EQ(number_at(kBuffer), 2);
  EXPECT_EQ(value_at<std::uint64_t>(kBuffer + 8), 1'000'000'000'000u);
  EXPECT_EQ(value_at<std::uint64_t>(kBuffer + 16), 1u);
  EXPECT_EQ(value_at<std::uint64_t>(kBuffer + 24), 2u);
  EXPECT_EQ(number_at(kBuffer + 48), 1);
  EXPECT_EQ(host->get(kBuffer + 52, 1), "a");
  EXPECT_EQ(value_at<std::uint64_t>(kBuffer + 53 + 16), std::uint64_t{7} << 40);
  EXPECT_EQ(host->get(kBuffer + 89, 9), "long name");
  put_name("a");
  const std::int64_t gone = call("context", "delete", {64, 1});
  EXPECT_EQ(last_command<control::SnapshotDelete>().name, "a");
  answer(control::AnswerBody(control::Done{}));
  EXPECT_EQ(take(gone), 0);
}

}  // namespace
}  // namespace quire::hostcalls
