#pragma once
// The control layer's word for a policy of batching that the user chose.
#include "cli/options.h"
#include "control/scheduler/dispatch_policy.h"

namespace quire {

inline control::DispatchPolicy dispatch_policy(const cli::BatchingChoice& choice) {
  control::DispatchPolicy policy{.command_count = choice.command_count,
                                 .period_ns = choice.period_ns};
  switch (choice.kind) {
    case cli::BatchingKind::Adaptive:
      break;
    case cli::BatchingKind::Eager:
      policy.kind = control::DispatchKind::Eager;
      break;
    case cli::BatchingKind::KOnly:
      policy.kind = control::DispatchKind::KOnly;
      break;
    case cli::BatchingKind::TOnly:
      policy.kind = control::DispatchKind::TOnly;
      break;
  }
  return policy;
}

}  // namespace quire
