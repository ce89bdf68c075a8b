#pragma once
// Dispatcher turns what the device did into Answers and hands them up: stop 10 of the walk.
//
// Thread   engine thread only.
// Errors   none of its own; a failure of the device becomes the answer of the one who waits.
#include <cstdint>

#include "base/walk.h"
#include "control/api/control_port.h"
#include "inference/api/batch.h"

namespace quire::control {

class Dispatcher {
 public:
  Dispatcher(AnswerSink& sink, WalkSink* walk) : sink_(sink), walk_(walk) {}

  // Answers each future that is waited for, exactly once; kNoFuture means that none is.
  void answer(InstanceId instance, FutureId future, Result<AnswerBody> body);
  void lost(InstanceId instance, const Error& error) { sink_.lost(instance, error); }

  std::uint64_t answer_count() const { return answer_count_; }

 private:
  AnswerSink& sink_;
  WalkSink* walk_;
  std::uint64_t answer_count_ = 0;
};

// The answer to a request for a form of a distribution.
Result<AnswerBody> answer_of(Result<inference::Distribution> distribution,
                             inference::DistributionKind kind);

}  // namespace quire::control
