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
  std::string add(const std::string& name, std::uint32_t tenant, Rights rights) {
    SeededRandom random(next_seed_++);
    const std::string key = access::make_key(random);
    auto principal = std::make_shared<const service::Principal>(
        service::Principal{control::TenantId{tenant}, name, rights, access::digest_of_key(key)});
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

}  // namespace
}  // namespace quire::server
