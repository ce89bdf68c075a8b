#pragma once
// Tests of what a store answers, each on a simulated disk of its own.
#include <gtest/gtest.h>

#include "support/snapshot_harness.h"

namespace quire::test {

// Internal where there is no error.
inline ErrorCode code_of(const auto& result) {
  return result.ok() ? ErrorCode::Internal : result.error().code();
}

class StoreFixture : public testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    const Result<void> opened = simulated_.open();
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }
  SnapshotStore& store() { return *simulated_.store; }

  SimulatedStore simulated_;
};

}  // namespace quire::test
