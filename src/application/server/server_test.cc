// The server over real sockets on loopback, with guests that are state machines.
#include "application/server/server.h"

#include <gtest/gtest.h>

#include <future>

#include "application/lifecycle/program_store.h"
#include "application/server/server_test_support.h"

namespace quire::server {
namespace {

class TrappingGuest final : public TalkingGuest {
 public:
  explicit TrappingGuest(std::string message) : message_(std::move(message)) {}
  FakeAction step(FakeHost&) override { return {FakeAction::Kind::Trap, 0, message_}; }

 private:
  const std::string message_;
};

ServerOptions quick_options() {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(50);
  return options;
}

TEST(Server, AClientLaunchesTalksAndIsToldTheEnd) {
  RunningServer server;
  RawClient client = server.connect();
  const wire::InstanceReply instance = launch(client, "echo");
  EXPECT_EQ(instance.name.size(), 32u);
  EXPECT_EQ(instance.program, sha256(bytes_of("echo")));
  EXPECT_TRUE(is_done(client.ask(wire::Send{instance.instance, std::string("\0\xff hi", 5)})));
  EXPECT_EQ(client.event<wire::MessageEvent>()->bytes, std::string("\0\xff hi", 5));
  const auto listed = client.ask(wire::List{});
  ASSERT_NE(as<wire::InstanceList>(listed), nullptr);
  EXPECT_EQ(as<wire::InstanceList>(listed)->instances, std::vector<wire::InstanceReply>{instance});
  EXPECT_TRUE(is_done(client.ask(wire::Send{instance.instance, "quit"})));
  const auto ended = client.event<wire::EndedEvent>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->end.kind, wire::EndKind::Finished);
  EXPECT_EQ(ended->instance, instance.instance);
  EXPECT_GE(ended->end.duration_ns, ended->end.first_message_ns);
  EXPECT_GT(ended->end.first_message_ns, 0u);
  EXPECT_EQ(refusal(client.ask(wire::Send{instance.instance, "x"})).substr(0, 10), "not-found:");
}

TEST(Server, ALaunchNamesATenantOfTheServersAndIsHeldToItsBounds) {
  RunningServer server({}, kPlaces, [](ServedEngine& served) {
    served.engine.manager.name_tenant(control::TenantId{3}, 2, {.instance_count_max = 1});
  });
  RawClient client = server.connect();
  wire::Launch request = launch_of("echo");
  request.tenant = 4;
  EXPECT_EQ(refusal(client.ask(request)),
            "not-found: tenant 4 is not one of this server's: its operator names them with "
            "--tenant");
  request.tenant = 3;
  request.deadline_ms = 1000;
  const auto launched = client.ask(request);
  ASSERT_NE(as<wire::InstanceReply>(launched), nullptr) << refusal(launched);
  const auto refused = client.ask(request);
  EXPECT_EQ(refusal(refused).substr(0, 64),
            "unavailable: tenant 3: instance_count_max: 1 of 1 instances are ");
  EXPECT_TRUE(as<wire::Failure>(refused)->retry_after_ms);
  launch(client, "echo");  // Of tenant 0.
}

TEST(Server, AStatusTellsTheOperatorOfTenantsAndInstancesOnRequestAlone) {
  RunningServer server({}, kPlaces, [](ServedEngine& served) {
    served.engine.manager.name_tenant(control::TenantId{3}, 2, {.instance_count_max = 5});
  });
  RawClient client = server.connect();
  EXPECT_FALSE(as<wire::StatusReply>(client.ask(wire::Status{}))->detail);
  wire::Launch request = launch_of("echo");
  request.tenant = 3;
  const auto launched = client.ask(request);
  const std::uint64_t number = as<wire::InstanceReply>(launched)->instance;
  client.ask(wire::Send{number, "12345"});
  ASSERT_TRUE(client.event<wire::MessageEvent>());
  const auto reply = client.ask(wire::Status{true});
  ASSERT_NE(as<wire::StatusReply>(reply), nullptr) << refusal(reply);
  ASSERT_TRUE(as<wire::StatusReply>(reply)->detail);
  const wire::StatusDetail& detail = *as<wire::StatusReply>(reply)->detail;
  ASSERT_EQ(detail.tenants.size(), 1u);
  EXPECT_EQ(detail.tenants[0].tenant, 3u);
  EXPECT_EQ(detail.tenants[0].weight, 2u);
  EXPECT_EQ(detail.tenants[0].figures.at("instance_count_max"), (wire::Figure{1, 5}));
  EXPECT_EQ(detail.tenants[0].figures.at("output_bytes"), (wire::Figure{5, std::nullopt}));
  ASSERT_EQ(detail.instances.size(), 1u);
  EXPECT_EQ(detail.instances[0].instance, number);
  EXPECT_EQ(detail.instances[0].program, sha256(bytes_of("echo")));
  EXPECT_EQ(detail.instances[0].stage, "parked");
  EXPECT_EQ(detail.instances[0].figures.at("output_bytes_max"),
            (wire::Figure{5, std::uint64_t{1} << 30}));
  EXPECT_EQ(detail.left_out_count, 0u);
  const wire::NamedProgram echo{"echo", sha256(bytes_of("echo"))};
  EXPECT_EQ(std::ranges::count(detail.programs, echo), 1);
  EXPECT_EQ(detail.left_out_program_count, 0u);
}

TEST(Server, TheReplyToALaunchComesBeforeTheFirstWord) {
  RunningServer server;
  RawClient client = server.connect();
  for (int i = 0; i < 50; ++i) {
    const wire::InstanceReply instance = launch(client, "say", {"hello"});
    EXPECT_TRUE(client.events.empty());
    EXPECT_EQ(client.event<wire::MessageEvent>()->instance, instance.instance);
    EXPECT_EQ(client.event<wire::EndedEvent>()->instance, instance.instance);
  }
}

TEST(Server, AProgramIsUploadedInPartsOnceAndLaunchedByItsDigest) {
  RunningServer server;
  std::string name(3000, 'p');
  server.served().runtime.add_program(name, [] { return std::make_unique<EchoGuest>(); });
  RawClient client = server.connect();
  const wire::ProgramName program = by_digest(name);
  EXPECT_EQ(as<wire::ProgramReply>(client.ask(wire::FindProgram{program}))->state,
            wire::ProgramState::Unknown);
  wire::Launch request{program, {}, {}, false};
  EXPECT_EQ(refusal(client.ask(request)).substr(0, 10), "not-found:");
  for (std::size_t at = 0; at < 2000; at += 1000) {
    const auto reply =
        client.ask(wire::Upload{*program.digest, name.size(), at, name.substr(at, 1000)});
    ASSERT_NE(as<wire::ProgramReply>(reply), nullptr) << refusal(reply);
    EXPECT_EQ(*as<wire::ProgramReply>(reply),
              (wire::ProgramReply{program.digest, wire::ProgramState::Partial, at + 1000}));
  }
  const auto last = client.ask(wire::Upload{*program.digest, name.size(), 2000, name.substr(2000)});
  ASSERT_NE(as<wire::ProgramReply>(last), nullptr) << refusal(last);
  EXPECT_EQ(as<wire::ProgramReply>(last)->state, wire::ProgramState::Ready);
  const std::uint64_t program_count = server.status().program_count;
  RawClient other = server.connect();
  EXPECT_EQ(as<wire::ProgramReply>(other.ask(wire::FindProgram{program}))->state,
            wire::ProgramState::Ready);
  other.ask(wire::Upload{*program.digest, name.size(), 0, name});
  EXPECT_EQ(server.status().program_count, program_count);
  EXPECT_NE(as<wire::InstanceReply>(other.ask(request)), nullptr);
}

TEST(Server, AnUploadThatIdleOnesLeaveNoRoomForIsToldWhenToComeAgain) {
  ServerOptions options = quick_options();
  options.sockets.upload_bytes_total_max = 100;
  options.sockets.upload_idle_time_max = std::chrono::milliseconds(1'000);
  RunningServer server(options);
  RawClient idle = server.connect();
  RawClient other = server.connect();
  const std::string large(100, 'l');
  ASSERT_NE(as<wire::ProgramReply>(
                idle.ask(wire::Upload{sha256(bytes_of(large)), large.size(), 0, large.substr(1)})),
            nullptr);
  const wire::Upload wanted{sha256(bytes_of("echo")), 4, 0, "echo"};
  std::optional<wire::ReplyBody> reply = other.ask(wanted);
  ASSERT_NE(as<wire::Failure>(reply), nullptr);
  EXPECT_EQ(refusal(reply).substr(0, 39), "quota-exceeded: upload_bytes_total_max:");
  ASSERT_TRUE(as<wire::Failure>(reply)->retry_after_ms);
  std::this_thread::sleep_for(options.sockets.upload_idle_time_max + std::chrono::milliseconds(1));
  reply = other.ask(wanted);
  EXPECT_NE(as<wire::ProgramReply>(reply), nullptr) << refusal(reply);
}

TEST(Server, AProgramTooLargeForTheRuntimeIsRefusedAtItsFirstPartAndForGood) {
  RunningServer server(quick_options(), kPlaces,
                       [](ServedEngine& served) { served.runtime.module_bytes = 1000; });
  RawClient client = server.connect();
  const std::string large(1001, 'l');
  for (const std::size_t bytes : {std::size_t{1}, large.size()}) {
    const auto reply =
        client.ask(wire::Upload{sha256(bytes_of(large)), large.size(), 0, large.substr(0, bytes)});
    EXPECT_EQ(refusal(reply),
              "too-large: program_bytes_max: a program of 1001 bytes, the limit is 1000");
    ASSERT_NE(as<wire::Failure>(reply), nullptr);
    EXPECT_FALSE(as<wire::Failure>(reply)->retry_after_ms);
  }
}

TEST(Server, AProgramBeyondThoseThatWaitForTheCompilerIsToldWhenToComeAgain) {
  RunningServer server(quick_options());
  std::promise<void> may_compile;
  std::shared_future<void> compiles(may_compile.get_future());
  server.served().runtime.before_compiling = [compiles] { compiles.wait(); };
  RawClient client = server.connect();
  std::uint64_t id = 1000;
  for (std::size_t i = 0; i <= lifecycle::ProgramStore::kRequestCountMax; ++i) {
    const std::string name = "program " + std::to_string(i);
    client.send({++id, wire::Upload{sha256(bytes_of(name)), name.size(), 0, name}});
  }
  const auto full = client.reply_to(id);
  EXPECT_EQ(refusal(full).substr(0, 15), "quota-exceeded:");
  ASSERT_NE(as<wire::Failure>(full), nullptr);
  EXPECT_TRUE(as<wire::Failure>(full)->retry_after_ms);
  may_compile.set_value();
}

TEST(Server, AProgramIsNamedByAClientAndANewOneTakesTheName) {
  RunningServer server;
  server.served().runtime.add_program("v1", [] { return std::make_unique<EchoGuest>(); });
  server.served().runtime.add_program("v2", [] { return std::make_unique<SayGuest>(0); });
  RawClient client = server.connect();
  const Digest first = *by_digest("v1").digest;
  const Digest second = *by_digest("v2").digest;
  EXPECT_EQ(refusal(client.ask(wire::NameProgram{first, "tool"})).substr(0, 10), "not-found:");
  for (const char* each : {"v1", "v2"}) {
    client.ask(wire::Upload{*by_digest(each).digest, 2, 0, each});
    EXPECT_TRUE(is_done(client.ask(wire::NameProgram{*by_digest(each).digest, "tool"})));
    EXPECT_EQ(launch(client, "tool", {"hello"}).program, *by_digest(each).digest);
  }
  EXPECT_EQ(as<wire::ProgramReply>(client.ask(wire::FindProgram{by_name("tool")}))->program,
            second);
  EXPECT_EQ(refusal(client.ask(wire::NameProgram{first, "echo"})),
            "already-exists: the operator of this server named another program \"echo\"; choose "
            "another name");
  EXPECT_TRUE(is_done(client.ask(wire::NameProgram{sha256(bytes_of("echo")), "echo"})));
}

TEST(Server, NamesOfProgramsAreBounded) {
  ServerOptions options = quick_options();
  options.service.program_name_count_max = 7;  // One more than the operator's.
  RunningServer server(options);
  RawClient client = server.connect();
  const Digest echo = sha256(bytes_of("echo"));
  EXPECT_TRUE(is_done(client.ask(wire::NameProgram{echo, "a"})));
  EXPECT_EQ(refusal(client.ask(wire::NameProgram{echo, "b"})).substr(0, 40),
            "quota-exceeded: program_name_count_max: ");
  EXPECT_TRUE(is_done(client.ask(wire::NameProgram{sha256(bytes_of("say")), "a"})));
}

wire::SendFile file_part(std::uint64_t instance, std::uint64_t file_bytes, std::uint64_t offset,
                         std::string bytes) {
  return {instance, {"a.txt", "text/plain", file_bytes, offset, std::move(bytes)}};
}

TEST(Server, FilesGoBothWaysPartByPart) {
  RunningServer server;
  RawClient client = server.connect();
  const std::uint64_t instance = launch(client, "files").instance;
  EXPECT_TRUE(is_done(client.ask(file_part(instance, 5, 0, "abc"))));
  EXPECT_TRUE(is_done(client.ask(file_part(instance, 5, 3, "de"))));
  std::string heard;
  while (heard.size() < 5) {
    const auto event = client.event<wire::FileEvent>();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->instance, instance);
    EXPECT_EQ(event->part.name, "a.txt");
    EXPECT_EQ(event->part.media_type, "text/plain");
    EXPECT_EQ(event->part.file_bytes, 5u);
    EXPECT_EQ(event->part.offset, heard.size());
    heard += event->part.bytes;
  }
  EXPECT_EQ(heard, "abcde");
  EXPECT_EQ(refusal(client.ask(file_part(instance, 5, 3, "de"))).substr(0, 10), "cancelled:");
  EXPECT_TRUE(is_done(client.ask(file_part(instance, 5, 0, "abc"))));
  EXPECT_TRUE(is_done(client.ask(wire::CloseInput{instance})));
  // The second copy has begun and does not become complete.
  std::optional<wire::FileDroppedEvent> dropped = client.event<wire::FileDroppedEvent>();
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->instance, instance);
  EXPECT_EQ(client.event<wire::EndedEvent>()->end.exit_code, 3);
  EXPECT_EQ(refusal(client.ask(file_part(instance, 5, 0, "abc"))).substr(0, 10), "not-found:");
}

TEST(Server, AFileThatNobodyReadsIsNotTakenForEver) {
  ServerOptions options = quick_options();
  options.service.instance.guest.file_inbox_bytes_max = 1000;
  RunningServer server(options);
  RawClient client = server.connect();
  const std::uint64_t instance = launch(client, "stubborn").instance;
  const std::string part(600, 'x');
  EXPECT_TRUE(is_done(client.ask(file_part(instance, 6000, 0, part))));
  // The second part fills the inbox, so its reply waits for room. A third one is to be sent again.
  client.send({1001, file_part(instance, 6000, 600, part)});
  const auto refused = client.ask(file_part(instance, 6000, 1200, part));
  ASSERT_NE(as<wire::Failure>(refused), nullptr);
  EXPECT_EQ(as<wire::Failure>(refused)->code, ErrorCode::QuotaExceeded);
  EXPECT_TRUE(as<wire::Failure>(refused)->retry_after_ms);
  EXPECT_TRUE(is_done(client.ask(wire::Abort{instance})));
  EXPECT_EQ(refusal(client.reply_to(1001)).substr(0, 10), "not-found:");
}

TEST(Server, AProgramThatDoesNotCompileIsToldAtTheUpload) {
  RunningServer server;
  RawClient client = server.connect();
  const std::string name = "no such program";
  const auto reply = client.ask(wire::Upload{sha256(bytes_of(name)), name.size(), 0, name});
  EXPECT_EQ(refusal(reply), "invalid-argument: no fake program is named so");
  EXPECT_EQ(refusal(client.ask(wire::Launch{by_digest(name), {}, {}, false})).substr(0, 10),
            "not-found:");
  // A launch that is pipelined after the upload waits for the compiler, and also fails.
  const std::string other = "no such program either";
  client.send({1001, wire::Upload{sha256(bytes_of(other)), other.size(), 0, other}});
  client.send({1002, wire::Launch{by_digest(other), {}, {}, false}});
  EXPECT_NE(as<wire::Failure>(client.reply_to(1001)), nullptr);
  EXPECT_NE(as<wire::Failure>(client.reply_to(1002)), nullptr);
}

TEST(Server, LaunchesThatWaitForTheCompilerAreBoundedInBytes) {
  ServerOptions options = quick_options();
  options.service.waiting_request_bytes_max = 10'000;
  RunningServer server(options);
  const std::string name = "slow to compile";
  server.served().runtime.add_program(name, [] { return std::make_unique<SayGuest>(0); });
  std::promise<void> may_compile;
  server.served().runtime.before_compiling = [&] { may_compile.get_future().wait(); };
  RawClient client = server.connect();
  client.send({1001, wire::Upload{sha256(bytes_of(name)), name.size(), 0, name}});
  const wire::Launch large{by_digest(name), {std::string(6'000, 'x')}, {}, false};
  client.send({1002, large});
  client.send({1003, large});
  const auto refused = client.reply_to(1003);
  EXPECT_EQ(refusal(refused).substr(0, 39), "unavailable: waiting_request_bytes_max:");
  EXPECT_TRUE(as<wire::Failure>(refused)->retry_after_ms);
  may_compile.set_value();
  EXPECT_NE(as<wire::InstanceReply>(client.reply_to(1002)), nullptr);
  EXPECT_NE(as<wire::InstanceReply>(client.ask(large)), nullptr) << "the room is there again";
}

// A program chooses the names of its functions, and the message of its trap contains them.
TEST(Server, WhateverAProgramEndsWithItsClientCanRead) {
  RunningServer server;
  const std::string ends[] = {std::string(20'000, '\x01'), std::string(20'000, '"'),
                              std::string(20'000, '\n'), "x" + std::string(20'000, '\xc3'), ""};
  std::string letters = "x";  // Cut after 16 KiB, the last one would be half.
  while (letters.size() < 20'000) letters += "\xc3\xa9";
  for (std::string end : ends) {
    if (end.empty()) end = letters;
    const std::string name = "ends with " + std::to_string(end[1]);
    server.served().runtime.add_program(name,
                                        [end] { return std::make_unique<TrappingGuest>(end); });
    RawClient client = server.connect();
    client.ask(wire::Upload{sha256(bytes_of(name)), name.size(), 0, name});
    client.send({1001, wire::Launch{by_digest(name), {}, {}, false}});
    EXPECT_NE(as<wire::InstanceReply>(client.reply_to(1001)), nullptr);
    const auto ended = client.event<wire::EndedEvent>();
    ASSERT_TRUE(ended) << "the connection is gone";
    EXPECT_EQ(ended->end.kind, wire::EndKind::Trapped);
    EXPECT_GT(ended->end.message.size(), 16'000u);
  }
}

TEST(Server, RefusalsNameWhatWasWrong) {
  ServerOptions options;
  options.service.instance.memory_bytes_max = 1000;
  RunningServer server(options);
  RawClient client = server.connect();
  EXPECT_EQ(
      refusal(client.ask(launch_of("nobody"))),
      "not-found: no program is named \"nobody\" here; there are: echo, files, flood, late, say, "
      "stubborn");
  wire::Launch greedy = launch_of("echo");
  greedy.limits.memory_bytes_max = 1001;
  EXPECT_EQ(refusal(client.ask(greedy)),
            "out-of-range: memory_bytes_max: 1001 wanted, this server allows 1000");
  EXPECT_EQ(refusal(client.ask(wire::Abort{77})), "not-found: instance 77 has ended or never was");
  EXPECT_EQ(refusal(client.ask(wire::Attach{std::string(32, 'f')})).substr(0, 10), "not-found:");
  client.send_text(R"({"verb":"dance","id":5})");
  EXPECT_NE(refusal(client.reply_to(5)).find("\"dance\""), std::string::npos);
  EXPECT_NE(as<wire::StatusReply>(client.ask(wire::Status{})), nullptr);
}

TEST(Server, AMessageThatIsTooLargeCostsNobodyTheConnection) {
  RunningServer server;
  RawClient client = server.connect();
  const wire::InstanceReply instance = launch(client, "echo");
  const std::string too_large(wire::kPayloadBytesMax + 1, 'x');
  EXPECT_EQ(refusal(client.ask(wire::Send{instance.instance, too_large})),
            "too-large: payload of 1048577 bytes; at most 1048576 are allowed");
  EXPECT_TRUE(is_done(client.ask(wire::Send{instance.instance, "still here"})));
  EXPECT_EQ(client.event<wire::MessageEvent>()->bytes, "still here");
}

TEST(Server, AFullServerSaysWhenToTryAgain) {
  RunningServer server({}, {.instance_count_max = 2, .waiting_launch_count_max = 0});
  RawClient client = server.connect();
  const wire::InstanceReply first = launch(client, "echo");
  launch(client, "echo");
  const auto reply = client.ask(launch_of("echo"));
  ASSERT_NE(as<wire::Failure>(reply), nullptr);
  EXPECT_EQ(as<wire::Failure>(reply)->code, ErrorCode::Unavailable);
  EXPECT_EQ(as<wire::Failure>(reply)->message,
            "instance_count_max: 2 of 2 instances are there, 0 of 0 launches wait for one to go; "
            "try again in 1000 ms");
  EXPECT_EQ(as<wire::Failure>(reply)->retry_after_ms, 1000u);
  client.ask(wire::Abort{first.instance});
  ASSERT_TRUE(client.event<wire::EndedEvent>());
  launch(client, "echo");
  EXPECT_EQ(server.status().refused_count, 1u);
}

TEST(Server, ALaunchThatFindsNoPlaceIsThereAndStartsWhenAnotherHasGone) {
  RunningServer server({}, {.instance_count_max = 1, .waiting_launch_count_max = 2});
  RawClient client = server.connect();
  const wire::InstanceReply first = launch(client, "stubborn");
  const wire::InstanceReply waits = launch(client, "echo");
  const wire::InstanceReply gives_up = launch(client, "echo");
  EXPECT_EQ(server.status().waiting_count, 2u);
  client.ask(wire::Send{waits.instance, "hello"});
  client.ask(wire::Abort{gives_up.instance});
  ASSERT_TRUE(client.event<wire::EndedEvent>()) << "it ends though it never started";
  client.ask(wire::Abort{first.instance});
  ASSERT_TRUE(client.event<wire::EndedEvent>());
  const auto message = client.event<wire::MessageEvent>();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->bytes, "hello");
  EXPECT_EQ(server.status().waiting_count, 0u);
}

TEST(Server, AListOfMoreInstancesThanAFrameHoldsSaysHowManyAreLeftOut) {
  constexpr std::uint32_t kCount = 13'000;
  RunningServer server({}, {.instance_count_max = 10, .waiting_launch_count_max = kCount});
  RawClient client = server.connect();
  for (std::uint64_t id = 1001; id < 1001 + kCount; id += 100) {
    for (std::uint64_t i = 0; i < 100; ++i) client.send({id + i, launch_of("stubborn")});
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(client.reply_to(id + i));
  }
  const auto listed = client.ask(wire::List{});
  ASSERT_NE(as<wire::InstanceList>(listed), nullptr);
  EXPECT_EQ(as<wire::InstanceList>(listed)->instances.size(), wire::kListedInstanceCountMax);
  EXPECT_EQ(as<wire::InstanceList>(listed)->left_out_count, kCount - wire::kListedInstanceCountMax);
}

TEST(Server, AnInstanceBelongsToOneClientAtATime) {
  RunningServer server;
  RawClient owner = server.connect();
  RawClient other = server.connect();
  const wire::InstanceReply instance = launch(owner, "echo");
  EXPECT_EQ(refusal(other.ask(wire::Detach{instance.instance})).substr(0, 10), "not-found:");
  EXPECT_EQ(refusal(other.ask(wire::Attach{instance.name})),
            "already-exists: another client is attached to the instance; an attach with \"take\" "
            "detaches that client");
  EXPECT_EQ(refusal(owner.ask(wire::Attach{instance.name})),
            "already-exists: this connection is attached to the instance already");
  EXPECT_TRUE(as<wire::InstanceList>(other.ask(wire::List{}))->instances.empty());
  EXPECT_TRUE(is_done(owner.ask(wire::Detach{instance.instance})));
  const auto attached = other.ask(wire::Attach{instance.name});
  ASSERT_NE(as<wire::InstanceReply>(attached), nullptr);
  EXPECT_TRUE(as<wire::InstanceReply>(attached)->detached);
  EXPECT_EQ(refusal(owner.ask(wire::Detach{instance.instance})).substr(0, 10), "not-found:");
  EXPECT_TRUE(is_done(other.ask(wire::Send{instance.instance, "mine"})));
  EXPECT_EQ(other.event<wire::MessageEvent>()->bytes, "mine");
}

TEST(Server, OfManyWhoAttachAtOnceOneGetsTheInstance) {
  RunningServer server;
  RawClient owner = server.connect();
  for (int round = 0; round < 20; ++round) {
    const wire::InstanceReply instance = launch(owner, "echo");
    ASSERT_TRUE(is_done(owner.ask(wire::Detach{instance.instance})));
    std::vector<RawClient> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(server.connect());
    for (RawClient& each : clients) each.send({9, wire::Attach{instance.name}});
    int attached_count = 0;
    for (RawClient& each : clients) {
      const auto reply = each.reply_to(9);
      if (as<wire::InstanceReply>(reply) == nullptr) continue;
      ++attached_count;
      EXPECT_TRUE(is_done(each.ask(wire::Abort{instance.instance})));
      EXPECT_TRUE(each.event<wire::EndedEvent>());
    }
    EXPECT_EQ(attached_count, 1);
  }
}

TEST(Server, WhatIsSaidWhileNobodyIsThereIsDeliveredOnceAndInOrder) {
  RunningServer server;
  RawClient owner = server.connect();
  const wire::InstanceReply instance = launch(owner, "echo");
  for (int i = 0; i < 100; ++i) owner.ask(wire::Send{instance.instance, std::to_string(i)});
  ASSERT_TRUE(is_done(owner.ask(wire::Detach{instance.instance})));
  const std::size_t heard_count = owner.events.size();
  RawClient other = server.connect();
  ASSERT_NE(as<wire::InstanceReply>(other.ask(wire::Attach{instance.name})), nullptr);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto message =
        i < heard_count ? owner.event<wire::MessageEvent>() : other.event<wire::MessageEvent>();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->bytes, std::to_string(i));
  }
}

TEST(Server, TheLastWordsOfADetachedInstanceAreKeptForWhoAttaches) {
  RunningServer server(quick_options());
  RawClient owner = server.connect();
  const wire::InstanceReply instance = launch(owner, "late", {"my last words"}, true);
  ASSERT_TRUE(is_done(owner.ask(wire::Detach{instance.instance})));
  owner.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // It ends after 50.
  RawClient other = server.connect();
  ASSERT_NE(as<wire::InstanceReply>(other.ask(wire::Attach{instance.name})), nullptr);
  EXPECT_EQ(other.event<wire::MessageEvent>()->bytes, "my last words");
  ASSERT_TRUE(other.event<wire::EndedEvent>());
  EXPECT_EQ(refusal(other.ask(wire::Attach{instance.name})).substr(0, 10), "not-found:");
}

TEST(Server, LastWordsThatNobodyFetchesAreForgotten) {
  ServerOptions options;
  options.service.keep = std::chrono::milliseconds(20);
  RunningServer server(options);
  RawClient owner = server.connect();
  const wire::InstanceReply instance = launch(owner, "say", {"hello"}, true);
  owner.reset();
  server.status_when([](const wire::StatusReply& status) { return status.instance_count == 0; });
  RawClient other = server.connect();
  EXPECT_EQ(refusal(other.ask(wire::Attach{instance.name})).substr(0, 10), "not-found:");
}

TEST(Server, AnInstanceWhoseClientIsGoneIsToldThenStopped) {
  RunningServer server(quick_options());
  RawClient client = server.connect();
  launch(client, "echo");      // Ends by itself without a client.
  launch(client, "stubborn");  // Is stopped.
  client.reset();
  server.status_when([](const wire::StatusReply& status) { return status.instance_count == 0; });
}

TEST(Server, AttachingWithinTheGraceSavesTheInstance) {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(500);
  RunningServer server(options);
  RawClient client = server.connect();
  const wire::InstanceReply saved = launch(client, "stubborn");
  launch(client, "stubborn");
  client.reset();
  RawClient other = server.connect();
  std::optional<wire::ReplyBody> reply;
  do {  // Until the server has noticed.
    reply = other.ask(wire::Attach{saved.name});
  } while (refusal(reply).starts_with("already-exists"));
  ASSERT_NE(as<wire::InstanceReply>(reply), nullptr) << refusal(reply);
  server.status_when([](const wire::StatusReply& status) { return status.instance_count == 1; });
  EXPECT_EQ(as<wire::InstanceList>(other.ask(wire::List{}))->instances.size(), 1u);
}

TEST(Server, ADetachedInstanceOutlivesItsClient) {
  RunningServer server(quick_options());
  RawClient client = server.connect();
  const wire::InstanceReply launched = launch(client, "stubborn", {}, true);
  const wire::InstanceReply detached = launch(client, "stubborn");
  ASSERT_TRUE(is_done(client.ask(wire::Detach{detached.instance})));
  launch(client, "stubborn");
  client.reset();
  server.status_when([](const wire::StatusReply& status) { return status.instance_count == 2; });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // Twice the grace.
  RawClient other = server.connect();
  for (const wire::InstanceReply& each : {launched, detached}) {
    ASSERT_NE(as<wire::InstanceReply>(other.ask(wire::Attach{each.name})), nullptr);
    EXPECT_TRUE(is_done(other.ask(wire::Abort{each.instance})));
  }
}

TEST(Server, AnAbortStormEndsEachInstanceOnce) {
  RunningServer server;
  RawClient client = server.connect();
  std::vector<wire::InstanceReply> instances;
  for (int i = 0; i < 64; ++i) instances.push_back(launch(client, "stubborn"));
  std::uint64_t id = 10'000;
  for (int round = 0; round < 10; ++round) {
    for (const wire::InstanceReply& each : instances) {
      client.send({++id, wire::Abort{each.instance}});
    }
  }
  std::size_t done_count = 0;
  for (std::uint64_t each = 10'001; each <= id; ++each) {
    const auto reply = client.reply_to(each);
    ASSERT_TRUE(reply);
    if (is_done(reply)) {
      ++done_count;
    } else {
      EXPECT_EQ(refusal(reply).substr(0, 10), "not-found:");
    }
  }
  EXPECT_EQ(done_count, instances.size());
  for (std::size_t i = 0; i < instances.size(); ++i) {
    EXPECT_EQ(client.event<wire::EndedEvent>()->end.kind, wire::EndKind::Killed);
  }
  EXPECT_EQ(server.status().instance_count, 0u);
}

TEST(Server, HundredsOfLaunchesAtOnceOnOneConnectionAreAllAnswered) {
  RunningServer server;
  RawClient client = server.connect();
  constexpr std::uint64_t kCount = 896;
  for (std::uint64_t id = 1; id <= kCount; ++id) client.send({id, launch_of("stubborn")});
  std::set<std::string> names;
  for (std::uint64_t id = 1; id <= kCount; ++id) {
    const auto reply = client.reply_to(id);
    ASSERT_NE(as<wire::InstanceReply>(reply), nullptr) << refusal(reply);
    names.insert(as<wire::InstanceReply>(reply)->name);
  }
  EXPECT_EQ(names.size(), kCount);
  EXPECT_EQ(server.status().instance_count, kCount);
}

TEST(Server, ShutdownTellsClientsWaitsStopsTheRestAndEnds) {
  ServerOptions options = quick_options();
  RunningServer server(options);
  RawClient quick = server.connect();
  RawClient streaming = server.connect();
  const wire::InstanceReply echo = launch(quick, "echo");
  launch(streaming, "flood");
  server.request_shutdown();
  ASSERT_TRUE(quick.event<wire::ShutdownEvent>());
  EXPECT_TRUE(is_done(quick.ask(wire::Send{echo.instance, "quit"})));
  EXPECT_EQ(quick.event<wire::EndedEvent>()->end.kind, wire::EndKind::Finished);
  EXPECT_EQ(refusal(quick.ask(launch_of("echo"))), "unavailable: the server is shutting down");
  const auto ended = streaming.event<wire::EndedEvent>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->end.kind, wire::EndKind::Killed);
  EXPECT_EQ(ended->end.message, "the server is shutting down");
  server.wait_until_stopped();
  const std::vector<std::string> told = server.told();
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told[0],
            "shutting down: waiting for 2 instances, at most 50 ms; a second signal stops them at "
            "once");
  EXPECT_EQ(told[1], "stopping 1 instance");
}

TEST(Server, ASecondRequestToShutDownStopsAtOnce) {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(600'000);
  RunningServer server(options);
  RawClient client = server.connect();
  launch(client, "stubborn");
  server.request_shutdown();
  ASSERT_TRUE(client.event<wire::ShutdownEvent>());
  server.request_shutdown();
  EXPECT_EQ(client.event<wire::EndedEvent>()->end.kind, wire::EndKind::Killed);
  server.wait_until_stopped();
}

TEST(Server, AnAddressThatOthersCanReachIsRefused) {
  SteadyClock clock;
  ServedEngine served(clock);
  ServerOptions options;
  options.listen = {"0.0.0.0", 0};
  EXPECT_EQ(Server::open(served.parts(clock), options).error().code(), ErrorCode::PermissionDenied);
  RunningServer server;
  options.listen = {"127.0.0.1", server.port()};
  const auto taken = Server::open(served.parts(clock), options);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code(), ErrorCode::Io);
  EXPECT_NE(taken.error().message().find("choose another port"), std::string_view::npos)
      << taken.error().message();
}

}  // namespace
}  // namespace quire::server
