#pragma once
// For tests over real sockets: a client whose names the test resolves, and that waits for events.
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "application/net/curl_http_client.h"
#include "application/net/net_test_support.h"
#include "support/http_server.h"

namespace quire::net {

// Asks the test; counts how often. Any thread.
class TestResolver final : public Resolver {
 public:
  using Answer = std::function<Result<std::vector<IpAddress>>(const std::string&)>;
  explicit TestResolver(Answer answer) : answer_(std::move(answer)) {}

  Result<std::vector<IpAddress>> resolve(const std::string& name) override {
    ++count;
    return answer_(name);
  }
  std::atomic<std::uint64_t> count{0};

 private:
  const Answer answer_;
};

// 127.0.0.2 is as public as any address on the Internet; 127.0.0.1 stays what it is.
inline AddressKind second_loopback_is_public(const IpAddress& asked) {
  static const IpAddress second = address("127.0.0.2");
  return asked == second ? AddressKind{Reach::Public, "public"} : classify(asked);
}

inline std::size_t descriptor_count() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class TestClient {
 public:
  explicit TestClient(TestResolver::Answer names = nullptr, AddressPolicy policy = classify,
                      const std::string& ca_file = "")
      : resolver(std::make_shared<TestResolver>(
            names ? std::move(names) : [](const std::string& name) {
              return Result<std::vector<IpAddress>>(Error(ErrorCode::NotFound, "no name " + name));
            })),
        client({clock, wakeup, resolver, policy, ca_file}) {}

  // The next event; fails the test when none comes in time.
  HttpEvent next() {
    wait_until([this] { return !events.empty(); });
    if (events.empty()) return {};
    HttpEvent event = std::move(events.front());
    events.pop_front();
    return event;
  }
  template <typename Condition>
  void wait_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      for (HttpEvent& each : client.take_events()) events.push_back(std::move(each));
      if (condition()) return;
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing happened";
      wakeup.wait_for(std::chrono::milliseconds(10));
    }
  }
  // The outcome of a request, whose exchange is then closed.
  HttpEvent fetch(HttpRequest request) {
    const ExchangeId id = client.start(std::move(request)).value();
    HttpEvent event = next();
    EXPECT_EQ(event.kind, HttpEventKind::Whole);
    client.close(id);
    expect_nothing_left();
    return event;
  }
  void expect_nothing_left() {
    wait_until([this] { return client.live_count() == 0; });
    EXPECT_TRUE(events.empty());
  }

  SteadyClock clock;
  Wakeup wakeup;
  std::shared_ptr<TestResolver> resolver;
  std::deque<HttpEvent> events;
  CurlHttpClient client;
};

}  // namespace quire::net
