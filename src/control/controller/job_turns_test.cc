#include "control/controller/job_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "base/seeds.h"

namespace quire::control {
namespace {

// Work is its own number; odd numbers have an effect.
constexpr std::uint32_t kInstanceCount = 5;
bool has_effect(std::uint32_t work) {
  return work % 2 == 1;
}

// The simplest that could be right: a list in order of asking.
struct ModelJob {
  std::uint32_t work = 0;
  InstanceId instance{};
  TenantId tenant{};
  FutureId future = kNoFuture;
  std::uint64_t id = 0;  // Of one that runs.
  bool is_wanted = true;
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    for (Instance& each : instances_) begin(each);
  }
  void step() {
    Instance& instance = instances_[below(kInstanceCount)];
    const std::uint32_t choice = below(12);
    if (choice < 4) {
      add(instance);
    } else if (choice < 7) {
      take();
    } else if (choice < 9) {
      finish();
    } else if (choice < 11) {
      forget();
    } else {
      end(instance);
    }
    check();
  }

 private:
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  void begin(Instance& instance) {
    instance = Instance();
    instance.id = InstanceId{++instance_count_};
    instance.tenant = TenantId{1 + below(3)};
  }
  void add(Instance& instance) {
    ModelJob job{.work = ++work_count_, .instance = instance.id, .tenant = instance.tenant};
    if (below(4) > 0) job.future = FutureId{job.work};
    jobs_.push_back(job);
    turns_.add(instance, job.future, 10 * job.work, job.work);
  }
  // The next of all waiting jobs: of the tenant after the last one, the first.
  ModelJob* next() {
    ModelJob* best = nullptr;
    const auto rank = [&](const ModelJob& job) {
      return std::pair(job.tenant <= last_turn_, job.tenant);
    };
    for (ModelJob& each : jobs_) {
      if (each.id == 0 && (best == nullptr || rank(each) < rank(*best))) best = &each;
    }
    return best;
  }
  void take() {
    ModelJob* wanted = next();
    const auto turn = turns_.take_next();
    ASSERT_EQ(turn.has_value(), wanted != nullptr);
    if (!turn) return;
    EXPECT_EQ(turn->work, wanted->work);
    wanted->id = turn->id;
    last_turn_ = wanted->tenant;
  }
  void finish() {
    std::vector<std::size_t> running;
    for (std::size_t each = 0; each < jobs_.size(); ++each) {
      if (jobs_[each].id != 0) running.push_back(each);
    }
    EXPECT_EQ(turns_.running_count(), running.size());
    if (running.empty()) return;
    const std::size_t index = running[below(running.size())];
    const ModelJob job = jobs_[index];
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
    const auto owner = turns_.finish(job.id);
    EXPECT_EQ(owner.future, job.is_wanted ? job.future : kNoFuture);
    if (owner.future != kNoFuture) {
      EXPECT_EQ(owner.instance, job.instance);
    }
  }
  void forget() {
    if (jobs_.empty()) return;
    const std::size_t index = below(jobs_.size());
    ModelJob& job = jobs_[index];
    turns_.forget(job.instance, job.future, has_effect);
    if (job.future == kNoFuture) return;
    job.is_wanted = false;
    if (job.id == 0 && !has_effect(job.work)) {
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  void end(Instance& instance) {
    turns_.forget_all(instance.id);
    EXPECT_EQ(instance.unfinished.job_count, 0u);
    std::erase_if(
        jobs_, [&](const ModelJob& each) { return each.instance == instance.id && each.id == 0; });
    for (ModelJob& each : jobs_) {
      if (each.instance != instance.id) continue;
      each.is_wanted = false;
      each.instance = InstanceId{};
    }
    begin(instance);
  }
  void check() {
    turns_.verify();
    EXPECT_EQ(turns_.idle(), jobs_.empty());
    for (const Instance& instance : instances_) {
      const auto count = static_cast<std::uint32_t>(
          std::count_if(jobs_.begin(), jobs_.end(),
                        [&](const ModelJob& each) { return each.instance == instance.id; }));
      std::uint64_t bytes = 0;
      for (const ModelJob& each : jobs_) bytes += each.instance == instance.id ? 10 * each.work : 0;
      EXPECT_EQ(instance.unfinished.job_count, count);
      EXPECT_EQ(instance.unfinished.argument_bytes, bytes);
      EXPECT_EQ(turns_.count_of(instance.id).count, count);
      EXPECT_EQ(turns_.count_of(instance.id).bytes, bytes);
    }
  }

  std::mt19937_64 random_;
  std::array<Instance, kInstanceCount> instances_;
  JobTurns<std::uint32_t> turns_;
  std::vector<ModelJob> jobs_;
  TenantId last_turn_{};
  std::uint64_t instance_count_ = 0;
  std::uint32_t work_count_ = 0;
};

TEST(JobTurns, DoWhatAListInOrderOfAskingDoes) {
  for (const std::uint64_t seed : campaign_seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program(seed);
    for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) program.step();
  }
}

}  // namespace
}  // namespace quire::control
