// A server with keys, over real sockets: who gets in, what programs see of it, and keys that go.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "application/server/server_test_support.h"
#include "base/random.h"

namespace quire::server {
namespace {

using service::Right;
using service::Rights;

// Keys of a test, by name.
class Keys {
 public:
  std::string add(const std::string& name, std::uint32_t tenant, Rights rights,
                  std::optional<std::uint64_t> end_unix_s = {}) {
    SeededRandom random(next_seed_++);
    const std::string key = access::make_key(random);
    auto principal = std::make_shared<const service::Principal>(service::Principal{
        control::TenantId{tenant}, name, rights, access::digest_of_key(key), end_unix_s});
    ring = ring.with({std::move(principal), "2026-11-25T19:10:00Z"}).take();
    return key;
  }
  void revoke(const std::string& name) { ring = ring.without(name).take(); }

  access::KeyRing ring;

 private:
  std::uint64_t next_seed_ = 1;
};

const Rights kClient{Right::Launch, Right::Upload, Right::NamePrograms, Right::SeeTenant};

ServerOptions options_with(const Keys& keys) {
  ServerOptions options;
  options.service.grace = std::chrono::milliseconds(50);
  options.keys = keys.ring;
  return options;
}

RawClient connect_with(const RunningServer& server, const std::string& key) {
  RawClient client(server.port());
  EXPECT_TRUE(client.open(RawClient::handshake("Authorization: Bearer " + key + "\r\n")));
  return client;
}

TEST(ServerWithKeys, AWebSocketNeedsAKeyAndABrowserGivesItAsASubprotocol) {
  Keys keys;
  const std::string key = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  EXPECT_FALSE(RawClient(server.port()).open());
  EXPECT_FALSE(RawClient(server.port())
                   .open(RawClient::handshake("Authorization: Bearer " + key + "x\r\n")));
  RawClient browser(server.port());
  EXPECT_TRUE(browser.open(RawClient::handshake("", "localhost", "quire.1, quire.key." + key)));
  const wire::InstanceReply instance = launch(browser, "echo");
  EXPECT_TRUE(is_done(browser.ask(wire::Send{instance.instance, "hi"})));
  EXPECT_EQ(browser.event<wire::MessageEvent>()->bytes, "hi");
}

TEST(ServerWithKeys, AConnectionWhoseKeyIsRevokedIsClosedAndOthersStay) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string bobs = keys.add("bob", 3, kClient);
  RunningServer server(options_with(keys));
  RawClient alice = connect_with(server, alices);
  RawClient bob = connect_with(server, bobs);
  launch(alice, "echo");
  keys.revoke("alice");
  server.server().replace_keys(keys.ring);
  EXPECT_FALSE(alice.next());
  EXPECT_EQ(alice.close_code(), 1008);
  EXPECT_FALSE(RawClient(server.port())
                   .open(RawClient::handshake("Authorization: Bearer " + alices + "\r\n")));
  launch(bob, "say", {"still here"});
  EXPECT_EQ(bob.event<wire::MessageEvent>()->bytes, "still here");
}

TEST(ServerWithKeys, ALaunchIsOfTheTenantOfTheKey) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string admins = keys.add("admin", 1, {Right::Operate});
  RunningServer server(options_with(keys), kPlaces, [](ServedEngine& served) {
    served.engine.manager.name_tenant(control::TenantId{3}, 1, {.instance_count_max = 2});
  });
  RawClient alice = connect_with(server, alices);
  wire::Launch request = launch_of("echo");
  request.tenant = 1;
  EXPECT_EQ(refusal(alice.ask(request)),
            "permission-denied: the key alice launches programs of tenant 3, not of another one: "
            "leave the tenant out");
  request.tenant = 3;
  ASSERT_NE(as<wire::InstanceReply>(alice.ask(request)), nullptr);
  launch(alice, "echo");
  EXPECT_EQ(refusal(alice.ask(launch_of("echo"))).substr(0, 45),
            "unavailable: tenant 3: instance_count_max: 2 ");
  RawClient admin = connect_with(server, admins);
  EXPECT_EQ(refusal(admin.ask(request)).substr(0, 22), "unavailable: tenant 3:");
  launch(admin, "echo");  // Of tenant 1, that of its key.
}

TEST(ServerWithKeys, ATenantFindsNothingOfAnotherOnes) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string bobs = keys.add("bob", 4, kClient);
  const std::string admins = keys.add("admin", 0, {Right::Operate});
  const std::string wasm = "alices";
  RunningServer server(options_with(keys), kPlaces, [&](ServedEngine& served) {
    served.runtime.add_program(wasm, [] { return std::make_unique<EchoGuest>(); });
  });
  RawClient alice = connect_with(server, alices);
  RawClient bob = connect_with(server, bobs);
  RawClient admin = connect_with(server, admins);
  const Digest digest = sha256(bytes_of(wasm));
  ASSERT_NE(as<wire::ProgramReply>(alice.ask(wire::Upload{digest, wasm.size(), 0, wasm})), nullptr);
  ASSERT_TRUE(is_done(alice.ask(wire::NameProgram{digest, "mine"})));

  const auto state = [&](RawClient& client, const wire::ProgramName& name) {
    const auto reply = client.ask(wire::FindProgram{name});
    return as<wire::ProgramReply>(reply)->state;
  };
  const wire::ProgramName by_hash{digest, {}};
  EXPECT_EQ(state(alice, by_hash), wire::ProgramState::Ready);
  EXPECT_EQ(state(alice, by_name("mine")), wire::ProgramState::Ready);
  EXPECT_EQ(state(admin, by_hash), wire::ProgramState::Ready);
  EXPECT_EQ(state(bob, by_hash), wire::ProgramState::Unknown);
  EXPECT_EQ(state(bob, by_name("mine")), wire::ProgramState::Unknown);
  EXPECT_EQ(state(bob, by_name("echo")), wire::ProgramState::Ready);
  const std::string hidden = refusal(bob.ask(wire::Launch{by_hash, {}, {}, false}));
  EXPECT_EQ(hidden, "not-found: the program sha256:" + hex(digest) + " is not here: upload it");
  EXPECT_EQ(refusal(bob.ask(wire::NameProgram{digest, "his"})), hidden);
  EXPECT_EQ(
      refusal(bob.ask(launch_of("mine"))),
      "not-found: no program is named \"mine\" here; there are: echo, files, flood, late, say, "
      "stubborn");
  EXPECT_NE(refusal(alice.ask(launch_of("none"))).find("late, mine, say"), std::string::npos);

  // The name is free for another tenant, and an instance is its own tenant's.
  ASSERT_TRUE(is_done(bob.ask(wire::NameProgram{sha256(bytes_of("say")), "mine"})));
  launch(bob, "mine", {"bobs"});
  EXPECT_EQ(bob.event<wire::MessageEvent>()->bytes, "bobs");
  const wire::InstanceReply instance = launch(alice, "mine");
  ASSERT_TRUE(is_done(alice.ask(wire::Detach{instance.instance})));
  EXPECT_EQ(refusal(bob.ask(wire::Attach{instance.name})).substr(0, 10), "not-found:");
  EXPECT_NE(as<wire::InstanceReply>(alice.ask(wire::Attach{instance.name})), nullptr);

  // Once bob has the bytes, he sees the program.
  ASSERT_NE(as<wire::ProgramReply>(bob.ask(wire::Upload{digest, wasm.size(), 0, wasm})), nullptr);
  EXPECT_EQ(state(bob, by_hash), wire::ProgramState::Ready);
}

// The tests of instances that other clients launched, with keys of two tenants.
class ServedInstances : public testing::Test {
 protected:
  Keys keys_;
  const std::string alices_ = keys_.add("alice", 3, kClient);
  const std::string blinds_ = keys_.add("blind", 3, {Right::Launch});  // Without see-tenant.
  const std::string bobs_ = keys_.add("bob", 4, kClient);
  const std::string admins_ = keys_.add("admin", 1, {Right::Operate});
  RunningServer server_{options_with(keys_)};
};

TEST_F(ServedInstances, AreReachedByTheTenantsClientsWithSeeTenantAndByOperators) {
  RawClient alice = connect_with(server_, alices_);
  const wire::InstanceReply instance = launch(alice, "echo");
  const std::uint64_t number = instance.instance;
  for (const std::string& key : {alices_, admins_}) {
    RawClient client = connect_with(server_, key);
    EXPECT_TRUE(is_done(client.ask(wire::Send{number, "from another"})));
    EXPECT_EQ(alice.event<wire::MessageEvent>()->bytes, "from another");
    EXPECT_EQ(refusal(client.ask(wire::Detach{number})).substr(0, 10), "not-found:");
  }
  // A number that is another tenant's is refused in the words for one that never was.
  RawClient bob = connect_with(server_, bobs_);
  RawClient blind = connect_with(server_, blinds_);
  const std::string none = "not-found: instance " + std::to_string(number);
  const wire::RequestBody requests[] = {wire::Send{number, "x"},
                                        wire::CloseInput{number},
                                        wire::SendFile{number, {"a.txt", "text/plain", 1, 0, "a"}},
                                        wire::Abort{number},
                                        wire::Attach{{}, number, false},
                                        wire::Attach{{}, number, true}};
  for (const wire::RequestBody& each : requests) {
    EXPECT_EQ(refusal(bob.ask(each)), none + " has ended or never was");
    EXPECT_EQ(refusal(blind.ask(each)),
              none +
                  " is not attached to this connection, or has ended; to reach other instances "
                  "of its tenant, a key needs the right see-tenant");
  }
  EXPECT_EQ(refusal(bob.ask(wire::Abort{number + 1})),
            "not-found: instance " + std::to_string(number + 1) + " has ended or never was");
  RawClient admin = connect_with(server_, admins_);
  EXPECT_TRUE(is_done(admin.ask(wire::Abort{number})));
  EXPECT_EQ(alice.event<wire::EndedEvent>()->end.message, "aborted by an operator of the server");
  const wire::InstanceReply next = launch(alice, "echo");
  EXPECT_TRUE(is_done(connect_with(server_, alices_).ask(wire::Abort{next.instance})));
  EXPECT_EQ(alice.event<wire::EndedEvent>()->end.message, "aborted by a client of its tenant");
}

TEST_F(ServedInstances, AreTakenOnlyByAWordAndTheFormerClientLearnsWhy) {
  RawClient first = connect_with(server_, alices_);
  RawClient second = connect_with(server_, alices_);
  RawClient admin = connect_with(server_, admins_);
  const wire::InstanceReply instance = launch(first, "echo");
  const std::uint64_t number = instance.instance;
  EXPECT_EQ(refusal(second.ask(wire::Attach{{}, number, false})),
            "already-exists: another client is attached to the instance; an attach with \"take\" "
            "detaches that client");
  ASSERT_NE(as<wire::InstanceReply>(second.ask(wire::Attach{{}, number, true})), nullptr);
  const auto detached = first.event<wire::DetachedEvent>();
  ASSERT_TRUE(detached);
  EXPECT_EQ(*detached,
            (wire::DetachedEvent{number, "another client of its tenant has attached to it"}));
  EXPECT_TRUE(is_done(first.ask(wire::Send{number, "still heard"})));
  EXPECT_EQ(second.event<wire::MessageEvent>()->bytes, "still heard");
  ASSERT_NE(as<wire::InstanceReply>(admin.ask(wire::Attach{{}, number, true})), nullptr);
  EXPECT_EQ(second.event<wire::DetachedEvent>()->message,
            "an operator of the server has attached to it");
  EXPECT_TRUE(is_done(admin.ask(wire::Abort{number})));
  EXPECT_TRUE(admin.event<wire::EndedEvent>());
}

TEST_F(ServedInstances, KeepAllOutputForTheNextClientIfNoneIsAttachedAtTheLaunch) {
  RawClient alice = connect_with(server_, alices_);
  wire::Launch request = launch_of("say");
  request.arguments = {"before anyone came"};
  request.attached = false;
  const auto reply = alice.ask(request);
  const auto* instance = as<wire::InstanceReply>(reply);
  ASSERT_NE(instance, nullptr);
  EXPECT_TRUE(instance->detached);
  EXPECT_TRUE(as<wire::InstanceList>(alice.ask(wire::List{}))->instances.empty());
  RawClient next = connect_with(server_, alices_);
  ASSERT_NE(as<wire::InstanceReply>(next.ask(wire::Attach{{}, instance->instance, false})),
            nullptr);
  EXPECT_EQ(next.event<wire::MessageEvent>()->bytes, "before anyone came");
  EXPECT_TRUE(alice.events.empty());
}

TEST_F(ServedInstances, AreListedWithTheirClientsAndTheNamesOfTheirPrograms) {
  RawClient alice = connect_with(server_, alices_);
  const std::uint64_t attached = launch(alice, "echo").instance;
  const std::uint64_t detached = launch(alice, "echo").instance;
  ASSERT_TRUE(is_done(alice.ask(wire::Detach{detached})));
  RawClient bob = connect_with(server_, bobs_);
  launch(bob, "echo");
  const auto seen_by = [&](RawClient client) {
    const auto reply = client.ask(wire::Status{true});
    std::map<std::uint64_t, std::string> seen;
    for (const auto& each : as<wire::StatusReply>(reply)->detail->instances) {
      seen[each.instance] = each.client + " " + each.program_name;
    }
    return seen;
  };
  const auto of_alice = seen_by(connect_with(server_, alices_));
  EXPECT_EQ(of_alice, (std::map<std::uint64_t, std::string>{{attached, "attached echo"},
                                                            {detached, "detached echo"}}));
  EXPECT_EQ(seen_by(connect_with(server_, admins_)).size(), 3u);
}

TEST(ServerWithKeys, NamesOfTheOperatorStayAndThoseOfItsClientsAreForAll) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string admins = keys.add("admin", 0, {Right::Operate});
  RunningServer server(options_with(keys));
  RawClient alice = connect_with(server, alices);
  RawClient admin = connect_with(server, admins);
  EXPECT_EQ(refusal(alice.ask(wire::NameProgram{sha256(bytes_of("say")), "echo"})).substr(0, 15),
            "already-exists:");
  ASSERT_TRUE(is_done(admin.ask(wire::NameProgram{sha256(bytes_of("say")), "shared"})));
  launch(alice, "shared", {"for all"});
  EXPECT_EQ(alice.event<wire::MessageEvent>()->bytes, "for all");
}

TEST(ServerWithKeys, AStatusIsCutToTheTenantOfTheKey) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string bobs = keys.add("bob", 4, kClient);
  const std::string blinds = keys.add("blind", 4, {Right::Launch});
  const std::string admins = keys.add("admin", 0, {Right::Operate});
  RunningServer server(options_with(keys));
  RawClient alice = connect_with(server, alices);
  RawClient bob = connect_with(server, bobs);
  launch(alice, "echo");
  launch(alice, "echo");
  launch(bob, "echo");
  const auto status_for = [&](RawClient& client) {
    const auto reply = client.ask(wire::Status{true});
    EXPECT_NE(as<wire::StatusReply>(reply), nullptr) << refusal(reply);
    return *as<wire::StatusReply>(reply);
  };
  const wire::StatusReply alices_status = status_for(alice);
  EXPECT_EQ(alices_status.instance_count, 2u);
  EXPECT_EQ(alices_status.launched_count, 2u);
  EXPECT_EQ(alices_status.connection_count, 0u);
  EXPECT_EQ(alices_status.page_count, 0u);
  ASSERT_EQ(alices_status.detail->tenants.size(), 1u);
  EXPECT_EQ(alices_status.detail->tenants[0].tenant, 3u);
  EXPECT_EQ(alices_status.detail->instances.size(), 2u);
  EXPECT_EQ(alices_status.detail->left_out_count, 0u);
  EXPECT_FALSE(alices_status.detail->figures.contains("batch_count"));
  EXPECT_EQ(status_for(bob).detail->instances.size(), 1u);
  RawClient admin = connect_with(server, admins);
  const wire::StatusReply all = status_for(admin);
  EXPECT_EQ(all.detail->instances.size(), 3u);
  EXPECT_GE(all.detail->tenants.size(), 2u);
  RawClient blind = connect_with(server, blinds);
  EXPECT_EQ(refusal(blind.ask(wire::Status{})),
            "permission-denied: the key blind has not the right \"see-tenant\" (it has: launch)");
}

TEST(ServerWithKeys, AKeyMayDoWhatItsRightsSayAndNoMore) {
  Keys keys;
  const std::string wasm = "new";
  const std::string launches = keys.add("launches", 3, {Right::Launch});
  const std::string uploads = keys.add("uploads", 3, {Right::Upload});
  RunningServer server(options_with(keys), kPlaces, [&](ServedEngine& served) {
    served.runtime.add_program(wasm, [] { return std::make_unique<EchoGuest>(); });
  });
  RawClient launcher = connect_with(server, launches);
  RawClient uploader = connect_with(server, uploads);
  const Digest digest = sha256(bytes_of(wasm));
  const wire::Upload upload{digest, wasm.size(), 0, wasm};
  EXPECT_EQ(refusal(launcher.ask(upload)).substr(0, 18), "permission-denied:");
  EXPECT_EQ(refusal(launcher.ask(wire::NameProgram{digest, "x"})).substr(0, 18),
            "permission-denied:");
  EXPECT_NE(as<wire::ProgramReply>(uploader.ask(upload)), nullptr);
  EXPECT_EQ(refusal(uploader.ask(launch_of("echo"))).substr(0, 18), "permission-denied:");
  launch(launcher, "echo");
}

// A field of an event as a text; "" if it has none of that name.
std::string field_of(const LogEvent& event, std::string_view name) {
  for (const auto& [each, value] : event.fields) {
    if (each != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  }
  return "";
}

std::vector<LogEvent> events_named(RunningServer& server, std::string_view name) {
  std::vector<LogEvent> events = server.events();
  std::erase_if(events, [&](const LogEvent& each) { return each.name != name; });
  return events;
}

TEST(ServerWithKeys, ARefusedKeyLeavesOneLineWithTheAddressAndNoPartOfTheKey) {
  Keys keys;
  const std::string known = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  SeededRandom random(9);
  const std::string unknown = access::make_key(random);
  const auto ask_with = [&](const std::string& lines) {
    return RawClient(server.port()).http("GET / HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n");
  };
  EXPECT_TRUE(ask_with("").starts_with("HTTP/1.1 401 ")) << "it shows no key: no line";
  EXPECT_TRUE(ask_with("Authorization: Bearer " + known + "\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(events_named(server, "key_refused").empty());
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(ask_with("Authorization: Bearer " + unknown + "\r\n").starts_with("HTTP/1.1 401 "));
  }
  const std::vector<LogEvent> events = events_named(server, "key_refused");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(field_of(events[0], "address"), "127.0.0.1");
  EXPECT_EQ(field_of(events[0], "reason"), "unknown");
  EXPECT_EQ(events[0].text, "a key from 127.0.0.1 was refused: the server does not know it");
}

TEST(ServerWithKeys, AKeyThatIsUnclearIsRefusedWithThatReason) {
  Keys keys;
  const std::string known = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  RawClient(server.port())
      .http("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + known +
            "\r\nx-api-key: another\r\n\r\n");
  const std::vector<LogEvent> events = events_named(server, "key_refused");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(field_of(events[0], "reason"), "unclear");
}

TEST(ServerWithKeys, AnInstanceThatFailedIsReportedWithTheKeyThatLaunchedIt) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  RawClient alice = connect_with(server, alices);
  const wire::InstanceReply instance = launch(alice, "echo");
  ASSERT_TRUE(is_done(alice.ask(wire::Send{instance.instance, "crash"})));
  ASSERT_TRUE(alice.event<wire::EndedEvent>());
  const std::vector<LogEvent> events = events_named(server, "instance_failed");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(field_of(events[0], "key"), "alice");
  EXPECT_EQ(field_of(events[0], "tenant"), "3");
}

TEST(ServerWithKeys, AKeyThatExpiresBeginsNothingMoreOnAnOpenWebSocket) {
  Keys keys;
  const std::string key = keys.add("alice", 3, kClient, 1'000);
  RunningServer server(options_with(keys));
  RawClient talking = connect_with(server, key);
  launch(talking, "echo");
  server.served().wall_clock.set_unix_s(1'000);
  EXPECT_FALSE(talking.ask(launch_of("echo"))) << "the connection is closed instead";
  EXPECT_FALSE(
      RawClient(server.port()).open(RawClient::handshake("Authorization: Bearer " + key + "\r\n")));
  const std::vector<LogEvent> events = events_named(server, "key_refused");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(field_of(events[0], "reason"), "expired");
  EXPECT_EQ(field_of(events[0], "key"), "alice");
}

TEST(ServerWithKeys, ASilentWebSocketIsClosedOnceItsKeyHasExpiredAndOthersStay) {
  Keys keys;
  const std::string ending = keys.add("alice", 3, kClient, 1'000);
  const std::string staying = keys.add("bob", 3, kClient, 2'000);
  RunningServer server(options_with(keys));
  RawClient silent = connect_with(server, ending);
  RawClient other = connect_with(server, staying);
  launch(silent, "stubborn");
  server.served().wall_clock.set_unix_s(1'000);
  EXPECT_FALSE(silent.event<wire::EndedEvent>()) << "nothing but the close comes";
  EXPECT_EQ(events_named(server, "key_refused").size(), 1u);
  EXPECT_NE(as<wire::InstanceReply>(other.ask(launch_of("echo"))), nullptr);
}

TEST(ServerWithKeys, NoLineForTheOperatorHasAKey) {
  Keys keys;
  const std::string key = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  RawClient client = connect_with(server, key);
  launch(client, "say", {"hello"});
  ASSERT_TRUE(client.event<wire::EndedEvent>());
  RawClient(server.port()).http("GET /" + key + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (const std::string& each : server.told()) {
    EXPECT_EQ(each.find(key.substr(3)), std::string::npos) << each;
  }
}

// A request on a connection that stays open, if the server keeps it.
std::string ask(RawClient& client, const std::string& path, const std::string& key = "") {
  client.write("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
               (key.empty() ? "" : "Authorization: Bearer " + key + "\r\n") + "\r\n");
  if (!client.read_until("HTTP/1.1 ")) return "closed";
  return client.take(3);
}

TEST(ServerWithKeys, StrangersKeepNobodyOutAndTheOnesOfAnAddressCloseOneAnother) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string admins = keys.add("admin", 0, {Right::Operate});
  ServerOptions options = options_with(keys);
  options.sockets.connection_count_max = 16;
  RunningServer server(options);
  std::vector<RawClient> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.emplace_back(server.port());
    if (i % 2 == 0) {
      EXPECT_EQ(ask(strangers.back(), "/health"), "200");
    }
  }
  RawClient alice(server.port());
  EXPECT_EQ(ask(alice, "/nothing", alices), "404");
  for (int i = 0; i < 8; ++i) strangers.emplace_back(server.port());
  RawClient admin(server.port());
  EXPECT_EQ(ask(admin, "/metrics", admins), "200");
  EXPECT_EQ(ask(alice, "/nothing", alices), "404") << "a connection with a known key stays";
  EXPECT_TRUE(
      admin.read_until("quire_connections 5\n"));  // Three of strangers: the operator came as one.
  EXPECT_TRUE(admin.read_until("quire_connections_shed_total{reason=\"address\"} "));
}

TEST(ServerWithKeys, AConnectionIsNotKeptAfter401) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  RunningServer server(options_with(keys));
  const std::string request = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n";
  const std::string answers =
      RawClient(server.port())
          .http(request + "\r\n" + request + "Authorization: Bearer " + alices + "\r\n\r\n");
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 401 ")) << answers;
  EXPECT_EQ(answers.find("HTTP/1.1", 1), std::string::npos) << answers;
  EXPECT_NE(answers.find("Connection: close\r\n"), std::string::npos) << answers;
}

TEST(ServerWithKeys, OnlyAnOperatorGetsInAboveTheLimit) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string admins = keys.add("admin", 0, {Right::Operate});
  ServerOptions options = options_with(keys);
  options.sockets.connection_count_max = 2;
  options.sockets.reserve_time_max = std::chrono::milliseconds(300);
  RunningServer server(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 2; ++i) clients.push_back(connect_with(server, alices));
  RawClient alice(server.port());
  EXPECT_EQ(ask(alice, "/nothing", alices), "503");
  RawClient admin(server.port());
  EXPECT_EQ(ask(admin, "/metrics", admins), "200");
  EXPECT_TRUE(admin.read_until("quire_connections_shed_total{reason=\"reserve\"} 1\n"));
  EXPECT_EQ(ask(admin, "/health/ready", admins), "200") << "it stays";
  EXPECT_EQ(RawClient(server.port()).http("GET /metrics HTTP/1.1\r\n"), "") << "its time is over";
  RawClient operating = connect_with(server, admins);
  const auto reply = operating.ask(wire::Status{});
  ASSERT_NE(as<wire::StatusReply>(reply), nullptr);
  EXPECT_GE(as<wire::StatusReply>(reply)->connection_count, 4u);
}

// If the numbers counted up, each launch would reveal how many came since the tenant's last one.
TEST(ServerWithKeys, NumbersOfInstancesTellNothingOfLaunchesOfOtherTenants) {
  Keys keys;
  const std::string alices = keys.add("alice", 3, kClient);
  const std::string bobs = keys.add("bob", 4, kClient);
  RunningServer server(options_with(keys));
  RawClient alice = connect_with(server, alices);
  RawClient bob = connect_with(server, bobs);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 8; ++i) {
    numbers.push_back(launch(alice, "echo").instance);
    if (i % 2 == 0) launch(bob, "echo");
  }
  const auto ordered = std::is_sorted(numbers.begin(), numbers.end());
  EXPECT_FALSE(ordered);
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const std::uint64_t gap =
        std::max(numbers[i], numbers[i - 1]) - std::min(numbers[i], numbers[i - 1]);
    EXPECT_GT(gap, 1'000'000u);
    EXPECT_LE(numbers[i], kInstanceNumberMax);
  }
  for (const std::uint64_t each : numbers) {
    ASSERT_TRUE(is_done(alice.ask(wire::Send{each, "hi"})));
    const auto said = alice.event<wire::MessageEvent>();
    ASSERT_TRUE(said);
    EXPECT_EQ(said->instance, each);
  }
  EXPECT_EQ(refusal(bob.ask(wire::Send{numbers.front(), "hi"})).substr(0, 10), "not-found:");
}

}  // namespace
}  // namespace quire::server
