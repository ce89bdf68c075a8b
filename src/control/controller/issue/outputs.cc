// Reads of what passes put out, one or a list at once.
#include <cmath>
#include <string>

#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetNextDist& body) {
  if (!(body.temperature > 0.0f) || !std::isfinite(body.temperature)) {
    return Error(ErrorCode::InvalidArgument,
                 "temperature " + std::to_string(body.temperature) + " is not above 0");
  }
  return to.issue_output(instance, command, body.queue, body.embed);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetLogits& body) {
  return to.issue_output(instance, command, body.queue, body.embed);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetLogprobs& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_tokens(body.tokens, *queue->replica));
  return to.issue_output(instance, command, body.queue, body.embed);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetEntropy& body) {
  return to.issue_output(instance, command, body.queue, body.embed);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetEmbedding& body) {
  return to.issue_output(instance, command, body.queue, body.embed);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetNextDists& body) {
  to.table.issue(*TRY(to.make_reads(instance, command, body.queue, body.embeds)));
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetLogprobsOf& body) {
  to.table.issue(*TRY(to.make_reads(instance, command, body.queue, body.embeds)));
  return {};
}

}  // namespace quire::control
