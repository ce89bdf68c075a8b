#pragma once
// Threads for work that would hold the engine.
#include <functional>

namespace quire::control {

// One of them. run() never blocks; jobs run in order.
class HelperExecutor {
 public:
  virtual ~HelperExecutor() = default;
  virtual void run(std::function<void()> job) = 0;
};

// Null: what it would do runs on the engine's thread.
struct Helpers {
  HelperExecutor* texts = nullptr;     // Long text jobs,
  HelperExecutor* grammars = nullptr;  // what compiles grammars,
  HelperExecutor* matchers = nullptr;  // and what matchers do.
};

}  // namespace quire::control
