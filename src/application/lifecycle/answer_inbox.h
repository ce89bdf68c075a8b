#pragma once
// AnswerInbox is the AnswerSink of the application: it notes answers until the InstanceManager
// takes them. It exists apart from the manager so that the control layer can be built before it.
//
// Thread   engine thread only.
// Bound    one answer for each future that waits; hostcalls bounds those.
#include <utility>
#include <vector>

#include "control/api/control_port.h"

namespace quire::lifecycle {

class AnswerInbox final : public control::AnswerSink {
 public:
  void answer(control::Answer answer) override { answers_.push_back(std::move(answer)); }
  bool empty() const { return answers_.empty(); }
  std::vector<control::Answer> take() { return std::exchange(answers_, {}); }

 private:
  std::vector<control::Answer> answers_;
};

}  // namespace quire::lifecycle
