// Files between a guest and its client: host calls on one side, FileTable on the other.
#include "application/hostcalls/file_table.h"

#include "application/hostcalls/hostcalls_fixture.h"
#include "base/seeds.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kName = 64, kType = 96, kPart = 128;

class Files : public HostCalls {
 protected:
  std::int64_t send_file(std::string_view name, std::string_view type, std::int64_t bytes) {
    return call("session", "send-file",
                {host->put(kName, name), static_cast<std::int64_t>(name.size()),
                 host->put(kType, type), static_cast<std::int64_t>(type.size()), bytes});
  }
  std::int64_t write(std::int64_t file, std::string_view part) {
    return call("session", "write-file",
                {file, host->put(kPart, part), static_cast<std::int64_t>(part.size())});
  }
  std::int64_t drop(std::int64_t handle) { return call("future", "drop", {handle}); }
  bool is_ready(std::int64_t future) {
    host->put(0, {reinterpret_cast<const char*>(&future), 4});
    return call("future", "poll", {0, 1, kBuffer}) == 1;
  }
  // Takes the client's next output: "name media/type 0+3/9: abc", or "none".
  std::string next() {
    const std::optional<service::Said> said = state->next_said();
    if (!said) return "none";
    std::string text;
    if (const auto* part = std::get_if<service::SentPart>(&*said)) {
      text = std::string(part->name) + " " + std::string(part->media_type) + " " +
             std::to_string(part->offset) + "+" + std::to_string(part->bytes.size()) + "/" +
             std::to_string(part->file_bytes) + ": " + std::string(part->bytes);
    } else {
      text = "file " + std::to_string(std::get<service::DroppedFile>(*said).file) + " dropped";
    }
    state->said_taken();
    state->verify();
    return text;
  }
  Result<void> push(std::string_view name, std::uint64_t offset, std::string_view bytes,
                    std::uint64_t file_bytes, std::string_view type = "text/plain") {
    Result<void> pushed = state->files.push(
        {std::string(name), std::string(type), file_bytes, offset, std::string(bytes)});
    state->verify();
    return pushed;
  }
  std::string taken(std::int64_t future) {
    const std::int64_t bytes = take(future);
    if (bytes < 0) return error_code_name(static_cast<ErrorCode>(-bytes));
    return host->get(kBuffer, static_cast<std::uint32_t>(bytes));
  }
  // The handle of the next file of the client.
  std::int64_t receive() {
    const std::string record = taken(call("session", "receive-file", {}));
    EXPECT_GE(record.size(), 24u) << record;
    std::int32_t handle = -1;
    if (record.size() >= 4) std::memcpy(&handle, record.data(), 4);
    return handle;
  }
  std::string read(std::int64_t file) { return taken(call("session", "read-file", {file})); }
};

TEST_F(Files, PartsGoToTheClientInOrderAndTellTheirFile) {
  const std::int64_t file = send_file("a.txt", "text/plain", 6);
  const std::int64_t other = send_file("b", "image/png", 0);
  EXPECT_TRUE(is_ready(write(file, "abc")));
  EXPECT_TRUE(is_ready(write(file, "def")));
  EXPECT_EQ(next(), "b image/png 0+0/0: ");
  EXPECT_EQ(next(), "a.txt text/plain 0+3/6: abc");
  EXPECT_EQ(drop(file), 0);
  EXPECT_EQ(next(), "a.txt text/plain 3+3/6: def");
  EXPECT_EQ(drop(other), 0);
  EXPECT_EQ(next(), "none");
  EXPECT_EQ(write(file, "x"), minus(ErrorCode::NotFound));
}

TEST_F(Files, AFileThatIsDroppedHalfWayIsToldAsSuch) {
  const std::int64_t file = send_file("a", "text/plain", 6);
  write(file, "abc");
  drop(file);
  const std::int64_t silent = send_file("never begun", "text/plain", 6);
  drop(silent);
  EXPECT_EQ(next(), "a text/plain 0+3/6: abc");
  EXPECT_EQ(next(), "file 1 dropped");
  EXPECT_EQ(next(), "none");
}

TEST_F(Files, WhoWritesWaitsForRoomOrIsRefused) {
  GuestLimits limits;
  limits.file_outbox_bytes_max = 2 * (FileTable::kPartBytes + 10);
  restart(limits, {});
  const std::int64_t file = send_file("a", "text/plain", 100);
  EXPECT_TRUE(is_ready(write(file, "0123456789")));
  const std::int64_t second = write(file, "0123456789");
  EXPECT_FALSE(is_ready(second));
  EXPECT_EQ(write(file, "x"), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(state->last_error.substr(0, 22), "file_outbox_bytes_max:");
  EXPECT_EQ(send_file("b", "text/plain", 1), minus(ErrorCode::QuotaExceeded));
  next();
  EXPECT_TRUE(is_ready(second));
  EXPECT_TRUE(is_ready(write(file, "x")));
  const std::int64_t third = write(file, "yz");
  EXPECT_FALSE(is_ready(third));
  EXPECT_EQ(drop(third), 0);
  next();
}

TEST_F(Files, WrongNamesTypesSizesAndHandlesAreRefused) {
  EXPECT_EQ(send_file("", "text/plain", 1), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(send_file("a/b", "text/plain", 1), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(send_file("..", "text/plain", 1), minus(ErrorCode::InvalidArgument));
  for (const char* type : {"", "text", "text/plain\n", "t\xc3\xa9/x"}) {
    EXPECT_EQ(send_file("a", type, 1), minus(ErrorCode::InvalidArgument)) << type;
  }
  EXPECT_EQ(send_file("a", "x/" + std::string(126, 'y'), 1), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(send_file("a", "text/plain", (64 << 20) + 1), minus(ErrorCode::TooLarge));
  EXPECT_EQ(send_file("a", "text/plain", -1), minus(ErrorCode::TooLarge));
  const std::int64_t file = send_file("a", "text/plain", 2);
  EXPECT_EQ(write(file, "abc"), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(call("session", "read-file", {file}), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(write(queue, "a"), minus(ErrorCode::NotFound));
  EXPECT_EQ(call("session", "write-file", {file, 0, (1 << 20) + 1}), minus(ErrorCode::TooLarge));
  GuestLimits limits;
  limits.file_count_max = 1;
  restart(limits, {});
  EXPECT_GT(send_file("a", "text/plain", 2), 0);
  EXPECT_EQ(send_file("b", "text/plain", 2), minus(ErrorCode::QuotaExceeded));
}

TEST_F(Files, AClientsFileIsReadPartByPart) {
  const std::int64_t early = call("session", "receive-file", {});
  EXPECT_FALSE(is_ready(early));
  ASSERT_TRUE(push("a.txt", 0, "abc", 6).ok());
  const std::string record = taken(early);
  std::uint32_t head[4] = {};
  std::uint64_t bytes = 0;
  ASSERT_EQ(record.size(), 24u + 5 + 10);
  std::memcpy(head, record.data(), sizeof head);
  std::memcpy(&bytes, record.data() + 16, sizeof bytes);
  EXPECT_EQ(head[1], 5u);
  EXPECT_EQ(head[2], 10u);
  EXPECT_EQ(bytes, 6u);
  EXPECT_EQ(record.substr(24), "a.txttext/plain");
  const std::int64_t file = head[0];
  EXPECT_EQ(read(file), "abc");
  const std::int64_t waits = call("session", "read-file", {file});
  EXPECT_FALSE(is_ready(waits));
  ASSERT_TRUE(push("a.txt", 3, "def", 6).ok());
  EXPECT_EQ(taken(waits), "def");
  EXPECT_EQ(read(file), "");
  EXPECT_EQ(read(file), "");
  EXPECT_EQ(write(file, "x"), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(drop(file), 0);
  ASSERT_TRUE(push("empty", 0, "", 0).ok());
  EXPECT_EQ(read(receive()), "");
}

TEST_F(Files, OneReadAtATimeKeepsThePartsInOrder) {
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  const std::int64_t file = receive();
  const std::int64_t first = call("session", "read-file", {file});
  EXPECT_EQ(call("session", "read-file", {file}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(drop(first), 0);
  ASSERT_TRUE(push("a", 3, "def", 6).ok());
  EXPECT_EQ(read(file), "abc");
  EXPECT_EQ(read(file), "def");
}

TEST_F(Files, AHandleThatWasGuessedBeforeItWasToldHarmsNobody) {
  const std::int64_t received = call("session", "receive-file", {});
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  const std::int64_t guessed = static_cast<std::int64_t>(
      state->futures.find(GuestHandle{static_cast<std::int32_t>(received)}).value()->owner);
  const std::int64_t pending = call("session", "read-file", {guessed});
  EXPECT_EQ(call("session", "read-file", {guessed}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(drop(guessed), 0);
  EXPECT_EQ(drop(received), 0) << "its file is gone";
  EXPECT_EQ(taken(pending), "abc") << "it was ready before";
  state->verify();
  EXPECT_EQ(push("a", 3, "def", 6).error().code(), ErrorCode::Cancelled);
}

TEST_F(Files, PartsThatDoNotContinueAreRefused) {
  EXPECT_EQ(push("a", 3, "x", 6).error().code(), ErrorCode::Cancelled);
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  EXPECT_EQ(push("a", 2, "x", 6).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("b", 3, "x", 6).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("a", 3, "x", 7).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("a", 3, "wxyz", 6).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("a/b", 0, "x", 1).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("a", 0, "x", 1, "type").error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(push("a", 0, "x", (64u << 20) + 1).error().code(), ErrorCode::TooLarge);
  EXPECT_EQ(push("b", 0, "xyz", 2).error().code(), ErrorCode::InvalidArgument);
  ASSERT_TRUE(push("a", 3, "def", 6).ok()) << "refused parts changed nothing";
  const std::int64_t file = receive();
  EXPECT_EQ(read(file), "abc");
  EXPECT_EQ(read(file), "def");
  const std::int64_t next = call("session", "receive-file", {});
  EXPECT_FALSE(is_ready(next)) << "no refused part began a file";
}

TEST_F(Files, ANewFileGivesUpTheOneThatWasNotComplete) {
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  ASSERT_TRUE(push("b", 0, "x", 1).ok());
  const std::int64_t first = receive();
  EXPECT_EQ(read(first), "abc");
  EXPECT_EQ(read(first), "unavailable");
  EXPECT_EQ(read(receive()), "x");
}

TEST_F(Files, WhatTheGuestDoesNotReadIsBounded) {
  GuestLimits limits;
  limits.file_inbox_bytes_max = 2 * (FileTable::kPartBytes + 10);
  limits.file_count_max = 2;
  restart(limits, {});
  ASSERT_TRUE(push("a", 0, "0123456789", 30).ok());
  EXPECT_TRUE(state->files.has_room());
  ASSERT_TRUE(push("a", 10, "0123456789", 30).ok());
  EXPECT_FALSE(state->files.has_room());
  EXPECT_EQ(push("a", 20, "0123456789", 30).error().code(), ErrorCode::QuotaExceeded);
  const std::int64_t file = receive();
  EXPECT_EQ(read(file), "0123456789");
  EXPECT_TRUE(state->files.has_room());
  drop(file);
  EXPECT_EQ(push("a", 20, "0123456789", 30).error().code(), ErrorCode::Cancelled);
  ASSERT_TRUE(push("b", 0, "", 0).ok());
  ASSERT_TRUE(push("c", 0, "", 0).ok());
  EXPECT_EQ(push("d", 0, "", 0).error().code(), ErrorCode::QuotaExceeded);
}

TEST_F(Files, AClientThatIsGoneBreaksItsFileAndMayComeBackWithAnother) {
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  const std::int64_t file = receive();
  const std::int64_t waits = call("session", "receive-file", {});
  state->client_left("nobody is there");
  EXPECT_EQ(taken(waits), "unavailable");
  EXPECT_EQ(state->last_error, "nobody is there");
  EXPECT_EQ(read(file), "abc");
  EXPECT_EQ(read(file), "unavailable");
  EXPECT_EQ(taken(call("session", "receive-file", {})), "unavailable");
  state->client_back();
  ASSERT_TRUE(push("b", 0, "x", 1).ok());
  EXPECT_EQ(read(receive()), "x");
  state->close_input();
  EXPECT_EQ(taken(call("session", "receive-file", {})), "unavailable");
  EXPECT_EQ(push("c", 0, "x", 1).error().code(), ErrorCode::Unavailable);
}

TEST_F(Files, WhatWasCompleteBeforeTheEndIsStillReceived) {
  ASSERT_TRUE(push("a", 0, "abc", 3).ok());
  state->close_input();
  EXPECT_EQ(read(receive()), "abc");
  EXPECT_EQ(taken(call("session", "receive-file", {})), "unavailable");
  EXPECT_EQ(state->last_error, "the client has ended its side");
}

TEST_F(Files, AFutureThatIsDroppedGivesBackWhatItHeld) {
  ASSERT_TRUE(push("a", 0, "abc", 6).ok());
  EXPECT_EQ(drop(call("session", "receive-file", {})), 0);
  const std::int64_t file = receive();
  ASSERT_TRUE(push("a", 3, "def", 6).ok());
  EXPECT_EQ(drop(call("session", "read-file", {file})), 0);
  EXPECT_EQ(read(file), "abc");
  const std::int64_t second = call("session", "read-file", {file});
  EXPECT_EQ(drop(file), 0);
  EXPECT_EQ(taken(second), "def") << "it was ready before";
  ASSERT_TRUE(push("b", 0, "x", 2).ok());
  const std::int64_t other = receive();
  EXPECT_EQ(read(other), "x");
  const std::int64_t waits = call("session", "read-file", {other});
  EXPECT_EQ(drop(other), 0);
  EXPECT_EQ(taken(waits), "cancelled");
}

TEST_F(Files, DroppedFuturesGiveTheirFilesBackInTheOrderInWhichTheyCame) {
  for (const char* each : {"a", "b", "c"}) ASSERT_TRUE(push(each, 0, each, 1).ok());
  const std::int64_t first = call("session", "receive-file", {});
  const std::int64_t second = call("session", "receive-file", {});
  EXPECT_EQ(drop(first), 0);
  EXPECT_EQ(drop(second), 0);
  for (const char* each : {"a", "b", "c"}) EXPECT_EQ(read(receive()), each);
}

TEST_F(Files, AProgramsOwnProgramHasNoFiles) {
  GuestLimits limits;
  limits.has_file_client = false;
  restart(limits, {});
  EXPECT_EQ(send_file("a", "text/plain", 1), minus(ErrorCode::NotSupported));
  EXPECT_EQ(call("session", "receive-file", {}), minus(ErrorCode::NotSupported));
}

}  // namespace
}  // namespace quire::hostcalls
