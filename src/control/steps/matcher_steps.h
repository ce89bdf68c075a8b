#pragma once
// MatcherSteps: what programs ask of matchers, which is done on the matchers' thread.
//
// Thread   engine thread only.
#include "control/steps/matcher_jobs.h"
#include "control/steps/steps.h"

namespace quire::control {

class MatcherSteps final : public Steps {
 public:
  MatcherSteps(const StepTools& tools, MatcherJobs& matchers) : Steps(tools), matchers_(matchers) {}

  Attempt attempt(Operation& operation, BatchDraft*) override;

 private:
  MatcherJobs& matchers_;
};

}  // namespace quire::control
