#pragma once
// SimulatedMachine is a control layer on a simulated device, for benchmarks of the control layer:
// the production scheduler and pages, no model and no arithmetic.
//
// Owns     all parts below.
// Thread   one. A batch is complete when complete_next() says so.
#include <memory>

#include "application/lifecycle/answer_inbox.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/controller.h"
#include "inference/devices/simulated/simulated_backend.h"

namespace quire {

class SimulatedMachine {
 public:
  // Sets `model` and `manual` of `device`.
  SimulatedMachine(inference::SimulatedBackendOptions device,
                   const control::ControllerOptions& options, const Clock& clock);

  control::Controller& control() { return *control_; }
  Wakeup& wakeup() { return wakeup_; }
  lifecycle::AnswerInbox& answers() { return answers_; }
  inference::SimulatedBackend& device() { return device_; }

 private:
  Wakeup wakeup_;
  lifecycle::AnswerInbox answers_;
  control::CompletionInbox completions_{wakeup_};
  inference::SimulatedBackend device_;
  std::unique_ptr<control::Controller> control_;
};

}  // namespace quire
