#pragma once
// The servers outside: what each does with a request, as scripts of the FakeHttpClient. Those that
// fail lose the request, the answer, or half of it.
#include <string>
#include <vector>

#include "application/net/fake_http_client.h"
#include "base/result.h"
#include "simulation/town.h"

namespace quire::simulation {

struct FakeServer {
  const char* url;
  net::FakeResponse response;
  ErrorCode error{};  // With which it may fail; 0: with none.
};

const std::vector<FakeServer>& fake_servers();
std::string body_of(const FakeServer& server);
void add_servers(net::FakeHttpClient& http);
// Bodies of requests reached servers whole, once, from those who sent them to their end; and those
// that were answered did.
void check_posts(const Town& town, const net::FakeHttpClient& http, Findings& findings);

}  // namespace quire::simulation
