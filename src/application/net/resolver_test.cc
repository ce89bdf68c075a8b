#include "application/net/resolver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace quire::net::resolver_test {
namespace {

// A resolver that gives no answer before it is opened.
class Gate final : public Resolver {
 public:
  Result<std::vector<IpAddress>> resolve(const std::string&) override {
    std::unique_lock lock(mutex_);
    ++held_count_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
    return std::vector<IpAddress>{};
  }
  bool holds(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return held_count_ >= count; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t held_count_ = 0;
  bool is_open_ = false;
};

TEST(LookupPool, WhatWasGivenUpTakesNoPlaceInTheLineOfOthers) {
  const auto gate = std::make_shared<Gate>();
  LookupPool pool(gate, [] {});
  std::uint64_t owner = 0;
  for (std::size_t i = 0; i < LookupPool::kThreadCountMax; ++i) {
    ++owner;
    const control::TenantId tenant{static_cast<std::uint32_t>(owner)};
    ASSERT_TRUE(pool.begin("silent", owner, tenant).ok());
    ASSERT_TRUE(gate->holds(i + 1));
  }
  std::vector<std::shared_ptr<Lookup>> waiting;
  for (std::size_t i = 0; i < LookupPool::kLookupCountMax; ++i) {
    Result<std::shared_ptr<Lookup>> lookup = pool.begin("given-up", ++owner);
    ASSERT_TRUE(lookup.ok()) << i;
    waiting.push_back(std::move(lookup).take());
  }
  const Result<std::shared_ptr<Lookup>> refused = pool.begin("wanted", ++owner);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Unavailable);
  for (const std::shared_ptr<Lookup>& each : waiting) each->is_dropped = true;
  EXPECT_TRUE(pool.begin("wanted", ++owner).ok()) << "nobody waits for the others";
  gate->open();
}

TEST(LookupPool, OneTenantsSilentNamesLeaveThreadsToAnother) {
  const auto gate = std::make_shared<Gate>();
  LookupPool pool(gate, [] {});
  constexpr std::size_t kHalf = LookupPool::kThreadCountMax / 2;
  for (std::uint64_t owner = 1; owner <= LookupPool::kThreadCountMax; ++owner) {
    ASSERT_TRUE(pool.begin("silent", owner, control::TenantId{1}).ok());
  }
  ASSERT_TRUE(gate->holds(kHalf));
  ASSERT_TRUE(pool.begin("wanted", 100, control::TenantId{2}).ok());
  EXPECT_TRUE(gate->holds(kHalf + 1));
  gate->open();
}

}  // namespace
}  // namespace quire::net::resolver_test
