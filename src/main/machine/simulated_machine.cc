#include "main/machine/simulated_machine.h"

#include <utility>

namespace quire {
namespace {

inference::SimulatedBackendOptions filled(inference::SimulatedBackendOptions options) {
  options.model = inference::simulated_model();
  options.manual = true;
  return options;
}

}  // namespace

SimulatedMachine::SimulatedMachine(inference::SimulatedBackendOptions device,
                                   const control::ControllerOptions& options, const Clock& clock)
    : device_(filled(std::move(device)), completions_),
      control_(control::make_controller({{.backend = &device_}}, options, completions_, answers_,
                                        wakeup_, clock)) {}

}  // namespace quire
