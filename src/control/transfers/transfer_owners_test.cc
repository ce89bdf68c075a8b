#include "control/transfers/transfer_owners.h"

#include <gtest/gtest.h>

#include <string>

namespace quire::control {
namespace {

using inference::PageBytes;

PageBytes bytes_of(std::size_t count) {
  return PageBytes::uninitialised(count);
}

// Writes down what it is called for.
class NotedOwner final : public TransferOwner {
 public:
  NotedOwner(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}

  void transferred(const Flight& /*flight*/, TransferOutcomes outcomes,
                   std::vector<Ref<Operation>>& woken) override {
    std::string call = name_ + ":";
    for (const LoadOutcome& each : outcomes.loads) {
      call += each.outcome.ok() ? " load " : " lost ";
      call += std::to_string(each.bytes.byte_count());
    }
    for (const Result<PageBytes>& each : outcomes.saves) {
      call += each.ok() ? " save " + std::to_string(each.value().byte_count()) : " unsaved";
    }
    calls_.push_back(call);
    woken.emplace_back(&operation_);
  }
  bool deliver(store::DiskAnswer& /*answer*/, std::vector<Ref<Operation>>& /*woken*/) override {
    return false;
  }
  bool is_idle() const override { return is_at_rest; }
  bool may_free() const override { return !is_at_rest; }
  bool wants_batch() const override { return !is_at_rest; }

  bool is_at_rest = true;

 private:
  const std::string name_;
  std::vector<std::string>& calls_;
  Operation operation_;
};

struct Outcomes {
  Flight flight;
  inference::Completion completion;

  void add_load(TransferOwner& owner, std::size_t byte_count, bool is_good = true) {
    flight.loads.push_back(&owner);
    completion.loads.push_back(is_good ? Result<void>()
                                       : Result<void>(Error(ErrorCode::Io, "lost")));
    completion.load_bytes.push_back(bytes_of(byte_count));
  }
  void add_save(TransferOwner& owner, Result<PageBytes> outcome) {
    flight.saves.push_back(&owner);
    completion.saves.push_back(std::move(outcome));
  }
};

TEST(TransferOwners, GiveEachOwnerItsOwnOutcomesInItsOrder) {
  std::vector<std::string> calls;
  NotedOwner first("first", calls);
  NotedOwner second("second", calls);
  NotedOwner third("third", calls);
  Outcomes batch;
  batch.add_load(third, 1);
  batch.add_load(first, 2, false);
  batch.add_load(third, 3);
  batch.add_load(first, 4);
  batch.add_save(second, bytes_of(5));
  batch.add_save(third, Error(ErrorCode::Io, "not saved"));
  batch.add_save(second, bytes_of(6));
  std::vector<Ref<Operation>> woken;
  TransferOwners({&first, &second, &third}).complete(batch.flight, batch.completion, woken);
  EXPECT_EQ(calls, (std::vector<std::string>{"first: lost 2 load 4", "second: save 5 save 6",
                                             "third: load 1 load 3 unsaved"}));
  EXPECT_EQ(woken.size(), 3u);
}

TEST(TransferOwners, CallAnOwnerThatHasNothingInTheBatch) {
  std::vector<std::string> calls;
  NotedOwner first("first", calls);
  NotedOwner second("second", calls);
  Outcomes batch;
  batch.add_load(second, 1);
  std::vector<Ref<Operation>> woken;
  TransferOwners({&first, &second}).complete(batch.flight, batch.completion, woken);
  EXPECT_EQ(calls, (std::vector<std::string>{"first:", "second: load 1"}));
}

TEST(TransferOwners, WantABatchWhileAnyOfThemDoes) {
  std::vector<std::string> calls;
  NotedOwner first("first", calls);
  NotedOwner second("second", calls);
  const TransferOwners owners({&first, &second});
  EXPECT_TRUE(owners.is_idle() && !owners.wants_batch() && !owners.may_free());
  second.is_at_rest = false;
  EXPECT_TRUE(!owners.is_idle() && owners.wants_batch() && owners.may_free());
}

TEST(TransferOwnersDeathTest, StopAtATransferOfAnOwnerThatIsNotCalled) {
  std::vector<std::string> calls;
  NotedOwner first("first", calls);
  NotedOwner stranger("stranger", calls);
  Outcomes batch;
  batch.add_load(stranger, 1);
  std::vector<Ref<Operation>> woken;
  EXPECT_DEATH(TransferOwners({&first}).complete(batch.flight, batch.completion, woken),
               "an owner that no batch calls");
}

}  // namespace
}  // namespace quire::control
