// Draws of tokens.
#include <utility>

#include "control/controller/issue/issuer.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DrawTokens& body) {
  // The shared extras outlive the command, which the operation takes over.
  const std::shared_ptr<const DrawExtras> more = body.draw.more;
  Operation* operation = TRY(to.make_reads(instance, command, body.queue, body.embeds));
  if (more != nullptr) {
    Result<void> used = to.use_matchers(instance, *operation, more->matchers);
    if (!used.ok()) operation->error = std::move(used).take_error();
  }
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextDraw& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  const std::shared_ptr<const DrawExtras> more = body.draw.more;
  const bool has_drafts = body.drafts != nullptr && !body.drafts->tokens.empty();
  const bool has_matchers = more != nullptr && !more->matchers.empty();
  if (has_drafts) TRY(check_is_paged(*context->replica(), "verify"));
  Operation* operation = to.issue_on_context(instance, command, *context);
  if (has_drafts || has_matchers) operation->read = std::make_unique<ReadProgress>();
  if (has_matchers) {
    Result<void> used = to.use_matchers(instance, *operation, more->matchers);
    if (!used.ok()) operation->error = std::move(used).take_error();
  }
  to.table.issue(*operation);
  return {};
}

}  // namespace quire::control
