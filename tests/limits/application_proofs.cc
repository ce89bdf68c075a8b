// Pools of the application: launches, programs, connections and what they bring.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "application/lifecycle/admission.h"
#include "application/lifecycle/compile_queue.h"
#include "application/lifecycle/lifecycle_test_support.h"
#include "application/lifecycle/program_memory.h"
#include "application/lifecycle/program_store.h"
#include "application/net/exchange_slots.h"
#include "application/net/http_client.h"
#include "application/net/resolver.h"
#include "application/sandbox/fake_runtime.h"
#include "application/server/adapter_loader.h"
#include "application/server/parked_requests.h"
#include "application/server/program_names.h"
#include "application/server/session.h"
#include "control/adapters/adapter_registry.h"
#include "limits/proofs.h"

namespace quire::limits_test {
namespace {

using control::TenantId;

constexpr std::uint64_t kSmall = 64;  // Of a pool, where its default would take long.

lifecycle::Admission admission_of(std::uint32_t instance_count, std::uint32_t waiting_count) {
  lifecycle::Admission admission(
      {.instance_count_max = instance_count, .waiting_launch_count_max = waiting_count});
  admission.set_several(true);
  return admission;
}

void prove_instances() {
  lifecycle::Admission admission =
      admission_of(default_of<ServerLimit::InstanceCountMax>(), kSmall);
  expect_halves(default_of<ServerLimit::InstanceCountMax>(), [&](TenantId tenant) {
    if (!admission.has_place(tenant)) return false;
    if (!admission.admit({.tenant = tenant}, 0).ok()) return false;
    admission.begin(tenant);
    return true;
  });
}

// Each launch is of a MiB. A tenant that other tenants left nothing still gets its part, and one of
// them loses as much.
void prove_program_memory() {
  constexpr std::uint64_t kEach = 1 << 20;
  lifecycle::ProgramMemory memory(kSmall * kEach);
  memory.set_several(true);
  std::uint64_t id = 0;
  const auto take_all = [&](TenantId tenant) {
    std::uint64_t count = 0;
    while (memory.has_room(tenant, kEach)) {
      memory.charge(tenant, control::InstanceId{++id}, kEach);
      if (const auto lost = memory.loser()) memory.leave(lost->id);
      ++count;
    }
    return count;
  };
  EXPECT_EQ(take_all(TenantId{1}), kSmall / 2);
  EXPECT_GE(take_all(TenantId{2}), kSmall / 4);
  memory.charge(TenantId{1}, control::InstanceId{1}, kSmall * kEach);  // It grows.
  memory.leave(memory.loser()->id);
  EXPECT_GE(take_all(TenantId{3}), kSmall / 3);
  EXPECT_LE(memory.bytes(), memory.bytes_max());
}

// With all places taken, so that every launch waits.
void prove_waiting_launches() {
  constexpr std::uint32_t kPlaceCount = 4;
  lifecycle::Admission admission =
      admission_of(kPlaceCount, default_of<ServerLimit::WaitingLaunchCountMax>());
  admission.set_share(TenantId{9}, kPlaceCount);
  for (std::uint32_t each = 0; each < kPlaceCount; ++each) {
    ASSERT_TRUE(admission.admit({.tenant = TenantId{9}}, 0).ok());
    admission.begin(TenantId{9});
  }
  expect_halves(default_of<ServerLimit::WaitingLaunchCountMax>(),
                [&](TenantId tenant) { return admission.admit({.tenant = tenant}, 0).ok(); });
}

void prove_exchanges() {
  net::ExchangeSlots slots(net::kExchangeCountMax);
  slots.set_several(true);
  std::uint64_t id = 0;
  expect_halves(net::kExchangeCountMax,
                [&](TenantId tenant) { return slots.take(net::ExchangeId{++id}, tenant).ok(); });
}

// Answers no name before it is opened, and counts those that threads ask it.
class Gate final : public net::Resolver {
 public:
  Result<std::vector<net::IpAddress>> resolve(const std::string& name) override {
    std::unique_lock lock(mutex_);
    ++counts_[name];
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
    return std::vector<net::IpAddress>{};
  }
  bool holds(const std::string& name, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return counts_[name] >= count; });
  }
  std::size_t count(const std::string& name) {
    std::lock_guard lock(mutex_);
    return counts_[name];
  }
  void open() {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::size_t> counts_;
  bool is_open_ = false;
};

void prove_lookup_threads() {
  constexpr std::size_t kCountMax = net::LookupPool::kThreadCountMax;
  const auto gate = std::make_shared<Gate>();
  net::LookupPool pool(gate, [] {});
  std::uint64_t owner = 0;
  for (const std::uint32_t tenant : {1u, 2u, 3u}) {
    for (std::size_t each = 0; each < kCountMax; ++each) {
      ASSERT_TRUE(pool.begin(std::to_string(tenant), ++owner, TenantId{tenant}).ok());
    }
    const std::size_t share = kCountMax >> tenant;
    EXPECT_TRUE(gate->holds(std::to_string(tenant), share));
  }
  for (const std::uint32_t tenant : {1u, 2u, 3u}) {
    EXPECT_EQ(gate->count(std::to_string(tenant)), kCountMax >> tenant);
  }
  gate->open();
}

// A connection's part of an upload or of a frame.
class Holder final : public server::SharedBytes::Holder {
 public:
  using server::SharedBytes::Holder::Holder;
  using server::SharedBytes::Holder::take;

 private:
  void give_way() override {}
};

// The parts that the sessions of a server share, with no sockets.
class Host final : public server::SessionHost {
 public:
  Host(const server::SocketLimits& given, server::Link& to) : SessionHost(given, to) {}
  void send(server::Inbound) override {}
  void pause(const server::SessionHandle&) override {}
  void upgraded(const server::SessionHandle&) override {}
  void key_refused(const server::RefusedKey&, const server::Socket&) override {}
  void closed(const server::Session&) override {}
  std::string new_request_id() override { return "1"; }
};

struct Sessions {
  explicit Sessions(const server::SocketLimits& sockets = {})
      : limits(sockets), link(limits, {}, 1, wakeup) {
    link.are_several_tenants = true;
    host = std::make_unique<Host>(limits, link);
  }
  server::SocketLimits limits;
  Wakeup wakeup;
  server::Link link;
  std::unique_ptr<Host> host;
};

// The first tenant gets half. What it holds gives way to the second, as long as it would still hold
// more.
void prove_bytes(server::SharedBytes& all) {
  constexpr std::uint64_t kPartBytes = 1u << 20;
  const std::uint64_t bytes_max = all.limits().bytes_max;
  std::vector<std::unique_ptr<Holder>> holders;
  const auto take_all = [&](TenantId tenant) {
    for (std::uint64_t each = 0; each < bytes_max / kPartBytes; ++each) {
      holders.push_back(std::make_unique<Holder>(all, tenant));
      if (!holders.back()->take(kPartBytes, {})) break;
    }
    return all.held_bytes(tenant);
  };
  EXPECT_EQ(take_all(TenantId{1}), bytes_max / 2);
  EXPECT_GE(take_all(TenantId{2}), bytes_max / 4);
  EXPECT_GT(take_all(TenantId{3}), 0u);
  for (const std::uint32_t tenant : {1u, 2u, 3u}) {
    EXPECT_LE(take_all(TenantId{tenant}), bytes_max / 2);
  }
}

void prove_uploads() {
  Sessions sessions;
  prove_bytes(sessions.host->uploads);
}

void prove_frames() {
  Sessions sessions;
  prove_bytes(sessions.host->partial_frames);
}

void prove_pending_requests() {
  Sessions sessions;
  expect_halves(sessions.limits.pending_request_count_total_max, [&](TenantId tenant) {
    if (!sessions.host->has_slot(tenant)) return false;
    sessions.host->pending_counts.take(tenant, 1);
    return true;
  });
}

void prove_pending_bytes() {
  constexpr std::uint64_t kRequestBytes = 1u << 20;
  Sessions sessions;
  expect_halves(sessions.limits.pending_request_bytes_total_max / kRequestBytes,
                [&](TenantId tenant) {
                  if (!sessions.host->has_slot(tenant)) return false;
                  sessions.host->pending_bytes.take(tenant, kRequestBytes);
                  return true;
                });
}

void prove_compiling(std::uint64_t count_max, std::uint64_t bytes_max,
                     std::uint64_t program_bytes) {
  lifecycle::CompileQueue queue(lifecycle::ProgramStore::kRequestCountMax,
                                lifecycle::ProgramStore::kRequestBytesMax);
  EXPECT_EQ(count_max * program_bytes <= bytes_max, program_bytes == 1);
  queue.set_several(true);
  std::uint32_t id = 0;
  expect_halves(std::min(count_max, bytes_max / program_bytes), [&](TenantId tenant) {
    if (!queue.check(tenant, program_bytes).ok()) return false;
    queue.push(tenant, {lifecycle::ProgramId{++id}, std::vector<std::byte>(program_bytes)});
    return true;
  });
}

void prove_compiling_count() {
  prove_compiling(lifecycle::ProgramStore::kRequestCountMax,
                  lifecycle::ProgramStore::kRequestBytesMax, 1);
}

void prove_compiling_bytes() {
  prove_compiling(lifecycle::ProgramStore::kRequestCountMax,
                  lifecycle::ProgramStore::kRequestBytesMax,
                  lifecycle::ProgramStore::kRequestBytesMax / kSmall);
}

server::ParkedRequest parked(TenantId tenant, std::size_t argument_bytes) {
  server::ParkedRequest request;
  request.tenant = tenant;
  if (argument_bytes == 0) return request;
  request.launch.emplace();
  request.launch->arguments.emplace_back(argument_bytes - sizeof(std::string), 'x');
  return request;
}

void prove_waiting_requests() {
  const server::ServiceLimits limits;
  server::ParkedRequests requests(limits);
  expect_halves(limits.waiting_request_count_max,
                [&](TenantId tenant) { return requests.add(parked(tenant, 0), true).ok(); });
}

void prove_waiting_request_bytes() {
  constexpr std::size_t kBytes = 1u << 20;
  const server::ServiceLimits limits;
  server::ParkedRequests requests(limits);
  expect_halves(limits.waiting_request_bytes_max / kBytes,
                [&](TenantId tenant) { return requests.add(parked(tenant, kBytes), true).ok(); });
}

void prove_program_names() {
  sandbox::FakeRuntime runtime{hostcalls::host_functions()};
  const ManualClock clock;
  lifecycle::TestEngine engine(runtime, clock);
  const std::uint32_t count_max = server::ServiceLimits{}.program_name_count_max;
  server::ProgramNames names(engine.manager, count_max);
  std::uint64_t name = 0;
  expect_halves(count_max, [&](TenantId tenant) {
    const service::Principal caller{
        .tenant = tenant, .key_name = "key", .rights = {service::Right::NamePrograms}};
    return names.name_by_client(caller, std::to_string(++name), lifecycle::ProgramId{1}, Digest{})
        .ok();
  });
}

class SizedProgram final : public sandbox::Program {
 public:
  explicit SizedProgram(std::uint64_t bytes) : bytes_(bytes) {}
  sandbox::Effort effort() const override { return sandbox::Effort::Best; }
  std::uint64_t code_bytes() const override { return bytes_; }
  std::uint64_t first_memory_bytes() const override { return 0; }

 private:
  const std::uint64_t bytes_;
};

// Compiles any module to a program, which counts for its Wasm.
class AnyRuntime final : public sandbox::FakeRuntime {
 public:
  using FakeRuntime::FakeRuntime;
  Result<std::shared_ptr<const sandbox::Program>> compile(std::span<const std::byte> wasm,
                                                          sandbox::Effort,
                                                          sandbox::Origin) override {
    return std::shared_ptr<const sandbox::Program>(std::make_shared<SizedProgram>(wasm.size()));
  }
};

struct Store {
  explicit Store(const lifecycle::ProgramLimits& limits) : programs(runtime, wakeup, limits) {
    programs.set_several_tenants(true);
  }
  Digest add(TenantId tenant, std::uint64_t bytes) {
    std::vector<std::byte> wasm(bytes);
    const std::string name = std::to_string(++count);
    std::memcpy(wasm.data(), name.data(), name.size());
    const Digest digest = sha256(wasm);
    EXPECT_TRUE(programs.request(std::move(wasm), digest, tenant).ok());
    while (programs.compiling()) {
      programs.poll();
      wakeup.wait_for(std::chrono::milliseconds(1));
    }
    return digest;
  }
  AnyRuntime runtime{hostcalls::host_functions()};
  Wakeup wakeup;
  lifecycle::ProgramStore programs;
  int count = 0;
};

// Programs give way to newer ones, so none is refused: a tenant's programs stay while another
// brings more.
void prove_kept(Store& store, std::uint64_t other_count, std::uint64_t other_bytes,
                std::uint64_t flood_bytes) {
  std::vector<Digest> others;
  for (std::uint64_t each = 0; each < other_count; ++each) {
    others.push_back(store.add(TenantId{2}, other_bytes));
  }
  for (std::uint64_t each = 0; each < kSmall; ++each) store.add(TenantId{1}, flood_bytes);
  const auto is_there = [&](const Digest& each) { return store.programs.find(each).has_value(); };
  EXPECT_EQ(std::ranges::count_if(others, is_there), static_cast<std::ptrdiff_t>(other_count))
      << "forgotten for the other tenant's";
}

void prove_kept_count() {
  Store store({.count_max = 16});
  prove_kept(store, 7, 16, 16);
}

// Many small programs, beside few large ones.
void prove_kept_bytes() {
  Store store({.bytes_max = 16u << 10});
  prove_kept(store, 7, 1u << 10, 3u << 10);
}

// A quarter, whatever the rest leave.
void prove_connections() {
  const server::ConnectionRules rules{.has_keys = true};
  server::ConnectionTable table(rules);
  server::ClientAddress address{};
  std::uint64_t id = 0;
  std::uint64_t closed_count = 0;
  for (std::uint32_t each = 0; each < 2 * rules.count_max; ++each) {
    const auto arrival = table.arrive(server::ConnectionId{++id}, address);
    if (!arrival.closed) continue;
    ++closed_count;
    table.gone(*arrival.closed, false);
  }
  EXPECT_EQ(table.count(), (rules.count_max + 3) / 4);
  address[0] = 1;
  EXPECT_FALSE(table.arrive(server::ConnectionId{++id}, address).closed.has_value());
  EXPECT_EQ(closed_count, 2 * rules.count_max - (rules.count_max + 3) / 4);
}

// An adapter keeps its place until the engine's turn, which does not come here.
void prove_loads(std::uint64_t count_max, std::uint64_t bytes_each,
                 const server::AdapterLoaderOptions& options) {
  control::AdapterRegistry registry({{.name = "bare"}}, {});
  Wakeup engine;
  server::AdapterLoader loader(registry, engine, options);
  loader.set_several(true);
  expect_halves(count_max, [&](TenantId tenant) {
    server::AdapterLoad load;
    load.caller = tenant;
    load.owner = tenant;
    load.name = "a";
    load.files = server::AdapterBytes{{{"a.gguf", bytes_each}}, std::vector<std::byte>(bytes_each)};
    return loader.add(std::move(load)).ok();
  });
}
void prove_loading_count() {
  prove_loads(server::AdapterLoaderOptions{}.count_max, 1, {});
}
void prove_loading_bytes() {
  prove_loads(kSmall, 1000, {.count_max = 1 << 20, .bytes_max = kSmall * 1000});
}

}  // namespace

Proofs application_proofs() {
  return {{ServerLimit::InstanceCountMax, prove_instances},
          {ServerLimit::ProgramMemoryBytesMax, prove_program_memory},
          {ServerLimit::WaitingLaunchCountMax, prove_waiting_launches},
          {ServerLimit::HttpExchangeCountTotalMax, prove_exchanges},
          {ServerLimit::LookupThreadCountMax, prove_lookup_threads},
          {ServerLimit::UploadBytesTotalMax, prove_uploads},
          {ServerLimit::PartialFrameBytesTotalMax, prove_frames},
          {ServerLimit::PendingRequestCountTotalMax, prove_pending_requests},
          {ServerLimit::PendingRequestBytesTotalMax, prove_pending_bytes},
          {ServerLimit::CompilingProgramCountMax, prove_compiling_count},
          {ServerLimit::CompilingProgramBytesMax, prove_compiling_bytes},
          {ServerLimit::WaitingRequestCountMax, prove_waiting_requests},
          {ServerLimit::WaitingRequestBytesMax, prove_waiting_request_bytes},
          {ServerLimit::ProgramNameCountMax, prove_program_names},
          {ServerLimit::LoadingAdapterCountMax, prove_loading_count},
          {ServerLimit::LoadingAdapterBytesMax, prove_loading_bytes},
          {ServerLimit::KeptProgramCountMax, prove_kept_count},
          {ServerLimit::KeptProgramBytesMax, prove_kept_bytes},
          {ServerLimit::ConnectionCountMax, prove_connections}};
}

}  // namespace quire::limits_test
