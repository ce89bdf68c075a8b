// The host calls as a guest sees them, by FakeHost, around a control layer that notes commands.
#include "application/hostcalls/guest_state.h"

#include <gtest/gtest.h>

#include "application/hostcalls/hostcalls_fixture.h"

namespace quire::hostcalls {
namespace {

TEST_F(HostCalls, ArgumentsAndLastErrorAreRead) {
  EXPECT_EQ(call("runtime", "get-arg-count", {}), 2);
  EXPECT_EQ(call("runtime", "get-arg", {1, kBuffer, 2}), 3);  // Cut to what fits.
  EXPECT_EQ(host->get(kBuffer, 3), std::string("tw\0", 3));
  EXPECT_EQ(call("runtime", "get-arg", {2, kBuffer, 16}), minus(ErrorCode::OutOfRange));
  const std::int64_t bytes = call("runtime", "last-error", {kBuffer, 100});
  EXPECT_EQ(host->get(kBuffer, static_cast<std::uint32_t>(bytes)), "argument 2 of 2");
  EXPECT_EQ(call("runtime", "get-instance-id", {}), 9);
}

TEST_F(HostCalls, MissesAreRecordsOfEightNumbersIfTheServerExplainsThem) {
  EXPECT_EQ(call("runtime", "misses", {kBuffer, 64}), minus(ErrorCode::NotSupported));
  control.told_misses.emplace();
  EXPECT_EQ(call("runtime", "misses", {kBuffer, 64}), 0);
  control.told_misses->push_back({.reason = control::MissReason::Evicted,
                                  .position = 32,
                                  .token_count = 48,
                                  .gone_ns = 5'000'000});
  control.told_misses->push_back({.reason = control::MissReason::Differs,
                                  .field = control::PageField::Tokens,
                                  .slot = 3,
                                  .here = 7,
                                  .there = 8});
  EXPECT_EQ(call("runtime", "misses", {kBuffer, 64}), 64);
  const std::int32_t wanted[] = {2, 0, 32, 48, 0, 0, 0, 5, 1, 1, 0, 0, 3, 7, 8, 0};
  for (std::uint32_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_EQ(number_at(kBuffer + 4 * i), wanted[i]) << i;
  }
}

TEST_F(HostCalls, ArgumentsOfWasiAreTheProgramsNameAndThenItsOwn) {
  EXPECT_EQ(call("wasi", "args_sizes_get", {64, 68}), 0);
  EXPECT_EQ(number_at(64), 3);
  EXPECT_EQ(number_at(68), 16);
  EXPECT_EQ(call("wasi", "args_get", {64, kBuffer}), 0);
  EXPECT_EQ(host->get(kBuffer, 16), std::string("program\0one\0two\0", 16));
  EXPECT_EQ(number_at(64), static_cast<std::int32_t>(kBuffer));
  EXPECT_EQ(number_at(68), static_cast<std::int32_t>(kBuffer) + 8);
  EXPECT_EQ(number_at(72), static_cast<std::int32_t>(kBuffer) + 12);
  EXPECT_NE(call("wasi", "args_get", {64, (1 << 16) - 15}), 0);
  EXPECT_NE(call("wasi", "args_get", {(1 << 16) - 11, kBuffer}), 0);
}

TEST_F(HostCalls, VariablesOfWasiAreThoseThatTheOperatorGaveAndNoOthers) {
  EXPECT_EQ(call("wasi", "environ_sizes_get", {64, 68}), 0);
  EXPECT_EQ(number_at(64), 0);
  EXPECT_EQ(number_at(68), 0);
  EXPECT_EQ(call("wasi", "environ_get", {64, kBuffer}), 0);
  give(Environment{{"KEY", "a secret"}, {"EMPTY", ""}});
  EXPECT_EQ(call("wasi", "environ_sizes_get", {64, 68}), 0);
  EXPECT_EQ(number_at(64), 2);
  EXPECT_EQ(number_at(68), 20);
  EXPECT_EQ(call("wasi", "environ_get", {64, kBuffer}), 0);
  EXPECT_EQ(host->get(kBuffer, 20), std::string("KEY=a secret\0EMPTY=\0", 20));
  EXPECT_EQ(number_at(68), static_cast<std::int32_t>(kBuffer) + 13);
  EXPECT_NE(call("wasi", "environ_get", {64, (1 << 16) - 19}), 0);
}

// A mebibyte of zeros would be 262,144 of them.
TEST_F(HostCalls, AChildGetsNoMoreArgumentsThanALaunchOverTheWireMayHave) {
  host->put(kBuffer, std::string(4 * 4097, '\0'));
  EXPECT_EQ(call("runtime", "launch", {0, 0, kBuffer, 4 * 4097, 50}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(state->last_error, "arguments: more than 4096");
  EXPECT_TRUE(launcher.launches.empty());
  EXPECT_GT(call("runtime", "launch", {0, 0, kBuffer, 4 * 4096, 50}), 0);
  EXPECT_EQ(launcher.launches.at(0).arguments.size(), 4096u);
}

TEST_F(HostCalls, ModelInfoIsARecordOfNumbers) {
  EXPECT_EQ(call("models", "model-info", {model, kBuffer, 100}), 9);
  EXPECT_EQ(number_at(kBuffer), 16);
  EXPECT_EQ(number_at(kBuffer + 8), 100);
  EXPECT_EQ(number_at(kBuffer + 16), -1);
  EXPECT_EQ(number_at(kBuffer + 24), 2);
  EXPECT_EQ(number_at(kBuffer + 32), 3);
}

TEST_F(HostCalls, CallThatTheModelLacksIsNotSupported) {
  host->put(64, "mute");
  const std::int64_t mute = call("models", "get-model", {64, 4});
  EXPECT_EQ(call("tokenize", "tokenize", {mute, 64, 4, 0}), minus(ErrorCode::NotSupported));
  EXPECT_EQ(state->last_error, "model mute lacks the trait tokenize");
  const std::int64_t other = call("queue", "create-queue", {mute, 0});
  EXPECT_EQ(call("context", "create", {other}), minus(ErrorCode::NotSupported));
  ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 1, kBuffer}), 1);
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {other, kBuffer, 1}),
            minus(ErrorCode::InvalidArgument));
}

TEST_F(HostCalls, AllocationIsAllOrNothing) {
  control::InstanceLimits few;
  few.page_count_max = 3;
  restart({}, few);
  EXPECT_EQ(call("allocate", "alloc-kvpage", {queue, 4, kBuffer}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->last_error, "page_count_max: 4 wanted, 0 of 3 held");
  EXPECT_TRUE(control.commands.empty());
  EXPECT_EQ(call("allocate", "alloc-kvpage", {queue, 3, 65536 - 8}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("allocate", "alloc-kvpage", {queue, 3, kBuffer}), 3);
  EXPECT_EQ(last_command<control::AllocPages>().pages.size(), 3u);
  // One of them twice: nothing is freed.
  put(64, {number_at(kBuffer), number_at(kBuffer)});
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, 64, 2}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, kBuffer, 3}), 0);
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, kBuffer, 3}), minus(ErrorCode::NotFound));
}

TEST_F(HostCalls, TokensPositionsAndMasksAreChecked) {
  ASSERT_EQ(call("allocate", "alloc-emb", {queue, 2, 64}), 2);
  ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 1, 128}), 1);
  put(256, {5, 100});
  put(512, {0, 1});
  EXPECT_EQ(call("input", "embed-txt", {queue, 64, 2, 256, 2, 512, 1}),
            minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(call("input", "embed-txt", {queue, 64, 2, 256, 2, 512, 2}),
            minus(ErrorCode::OutOfRange));
  put(256, {5, 99});
  EXPECT_EQ(call("input", "embed-txt", {queue, 64, 2, 256, 2, 512, 2}), 0);
  const auto forward = [&](std::int64_t mask_bytes, std::int64_t outputs) {
    return call("forward", "forward",
                {queue, 0, 0, 64, 2, 128, 1, 64, outputs, 1024, mask_bytes, 0});
  };
  EXPECT_EQ(forward(31, 1), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(forward(0, 3), minus(ErrorCode::InvalidArgument));
  EXPECT_GT(forward(32, 1), 0);
  EXPECT_EQ(last_command<control::Forward>().mask.size(), 32u);
  host->memory()[1024 + 31] = std::byte{2};
  EXPECT_EQ(forward(32, 1), minus(ErrorCode::InvalidArgument));
  EXPECT_GT(forward(0, 1), 0);
}

// No epoch cuts a host call, so what cannot be is refused by its length.
TEST_F(HostCalls, AListOfMoreThanThereCanBeIsRefusedUnread) {
  constexpr std::int64_t kBeyondMemory = 1 << 30;
  const std::int64_t many = kBeyondMemory / 4;
  EXPECT_EQ(call("allocate", "dealloc-emb", {queue, 64, many}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(call("allocate", "dealloc-kvpage", {queue, 64, many}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(call("future", "poll", {64, many, 64}), minus(ErrorCode::QuotaExceeded));
  put(64, {1, 2, 3});
  EXPECT_EQ(call("context", "from-pages", {queue, 64, 0, 64, 3}),
            minus(ErrorCode::InvalidArgument));
  const std::int64_t context = call("context", "create", {queue});
  EXPECT_EQ(call("context", "forward", {context, 64, many}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(call("forward", "forward", {queue, 64, many, 64, 1, 64, 0, 64, 0, 64, 0, 0}),
            minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(call("forward", "forward", {queue, 64, 100'000, 64, 1, 64, 0, 64, 0, 64, 0, 0}),
            minus(ErrorCode::TooLarge));
}

// Sixteen mebibytes that may be sent are milliseconds to read and to check.
TEST_F(HostCalls, WhatOneCallWouldReadForLongIsRefusedUnread) {
  const std::int64_t context = call("context", "create", {queue});
  EXPECT_EQ(call("context", "append", {context, 64, 262'145}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(state->last_error, "tokens: 262145 of at most 262144 a call; append in parts");
  ASSERT_EQ(call("allocate", "alloc-emb", {queue, 1, 64}), 1);
  EXPECT_EQ(call("forward", "forward", {queue, 0, 0, 64, 1, 0, 0, 0, 0, 128, (4 << 20) + 1, 0}),
            minus(ErrorCode::TooLarge));
  EXPECT_EQ(state->last_error, "mask: 4194305 bytes of at most 4194304 a call");
  host->put(128, std::string(256, 'a'));
  EXPECT_EQ(call("models", "get-model", {128, 256}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(state->last_error, "name: 256 bytes of at most 255");
  EXPECT_EQ(call("models", "trait-version", {model, 128, 256}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(call("models", "get-model", {128, 255}), minus(ErrorCode::NotFound));
}

TEST_F(HostCalls, HolesAreKeptInTheInputPages) {
  ASSERT_EQ(call("allocate", "alloc-emb", {queue, 1, 64}), 1);
  ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 1, 128}), 1);
  put(256, {0, number_at(128), 0});
  ASSERT_GT(call("forward", "forward", {queue, 256, 3, 64, 1, 0, 0, 0, 0, 0, 0, 1}), 0);
  const auto& forward = last_command<control::Forward>();
  EXPECT_TRUE(forward.beyond_context);
  EXPECT_EQ(forward.input_pages.size(), 3u);
  EXPECT_EQ(forward.input_pages[0], control::kNoObject);
  EXPECT_EQ(call("forward", "forward", {queue, 0, 0, 64, 1, 256, 3, 0, 0, 0, 0, 1}),
            minus(ErrorCode::NotFound));
}

TEST_F(HostCalls, ContextCountersMirrorTheLastAnswer) {
  const std::int64_t context = call("context", "create", {queue});
  put(64, {1, 2, 3});
  EXPECT_EQ(call("context", "append", {context, 64, 3}), 0);
  EXPECT_EQ(call("context", "seq-len", {context}), 0);
  const std::int64_t flush = call("context", "flush", {context});
  EXPECT_EQ(take(flush), minus(ErrorCode::Unavailable));
  answer(control::AnswerBody(control::ContextState{
      object(GuestHandle{static_cast<std::int32_t>(context)}), {18, 1, 1, 2, 16}}));
  EXPECT_EQ(take(flush), 20);
  EXPECT_EQ(number_at(kBuffer + 16), 16);
  EXPECT_EQ(call("context", "seq-len", {context}), 18);
  EXPECT_EQ(call("context", "page-size", {context}), 16);
  EXPECT_EQ(call("context", "committed-page-count", {context}), 1);
  EXPECT_EQ(call("context", "working-page-count", {context}), 1);
  EXPECT_EQ(call("context", "working-page-token-count", {context}), 2);
  EXPECT_EQ(take(flush), minus(ErrorCode::NotFound));  // Taking ended it.
}

TEST_F(HostCalls, ForkedChildIsUnknownUntilItsFutureIsTaken) {
  const std::int64_t context = call("context", "create", {queue});
  const std::int64_t fork = call("context", "fork", {context});
  const control::ObjectId child = last_command<control::ContextFork>().child;
  const auto handle = static_cast<std::int64_t>(child);
  EXPECT_EQ(call("context", "flush", {handle}), minus(ErrorCode::NotFound));
  EXPECT_EQ(call("future", "drop", {handle}), minus(ErrorCode::NotFound));
  answer(control::AnswerBody(control::Forked{child, {16, 1, 0, 0, 0}}));
  ASSERT_EQ(take(fork), 4);
  EXPECT_EQ(number_at(kBuffer), handle);
  EXPECT_EQ(call("context", "seq-len", {handle}), 16);
}

TEST_F(HostCalls, ForkedChildIsTheFuturesUntilItIsTakenThoughItIsAnsweredAndItsHandleGuessed) {
  const std::int64_t context = call("context", "create", {queue});
  const std::int64_t fork = call("context", "fork", {context});
  const control::ObjectId child = last_command<control::ContextFork>().child;
  const auto handle = static_cast<std::int64_t>(child);
  answer(control::AnswerBody(control::Forked{child, {16, 1, 0, 0, 0}}));
  EXPECT_EQ(call("future", "drop", {handle}), minus(ErrorCode::NotFound));
  EXPECT_EQ(call("context", "seq-len", {handle}), minus(ErrorCode::NotFound));
  state->verify();
  EXPECT_EQ(call("future", "drop", {fork}), 0);
  EXPECT_EQ(last_command<control::ContextDrop>().context, child);
  EXPECT_EQ(state->handles.count(HandleKind::Context), 1u);
  EXPECT_EQ(state->handles.count(HandleKind::ReservedContext), 0u);
}

TEST_F(HostCalls, DroppedOrFailedForkLeavesNoChild) {
  const std::int64_t context = call("context", "create", {queue});
  const std::int64_t dropped = call("context", "fork", {context});
  EXPECT_EQ(call("future", "drop", {dropped}), 0);
  EXPECT_TRUE(std::holds_alternative<control::ContextDrop>(control.commands.back().body));
  const std::int64_t failed = call("context", "fork", {context});
  control.take_waiting();
  answer(Error(ErrorCode::NoFreePage, "no free KV page: 1 wanted, 0 of 64 free"));
  EXPECT_EQ(take(failed), minus(ErrorCode::NoFreePage));
  EXPECT_EQ(state->last_error, "no free KV page: 1 wanted, 0 of 64 free");
  EXPECT_EQ(state->handles.count(HandleKind::Context), 1u);
  EXPECT_EQ(state->handles.count(HandleKind::ReservedContext), 0u);
}

TEST_F(HostCalls, ResultLongerThanTheBufferStays) {
  host->put(64, "abc");
  const std::int64_t future = call("tokenize", "tokenize", {model, 64, 3, 3});
  const auto& command = last_command<control::Tokenize>();
  EXPECT_TRUE(command.parse_special);
  EXPECT_TRUE(command.add_bos);
  answer(control::AnswerBody(control::Tokens{{7, 8, 9}}));
  put(kBuffer, {-5});
  EXPECT_EQ(call("future", "take", {future, kBuffer, 11}), 12);
  EXPECT_EQ(number_at(kBuffer), -5);
  EXPECT_EQ(call("future", "take", {future, kBuffer, 12}), 12);
  EXPECT_EQ(number_at(kBuffer + 8), 9);
}

TEST_F(HostCalls, TextMustBeUtf8) {
  host->put(64, "ab\xff");
  EXPECT_EQ(call("tokenize", "tokenize", {model, 64, 3, 0}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(state->last_error, "text: no UTF-8 at byte 2");
}

TEST_F(HostCalls, PendingCommandsAreBoundedUntilTheControlLayerIsDoneWithThem) {
  control::InstanceLimits few;
  few.pending_command_count_max = 4;
  restart({}, few);
  const std::int64_t context = call("context", "create", {queue});
  put(64, {1});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(call("context", "append", {context, 64, 1}), 0);
  EXPECT_EQ(call("context", "append", {context, 64, 1}), minus(ErrorCode::QuotaExceeded));
  EXPECT_NE(state->last_error.find("pending_command_count_max"), std::string::npos);
  const std::int64_t barrier = call("queue", "synchronize", {queue});
  answer(control::AnswerBody(control::Done{}));
  EXPECT_EQ(take(barrier), 0);
  EXPECT_EQ(call("context", "append", {context, 64, 1}), 0);
}

// An answer says that its own command is done, and nothing of those before it.
TEST_F(HostCalls, AnAnswerDoesNotFreeWhatStillPendsBeforeIt) {
  control::InstanceLimits few;
  few.pending_command_count_max = 3;
  restart({}, few);
  const std::int64_t context = call("context", "create", {queue});
  put(64, {1});
  ASSERT_EQ(call("context", "append", {context, 64, 1}), 0);
  const std::int64_t length = call("context", "truncate", {context, 0});
  ASSERT_GT(length, 0);
  const control::Command answered = control.commands.back();
  control.commands.pop_back();
  state->answer({answered.instance, answered.future, control::AnswerBody(control::ContextState{})});
  ASSERT_EQ(call("context", "append", {context, 64, 1}), 0);
  EXPECT_EQ(call("context", "append", {context, 64, 1}), minus(ErrorCode::QuotaExceeded));
}

TEST_F(HostCalls, PagesOutliveTheirQueueAndCanStillBeGivenBack) {
  ASSERT_EQ(call("allocate", "alloc-kvpage", {queue, 1, kBuffer}), 1);
  ASSERT_EQ(call("queue", "destroy-queue", {queue}), 0);
  EXPECT_EQ(call("queue", "synchronize", {queue}), minus(ErrorCode::NotFound));
  EXPECT_EQ(call("future", "drop", {number_at(kBuffer)}), 0);
  EXPECT_EQ(state->handles.count(HandleKind::Queue), 0u) << "the one made for it has gone too";
  EXPECT_EQ(state->handles.count(HandleKind::Page), 0u);
}

TEST_F(HostCalls, SleepsAreReadyInTime) {
  const std::int64_t late = call("runtime", "sleep", {2000});
  const std::int64_t soon = call("runtime", "sleep", {1000});
  put(64, {static_cast<std::int32_t>(late), static_cast<std::int32_t>(soon)});
  EXPECT_EQ(host->call("future", "wait", {64, 2, 0}).value, minus(ErrorCode::Timeout));
  EXPECT_EQ(host->call("future", "wait", {64, 2, -1}).outcome, CallOutcome::Suspend);
  EXPECT_EQ(state->futures.next_deadline_ns(), 1000u);
  EXPECT_FALSE(state->wait_over());
  clock.advance_ns(1000);
  state->futures.fire(clock.now_ns());
  EXPECT_TRUE(state->wait_over());
  EXPECT_EQ(state->end_wait(), 1);
  EXPECT_EQ(call("future", "poll", {64, 2, kBuffer}), 1);
  EXPECT_EQ(number_at(kBuffer) & 0xffff, 0x100);
  EXPECT_EQ(take(soon), 0);
  EXPECT_EQ(call("future", "drop", {late}), 0);
  EXPECT_EQ(call("runtime", "sleep", {-1}), minus(ErrorCode::InvalidArgument));
}

TEST_F(HostCalls, WaitForNothingWithoutALimitIsRefused) {
  EXPECT_EQ(call("future", "wait", {0, 0, -1}), minus(ErrorCode::InvalidArgument));
}

TEST_F(HostCalls, DroppedReceiveGivesItsMessageToTheNext) {
  const std::int64_t first = call("session", "receive", {});
  ASSERT_TRUE(state->push_message("hello").ok());
  EXPECT_EQ(call("future", "drop", {first}), 0);
  const std::int64_t second = call("session", "receive", {});
  EXPECT_EQ(take(second), 5);
  EXPECT_EQ(host->get(kBuffer, 5), "hello");
  const std::int64_t third = call("session", "receive", {});
  state->close_input();
  EXPECT_EQ(take(third), minus(ErrorCode::Unavailable));
}

TEST_F(HostCalls, DroppedReceiveGivesItsMessageToTheOneThatWaits) {
  const std::int64_t first = call("session", "receive", {});
  const std::int64_t second = call("session", "receive", {});
  ASSERT_TRUE(state->push_message("hello").ok());
  EXPECT_EQ(take(second), minus(ErrorCode::Unavailable));
  EXPECT_EQ(call("future", "drop", {first}), 0);
  EXPECT_EQ(take(second), 5);
  EXPECT_EQ(host->get(kBuffer, 5), "hello");
}

TEST_F(HostCalls, DroppedReceivesGiveTheirMessagesBackInTheOrderInWhichTheyCame) {
  const auto received = [&] {
    const std::int64_t bytes = take(call("session", "receive", {}));
    return bytes < 0 ? "" : host->get(kBuffer, static_cast<std::uint32_t>(bytes));
  };
  for (const bool oldest_first : {true, false}) {
    std::vector<std::int64_t> futures;
    for (int each = 0; each < 3; ++each) futures.push_back(call("session", "receive", {}));
    for (const char* each : {"a", "b", "c", "d"}) ASSERT_TRUE(state->push_message(each).ok());
    EXPECT_EQ(call("future", "drop", {futures[oldest_first ? 0 : 2]}), 0);
    EXPECT_EQ(call("future", "drop", {futures[1]}), 0);
    EXPECT_EQ(call("future", "drop", {futures[oldest_first ? 2 : 0]}), 0);
    for (const char* each : {"a", "b", "c", "d"}) EXPECT_EQ(received(), each);
    EXPECT_EQ(state->session.inbox_bytes(), 0u);
  }
}

TEST_F(HostCalls, DroppedReceivesOfAChildGiveItsMessagesBackInTheOrderInWhichTheyCame) {
  host->put(64, "child");
  const std::int64_t child = call("runtime", "launch", {64, 5, 0, 0, 50});
  ASSERT_GT(child, 0);
  const std::int64_t first = call("runtime", "receive-child", {child});
  const std::int64_t second = call("runtime", "receive-child", {child});
  const GuestHandle handle{static_cast<std::int32_t>(child)};
  for (const char* each : {"a", "b", "c"}) ASSERT_TRUE(state->children.message(handle, each));
  EXPECT_EQ(call("future", "drop", {first}), 0);
  EXPECT_EQ(call("future", "drop", {second}), 0);
  for (const char* each : {"a", "b", "c"}) {
    EXPECT_EQ(take(call("runtime", "receive-child", {child})), 1);
    EXPECT_EQ(host->get(kBuffer, 1), each);
  }
}

TEST_F(HostCalls, LimitsOfTheSessionAreNamed) {
  GuestLimits few;
  few.outbox_message_count_max = 2;
  few.inbox_message_count_max = 1;
  few.result_bytes_max = 4;
  few.log_bytes_max = 20;
  restart(few, {});
  EXPECT_EQ(call("session", "send", {64, 4}), 0);
  EXPECT_EQ(call("session", "send", {64, 4}), 0);
  EXPECT_EQ(call("session", "send", {64, 4}), minus(ErrorCode::QuotaExceeded));
  EXPECT_NE(state->last_error.find("outbox_message_count_max"), std::string::npos);
  EXPECT_EQ(call("runtime", "set-result", {64, 5}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(call("runtime", "log", {1, 64, 19}), 0);
  EXPECT_EQ(call("runtime", "log", {1, 64, 19}), minus(ErrorCode::QuotaExceeded));
  EXPECT_TRUE(state->push_message("a").ok());
  EXPECT_EQ(state->push_message("b").error().code(), ErrorCode::QuotaExceeded);
}

TEST_F(HostCalls, OutputInAllIsBoundedWhicheverWayItGoes) {
  GuestLimits limits;
  limits.output_bytes_max = 20;
  restart(limits, {});
  EXPECT_EQ(call("session", "send", {64, 8}), 0);
  state->said_taken();                               // What the client has taken still counts.
  EXPECT_EQ(call("runtime", "log", {1, 64, 4}), 0);  // And a newline.
  host->put(64, "atext/plain");
  const std::int64_t file = call("session", "send-file", {64, 1, 65, 10, 100});
  ASSERT_GT(file, 0);
  EXPECT_EQ(call("session", "write-file", {file, 64, 8}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->last_error,
            "output_bytes_max: 8 bytes wanted, 13 of 20 went out in messages, log and files; "
            "launch with a higher --output-max");
  EXPECT_GT(call("session", "write-file", {file, 64, 7}), 0);
  EXPECT_EQ(state->output.bytes(), 20u);
  EXPECT_EQ(call("session", "send", {64, 1}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(call("runtime", "log", {1, 64, 1}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(call("session", "send", {64, 0}), 0) << "nothing is no output";
}

// Sixteen thousand receives of a megabyte each would be the server's memory.
TEST_F(HostCalls, AnsweredReceivesAreBoundedInBytesAndLoseNoMessage) {
  GuestLimits limits;
  limits.held_result_bytes_max = 10'000;
  restart(limits, {});
  std::vector<std::int64_t> futures;
  for (int each = 0; each < 4; ++each) futures.push_back(call("session", "receive", {}));
  for (const char each : {'a', 'b', 'c'}) {
    ASSERT_TRUE(state->push_message(std::string(4999, each)).ok());
  }
  ASSERT_TRUE(state->push_message("small").ok());
  EXPECT_LE(state->futures.held_bytes(), limits.held_result_bytes_max);
  EXPECT_EQ(call("future", "take", {futures[2], kBuffer, 8000}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->last_error,
            "held_result_bytes_max: 4999 bytes wanted, 9998 of 10000 are held by results that were "
            "not taken; take or drop some, then ask again");
  EXPECT_EQ(call("future", "take", {futures[0], kBuffer, 8000}), 4999);
  const std::int64_t again = call("session", "receive", {});
  EXPECT_EQ(call("future", "drop", {futures[1]}), 0);  // "b" is the next one again.
  EXPECT_EQ(call("future", "take", {again, kBuffer, 8000}), 4999);
  EXPECT_EQ(host->get(kBuffer, 1), "c");
  EXPECT_EQ(call("future", "take", {call("session", "receive", {}), kBuffer, 8000}), 4999);
  EXPECT_EQ(host->get(kBuffer, 1), "b");
  EXPECT_EQ(take(call("session", "receive", {})), 5);
  EXPECT_EQ(state->futures.held_bytes(), 0u);
}

TEST_F(HostCalls, WhoLentRoomIsToldThatItsChildrenHaveIt) {
  state->set_own({.own = 5000, .childrens = 1000}, {.own = 10, .childrens = 90});
  const std::int64_t first = call("session", "receive", {});
  const std::int64_t second = call("session", "receive", {});
  for (const char each : {'a', 'b'}) {
    ASSERT_TRUE(state->push_message(std::string(4999, each)).ok());
  }
  EXPECT_EQ(call("future", "take", {second, kBuffer, 8000}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->last_error,
            "held_result_bytes_max: 4999 bytes wanted, 4999 of 6000 are held by results that were "
            "not taken, 1000 are its children's; take or drop some, then ask again");
  EXPECT_EQ(call("future", "take", {first, kBuffer, 8000}), 4999);
  const Result<void> pending = state->check_pending(11);
  ASSERT_FALSE(pending.ok());
  EXPECT_EQ(pending.error().message(),
            "pending_bytes_max: 11 bytes wanted, 0 of 100 pending, 90 are its children's");
}

TEST_F(HostCalls, AnAnswerThatIsNotToBeHeldIsAnErrorToWhoWaitsForIt) {
  GuestLimits limits;
  limits.held_result_bytes_max = 5'000;
  restart(limits, {});
  host->put(64, "abc");
  const std::int64_t first = call("tokenize", "tokenize", {model, 64, 3, 0});
  const std::int64_t second = call("tokenize", "tokenize", {model, 64, 3, 0});
  answer(control::AnswerBody(control::Tokens{std::vector<std::uint32_t>(1200, 1)}));
  answer(control::AnswerBody(control::Tokens{std::vector<std::uint32_t>(1200, 1)}));
  EXPECT_EQ(take(second), minus(ErrorCode::QuotaExceeded));
  EXPECT_GT(take(first), 1200);
}

TEST_F(HostCalls, LogLinesAreCutAndCannotDriveATerminal) {
  GuestLimits limits;
  limits.log_line_bytes_max = 8;
  restart(limits, {});
  const std::string text = "one\n\x1b[2Jtwo\xff\n123456789";
  host->put(64, text);
  EXPECT_EQ(call("runtime", "log", {3, 64, static_cast<std::int64_t>(text.size())}), 0);
  ASSERT_EQ(lines().size(), 3u);
  EXPECT_EQ(lines()[0].text, "one");
  EXPECT_EQ(lines()[1].text, "\\x1b[2Jtwo\\xff");
  EXPECT_EQ(lines()[2].text, "12345678 [cut: 9 bytes]");
  EXPECT_EQ(lines()[0].level, LogLevel::Error);
}

TEST_F(HostCalls, LinesOfOneCallAreBoundedAndTheRestOfItsTextIsOneLine) {
  const auto log = [&](const std::string& text) {
    host->put(64, text);
    return call("runtime", "log", {1, 64, static_cast<std::int64_t>(text.size())});
  };
  const auto lines_of = [](std::string text, int count) {
    std::string all;
    for (int each = 0; each < count; ++each) all += text;
    return all;
  };
  EXPECT_EQ(log(lines_of("a\n", 1024)), 0);
  EXPECT_EQ(lines().size(), 1024u);
  while (!state->outbox.empty()) state->said_taken();
  EXPECT_EQ(log(lines_of("a\n", 1024) + "b\nc\n"), 0);
  ASSERT_EQ(lines().size(), 1025u);
  EXPECT_EQ(lines()[1023].text, "a");
  EXPECT_EQ(lines()[1024].text, "b\\x0ac\\x0a");
  EXPECT_EQ(log(lines_of("\n", 30'000)), 0);
  EXPECT_EQ(lines().size(), 2050u);
}

// The caller writes the rest, as to any stream that is full.
TEST_F(HostCalls, AWriteOfMoreLinesThanACallTakesIsShort) {
  const std::string text = std::string(1023, '\n') + "last\nof the next";
  host->put(kBuffer, text);
  put(64, {kBuffer, static_cast<std::int32_t>(text.size())});
  EXPECT_EQ(call("wasi", "fd_write", {1, 64, 1, 128}), 0);
  EXPECT_EQ(number_at(128), 1028);
  EXPECT_EQ(lines().size(), 1024u);
  EXPECT_EQ(state->session.log_bytes(), 1028u);
  put(64, {kBuffer + 1028, 11});
  EXPECT_EQ(call("wasi", "fd_write", {1, 64, 1, 128}), 0);
  EXPECT_EQ(number_at(128), 11);
  state->session.flush_streams();
  EXPECT_EQ(lines()[1023].text, "last");
  EXPECT_EQ(lines()[1024].text, "of the next");
}

// A mebibyte, a byte at a time; looking for a newline in all of it each time would take 25 s.
TEST_F(HostCalls, ALineThatIsPrintedByteByByteIsReadOnce) {
  SessionBox& session = state->session;
  for (int each = 0; each < 1 << 20; ++each) {
    ASSERT_TRUE(session.write(LogSource::Stdout, "a").ok());
    ASSERT_TRUE(session.write(LogSource::Stdout, "").ok());
  }
  ASSERT_TRUE(session.write(LogSource::Stderr, "other\n").ok());
  ASSERT_TRUE(session.write(LogSource::Stdout, "b\nc\nd").ok());
  ASSERT_TRUE(session.write(LogSource::Stdout, "\n").ok());
  ASSERT_EQ(lines().size(), 4u);
  EXPECT_EQ(lines()[0].text, "other");
  EXPECT_EQ(lines()[1].text, std::string(4096, 'a') + " [cut: 1048577 bytes]");
  EXPECT_EQ(lines()[2].text, "c");
  EXPECT_EQ(lines()[3].text, "d");
}

TEST_F(HostCalls, AnswerForADroppedFutureIsIgnored) {
  host->put(64, "abc");
  const std::int64_t future = call("tokenize", "tokenize", {model, 64, 3, 0});
  const control::Command command = control.take_waiting();
  EXPECT_EQ(call("future", "drop", {future}), 0);
  EXPECT_TRUE(std::holds_alternative<control::DropFuture>(control.commands.back().body));
  state->answer({command.instance, command.future, control::AnswerBody(control::Tokens{{1}})});
  state->verify();
  EXPECT_EQ(take(future), minus(ErrorCode::NotFound));
}

TEST_F(HostCalls, ClockAndRandomComeFromOutside) {
  clock.advance_ns(5);
  EXPECT_EQ(call("runtime", "clock-now", {}), 5);
  EXPECT_EQ(call("wasi", "clock_time_get", {0, 0, kBuffer}), 0);
  EXPECT_EQ(number_at(kBuffer), 1'000'005);
  EXPECT_EQ(call("runtime", "random", {kBuffer, 8}), 8);
  SeededRandom same(7);
  EXPECT_EQ(number_at(kBuffer), static_cast<std::int32_t>(same.next()));
}

}  // namespace
}  // namespace quire::hostcalls
