// A tenant's weight, as the operator sets it on the whole control layer, decides whose cold pages
// are evicted.
#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control::eviction_weight_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kPageCount = 24;
constexpr TenantId kLight{1};  // Of weight 1, unless a test says otherwise,
constexpr TenantId kHeavy{2};  // and of weight 3.
constexpr TenantId kTaker{3};

// Two models, and a pool of each that tenants fill with cold pages.
class EvictionWeights : public testing::Test {
 protected:
  static Harness::Options options() {
    Harness::Options options;
    options.device.page_size = kPageSize;
    options.device.page_count = kPageCount;
    options.has_second_model = true;
    return options;
  }

  ObjectId queue(InstanceId instance, ModelIndex model) {
    const ObjectId id = harness_.new_object();
    harness_.send(instance, CreateQueue{id, model});
    return id;
  }
  // A program of the tenant computes a prompt of that many pages in each model, and ends.
  void leave_cold(TenantId tenant, std::uint32_t page_count) {
    const InstanceId guest = harness_.start(tenant);
    for (const ModelIndex model : kModels) {
      const ObjectId context = harness_.context(guest, queue(guest, model));
      harness_.send(guest, ContextAppend{context, count_tokens(page_count * kPageSize)}, false);
      harness_.send(guest, ContextFlush{context}, false);
    }
    harness_.run();
    harness_.controller->end_instance(guest);
    harness_.run();
  }
  // A program of a third tenant takes that many pages of each model, and keeps them.
  InstanceId take(std::uint32_t page_count) {
    const InstanceId guest = harness_.start(kTaker);
    for (const ModelIndex model : kModels) {
      const ObjectId in_queue = queue(guest, model);
      const FutureId taken =
          harness_.send(guest, AllocPages{in_queue, harness_.new_objects(page_count)});
      harness_.run();
      EXPECT_FALSE(harness_.error(guest, taken)) << harness_.message(guest, taken);
    }
    return guest;
  }
  void set_weight(TenantId tenant, std::uint32_t weight) {
    harness_.controller->set_tenant(tenant, {.weight = weight});
    harness_.verify();
  }
  void expect_left(std::uint32_t light_count, std::uint32_t heavy_count) {
    for (const ModelIndex model : kModels) {
      SCOPED_TRACE(static_cast<std::uint32_t>(model));
      const ColdPages& pages = harness_.controller->pages(model).cold_pages();
      EXPECT_EQ(pages.page_count_of(kLight), light_count);
      EXPECT_EQ(pages.page_count_of(kHeavy), heavy_count);
    }
  }

  static constexpr ModelIndex kModels[] = {ModelIndex{0}, ModelIndex{1}};
  Harness harness_{options()};
};

TEST_F(EvictionWeights, SetBeforeATenantComesTakeThePagesOfTheOneMostAboveItsShare) {
  set_weight(kLight, 1);
  set_weight(kHeavy, 3);
  leave_cold(kHeavy, 12);  // The older pages: by age alone they would go first.
  leave_cold(kLight, 12);
  expect_left(12, 12);
  take(8);
  expect_left(4, 12);  // 4 pages for a weight of 1, 12 for one of 3.
  take(4);
  expect_left(3, 9);
}

TEST_F(EvictionWeights, OfATenantThatNobodyNamedAreOne) {
  set_weight(kHeavy, 3);
  leave_cold(kHeavy, 12);
  leave_cold(kLight, 12);
  take(12);
  expect_left(3, 9);
}

TEST_F(EvictionWeights, ThatChangeHoldForPagesThatAreThereAlready) {
  leave_cold(kHeavy, 12);
  leave_cold(kLight, 12);
  set_weight(kHeavy, 3);
  take(8);
  expect_left(4, 12);
  set_weight(kLight, 3);
  set_weight(kHeavy, 1);
  take(8);
  expect_left(4, 4);
  set_weight(kLight, 1);  // Named again, with the weight that both have now.
  take(4);
  expect_left(2, 2);
}

TEST_F(EvictionWeights, OutliveTheLastPageAndTheLastProgramOfATenant) {
  set_weight(kHeavy, 3);
  leave_cold(kHeavy, 12);
  const InstanceId all = take(kPageCount);
  expect_left(0, 0);
  harness_.controller->end_instance(all);
  harness_.run();
  leave_cold(kHeavy, 12);
  leave_cold(kLight, 12);
  take(12);
  expect_left(3, 9);
}

}  // namespace
}  // namespace quire::control::eviction_weight_test
