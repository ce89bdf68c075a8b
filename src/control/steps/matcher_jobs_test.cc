#include "control/steps/matcher_jobs.h"

#include <gtest/gtest.h>

#include <deque>

namespace quire::control {
namespace {

// An executor that runs when the test calls it, and a sink that collects.
class Stage final : public HelperExecutor, public MatcherJobSink {
 public:
  void run(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void matcher_job_done(std::uint64_t job) override { done.push_back(job); }
  void run_one() {
    jobs.front()();
    jobs.pop_front();
  }
  std::deque<std::function<void()>> jobs;
  std::deque<std::uint64_t> done;
};

TEST(MatcherJobs, TenantsTakeTurnsAndEachKeepsItsOrder) {
  Stage stage;
  MatcherJobs jobs(stage, &stage);
  std::string order;
  for (int each = 0; each < 20; ++each) {
    jobs.start(TenantId{1}, [&order] { order += 'a'; }, [] {});
  }
  for (int each = 0; each < 3; ++each) {
    jobs.start(TenantId{2}, [&order, each] { order += std::to_string(each); }, [] {});
  }
  EXPECT_EQ(stage.jobs.size(), MatcherJobs::kRunningCountMax);
  while (!stage.jobs.empty()) {
    stage.run_one();
    jobs.finish(stage.done.front());
    stage.done.pop_front();
  }
  // The second tenant waits for those that were there, and then for every other one.
  EXPECT_EQ(order.substr(8, 6), "0a1a2a");
  EXPECT_EQ(order.size(), 23u);
  EXPECT_TRUE(jobs.idle());
}

TEST(MatcherJobs, WhatFollowsAJobRunsWhenItIsFinished) {
  Stage stage;
  MatcherJobs jobs(stage, nullptr);
  std::string order;
  jobs.start(TenantId{1}, [&] { order += "work "; }, [&] { order += "after"; });
  EXPECT_EQ(order, "work ");
  EXPECT_FALSE(jobs.idle());
  jobs.finish(stage.done.front());
  EXPECT_EQ(order, "work after");
  EXPECT_TRUE(jobs.idle());
}

TEST(MatcherJobs, WhatAJobHoldsEndsOnItsThread) {
  Stage stage;
  MatcherJobs jobs(stage, &stage);
  auto matcher = std::make_shared<MatcherState>(nullptr, std::make_shared<MatcherMemory>());
  const std::weak_ptr<MatcherState> watch = matcher;
  jobs.release(TenantId{1}, std::move(matcher));
  EXPECT_FALSE(watch.expired());
  stage.run_one();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace quire::control
