// The request that launched a guest: host calls on one side, ServedRequest on the other.
#include "application/hostcalls/served_request.h"

#include "application/hostcalls/hostcalls_fixture.h"
#include "base/seeds.h"

namespace quire::hostcalls::served_request_test {
namespace {

constexpr std::uint32_t kText = 64;

class Served : public HostCalls {
 protected:
  void SetUp() override { serve({}); }

  void serve(const GuestLimits& limits, bool awaits_continue = false) {
    restart(limits, {},
            RequestHead{"POST", "/x?y=1", "accept: a\nx-request-id: r1\n", awaits_continue});
  }
  std::int64_t respond(std::int64_t status, std::string_view headers = "", std::int64_t flags = 0) {
    return call(
        "serve", "respond",
        {status, host->put(kText, headers), static_cast<std::int64_t>(headers.size()), flags});
  }
  std::int64_t write(std::string_view part) {
    return call("serve", "write-response",
                {host->put(kText, part), static_cast<std::int64_t>(part.size())});
  }
  std::int64_t read() { return call("serve", "read-request", {}); }
  std::int64_t finish() { return call("serve", "finish-response", {}); }
  std::string taken(std::int64_t future) {
    const std::int64_t bytes = take(future);
    return bytes < 0 ? "error " + std::to_string(-bytes)
                     : host->get(kBuffer, static_cast<std::uint32_t>(bytes));
  }
  bool is_ready(std::int64_t future) {
    host->put(0, {reinterpret_cast<const char*>(&future), 4});
    return call("future", "poll", {0, 1, kBuffer}) == 1;
  }
  void push(std::string_view part, bool is_last = false) {
    state->served.push(std::string(part), is_last);
    state->verify();
  }
  // Takes the client's next output.
  std::string next() {
    const std::optional<service::Said> said = state->next_said();
    if (!said) return "none";
    const auto& part = std::get<service::ResponsePart>(*said);
    const char* const kKinds[] = {"head ", "bytes ", "end "};
    const std::string text = kKinds[static_cast<int>(part.kind)] + std::to_string(part.status) +
                             " " + std::string(part.bytes);
    state->said_taken();
    state->verify();
    return text;
  }
};

TEST_F(Served, TheHeadIsInOneRecord) {
  const std::string rest = "POST/x?y=1accept: a\nx-request-id: r1\n";
  const std::int64_t bytes = call("serve", "request-head", {kBuffer, 1024});
  ASSERT_EQ(bytes, static_cast<std::int64_t>(12 + rest.size()));
  EXPECT_EQ(number_at(kBuffer), 4);
  EXPECT_EQ(number_at(kBuffer + 4), 6);
  EXPECT_EQ(number_at(kBuffer + 8), 27);
  EXPECT_EQ(host->get(kBuffer + 12, static_cast<std::uint32_t>(rest.size())), rest);
  host->put(kBuffer, std::string(64, '!'));
  EXPECT_EQ(call("serve", "request-head", {kBuffer, bytes - 1}), bytes);
  EXPECT_EQ(host->get(kBuffer, 4), "!!!!") << "nothing is written where not all fits";
}

TEST_F(Served, WithoutARequestEachCallIsNotSupported) {
  restart({}, {});
  const std::int64_t refused = minus(ErrorCode::NotSupported);
  EXPECT_EQ(call("serve", "request-head", {kBuffer, 1024}), refused);
  EXPECT_EQ(read(), refused);
  EXPECT_EQ(respond(200), refused);
  EXPECT_EQ(write("a"), refused);
  EXPECT_EQ(finish(), refused);
}

TEST_F(Served, WithARequestThereIsNoSession) {
  const std::int64_t refused = minus(ErrorCode::NotSupported);
  EXPECT_EQ(call("session", "send", {kText, 1}), refused);
  EXPECT_EQ(call("session", "receive-file", {}), refused);
  EXPECT_EQ(taken(call("session", "receive", {})),
            "error " + std::to_string(static_cast<int>(ErrorCode::Unavailable)));
}

TEST_F(Served, TheBodyComesInPartsAndEndsWithNothing) {
  const std::int64_t early = read();
  EXPECT_FALSE(is_ready(early));
  EXPECT_EQ(read(), minus(ErrorCode::QuotaExceeded)) << "one read at a time";
  push("one");
  EXPECT_EQ(taken(early), "one");
  push("two");
  push("three", true);
  EXPECT_EQ(taken(read()), "two");
  const std::int64_t dropped = read();
  call("future", "drop", {dropped});
  EXPECT_EQ(taken(read()), "three") << "a read that was dropped loses nothing";
  EXPECT_EQ(taken(read()), "");
  EXPECT_EQ(taken(read()), "");
}

TEST_F(Served, PartsAreWantedWhileThereIsRoom) {
  GuestLimits limits;
  limits.request_inbox_bytes_max = 300;
  serve(limits);
  EXPECT_TRUE(state->served.wants_part());
  push(std::string(100, 'a'));
  EXPECT_FALSE(state->served.wants_part());
  taken(read());
  EXPECT_TRUE(state->served.wants_part());
  push("", true);
  EXPECT_FALSE(state->served.wants_part()) << "the body is whole";
}

TEST_F(Served, ABodyThatAwaitsContinueIsWantedOnceTheProgramReads) {
  serve({}, true);
  EXPECT_FALSE(state->served.wants_part());
  const std::int64_t first = read();
  EXPECT_TRUE(state->served.wants_part());
  call("future", "drop", {first});
}

TEST_F(Served, AResponseIsAHeadPartsAndAnEnd) {
  EXPECT_EQ(write("early"), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(finish(), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(respond(201, "X-One: 1\nCache-Control: no-store\n"), 0);
  EXPECT_EQ(respond(200), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(taken(write("part")), "");
  EXPECT_EQ(taken(write("")), "");
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(finish(), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(write("late"), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(next(), "head 201 x-one: 1\ncache-control: no-store\n");
  EXPECT_EQ(next(), "bytes 0 part");
  EXPECT_EQ(next(), "end 0 ");
  EXPECT_EQ(next(), "none");
}

TEST_F(Served, AHeadThatTheServerCouldNotSendIsRefused) {
  for (const std::int64_t status : {0, 100, 101, 199, 600, 1000}) {
    EXPECT_EQ(respond(status), minus(ErrorCode::InvalidArgument)) << status;
  }
  for (const char* headers :
       {"no colon\n", "a b: c\n", "a: b\r\nset-cookie: c\n", "a: \x01\n", "Connection: close\n",
        "transfer-encoding: chunked\n", "keep-alive: 1\n", "upgrade: x\n", "trailer: x\n",
        "X-Request-Id: mine\n", "content-length: x\n", "content-length: -1\n", "content-length:\n",
        "content-length: 1\nContent-Length: 1\n", "content-length: 1 2\n",
        "content-length: 99999999999999999999\n"}) {
    EXPECT_EQ(respond(200, headers), minus(ErrorCode::InvalidArgument)) << headers;
  }
  EXPECT_EQ(respond(200, "", 2), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(respond(204, "content-length: 5\n"), minus(ErrorCode::InvalidArgument));
  const std::string large = "a: " + std::string(kResponseHeaderBytesMax, 'a') + "\n";
  EXPECT_EQ(call("serve", "respond", {200, 0, static_cast<std::int64_t>(large.size()), 0}),
            minus(ErrorCode::TooLarge));
  EXPECT_EQ(respond(200, "a: b"), 0) << "the last line feed may lack";
}

TEST_F(Served, AContentLengthIsKept) {
  EXPECT_EQ(respond(200, "Content-Length:  5 \na: b\n"), 0);
  EXPECT_EQ(next(), "head 200 a: b\ncontent-length: 5\n");
  taken(write("123"));
  EXPECT_EQ(finish(), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(write("456"), minus(ErrorCode::OutOfRange));
  taken(write("45"));
  EXPECT_EQ(finish(), 0);
}

TEST_F(Served, AStatusWithoutABodyTakesNone) {
  EXPECT_EQ(respond(304), 0);
  EXPECT_EQ(write("a"), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(finish(), 0);
}

TEST_F(Served, AWriteWaitsWhileTheClientTakesNothing) {
  GuestLimits limits;
  limits.response_outbox_bytes_max = 700;
  serve(limits);
  EXPECT_EQ(respond(200), 0);
  EXPECT_EQ(taken(write("a")), "");
  const std::int64_t waits = write(std::string(300, 'b'));
  EXPECT_FALSE(is_ready(waits));
  EXPECT_EQ(write("c"), minus(ErrorCode::QuotaExceeded)) << "it has not waited for the last part";
  next();
  EXPECT_FALSE(is_ready(waits));
  next();
  EXPECT_TRUE(is_ready(waits));
  taken(waits);
  taken(write("c"));
}

TEST_F(Served, AClientThatGoesEndsReadsAndWrites) {
  GuestLimits limits;
  limits.response_outbox_bytes_max = 300;
  serve(limits);
  EXPECT_FALSE(state->served.outlives_client());
  EXPECT_EQ(respond(200, "", 1), 0);
  EXPECT_TRUE(state->served.outlives_client());
  const std::int64_t reads = read();
  const std::int64_t writes = write(std::string(300, 'a'));
  state->served.client_gone();
  state->verify();
  const std::string gone = "error " + std::to_string(static_cast<int>(ErrorCode::Unavailable));
  EXPECT_EQ(taken(reads), gone);
  EXPECT_EQ(taken(writes), gone);
  EXPECT_EQ(write("b"), minus(ErrorCode::Unavailable));
  EXPECT_EQ(taken(read()), gone);
  EXPECT_EQ(next(), "none") << "nothing is kept for a client that is gone";
  push("late", true);
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(next(), "none");
}

TEST_F(Served, AClientMayLeaveOnceItHasTheBytesThatTheHeadPromised) {
  EXPECT_EQ(respond(200, "content-length: 3\n"), 0);
  taken(write("ab"));
  EXPECT_FALSE(state->served.outlives_client());
  taken(write("c"));
  EXPECT_TRUE(state->served.outlives_client());
  state->served.client_gone();
  EXPECT_EQ(finish(), 0);
}

TEST_F(Served, AFinishedResponseEndsTheReadOfABodyThatIsNotWhole) {
  const std::int64_t reads = read();
  EXPECT_EQ(respond(413), 0);
  EXPECT_EQ(finish(), 0);
  EXPECT_EQ(taken(reads), "error " + std::to_string(static_cast<int>(ErrorCode::Unavailable)));
  EXPECT_TRUE(state->served.outlives_client());
  EXPECT_FALSE(state->served.wants_part());
}

TEST_F(Served, OutputCountsTowardsTheOutputOfTheProgram) {
  GuestLimits limits;
  limits.output_bytes_max = 5;
  serve(limits);
  EXPECT_EQ(respond(200), 0);
  taken(write("12345"));
  EXPECT_EQ(write("6"), minus(ErrorCode::QuotaExceeded));
}

TEST_F(Served, AfterTheEndOnlyWhatItSaidIsLeft) {
  push("unread");
  EXPECT_EQ(respond(200), 0);
  state->drop_untaken();
  state->verify();
  EXPECT_EQ(state->served.inbox_bytes(), 0u);
  EXPECT_EQ(next(), "head 200 ");
}

// Reads, writes, drops, parts and takes in any order leave what verify() checks, and no byte is lost.
TEST_F(Served, AnyOrderOfCallsKeepsTheBodiesWhole) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom dice(seed);
    const auto below = [&](std::uint64_t count) { return dice.next() % count; };
    GuestLimits limits;
    limits.request_inbox_bytes_max = 600;
    limits.response_outbox_bytes_max = 600;
    serve(limits);
    std::string sent, received, written, shown;
    std::int64_t reader = 0, writer = 0;
    EXPECT_EQ(respond(200), 0);
    for (int step = 0; step < 200; ++step) {
      switch (below(6)) {
        case 0:
          if (state->served.wants_part()) {
            sent += static_cast<char>('a' + below(26));
            push(sent.substr(sent.size() - 1));
          }
          break;
        case 1:
          if (reader == 0) reader = read();
          break;
        case 2:
          if (reader != 0 && below(4) == 0) {
            call("future", "drop", {std::exchange(reader, 0)});
          } else if (reader != 0 && is_ready(reader)) {
            received += taken(std::exchange(reader, 0));
          }
          break;
        case 3:
          if (writer == 0) {
            const std::string part(1 + below(300), static_cast<char>('A' + below(26)));
            writer = write(part);
            written += part;
          }
          break;
        case 4:
          if (writer != 0 && is_ready(writer)) taken(std::exchange(writer, 0));
          break;
        default:
          if (std::string said = next(); said.starts_with("bytes 0 ")) shown += said.substr(8);
      }
    }
    EXPECT_EQ(sent.substr(0, received.size()), received);
    EXPECT_EQ(written.substr(0, shown.size()), shown);
  }
}

}  // namespace
}  // namespace quire::hostcalls::served_request_test
