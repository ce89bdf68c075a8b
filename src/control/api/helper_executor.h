#pragma once
// A thread for work that would hold the engine. run() never blocks; jobs run in order.
#include <functional>

namespace quire::control {

class HelperExecutor {
 public:
  virtual ~HelperExecutor() = default;
  virtual void run(std::function<void()> job) = 0;
};

}  // namespace quire::control
