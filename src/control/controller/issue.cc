// Each Command becomes an Operation with its handles resolved, or is answered at once.
//
// A command that names something wrong still takes its turn where it has outputs, so that whoever
// reads them gets its error and not what was there before.
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/controller/controller.h"
#include "control/controller/issue_parts.h"
#include "control/controller/sharing_domain.h"
#include "control/store/records.h"
#include "control/store/snapshot_name.h"

namespace quire::control {
namespace {

static_assert(kSnapshotNameBytesMax == store::kSnapshotNameBytesMax);
static_assert(kNoteBytesMax == store::kNoteBytesMax);
static_assert(kKeyBytesMax == store::kKeyBytesMax && kValueBytesMax == store::kValueBytesMax &&
              kListedKeyCountMax == store::kListedKeyCountMax);

// Commands that give something back are taken at any time. Each takes a handle that the guest has,
// and can be sent once for it; an export is named, by as many commands as one likes.
bool gives_back(const CommandBody& body) {
  return std::holds_alternative<DropFuture>(body) || std::holds_alternative<DeallocPages>(body) ||
         std::holds_alternative<DeallocEmbeds>(body) || std::holds_alternative<ContextDrop>(body) ||
         std::holds_alternative<DestroyQueue>(body) || std::holds_alternative<ContextKeep>(body) ||
         std::holds_alternative<DropMatcher>(body);
}

Result<void> check_tokens(const std::vector<std::uint32_t>& tokens, const Scheduler& model) {
  const std::uint32_t vocabulary = model.resources().model.vocabulary_size;
  for (const std::uint32_t token : tokens) {
    if (token >= vocabulary) {
      return Error(ErrorCode::OutOfRange, "token " + std::to_string(token) +
                                              " of a vocabulary of " + std::to_string(vocabulary));
    }
  }
  return {};
}

}  // namespace

void Controller::submit(Command command) {
  Instance* instance = find_instance(command.instance);
  if (instance == nullptr) return;  // It ended: nobody waits.
  report(options_.walk, WalkStop::Controller);
  const FutureId future = command.future;
  if (instance->lost) {
    dispatcher_.answer(instance->id, future, instance->lost->copy());
    return;
  }
  // Only where somebody can be told: a command without a future would be lost in silence, and what
  // it was to make with it. Whoever sends such has counted it (GuestState::check_pending), without
  // what it gave back or no longer waits for, which still counts here.
  const std::uint32_t pending = instance->operation_count + instance->job_count;
  if (pending >= instance->limits.pending_command_count_max && future != kNoFuture &&
      !gives_back(command.body)) {
    dispatcher_.answer(instance->id, future,
                       beyond("pending_command_count_max", 1, pending,
                              instance->limits.pending_command_count_max));
    return;
  }
  Result<void> issued =
      std::visit([&](const auto& body) { return issue(*instance, command, body); }, command.body);
  if (!issued.ok()) {
    dispatcher_.answer(instance->id, future, std::move(issued).take_error());
  }
  drain();
}

Result<void> Controller::check_new(Instance& instance, const std::vector<ObjectId>& ids) {
  for (const ObjectId id : ids) {
    if (id == kNoObject) return Error(ErrorCode::InvalidArgument, "object 0 cannot be made");
    if (instance.objects.find(static_cast<std::uint32_t>(id)) != nullptr) {
      return Error(ErrorCode::AlreadyExists, "object " + number(id) + " exists");
    }
  }
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const CreateQueue& body) {
  TRY(check_new(instance, {body.queue}));
  if (static_cast<std::size_t>(body.model) >= schedulers_.size()) {
    return Error(ErrorCode::NotFound,
                 "no model " + std::to_string(static_cast<std::uint32_t>(body.model)));
  }
  if (instance.queue_count >= instance.limits.queue_count_max) {
    return beyond("queue_count_max", 1, instance.queue_count, instance.limits.queue_count_max);
  }
  ++instance.queue_count;
  QueueObject* queue = table_.queues.make();
  queue->model = schedulers_[static_cast<std::size_t>(body.model)].get();
  queue->priority = body.priority;
  instance.objects[static_cast<std::uint32_t>(body.queue)] = {ObjectKind::Queue, queue};
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const DestroyQueue& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  instance.objects.erase(static_cast<std::uint32_t>(body.queue));
  --instance.queue_count;  // Now, as the program counts: it may make another at once.
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const SetQueuePriority& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  queue->priority = body.priority;
  queue->model->note_priorities();
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const Synchronize& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const AllocEmbeds& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_new(instance, body.embeds));
  const std::uint64_t held = instance.embed_count;
  if (held + body.embeds.size() > instance.limits.embed_count_max) {
    return beyond("embed_count_max", body.embeds.size(), held, instance.limits.embed_count_max);
  }
  for (const ObjectId id : body.embeds) {
    EmbedObject* embed = table_.embeds.make();
    embed->model = queue->model;
    embed->instance = &instance;
    instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Embed, embed};
  }
  instance.embed_count += static_cast<std::uint32_t>(body.embeds.size());
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const DeallocEmbeds& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  EmbedList embeds;
  TRY(collect(instance, body.embeds, ObjectKind::Embed, queue->model, true, embeds));
  for (const ObjectId id : body.embeds) instance.objects.erase(static_cast<std::uint32_t>(id));
  instance.embed_count -= static_cast<std::uint32_t>(embeds.size());
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->output_embeds = std::move(embeds);
  for (EmbedObject* embed : operation->output_embeds) table_.chain(*operation, *embed);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const EmbedText& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  if (body.tokens.size() != body.embeds.size() || body.positions.size() != body.embeds.size()) {
    return Error(ErrorCode::InvalidArgument, std::to_string(body.embeds.size()) + " embeds, " +
                                                 std::to_string(body.tokens.size()) + " tokens, " +
                                                 std::to_string(body.positions.size()) +
                                                 " positions: not one length");
  }
  TRY(check_tokens(body.tokens, *queue->model));
  EmbedList embeds;
  TRY(collect(instance, body.embeds, ObjectKind::Embed, queue->model, false, embeds));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->output_embeds = std::move(embeds);
  for (EmbedObject* embed : operation->output_embeds) table_.chain(*operation, *embed);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const Forward& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  Scheduler* model = queue->model;
  std::vector<PageObject*> input_pages;
  std::vector<ObjectId> present;
  std::vector<PageObject*> found;
  for (const ObjectId id : body.input_pages) {
    if (id != kNoObject) present.push_back(id);
  }
  Operation* operation = table_.make(instance, model, std::move(command));
  table_.enter_queue(*operation, *queue);
  const Forward& forward = std::get<Forward>(operation->body);
  const auto resolve = [&]() -> Result<void> {
    TRY(collect(instance, forward.output_embeds, ObjectKind::Embed, model, true,
                operation->output_embeds));
    TRY(collect(instance, forward.input_embeds, ObjectKind::Embed, model, false,
                operation->input_embeds));
    TRY(collect(instance, forward.output_pages, ObjectKind::Page, model, true,
                operation->output_pages));
    TRY(collect(instance, present, ObjectKind::Page, model, true, found));
    if (forward.output_embeds.size() > forward.input_embeds.size()) {
      return Error(ErrorCode::InvalidArgument,
                   std::to_string(forward.output_embeds.size()) + " outputs of " +
                       std::to_string(forward.input_embeds.size()) + " tokens");
    }
    return check_is_paged(*model, "forward over pages");
  };
  if (Result<void> resolved = resolve(); !resolved.ok()) {
    operation->error = std::move(resolved).take_error();
  }
  std::size_t next = 0;
  for (const ObjectId id : forward.input_pages) {
    operation->input_pages.push_back(id == kNoObject || next >= found.size() ? nullptr
                                                                             : found[next++]);
  }
  for (EmbedObject* embed : operation->output_embeds) table_.chain(*operation, *embed);
  for (EmbedObject* embed : operation->input_embeds) table_.chain(*operation, *embed);
  for (PageObject* page : operation->output_pages) table_.chain(*operation, *page);
  for (PageObject* page : found) table_.chain(*operation, *page);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const MaskPage& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(collect(instance, std::span(&body.page, 1), ObjectKind::Page, queue->model, true, pages));
  const std::uint32_t page_size = queue->model->resources().cache.page_size();
  if (body.visible.size() != page_size) {
    return Error(ErrorCode::InvalidArgument, "a mask of " + std::to_string(body.visible.size()) +
                                                 " slots for a page of " +
                                                 std::to_string(page_size));
  }
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->output_pages = std::move(pages);
  table_.chain(*operation, *operation->output_pages.front());
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue_output(Instance& instance, Command& command, ObjectId queue_id,
                                      ObjectId embed_id) {
  QueueObject* queue = TRY(find<QueueObject>(instance, queue_id, ObjectKind::Queue));
  EmbedList embeds;
  TRY(collect(instance, std::span(&embed_id, 1), ObjectKind::Embed, queue->model, true, embeds));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->input_embeds = std::move(embeds);
  table_.chain(*operation, *operation->input_embeds.front());
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetNextDist& body) {
  if (!(body.temperature > 0.0f) || !std::isfinite(body.temperature)) {
    return Error(ErrorCode::InvalidArgument,
                 "temperature " + std::to_string(body.temperature) + " is not above 0");
  }
  return issue_output(instance, command, body.queue, body.embed);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetLogits& body) {
  return issue_output(instance, command, body.queue, body.embed);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetLogprobs& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_tokens(body.tokens, *queue->model));
  return issue_output(instance, command, body.queue, body.embed);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetEntropy& body) {
  return issue_output(instance, command, body.queue, body.embed);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetEmbedding& body) {
  return issue_output(instance, command, body.queue, body.embed);
}

Result<Context*> Controller::make_context(Instance& instance, ObjectId id, QueueObject& queue) {
  if (instance.context_count >= instance.limits.context_count_max) {
    return beyond("context_count_max", 1, instance.context_count,
                  instance.limits.context_count_max);
  }
  ++instance.context_count;
  ++queue.context_count;
  Context* context = table_.contexts.make();
  context->model = queue.model;
  context->instance = &instance;
  context->queue = &queue;
  ModelResources& resources = queue.model->resources();
  open_context(*context, resources,
               resources.cache.root(sharing_domain(options_.sharing_secret, instance.tenant),
                                    instance.tenant));
  instance.add_context(id, *context);
  return context;
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextCreate& body) {
  TRY(check_new(instance, {body.context}));
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(make_context(instance, body.context, *queue));
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Operation* Controller::issue_on_context(Instance& instance, Command& command, Context& context) {
  Operation* operation = table_.make(instance, context.model, std::move(command));
  table_.enter_queue(*operation, *context.queue);
  operation->context = &context;
  table_.chain(*operation, context);
  return operation;
}

Result<void> Controller::issue_alone(Instance& instance, Command& command, Context& context) {
  table_.issue(*issue_on_context(instance, command, context));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextAppend& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_tokens(body.tokens, *context->model));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextFlush& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextForward& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  Operation* operation = issue_on_context(instance, command, *context);
  Result<void> resolved =
      collect(instance, std::get<ContextForward>(operation->body).output_embeds, ObjectKind::Embed,
              context->model, true, operation->output_embeds);
  if (!resolved.ok()) operation->error = std::move(resolved).take_error();
  for (EmbedObject* embed : operation->output_embeds) table_.chain(*operation, *embed);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextFork& body) {
  TRY(check_new(instance, {body.child}));
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  if (instance.context_count >= instance.limits.context_count_max) {
    return beyond("context_count_max", 1, instance.context_count,
                  instance.limits.context_count_max);
  }
  TRY(check_is_paged(*context->model, "fork"));
  ++instance.context_count;
  ++context->queue->context_count;
  Context* child = table_.contexts.make();
  child->model = context->model;
  child->instance = &instance;
  child->queue = context->queue;
  instance.add_context(body.child, *child);
  Operation* operation = issue_on_context(instance, command, *context);
  operation->child = child;
  table_.chain(*operation, *child);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextEdit& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  if (body.kind != ContextEditKind::Truncate) {
    TRY(check_is_paged(*context->model, "this operation on pages"));
  }
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextDropRange& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_is_paged(*context->model, "drop_range"));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextSplice& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  Context* source = TRY(find<Context>(instance, body.source, ObjectKind::Context));
  if (source->model != context->model) {
    return Error(ErrorCode::InvalidArgument, "splice: the source is a context of another model");
  }
  Operation* operation = issue_on_context(instance, command, *context);
  operation->child = source;
  table_.chain(*operation, *source);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextHint& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextBeyond& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextSave& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_is_paged(*context->model, "save"));
  TRY(store::check_snapshot_name(body.name));
  if (body.note.size() > kNoteBytesMax) {
    return Error(ErrorCode::TooLarge, "a note of " + std::to_string(body.note.size()) +
                                          " bytes; at most " + std::to_string(kNoteBytesMax));
  }
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextOpen& body) {
  TRY(check_new(instance, {body.context}));
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_is_paged(*queue->model, "open"));
  TRY(store::check_snapshot_name(body.name));
  Context* context = TRY(make_context(instance, body.context, *queue));
  return issue_alone(instance, command, *context);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextKeep& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  if (!context->model->keep_taken(*context)) {
    return Error(ErrorCode::InvalidArgument, "the context was not taken, or its program has it");
  }
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const SnapshotDelete& body) {
  TRY(store::check_snapshot_name(body.name));
  store_jobs_.start(instance, command,
                    store::RemoveJob{.tenant = tenant_name(instance.tenant), .name = body.name});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const SnapshotList&) {
  store_jobs_.start(instance, command, store::ListJob{.tenant = tenant_name(instance.tenant)});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextDrop& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  instance.remove_context(body.context, *context);
  --instance.context_count;  // As destroy_queue.
  return issue_alone(instance, command, *context);
}

Result<void> Controller::start_text_job(Instance& instance, Command& command, ModelIndex model) {
  const auto index = static_cast<std::size_t>(model);
  if (index >= models_.size()) {
    return Error(ErrorCode::NotFound, "no model " + std::to_string(index));
  }
  if (models_[index].codec == nullptr) {
    return Error(ErrorCode::NotSupported,
                 "model \"" + descriptions_[index].name + "\" has no tokenizer");
  }
  jobs_.start(instance, std::move(command),
              {.codec = models_[index].codec, .grammars = models_[index].grammars});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const Tokenize& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const Detokenize& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command,
                               const ApplyChatTemplate& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetVocabulary& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetTokenKinds& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const CompileGrammar& body) {
  const auto index = static_cast<std::size_t>(body.model);
  if (index < models_.size() && models_[index].grammars == nullptr) {
    return Error(ErrorCode::NotSupported,
                 "model \"" + descriptions_[index].name + "\" takes no grammars");
  }
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const CheckText& body) {
  return start_text_job(instance, command, body.model);
}

Result<void> Controller::issue(Instance& instance, Command& command, const PutValue& body) {
  store_jobs_.start(instance, command,
                    store::PutValueJob{.tenant = tenant_name(instance.tenant),
                                       .key = body.key,
                                       .value = body.value,
                                       .expected = {body.expected}});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetValue& body) {
  store_jobs_.start(instance, command,
                    store::GetValueJob{.tenant = tenant_name(instance.tenant), .key = body.key});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const DeleteValue& body) {
  store_jobs_.start(
      instance, command,
      store::DeleteValueJob{
          .tenant = tenant_name(instance.tenant), .key = body.key, .expected = {body.expected}});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ListKeys& body) {
  store_jobs_.start(instance, command,
                    store::ListKeysJob{.tenant = tenant_name(instance.tenant),
                                       .prefix = body.prefix,
                                       .after = body.after,
                                       .count_max = body.count});
  return {};
}

Result<void> Controller::issue(Instance& instance, Command&, const DropFuture& body) {
  const auto key = static_cast<std::uint32_t>(body.dropped);
  Ref<Operation>* found = instance.futures.find(key);
  Operation* operation = found == nullptr ? nullptr : found->get();
  if (operation == nullptr) {
    jobs_.forget(instance.id, body.dropped);
    store_jobs_.forget(instance.id, body.dropped);
    return {};
  }
  // Taken back where it only reads and nothing was issued that counts on its turn.
  if ((reads_output(*operation) && operation->state == OperationState::Ready) ||
      is<Synchronize>(*operation)) {
    table_.discard(*operation);
    return {};
  }
  instance.futures.erase(key);
  if (!is_planted(Fault::AnswerBehindDrop)) operation->future = kNoFuture;
  return {};
}

}  // namespace quire::control
