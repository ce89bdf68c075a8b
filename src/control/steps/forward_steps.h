#pragma once
// ForwardSteps: the low-level pass, over pages that the program names.
//
// Thread   engine thread only.
#include <cstdint>
#include <vector>

#include "control/steps/steps.h"

namespace quire::control {

class ForwardSteps final : public Steps, public PassOwner {
 public:
  using Steps::Steps;

  Attempt attempt(Operation& operation, BatchDraft* building) override;
  void passed(const Flight& flight, PassRecord& pass, Result<void> outcome) override;

 private:
  Result<void> check_forward(Operation& operation);
  Result<void> check_distance(const Operation& operation) const;
  bool is_chunkable(const Operation& operation) const;
  Attempt place(Operation& operation, std::uint32_t row_count, BatchDraft& draft);
  std::vector<inference::TableEntry> table_of(const Operation& operation, ForwardRecord& record,
                                              const BatchDraft& draft);
  void add_rows(Operation& operation, std::uint32_t row_count, ForwardRecord& record,
                std::vector<inference::TableEntry>& entries, BatchDraft& draft);
  inference::SlotMask mask_of(const Operation& operation, std::uint32_t row_first,
                              std::uint32_t row_count, std::uint32_t slot_count) const;
};

}  // namespace quire::control
