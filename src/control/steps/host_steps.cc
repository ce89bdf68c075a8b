#include "control/steps/host_steps.h"

#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/context_edits.h"
#include "control/objects/give_back.h"

namespace quire::control {

Attempt HostSteps::attempt(Operation& operation, BatchDraft* draft) {
  if (const std::optional<Attempt> waits = contexts_.bring_back(operation, draft)) return *waits;
  switch (operation.type) {
    case index_of<Synchronize>():
      if (operation.queue->first != &operation && !is_planted(Fault::BarrierSkipped)) {
        return Attempt::Blocked;
      }
      return done(operation);
    case index_of<DestroyQueue>():
      return destroy_queue(operation);
    case index_of<DeallocEmbeds>():
      for (EmbedObject* embed : operation.output_embeds) {
        give_back(*embed);
        tools_.table.embeds.destroy(embed);
      }
      return done(operation);
    case index_of<EmbedText>():
      return embed_text(operation);
    case index_of<ContextAppend>():
      operation.context->append(body_of<ContextAppend>(operation).tokens);
      return done(operation);
    case index_of<ContextFork>():
      return fork(operation);
    case index_of<ContextEdit>():
    case index_of<ContextDropRange>():
      return edit(operation, draft);
    case index_of<ContextSplice>():
      return splice(operation);
    case index_of<ContextHint>():
      return hint(operation);
    case index_of<ContextBeyond>():
      operation.context->set_beyond(body_of<ContextBeyond>(operation).is_allowed);
      return done(operation);
    case index_of<ContextUseAdapters>():
      operation.context->parts().use_adapters(body_of<ContextUseAdapters>(operation).set);
      return done(operation);
    case index_of<ContextMark>():
      operation.context->parts().mark();
      return done(operation);
    case index_of<ContextDrop>():
      return drop(operation);
    default:
      QUIRE_CHECK(false, "a command that is not an operation of the host");
  }
}

Attempt HostSteps::hint(Operation& operation) {
  const ContextHint& body = body_of<ContextHint>(operation);
  operation.context->set_hint(body.kind, body.seconds);
  if (body.kind == ContextHintKind::WillResume) tiers_.prefetch(*operation.context);
  return done(operation);
}

Attempt HostSteps::drop(Operation& operation) {
  Context* context = operation.context;
  give_back(*context, tools_.table.clock.now_ns());
  QueueObject& queue = *context->queue();
  tools_.table.contexts.destroy(context);
  operation.context = nullptr;
  --queue.context_count;
  tools_.table.finish(operation, AnswerBody(Done{}));
  release_queue(queue);
  return Attempt::Done;
}

Attempt HostSteps::embed_text(Operation& operation) {
  const EmbedText& body = std::get<EmbedText>(operation.body);
  for (std::size_t index = 0; index < operation.output_embeds.size(); ++index) {
    EmbedObject& embed = *operation.output_embeds[index];
    give_back(embed);
    embed.state = EmbedState::Token;
    embed.token = inference::TokenId{body.tokens[index]};
    embed.position = body.positions[index];
  }
  return done(operation);
}

Attempt HostSteps::fork(Operation& operation) {
  operation.context->fork_to(*operation.child);
  tools_.table.finish(operation,
                      AnswerBody(Forked{.child = std::get<ContextFork>(operation.body).child,
                                        .counters = operation.child->counters()}));
  return Attempt::Done;
}

Attempt HostSteps::reserve(Operation& operation, std::uint32_t count, BatchDraft* draft) {
  Instance& instance = *operation.instance;
  const std::uint32_t wanted = pages_to_reserve(*operation.context, count);
  if (count > resources().cache.page_count()) {
    return fail(operation, tools_.room.no_free_page(instance, count));
  }
  if (Result<void> quota = tools_.quota.may_hold(instance, wanted, operation.context);
      !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (!tools_.room.can_take(operation, wanted, draft != nullptr))
    return tools_.room.want(operation, wanted);
  reserve_pages(*operation.context, count);
  return finish_context(operation);
}

Attempt HostSteps::edit(Operation& operation, BatchDraft* draft) {
  Context& context = *operation.context;
  Result<void> outcome;
  if (const auto* drop = std::get_if<ContextDropRange>(&operation.body)) {
    outcome = drop_range(context, {drop->begin, drop->end});
  } else {
    const ContextEdit& body = std::get<ContextEdit>(operation.body);
    switch (body.kind) {
      case ContextEditKind::Truncate:
        outcome = truncate(context, body.count);
        break;
      case ContextEditKind::Rewind:
        if (context.is_suspended()) {
          context.resume(tools_.quota.of(*operation.instance));
        }
        outcome = rewind(context, body.count);
        break;
      case ContextEditKind::ReservePages:
        return reserve(operation, body.count, draft);
      case ContextEditKind::CommitPages:
        outcome = commit_pages(context, body.count);
        break;
      case ContextEditKind::ReleasePages:
        outcome = release_pages(context, body.count);
        break;
      case ContextEditKind::TruncatePageTokens:
        outcome = truncate_page_tokens(context, body.count);
        break;
    }
  }
  if (!outcome.ok()) return fail(operation, std::move(outcome).take_error());
  return finish_context(operation);
}

Attempt HostSteps::splice(Operation& operation) {
  const ContextSplice& body = std::get<ContextSplice>(operation.body);
  if (operation.child->is_in_flight()) return Attempt::Later;
  Result<void> outcome =
      control::splice(*operation.context, *operation.child, {body.begin, body.end});
  if (!outcome.ok()) return fail(operation, std::move(outcome).take_error());
  return finish_context(operation);
}

Attempt HostSteps::destroy_queue(Operation& operation) {
  QueueObject& queue = *operation.queue;
  if (queue.first != &operation) return Attempt::Blocked;
  queue.is_destroyed = true;
  tools_.table.finish(operation, AnswerBody(Done{}));
  release_queue(queue);
  return Attempt::Done;
}

// A queue lives until it is destroyed, its last operation is done and its last context dropped.
void HostSteps::release_queue(QueueObject& queue) {
  if (queue.is_destroyed && queue.first == nullptr && queue.context_count == 0) {
    tools_.table.queues.destroy(&queue);
  }
}

}  // namespace quire::control
