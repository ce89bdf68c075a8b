#include "application/lifecycle/program_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "application/hostcalls/calls.h"
#include "application/sandbox/fake_runtime.h"
#include "base/thread_schedule_test_support.h"

namespace quire::lifecycle {
namespace {

class NoGuest final : public sandbox::FakeGuest {
 public:
  sandbox::FakeAction step(sandbox::FakeHost&) override { return {}; }
};

// A runtime whose compiler is busy with its first module until it is stopped.
class BusyRuntime final : public sandbox::FakeRuntime {
 public:
  using FakeRuntime::FakeRuntime;
  Result<std::shared_ptr<const sandbox::Program>> compile(std::span<const std::byte>,
                                                          sandbox::Effort,
                                                          sandbox::Origin) override {
    ++begun_count;
    while (!is_stopped.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Error(ErrorCode::Unavailable, "stopped");
  }
  void stop_compiling() override { is_stopped.store(true); }

  std::atomic<int> begun_count = 0;
  std::atomic<bool> is_stopped = false;
};

// Notes the niceness of the thread that it compiles on.
class WatchedRuntime final : public sandbox::FakeRuntime {
 public:
  using FakeRuntime::FakeRuntime;
  Result<std::shared_ptr<const sandbox::Program>> compile(std::span<const std::byte>,
                                                          sandbox::Effort,
                                                          sandbox::Origin) override {
    niceness.store(own_niceness());
    return Error(ErrorCode::InvalidArgument, "looked at");
  }

  std::atomic<int> niceness = -1;
};

class Programs : public testing::Test {
 protected:
  Programs() {
    for (const char* name : {"one", "two", "three", "four"}) {
      runtime.add_program(name, [] { return std::make_unique<NoGuest>(); });
    }
  }
  static std::vector<std::byte> bytes_of(std::string_view name) {
    const auto bytes = std::as_bytes(std::span(name));
    return {bytes.begin(), bytes.end()};
  }
  ProgramId request(ProgramStore& store, std::string_view name) {
    const std::vector<std::byte> bytes = bytes_of(name);
    const ProgramId id = store.request(bytes, sha256(bytes)).value();
    while (store.compiling()) {
      store.poll();
      wakeup.wait_for(std::chrono::milliseconds(10));
    }
    return id;
  }
  bool knows(const ProgramStore& store, std::string_view name) {
    return store.find(sha256(bytes_of(name))).has_value();
  }

  sandbox::FakeRuntime runtime{hostcalls::host_functions()};
  Wakeup wakeup;
};

// Otherwise, a server that should end would wait for a minute of processor time for each.
TEST_F(Programs, AStoreThatGoesStopsTheCompilerAndBeginsNoneOfThoseThatWait) {
  BusyRuntime busy(hostcalls::host_functions());
  {
    ProgramStore store(busy, wakeup);
    for (const char* name : {"one", "two", "three"}) {
      const std::vector<std::byte> bytes = bytes_of(name);
      ASSERT_TRUE(store.request(bytes, sha256(bytes)).ok());
    }
    while (busy.begun_count == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(busy.begun_count, 1);
}

// Checking a large module takes tens of milliseconds, in which a step of the device would take
// twice its time.
TEST_F(Programs, WhatClientsUploadIsCompiledBehindTheDevice) {
  WatchedRuntime watched(hostcalls::host_functions());
  ProgramStore store(watched, wakeup);
  request(store, "one");
  EXPECT_EQ(watched.niceness, std::min(own_niceness() + 5, 19));
}

TEST_F(Programs, TheOneUsedLeastRecentlyIsForgottenAndWhatWasLoadedStays) {
  ProgramStore store(runtime, wakeup, {.count_max = 2, .bytes_max = 100});
  const ProgramId loaded = store.load(bytes_of("one")).value();
  const ProgramId two = request(store, "two");
  request(store, "three");
  store.use(two);
  request(store, "four");
  EXPECT_TRUE(knows(store, "one"));
  EXPECT_TRUE(knows(store, "two"));
  EXPECT_FALSE(knows(store, "three"));
  EXPECT_TRUE(knows(store, "four"));
  EXPECT_EQ(store.count(), 3u);
  EXPECT_NE(store.find(loaded), nullptr);
  EXPECT_EQ(request(store, "one"), loaded);
  EXPECT_EQ(request(store, "two"), two);
}

TEST_F(Programs, ATenantThatBringsManyLosesItsOwn) {
  ProgramStore store(runtime, wakeup, {.count_max = 3, .bytes_max = 1000});
  const auto bring = [&](const char* name, std::uint32_t tenant) {
    const std::vector<std::byte> bytes = bytes_of(name);
    ASSERT_TRUE(store.request(bytes, sha256(bytes), control::TenantId{tenant}).ok());
    while (store.compiling()) {
      store.poll();
      wakeup.wait_for(std::chrono::milliseconds(10));
    }
  };
  bring("one", 1);
  for (const char* name : {"two", "three", "four"}) bring(name, 2);
  EXPECT_TRUE(knows(store, "one")) << "though it was used least recently";
  EXPECT_FALSE(knows(store, "two"));
}

TEST_F(Programs, BytesOfCodeAreBoundedToo) {
  ProgramStore store(runtime, wakeup, {.count_max = 10, .bytes_max = 80});
  runtime.code_bytes = 30;
  request(store, "one");
  request(store, "two");
  EXPECT_TRUE(knows(store, "one"));
  runtime.code_bytes = 50;
  request(store, "three");  // 30 + 30 + 50 bytes: the oldest goes.
  EXPECT_FALSE(knows(store, "one"));
  EXPECT_TRUE(knows(store, "two"));
  EXPECT_TRUE(knows(store, "three"));
}

TEST_F(Programs, BetterCodeCountsForItsOwnBytes) {
  runtime.has_quick = true;
  ProgramStore store(runtime, wakeup,
                     {.count_max = 10, .bytes_max = 80, .quiet = std::chrono::milliseconds(1)});
  runtime.code_bytes = 30;
  request(store, "one");
  const ProgramId two = request(store, "two");
  runtime.code_bytes = 60;
  while (store.find(two)->program->effort() == sandbox::Effort::Quick) {
    wakeup.wait_for(std::chrono::milliseconds(10));
    store.poll();
  }
  EXPECT_FALSE(knows(store, "one"));
  EXPECT_TRUE(knows(store, "two"));
}

TEST_F(Programs, BytesOfWasmCountUntilThereIsCode) {
  ProgramStore store(runtime, wakeup, {.count_max = 10, .bytes_max = 8});
  runtime.code_bytes = 5;
  request(store, "one");
  request(store, "three");  // 5 + 5 bytes: the oldest goes.
  EXPECT_FALSE(knows(store, "one"));
  EXPECT_TRUE(knows(store, "three"));
}

TEST_F(Programs, QuickCodeComesFirstAndBetterCodeTakesItsPlace) {
  runtime.has_quick = true;
  ProgramStore store(runtime, wakeup, {.quiet = std::chrono::milliseconds(1)});
  const ProgramId id = request(store, "one");
  const std::shared_ptr<const sandbox::Program> quick = store.find(id)->program;
  EXPECT_EQ(quick->effort(), sandbox::Effort::Quick);
  while (store.find(id)->program == quick) {
    wakeup.wait_for(std::chrono::milliseconds(10));
    store.poll();
  }
  EXPECT_EQ(store.find(id)->program->effort(), sandbox::Effort::Best);
  EXPECT_EQ(store.compiled_count(), 1u) << "the second is nobody's request";
  EXPECT_EQ(request(store, "one"), id);
  EXPECT_EQ(runtime.quick_count, 1u);
  EXPECT_EQ(runtime.best_count, 1u);
}

TEST_F(Programs, WhileProgramsAreRequestedNoneIsCompiledTwice) {
  runtime.has_quick = true;
  {
    ProgramStore store(runtime, wakeup, {.count_max = 2, .quiet = std::chrono::hours(1)});
    for (const char* each : {"one", "two", "three", "four"}) request(store, each);
  }
  EXPECT_EQ(runtime.quick_count, 4u);
  EXPECT_EQ(runtime.best_count, 0u);
}

TEST_F(Programs, BetterCodeOfWhatWasForgottenMeanwhileIsForgottenToo) {
  runtime.has_quick = true;
  ProgramStore store(runtime, wakeup, {.count_max = 1, .quiet = std::chrono::milliseconds(20)});
  request(store, "one");
  const ProgramId two = request(store, "two");
  while (store.find(two)->program->effort() == sandbox::Effort::Quick) {
    wakeup.wait_for(std::chrono::milliseconds(10));
    store.poll();
  }
  EXPECT_FALSE(knows(store, "one"));
  EXPECT_EQ(store.count(), 1u);
}

TEST_F(Programs, ModulesThatWaitForTheCompilerAreBoundedInBytesAndPushNobodyOut) {
  runtime.module_bytes = ProgramStore::kRequestBytesMax / 4;
  ProgramStore store(runtime, wakeup);
  request(store, "one");
  const auto rubbish = [](std::size_t bytes, int number) {
    std::vector<std::byte> wasm(bytes, std::byte{'x'});
    wasm[0] = std::byte(number);
    return wasm;
  };
  const std::vector<std::byte> beyond = rubbish(runtime.module_bytes + 1, 0);
  EXPECT_EQ(store.request(beyond, sha256(beyond)).error().code(), ErrorCode::TooLarge);
  int accepted = 0;
  std::optional<Error> refused;
  for (int each = 0; each < 10 && !refused; ++each) {  // Nothing is taken in meanwhile.
    std::vector<std::byte> wasm = rubbish(runtime.module_bytes, each);
    const Digest digest = sha256(wasm);
    Result<ProgramId> id = store.request(std::move(wasm), digest);
    if (id.ok()) {
      ++accepted;
    } else {
      refused = std::move(id).take_error();
    }
  }
  EXPECT_EQ(accepted, 4);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::QuotaExceeded);
  EXPECT_TRUE(refused->message().starts_with("compiling_program_bytes_max: "))
      << refused->message();
  while (store.compiling()) {
    store.poll();
    wakeup.wait_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(knows(store, "one"));
  EXPECT_TRUE(store.request(rubbish(100, 100), sha256(rubbish(100, 100))).ok());
}

TEST_F(Programs, WhatDoesNotCompileCountsUntilItIsForgotten) {
  ProgramStore store(runtime, wakeup, {.count_max = 4, .bytes_max = 1000});
  for (int i = 0; i < 100; ++i) {
    const ProgramId id = request(store, "no program " + std::to_string(i));
    ASSERT_TRUE(store.find(id)->error);
    ASSERT_LE(store.count(), 4u);
  }
}

}  // namespace
}  // namespace quire::lifecycle
