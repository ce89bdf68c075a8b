// What needs no device: done as soon as what was issued before on the same objects is placed.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_suspend.h"
#include "control/contexts/context_swap.h"
#include "control/contexts/page_handles.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {

using inference::TokenId;

Scheduler::Attempt Scheduler::attempt(Operation& operation) {
  if (operation.error) return fail(operation, std::move(*std::exchange(operation.error, {})));
  switch (operation.type) {
    case index_of<ContextFlush>():
    case index_of<ContextForward>():
    case index_of<ContextDraw>():
      return compute_context(operation);
    case index_of<Forward>():
      return forward(operation);
    case index_of<ContextOpen>():
      return open(operation);
    case index_of<CopyPage>():
      return copy_page(operation);
    case index_of<ExportPages>():
      return export_pages(operation);
    case index_of<ContextFromPages>():
      return make_from_pages(operation);
    case index_of<GetNextDist>():
    case index_of<GetLogits>():
    case index_of<GetLogprobs>():
    case index_of<GetEntropy>():
    case index_of<GetEmbedding>():
    case index_of<GetNextDists>():
    case index_of<GetLogprobsOf>():
    case index_of<DrawTokens>():
      return distribution(operation);
    case index_of<ForkMatcher>():
    case index_of<AcceptTokens>():
    case index_of<RollBackMatcher>():
    case index_of<GetTokenMask>():
    case index_of<GetForcedTokens>():
    case index_of<DropMatcher>():
      return matcher_step(operation);
    default:
      return attempt_host(operation);
  }
}

namespace {

// Then nothing that was written is touched, wherever it is.
bool cuts_queue_only(const ContextEdit& cut, const Context& context) {
  const std::uint64_t queued = queued_count(context) - context.lost_count + context.overflow_count;
  return cut.kind == ContextEditKind::Truncate && cut.count <= queued;
}

}  // namespace

Scheduler::Attempt Scheduler::attempt_host(Operation& operation) {
  if (operation.context != nullptr && operation.context->is_in_flight &&
      !is<ContextAppend>(operation)) {
    return Attempt::Later;
  }
  // A cut goes without what it cuts; anything else needs what was written to be there.
  const auto* cut = std::get_if<ContextEdit>(&operation.body);
  const bool cuts = cut != nullptr && (cut->kind == ContextEditKind::Truncate ||
                                       cut->kind == ContextEditKind::Rewind);
  // What was swapped comes back before anything that changes it.
  const bool is_swapped = operation.context != nullptr && operation.context->swapped;
  const bool needs_all = (cut != nullptr && !cuts) || is<ContextDropRange>(operation) ||
                         is<ContextSave>(operation) || is<ContextPages>(operation) ||
                         (is_swapped && cuts && !cuts_queue_only(*cut, *operation.context));
  if (is_swapped && is<ContextFork>(operation) && !operation.context->swapped->error &&
      !has_swapped_tail(*operation.context)) {
    return Attempt::Later;  // The batch under way brings it.
  }
  if (needs_all) {
    if (const std::optional<Attempt> unfinished = restore(operation)) return *unfinished;
  }
  switch (operation.type) {
    case index_of<Synchronize>():
      if (operation.queue->first != &operation && !is_planted(Fault::BarrierSkipped)) {
        return Attempt::Blocked;
      }
      break;
    case index_of<DestroyQueue>():
      return destroy_queue(operation);
    case index_of<AllocPages>():
      return alloc_pages(operation);
    case index_of<DeallocPages>():
      for (PageObject* page : operation.output_pages) {
        drop_page(*operation.instance, *page);
        table_.pages.destroy(page);
      }
      break;
    case index_of<DeallocEmbeds>():
      for (EmbedObject* embed : operation.output_embeds) {
        drop_embed(*embed);
        table_.embeds.destroy(embed);
      }
      break;
    case index_of<EmbedText>():
      return embed_text(operation);
    case index_of<MaskPage>():
      return mask_page(operation);
    case index_of<ImportPages>():
      return import_pages(operation);
    case index_of<UnexportPages>():
      return unexport_pages(operation);
    case index_of<ListExports>():
      return list_exports(operation);
    case index_of<ContextPages>():
      return share_context(operation);
    case index_of<ContextAppend>():
      append_tokens(*operation.context, resources_, std::get<ContextAppend>(operation.body).tokens);
      break;
    case index_of<ContextFork>():
      return fork(operation);
    case index_of<ContextEdit>():
    case index_of<ContextDropRange>():
      return edit(operation);
    case index_of<ContextSplice>():
      return splice(operation);
    case index_of<ContextSave>():
      return save(operation);
    case index_of<ContextHint>(): {
      const ContextHint& body = std::get<ContextHint>(operation.body);
      operation.context->hint = body.kind;
      operation.context->hint_seconds = body.seconds;
      if (body.kind == ContextHintKind::WillResume) tiers_.prefetch(*operation.context);
      break;
    }
    case index_of<ContextBeyond>():
      operation.context->is_beyond_context = std::get<ContextBeyond>(operation.body).is_allowed;
      break;
    case index_of<ContextDrop>(): {
      Context* context = operation.context;
      drop_context(*context);
      QueueObject& queue = *context->queue;
      table_.contexts.destroy(context);
      operation.context = nullptr;
      --queue.context_count;
      table_.finish(operation, AnswerBody(Done{}));
      release_queue(queue);
      return Attempt::Done;
    }
    default:
      QUIRE_CHECK(false, "a command that is no operation");
  }
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::alloc_pages(Operation& operation) {
  Instance& instance = *operation.instance;
  const auto count = static_cast<std::uint32_t>(operation.output_pages.size());
  if (count > resources_.cache.page_count()) {
    return fail(operation, no_free_page(instance, count));
  }
  if (Result<void> quota = check_quota(instance, count); !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (!can_take(operation, count)) return want_pages(operation, count);
  std::vector<PageId> pages;
  QUIRE_CHECK(resources_.cache.take(count, pages), "make_room() made too little");
  report(table_.walk, WalkStop::Pages);
  for (std::uint32_t index = 0; index < count; ++index) {
    operation.output_pages[index]->page = pages[index];
    operation.output_pages[index]->positions.assign(resources_.cache.page_size(), 0);
    ledger(instance).acquire(pages[index]);
  }
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::embed_text(Operation& operation) {
  const EmbedText& body = std::get<EmbedText>(operation.body);
  for (std::size_t index = 0; index < operation.output_embeds.size(); ++index) {
    EmbedObject& embed = *operation.output_embeds[index];
    drop_embed(embed);
    embed.state = EmbedState::Token;
    embed.token = inference::TokenId{body.tokens[index]};
    embed.position = body.positions[index];
  }
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::mask_page(Operation& operation) {
  const MaskPage& body = std::get<MaskPage>(operation.body);
  std::uint32_t view = 0;
  for (std::size_t slot = 0; slot < body.visible.size(); ++slot) {
    view |= (body.visible[slot] != 0 ? 1u : 0u) << slot;
  }
  operation.output_pages.front()->view = view;
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::fork(Operation& operation) {
  fork_context(*operation.context, *operation.child, resources_, ledger(*operation.instance));
  table_.finish(
      operation,
      AnswerBody(Forked{.child = std::get<ContextFork>(operation.body).child,
                        .counters = counters_of(*operation.child, resources_.cache.page_size())}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::reserve(Operation& operation, std::uint32_t count) {
  Instance& instance = *operation.instance;
  const std::uint32_t wanted = pages_to_reserve(*operation.context, count);
  if (count > resources_.cache.page_count()) {
    return fail(operation, no_free_page(instance, count));
  }
  if (Result<void> quota = check_quota(instance, wanted, operation.context); !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (!can_take(operation, wanted)) return want_pages(operation, wanted);
  reserve_pages(*operation.context, resources_, ledger(instance), count);
  return finish_context(operation);
}

ObjectId Scheduler::context_id(const Operation& operation) {
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.context; }) return body.context;
        return kNoObject;
      },
      operation.body);
}

Scheduler::Attempt Scheduler::finish_context(Operation& operation) {
  table_.finish(operation,
                AnswerBody(ContextState{
                    .context = context_id(operation),
                    .counters = counters_of(*operation.context, resources_.cache.page_size())}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::edit(Operation& operation) {
  Context& context = *operation.context;
  PageLedger& pages = ledger(*operation.instance);
  Result<void> outcome;
  if (const auto* drop = std::get_if<ContextDropRange>(&operation.body)) {
    outcome = drop_range(context, resources_, pages, {drop->begin, drop->end});
  } else {
    const ContextEdit& body = std::get<ContextEdit>(operation.body);
    switch (body.kind) {
      case ContextEditKind::Truncate:
        outcome = truncate_context(context, resources_, pages, body.count);
        break;
      case ContextEditKind::Rewind:
        if (context.is_suspended) {
          resume_context(context, resources_, pages, quota_of(*operation.instance));
        }
        outcome = rewind_context(context, resources_, pages, body.count);
        break;
      case ContextEditKind::ReservePages:
        return reserve(operation, body.count);
      case ContextEditKind::CommitPages:
        outcome = commit_pages(context, resources_, pages, body.count);
        break;
      case ContextEditKind::ReleasePages:
        outcome = release_pages(context, resources_, pages, body.count);
        break;
      case ContextEditKind::TruncatePageTokens:
        outcome = truncate_page_tokens(context, resources_, body.count);
        break;
    }
  }
  if (!outcome.ok()) return fail(operation, std::move(outcome).take_error());
  return finish_context(operation);
}

Scheduler::Attempt Scheduler::splice(Operation& operation) {
  const ContextSplice& body = std::get<ContextSplice>(operation.body);
  if (operation.child->is_in_flight) return Attempt::Later;
  Result<void> outcome =
      splice_context(*operation.context, *operation.child, resources_, {body.begin, body.end});
  if (!outcome.ok()) return fail(operation, std::move(outcome).take_error());
  return finish_context(operation);
}

Scheduler::Attempt Scheduler::save(Operation& operation) {
  if (operation.context->overflow_count > 0) {  // A snapshot without them would be another context.
    return fail(operation, check_fits(*operation.context, resources_).take_error());
  }
  if (!saves_.has_room(operation.instance->tenant)) return Attempt::Later;
  Context* shadow = table_.contexts.make();
  shadow->model = this;
  shadow->instance = operation.instance;
  shadow->queue = operation.context->queue;
  fork_context(*operation.context, *shadow, resources_, ledger(*operation.instance));
  operation.child = shadow;
  table_.place(operation);  // What comes behind it on the context need not wait for the disk.
  saves_.start(operation);
  return Attempt::Placed;
}

Scheduler::Attempt Scheduler::open(Operation& operation) {
  Result<SnapshotOpens::Step> step = opens_.step(
      operation, batch_, [&](NodeId node) { return check_found(*operation.instance, node); },
      [&](std::uint32_t count) -> Result<bool> {
        TRY(check_quota(*operation.instance, count));
        const bool may_take = can_take(operation, count);
        if (may_take) operation.wanted_page_count = 0;
        return may_take;
      });
  if (is_building_) note_loads(false);
  if (!step.ok()) return fail(operation, std::move(step).take_error());
  switch (step.value().end) {
    case SnapshotOpens::StepEnd::Waits:
      return Attempt::Blocked;
    case SnapshotOpens::StepEnd::Again:
      return Attempt::Later;
    case SnapshotOpens::StepEnd::WantsPages:
      return want_pages(operation, step.value().wanted_page_count);
    case SnapshotOpens::StepEnd::Done:
      break;
  }
  table_.finish(
      operation,
      AnswerBody(Opened{.context = context_id(operation),
                        .counters = counters_of(*operation.context, resources_.cache.page_size()),
                        .note = std::move(step.value().note)}));
  return Attempt::Done;
}

void Scheduler::abandon(Operation& operation) {
  if (is<ContextOpen>(operation)) opens_.abandon(operation);
  if (is<ContextSave>(operation)) saves_.abandon(operation);
}

Scheduler::Attempt Scheduler::destroy_queue(Operation& operation) {
  QueueObject& queue = *operation.queue;
  if (queue.first != &operation) return Attempt::Blocked;
  queue.is_destroyed = true;
  table_.finish(operation, AnswerBody(Done{}));
  release_queue(queue);
  return Attempt::Done;
}

// A queue lives until it is destroyed, its last operation is done and its last context dropped.
void Scheduler::release_queue(QueueObject& queue) {
  if (queue.is_destroyed && queue.first == nullptr && queue.context_count == 0) {
    table_.queues.destroy(&queue);
  }
}

void Scheduler::drop_page(Instance& instance, PageObject& page) {
  if (page.page == inference::kNoPage) return;
  ledger(instance).release(page.page);
  release_handle(page, resources_);
}

void Scheduler::drop_embed(EmbedObject& embed) {
  if (embed.state == EmbedState::Output) {
    resources_.embed_slots.release(embed.slot);
    ledger(*embed.instance).release_output();
    --embed.instance->shares[static_cast<std::size_t>(options_.model)]->output_count;
  }
  embed.state = EmbedState::Empty;
  embed.slot = inference::kNoEmbedSlot;
  embed.error.reset();
}

// For an output. A slot of its own: what the embed held may still be read.
void Scheduler::take_slot(EmbedObject& embed) {
  if (embed.state == EmbedState::Output) {
    resources_.embed_slots.release(embed.slot);
  } else {
    drop_embed(embed);
    embed.state = EmbedState::Output;
    ledger(*embed.instance).acquire_output();
    ++embed.instance->shares[static_cast<std::size_t>(options_.model)]->output_count;
  }
  embed.slot = *resources_.embed_slots.allocate();
}

bool Scheduler::keep_taken(Context& context) {
  if (context.taken_ticket == store::kNoTicket) return false;
  disk_.release(std::exchange(context.taken_ticket, store::kNoTicket), store::TicketEnd::Take);
  return true;
}

void Scheduler::drop_context(Context& context) {
  if (context.taken_ticket != store::kNoTicket) {
    disk_.release(std::exchange(context.taken_ticket, store::kNoTicket));  // The snapshot stays.
  }
  if (context.head == kNoNode) return;  // A fork that never came to its turn.
  resources_.cache.set_time(table_.clock.now_ns());
  control::drop_context(context, resources_, ledger(*context.instance));
}

Scheduler::Attempt Scheduler::fail(Operation& operation, Error error) {
  // Once placed, its embeds may be another's by now: complete_pass() marks those that are not.
  const bool is_placed = operation.state == OperationState::Placed;
  if (!is_placed && (is<Forward>(operation) || is<ContextForward>(operation))) {
    for (EmbedObject* embed : operation.output_embeds) {
      drop_embed(*embed);
      embed->state = EmbedState::Failed;
      embed->error = error.copy();
    }
  }
  const bool computes = computes_context(operation) ||
                        (operation.context != nullptr && operation.context->lost_count > 0);
  if (computes) {
    if (operation.context != nullptr && !operation.context->is_suspended &&
        !operation.context->is_in_flight) {
      trim_tail(*operation.context, resources_, ledger(*operation.instance));
    }
  }
  if (is<ContextOpen>(operation)) {
    opens_.forget(operation);
    Context& context = *operation.context;
    const NodeId root = resources_.cache.root_of(context.head);
    control::drop_context(context, resources_, ledger(*operation.instance));
    open_context(context, resources_, root);
  }
  table_.finish(operation, std::move(error));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::want_pages(Operation& operation, std::uint32_t count) {
  if (operation.wanted_page_count == 0) operation.wait_since_ns = table_.clock.now_ns();
  operation.wanted_page_count = count;
  return Attempt::WaitPage;
}

Result<void> Scheduler::check_quota(Instance& instance, std::uint32_t count,
                                    const Context* returning) {
  if (count == 0) return {};
  const std::uint32_t own =
      returning == nullptr ? 0 : away_page_count(*returning, resources_.cache.page_size());
  const std::uint32_t quota = quota_of(instance);
  // Forks that shared a page are to have one each, which may be more than went.
  const std::uint64_t held =
      ledger(instance).page_count() + coming_page_count(ledger(instance), resources_, returning);
  if (held + count > quota) return beyond_quota(instance, count);
  if (count <= own) return {};
  const std::uint32_t more = count - own;
  const std::uint32_t enough = quota - std::min(quota, more);
  const PageCharge charge = charge_of(ledger(instance), resources_, enough);
  if (more <= quota && charge.page_count <= enough) return {};
  if (returning != nullptr) {
    const std::uint32_t known = counted_ahead(*returning, resources_, charge);
    if (more <= known || std::uint64_t{charge.page_count} + more - known <= quota) return {};
  }
  return beyond_quota(instance, more);
}

bool Scheduler::others_go_on(const Operation& operation) const {
  for (const Operation* each = operation.instance->first; each != nullptr;
       each = each->instance_next) {
    const Context* context = each->context;
    if (each->model != this || context == nullptr || context == operation.context) continue;
    if (context->is_in_flight) return true;
    const bool has_begun = each->state == OperationState::Ready && each->is_started &&
                           computes_context(*each) && !context->is_suspended;
    if (has_begun && pages_wanted(*context, resources_, queued_count(*context)) == 0) return true;
  }
  return false;
}

Result<void> Scheduler::meter_tokens(Instance& instance, std::uint64_t count) {
  std::uint64_t& metered = instance.statistics.metered_token_count;
  const std::uint64_t maximum = instance.limits.token_count_max;
  if (metered + count > maximum) {
    return Error(ErrorCode::QuotaExceeded, "token_count_max: " + std::to_string(count) +
                                               " more wanted, " + std::to_string(metered) + " of " +
                                               instance.limits.token_limit().text("used"));
  }
  metered += count;
  return {};
}

Result<void> Scheduler::check_found(Instance& instance, NodeId node) {
  PageLedger& own = ledger(instance);
  if (own.holds(resources_.cache.page_of(node))) return {};
  const std::uint32_t quota = quota_of(instance);
  const PageCharge charge = charge_of(own, resources_, quota - std::min(quota, 1u));
  if (charge.page_count < quota || charge.counts(node)) return {};
  return beyond_quota(instance, 1);
}

std::uint32_t Scheduler::quota_of(Instance& instance) {
  const std::uint32_t quota = own_quota_of(instance);
  const TenantPages& tenant = *instance.tenant_pages;
  const std::uint64_t maximum = tenant.options.page_count_max;
  if (maximum == kNoPageCountMax) return quota;
  const std::uint64_t left = maximum - std::min(maximum, tenant.page_count);
  // Mostly; what is away need not be counted for it.
  if (quota <= ledger(instance).page_count() + left) return quota;
  const std::uint64_t held = charge_of(ledger(instance), resources_, 0).page_count;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(quota, held + left));
}

std::uint32_t Scheduler::own_quota_of(Instance& instance) const {
  const std::uint32_t maximum = instance.limits.page_count_max;
  std::uint64_t elsewhere = 0;
  for (PageLedger& each : instance.ledgers) {
    if (&each == &instance.ledgers[static_cast<std::size_t>(options_.model)]) continue;
    elsewhere += each.away().empty()
                     ? each.page_count()
                     : charge_of(each, each.away().front()->model->resources(), 0).page_count;
  }
  return maximum - static_cast<std::uint32_t>(std::min<std::uint64_t>(maximum, elsewhere));
}

Error Scheduler::beyond_quota(Instance& instance, std::uint32_t count) {
  const std::uint32_t held = ledger(instance).page_count();
  const std::uint32_t away = charge_of(ledger(instance), resources_, 0).page_count - held;
  const std::uint32_t maximum = instance.limits.page_count_max;
  const std::uint32_t own_quota = own_quota_of(instance);
  if (quota_of(instance) < own_quota) return beyond_tenant_quota(instance, count);
  const std::uint32_t elsewhere = maximum - own_quota;
  std::string message = "page_count_max: " + std::to_string(count) + " more wanted, " +
                        std::to_string(held) + " of " + instance.limits.page_limit().text("held");
  if (elsewhere > 0) message += ", " + std::to_string(elsewhere) + " of other models";
  if (away > 0) message += ", " + std::to_string(away) + " of suspended contexts to come back";
  return Error(ErrorCode::QuotaExceeded, std::move(message));
}

Error Scheduler::beyond_tenant_quota(const Instance& instance, std::uint32_t count) const {
  const TenantPages& tenant = *instance.tenant_pages;
  return Error(ErrorCode::QuotaExceeded,
               "tenant " + std::to_string(static_cast<std::uint32_t>(instance.tenant)) +
                   ": page_count_max: " + std::to_string(count) + " more wanted, its " +
                   std::to_string(tenant.instance_count) + " programs hold " +
                   std::to_string(tenant.page_count) + " of " +
                   std::to_string(tenant.options.page_count_max) +
                   "; release some, or wait until another one ends");
}

bool Scheduler::gives_way(const Operation& operation) const {
  const bool is_others = first_waiter_.instance_order != operation.instance->order;
  return is_others && first_waiter_ < importance_of(operation);
}

// Then `count` pages are free.
bool Scheduler::can_take(const Operation& operation, std::uint32_t count) {
  return count == 0 || (!gives_way(operation) && make_room(operation, count));
}

Error Scheduler::no_free_page(const Instance& instance, std::uint32_t wanted) const {
  const std::uint32_t held =
      instance.ledgers[static_cast<std::size_t>(options_.model)].page_count();
  return Error(ErrorCode::NoFreePage, "no free KV page: " + std::to_string(wanted) + " wanted, " +
                                          std::to_string(resources_.cache.available()) + " of " +
                                          std::to_string(resources_.cache.page_count()) +
                                          " free, " + std::to_string(held) +
                                          " held by this instance");
}

// The output of the row goes to `embed`.
void Scheduler::add_output(EmbedObject& embed, std::uint32_t row) {
  take_slot(embed);
  embed.batch = static_cast<std::uint64_t>(batch_.id);
  embed.row = row;
  embed.pass = building_.last_pass();
  embed.position = batch_.rows[row].position + 1;
  batch_.rows[row].output = embed.slot;
  building_.outputs.push_back(Ref<EmbedObject>(&embed));
  ++building_.passes.back().output_count;
}

void Scheduler::describe(const Operation& operation, std::uint32_t place,
                         inference::DistributionRequest& request) const {
  using Kind = inference::DistributionKind;
  constexpr std::uint32_t kTopKDefault = 256;
  const std::uint32_t vocabulary = resources_.model.vocabulary_size;
  const auto top_k = [&](std::uint32_t wanted) {
    return std::min(wanted == 0 ? kTopKDefault : wanted, vocabulary);
  };
  switch (operation.type) {
    case index_of<GetNextDist>(): {
      const GetNextDist& next = body_of<GetNextDist>(operation);
      request.top_k = top_k(next.top_k);
      request.temperature = next.temperature;
      break;
    }
    case index_of<GetNextDists>(): {
      const GetNextDists& next = body_of<GetNextDists>(operation);
      request.top_k = top_k(next.top_k);
      request.mask = next.mask;
      break;
    }
    case index_of<GetLogits>():
      request.kind = Kind::Logits;
      break;
    case index_of<GetLogprobs>():
      request.kind = Kind::Logprobs;
      for (const std::uint32_t token : body_of<GetLogprobs>(operation).tokens) {
        request.tokens.push_back(TokenId{token});
      }
      break;
    case index_of<GetLogprobsOf>():
      request.kind = Kind::Logprobs;
      request.tokens = {TokenId{body_of<GetLogprobsOf>(operation).tokens[place]}};
      break;
    case index_of<GetEntropy>():
      request.kind = Kind::Entropy;
      break;
    case index_of<GetEmbedding>():
      request.kind = Kind::Vector;
      break;
    default:
      describe_draw(operation, place, request);
  }
}

namespace {

// To choose and sort takes as long as what is chosen is: the whole of a vocabulary of 49,152 takes
// 8 ms, and 256 of it a tenth of one.
constexpr std::uint64_t kBytesOfOneRead = 8u << 10;

std::uint64_t answer_bytes(const inference::DistributionRequest& request,
                           const inference::ModelInfo& model) {
  using Kind = inference::DistributionKind;
  switch (request.kind) {
    case Kind::TopK:
      return std::uint64_t{request.top_k} * (sizeof(TokenId) + sizeof(float));
    case Kind::Logits:
      return std::uint64_t{model.vocabulary_size} * sizeof(float);
    case Kind::Logprobs:
      return request.tokens.size() * sizeof(float);
    case Kind::Vector:
      return std::uint64_t{model.embedding_width} * sizeof(float);
    case Kind::Entropy:
      return sizeof(float);
    case Kind::Draw:
      return std::uint64_t{1 + request.draw.top_count} * (sizeof(TokenId) + sizeof(float));
  }
  return 0;
}

Error unwritten(const EmbedObject& embed) {
  return Error(ErrorCode::InvalidArgument,
               embed.state == EmbedState::Empty
                   ? "the embed holds nothing: no forward pass wrote it"
                   : "the embed holds an input token: no forward pass wrote it");
}

}  // namespace

Scheduler::Attempt Scheduler::distribution(Operation& operation) {
  for (const EmbedObject* embed : operation.input_embeds) {
    if (embed->state == EmbedState::Failed) return fail(operation, embed->error->copy());
    if (embed->state != EmbedState::Output) return fail(operation, unwritten(*embed));
  }
  if (const std::optional<Attempt> waits = prepare_reads(operation)) return *waits;
  if (!has_rowless_room(operation)) return Attempt::Later;
  const std::size_t first = batch_.distributions.size();
  std::uint64_t bytes = 0;
  for (std::uint32_t place = 0; place < operation.input_embeds.size(); ++place) {
    inference::DistributionRequest& request = batch_.distributions.emplace_back();
    describe(operation, place, request);
    bytes += answer_bytes(request, resources_.model);
  }
  if (building_.answer_bytes > 0 && building_.answer_bytes + bytes > options_.answer_bytes_max) {
    batch_.distributions.resize(first);
    shares_.leave_waiting(share_of(operation));
    return Attempt::Later;
  }
  building_.answer_bytes += bytes;
  note_rowless(operation, static_cast<std::uint32_t>(1 + bytes / kBytesOfOneRead));
  for (std::uint32_t place = 0; place < operation.input_embeds.size(); ++place) {
    const EmbedObject& embed = *operation.input_embeds[place];
    inference::DistributionRequest& request = batch_.distributions[first + place];
    std::uint32_t pass = inference::kNoSlot;
    if (embed.batch == static_cast<std::uint64_t>(batch_.id)) {
      request.row = embed.row;
      pass = embed.pass;
    } else {
      request.embed = embed.slot;
    }
    building_.distributions.push_back({.operation = Ref<Operation>(&operation),
                                       .kind = request.kind,
                                       .pass = pass,
                                       .place = place});
  }
  table_.place(operation);
  return Attempt::Placed;
}

// Of one that reads a list, or draws under masks; these it waits for, having no rows to compute
// meanwhile.
std::optional<Scheduler::Attempt> Scheduler::prepare_reads(Operation& operation) {
  if (operation.read == nullptr) return std::nullopt;
  ReadProgress& read = *operation.read;
  read.wanted_count = static_cast<std::uint32_t>(operation.input_embeds.size());
  read.results.resize(operation.input_embeds.size());
  if (!read.matchers.empty() && read.masks == nullptr) start_masks(operation, {});
  if (read.masks == nullptr || read.masks->is_ready()) return std::nullopt;
  read.waits_for_masks = true;
  return Attempt::Blocked;
}

}  // namespace quire::control
