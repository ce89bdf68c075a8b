// Contexts.
#include <string>
#include <utility>

#include "control/controller/issue/issuer.h"
#include "control/objects/give_back.h"

namespace quire::control {

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextCreate& body) {
  TRY(to.check_new(instance, {body.context}));
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(to.make_context(instance, body.context, *queue));
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextAppend& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_tokens(body.tokens, *context->replica()));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextFlush& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextForward& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  Operation* operation = to.issue_on_context(instance, command, *context);
  Result<void> resolved =
      to.collect(instance, std::get<ContextForward>(operation->body).output_embeds,
                 ObjectKind::Embed, context->replica(), true, operation->output_embeds);
  if (!resolved.ok()) operation->error = std::move(resolved).take_error();
  to.chain(*operation, operation->output_embeds);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextFork& body) {
  TRY(to.check_new(instance, {body.child}));
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(to.check_context_room(instance));
  TRY(check_is_paged(*context->replica(), "fork"));
  ++instance.held.contexts;
  ++context->queue()->context_count;
  Context* child = to.table.contexts.make();
  child->bind(context->owner());
  instance.add_context(body.child, *child);
  Operation* operation = to.issue_on_context(instance, command, *context);
  operation->child = child;
  to.table.chain(*operation, *child);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextEdit& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  if (body.kind != ContextEditKind::Truncate) {
    TRY(check_is_paged(*context->replica(), "this operation on pages"));
  }
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextDropRange& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_is_paged(*context->replica(), "drop_range"));
  TRY(check_has_no_states(*context->replica(), "drop_range"));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextSplice& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  Context* source = TRY(to.find<Context>(instance, body.source, ObjectKind::Context));
  if (source->replica() != context->replica()) {
    return Error(ErrorCode::InvalidArgument, "splice: the source is a context of another model");
  }
  Operation* operation = to.issue_on_context(instance, command, *context);
  operation->child = source;
  to.table.chain(*operation, *source);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextHint& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextBeyond& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command,
                   const ContextUseAdapters& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_adapters(body.set, *context->replica()));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextMark& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextKeep& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  if (!keep_taken(*context)) {
    return Error(ErrorCode::InvalidArgument, "the context was not taken, or its program has it");
  }
  to.done(instance, command);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextDrop& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  instance.remove_context(body.context, *context);
  --instance.held.contexts;  // As destroy_queue.
  return to.issue_alone(instance, command, *context);
}

}  // namespace quire::control
