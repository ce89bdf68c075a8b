#pragma once
// For tests: guests that talk, and a server around them with an engine on a thread of its own.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "application/lifecycle/lifecycle_test_support.h"
#include "application/sandbox/fake_runtime.h"
#include "application/server/raw_client.h"
#include "application/server/server.h"
#include "application/server/wall_clock_test_support.h"

namespace quire::server {

using sandbox::FakeAction;
using sandbox::FakeGuest;
using sandbox::FakeHost;

inline constexpr std::uint32_t kGuestBuffer = 1024;

// Calls on behalf of a guest, and the futures that it waits for.
class TalkingGuest : public FakeGuest {
 protected:
  static std::int64_t send(FakeHost& host, std::string_view text) {
    return host
        .call("session", "send",
              {host.put(kGuestBuffer, text), static_cast<std::int64_t>(text.size())})
        .value;
  }
  // Waits for the future; the guest goes on when it is ready.
  static FakeAction wait_for(FakeHost& host, std::int64_t future, std::int64_t timeout_ns = -1) {
    host.put(0, std::string_view(reinterpret_cast<const char*>(&future), 4));
    const FakeHost::Outcome outcome = host.call("future", "wait", {0, 1, timeout_ns});
    if (outcome.outcome == sandbox::CallOutcome::Suspend) return {FakeAction::Kind::Wait, 0, ""};
    return {FakeAction::Kind::Yield, 0, ""};
  }
  static FakeAction sleep(FakeHost& host, std::int64_t ns) {
    return wait_for(host, host.call("runtime", "sleep", {ns}).value);
  }
  // The bytes, or none where the future has an error.
  static std::optional<std::string> take(FakeHost& host, std::int64_t future) {
    const std::int64_t bytes = host.call("future", "take", {future, kGuestBuffer, 32768}).value;
    if (bytes < 0) return std::nullopt;
    return host.get(kGuestBuffer, static_cast<std::uint32_t>(bytes));
  }
};

// Says back what it hears. "quit" ends it, "crash" traps it; without a client it ends with 3.
class EchoGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override {
    if (future_ != 0) {
      const std::optional<std::string> heard = take(host, future_);
      if (!heard) return {FakeAction::Kind::Finish, 3, ""};
      if (*heard == "quit") return {};
      if (*heard == "crash") return {FakeAction::Kind::Trap, 0, "crashed"};
      send(host, *heard);
    }
    future_ = host.call("session", "receive", {}).value;
    return wait_for(host, future_);
  }

 private:
  std::int64_t future_ = 0;
};

// Says as much as it may, forever, in messages that begin with their number. `refused` counts the
// messages that were too much.
class FloodGuest final : public TalkingGuest {
 public:
  FloodGuest(std::atomic<std::uint64_t>& sent, std::atomic<std::uint64_t>& refused,
             std::size_t message_bytes = 1000)
      : sent_(sent), refused_(refused), message_bytes_(message_bytes) {}
  FakeAction step(FakeHost& host) override {
    for (int i = 0; i < 64; ++i) {
      std::string text = std::to_string(said_count_);
      text.resize(message_bytes_, ' ');
      if (send(host, text) < 0) {
        refused_ += 1;
        return sleep(host, 100'000);
      }
      said_count_ += 1;
      sent_ += 1;
    }
    return sleep(host, 10'000);
  }

 private:
  std::uint64_t said_count_ = 0;
  std::atomic<std::uint64_t>& sent_;
  std::atomic<std::uint64_t>& refused_;
  const std::size_t message_bytes_;
};

// Sends each file that it gets back, part by part; without a client it ends with 3.
class FilesGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override {
    switch (stage_) {
      case Stage::Begin:
        break;
      case Stage::Received: {
        const std::optional<std::string> record = take(host, future_);
        if (!record) return {FakeAction::Kind::Finish, 3, ""};
        begin(host, *record);
        break;
      }
      case Stage::Read: {
        const std::optional<std::string> part = take(host, future_);
        if (part && !part->empty()) {
          future_ = host.call("session", "write-file",
                              {copy_, host.put(kGuestBuffer, *part),
                               static_cast<std::int64_t>(part->size())})
                        .value;
          stage_ = Stage::Written;
          return wait_for(host, future_);
        }
        host.call("future", "drop", {file_});
        host.call("future", "drop", {copy_});
        file_ = 0;
        break;
      }
      case Stage::Written:
        take(host, future_);
        break;
    }
    stage_ = file_ == 0 ? Stage::Received : Stage::Read;
    future_ = file_ == 0 ? host.call("session", "receive-file", {}).value
                         : host.call("session", "read-file", {file_}).value;
    return wait_for(host, future_);
  }

 private:
  enum class Stage : std::uint8_t { Begin, Received, Read, Written };

  // interface/session.wit: receive-file.
  void begin(FakeHost& host, const std::string& record) {
    std::uint32_t head[4] = {};
    std::uint64_t bytes = 0;
    std::memcpy(head, record.data(), sizeof head);
    std::memcpy(&bytes, record.data() + sizeof head, sizeof bytes);
    file_ = head[0];
    const std::int64_t names = host.put(kGuestBuffer, record.substr(24));
    copy_ = host.call("session", "send-file",
                      {names, head[1], names + head[1], head[2], static_cast<std::int64_t>(bytes)})
                .value;
  }

  Stage stage_ = Stage::Begin;
  std::int64_t future_ = 0;
  std::int64_t file_ = 0;
  std::int64_t copy_ = 0;
};

// Waits for nothing that a client could do.
class StubbornGuest final : public TalkingGuest {
 public:
  FakeAction step(FakeHost& host) override { return sleep(host, 1'000'000'000'000); }
};

// Says its first argument, at once or after a while, and ends.
class SayGuest final : public TalkingGuest {
 public:
  explicit SayGuest(std::int64_t after_ns) : after_ns_(after_ns) {}
  FakeAction step(FakeHost& host) override {
    if (const std::int64_t ns = std::exchange(after_ns_, 0); ns > 0) return sleep(host, ns);
    const std::int64_t bytes = host.call("runtime", "get-arg", {0, kGuestBuffer, 32768}).value;
    if (bytes >= 0) send(host, host.get(kGuestBuffer, static_cast<std::uint32_t>(bytes)));
    return {};
  }

 private:
  std::int64_t after_ns_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline wire::ProgramName by_digest(std::string_view wasm) {
  return {sha256(bytes_of(wasm)), {}};
}
inline wire::ProgramName by_name(std::string name) {
  return {std::nullopt, std::move(name)};
}
inline wire::Launch launch_of(std::string program, std::vector<std::string> arguments = {}) {
  return {by_name(std::move(program)), std::move(arguments), {}, false};
}

inline constexpr lifecycle::AdmissionLimits kPlaces = {.instance_count_max = 1024,
                                                       .waiting_launch_count_max = 0};

// Around a runtime with the guests above, all of them with a name.
class ServedEngine {
 public:
  explicit ServedEngine(const Clock& clock, const lifecycle::AdmissionLimits& limits = kPlaces)
      : runtime(hostcalls::host_functions()), engine(runtime, clock, limits) {
    runtime.add_program("echo", [] { return std::make_unique<EchoGuest>(); });
    runtime.add_program("say", [] { return std::make_unique<SayGuest>(0); });
    runtime.add_program("late", [] { return std::make_unique<SayGuest>(50'000'000); });
    runtime.add_program("stubborn", [] { return std::make_unique<StubbornGuest>(); });
    runtime.add_program("files", [] { return std::make_unique<FilesGuest>(); });
    runtime.add_program("flood",
                        [this] { return std::make_unique<FloodGuest>(flood_sent, flood_refused); });
  }
  ServerParts parts(const Clock& clock) {
    return {.manager = engine.manager,
            .loop = engine.loop,
            .control = engine.control,
            .engine_wakeup = engine.wakeup,
            .clock = clock,
            .random = engine.random,
            .wall_clock = wall_clock,
            .tell =
                [this](const LogEvent& event) {
                  std::lock_guard lock(told_mutex);
                  if (!event.text.empty()) told.push_back(event.text);
                  events.push_back(event);
                },
            .tells_requests = true};
  }
  void name_programs(Gateway& gateway) {
    for (const std::string& name : names) {
      const auto program = engine.manager.load_program(bytes_of(name));
      ASSERT_TRUE(program.ok());
      EXPECT_TRUE(gateway.name_program(name, program.value(), sha256(bytes_of(name))).ok());
    }
  }

  std::vector<std::string> names = {"echo", "say", "late", "stubborn", "files", "flood"};
  std::atomic<std::uint64_t> flood_sent{0}, flood_refused{0};
  sandbox::FakeRuntime runtime;
  lifecycle::TestEngine engine;
  SettableWallClock wall_clock;
  std::mutex told_mutex;
  std::vector<std::string> told;
  std::vector<LogEvent> events;
};

// A server with the engine's loop on a thread of its own.
class RunningServer {
 public:
  // `prepare` gets the engine before it runs.
  explicit RunningServer(ServerOptions options = {},
                         const lifecycle::AdmissionLimits& limits = kPlaces,
                         const std::function<void(ServedEngine&)>& prepare = {})
      : served_(clock_, limits) {
    if (prepare) prepare(served_);
    Result<std::unique_ptr<Server>> opened = Server::open(served_.parts(clock_), options);
    EXPECT_TRUE(opened.ok()) << opened.error().message();
    server_ = std::move(opened).take();
    served_.name_programs(server_->gateway());
    thread_ = std::thread([this] { served_.engine.loop.run(); });
  }
  ~RunningServer() {
    if (thread_.joinable()) {
      server_->gateway().request_shutdown();
      server_->gateway().request_shutdown();
      thread_.join();
    }
    server_->gateway().verify();
    served_.engine.manager.verify();
    EXPECT_EQ(served_.engine.manager.live_count(), 0u);
  }

  std::uint16_t port() const { return server_->endpoint().port; }
  RawClient connect() const {
    RawClient client(port());
    EXPECT_TRUE(client.open());
    return client;
  }
  void request_shutdown() { server_->gateway().request_shutdown(); }
  void wait_until_stopped() { thread_.join(); }
  Server& server() { return *server_; }
  ServedEngine& served() { return served_; }
  std::vector<std::string> told() {
    std::lock_guard lock(served_.told_mutex);
    return served_.told;
  }
  std::vector<LogEvent> events() {
    std::lock_guard lock(served_.told_mutex);
    return served_.events;
  }

  // The status of the server, through a client of its own.
  wire::StatusReply status() const {
    RawClient client = connect();
    const std::optional<wire::ReplyBody> reply = client.ask(wire::Status{});
    const auto* status = reply ? std::get_if<wire::StatusReply>(&*reply) : nullptr;
    EXPECT_NE(status, nullptr);
    return status == nullptr ? wire::StatusReply{} : *status;
  }
  // Until `wanted` says so, which must be soon.
  template <typename Wanted>
  wire::StatusReply status_when(Wanted wanted) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    wire::StatusReply last = status();
    while (!wanted(last) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      last = status();
    }
    EXPECT_TRUE(wanted(last)) << last.instance_count << " instances, " << last.connection_count
                              << " connections, " << last.unattached_count << " unattached";
    return last;
  }

 private:
  SteadyClock clock_;
  ServedEngine served_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

template <typename T>
const T* as(const std::optional<wire::ReplyBody>& reply) {
  return reply ? std::get_if<T>(&*reply) : nullptr;
}

// "not-found: ..." or what else it is.
inline std::string refusal(const std::optional<wire::ReplyBody>& reply) {
  if (!reply) return "no reply";
  const auto* failure = std::get_if<wire::Failure>(&*reply);
  if (failure == nullptr) return "no refusal";
  return std::string(error_code_name(failure->code)) + ": " + failure->message;
}

inline bool is_done(const std::optional<wire::ReplyBody>& reply) {
  return as<wire::Done>(reply) != nullptr;
}

// The reply to a launch. A refusal fails the test, and gives an empty reply.
inline wire::InstanceReply launch(RawClient& client, std::string program,
                                  std::vector<std::string> arguments = {},
                                  bool is_detached = false) {
  wire::Launch request = launch_of(std::move(program), std::move(arguments));
  request.detached = is_detached;
  const std::optional<wire::ReplyBody> reply = client.ask(std::move(request));
  const auto* instance = as<wire::InstanceReply>(reply);
  EXPECT_NE(instance, nullptr) << refusal(reply);
  return instance == nullptr ? wire::InstanceReply{} : *instance;
}

}  // namespace quire::server
