#pragma once
// ReadSteps: forms of what passes put out, one or a list at once, and tokens drawn from them.
//
// Thread   engine thread only.
#include <cstdint>
#include <optional>

#include "control/steps/draw_steps.h"
#include "control/steps/steps.h"

namespace quire::control {

class ReadSteps final : public Steps, public ReadOwner {
 public:
  ReadSteps(const StepTools& tools, DrawSteps& draws) : Steps(tools), draws_(draws) {}

  Attempt attempt(Operation& operation, BatchDraft* building) override;
  void read(const ReadRecord& record, Result<inference::Distribution> outcome) override;

 private:
  std::optional<Attempt> prepare_reads(Operation& operation);
  void describe(const Operation& operation, std::uint32_t place,
                inference::DistributionRequest& request) const;
  void finish_reads(Operation& operation);

  DrawSteps& draws_;
};

}  // namespace quire::control
