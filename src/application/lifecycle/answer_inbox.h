#pragma once
// AnswerInbox is the AnswerSink of the application: it notes answers and losses until the
// InstanceManager takes them. It exists apart from the manager so that the control layer can be
// built before it.
//
// Thread   engine thread only.
// Bound    one answer for each future that waits, whose number hostcalls limits; one loss for each
// instance.
#include <utility>
#include <vector>

#include "control/api/control_port.h"

namespace quire::lifecycle {

class AnswerInbox final : public control::AnswerSink {
 public:
  void answer(control::Answer answer) override { answers_.push_back(std::move(answer)); }
  void lost(control::InstanceId instance, const Error& error) override {
    losses_.push_back({instance, error.copy()});
  }
  bool empty() const { return answers_.empty(); }
  std::vector<control::Answer> take() { return std::exchange(answers_, {}); }
  struct Loss {
    control::InstanceId instance{};
    Error error;
  };
  std::vector<Loss> take_losses() { return std::exchange(losses_, {}); }

 private:
  std::vector<control::Answer> answers_;
  std::vector<Loss> losses_;
};

}  // namespace quire::lifecycle
