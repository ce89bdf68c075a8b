#include "control/batches/ready_queue.h"

namespace quire::control {

void ReadyQueue::add_woken() {
  for (const Ref<Operation>& each : woken_) {
    if (Operation* operation = each.get()) add(*operation);
  }
  woken_.clear();
}

}  // namespace quire::control
