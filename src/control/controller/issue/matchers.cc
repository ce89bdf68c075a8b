// Matchers of grammars.
#include <string>
#include <utility>

#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const CreateMatcher& body) {
  const auto index = static_cast<std::size_t>(body.model);
  if (index >= to.replicas.size()) {
    return Error(ErrorCode::NotFound, "no model " + std::to_string(index));
  }
  TRY(to.make_matcher(instance, body.matcher, *to.replicas[index], body.grammar));
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ForkMatcher& body) {
  MatcherObject* parent = TRY(to.find<MatcherObject>(instance, body.matcher, ObjectKind::Matcher));
  MatcherObject* child =
      TRY(to.make_matcher(instance, body.child, *parent->replica, parent->state->grammar));
  Operation* operation = to.table.make(instance, parent->replica, std::move(command));
  operation->read = std::make_unique<ReadProgress>();
  operation->read->matchers = {parent, child};
  to.table.chain(*operation, *parent);
  to.table.chain(*operation, *child);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const AcceptTokens& body) {
  return to.issue_on_matcher(instance, command, body.matcher);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const RollBackMatcher& body) {
  return to.issue_on_matcher(instance, command, body.matcher);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetTokenMask& body) {
  return to.issue_on_matcher(instance, command, body.matcher);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetForcedTokens& body) {
  return to.issue_on_matcher(instance, command, body.matcher);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DropMatcher& body) {
  const ObjectId id = body.matcher;
  TRY(to.issue_on_matcher(instance, command, id));
  instance.objects.erase(static_cast<std::uint32_t>(id));
  return {};
}

}  // namespace quire::control
