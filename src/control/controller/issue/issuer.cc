#include "control/controller/issue/issuer.h"

#include <utility>

#include "control/contexts/context.h"
#include "control/controller/sharing_domain.h"

namespace quire::control {

Result<void> check_adapters(const ChosenAdaptersRef& set, const Replica& replica) {
  if (set == nullptr) return {};
  const inference::ModelInfo& model = replica.resources.model;
  if (!replica.resources.device.adapters) {
    return Error(ErrorCode::NotSupported,
                 "the device of model " + model.name + " computes no adapters");
  }
  for (std::size_t index = 0; index < set->set.size(); ++index) {
    if (!(*set->weights)[index].adapter->base().may_be_of(model)) {
      return Error(ErrorCode::InvalidArgument,
                   "adapter \"" + set->names[index] + "\" is not of model " + model.name);
    }
  }
  return {};
}

Result<void> check_tokens(const std::vector<std::uint32_t>& tokens, const Replica& replica) {
  const std::uint32_t vocabulary = replica.resources.model.vocabulary_size;
  for (const std::uint32_t token : tokens) {
    if (token >= vocabulary) {
      return Error(ErrorCode::OutOfRange, "token " + std::to_string(token) +
                                              " of a vocabulary of " + std::to_string(vocabulary));
    }
  }
  return {};
}

Operation* Issuer::enqueue(Instance& instance, Command& command, QueueObject& queue) {
  Operation* operation = table.make(instance, queue.replica, std::move(command));
  table.enter_queue(*operation, queue);
  return operation;
}

Result<void> Issuer::check_new(Instance& instance, const std::vector<ObjectId>& ids) {
  for (const ObjectId id : ids) {
    if (id == kNoObject) return Error(ErrorCode::InvalidArgument, "object 0 cannot be made");
    if (instance.objects.find(static_cast<std::uint32_t>(id)) != nullptr) {
      return Error(ErrorCode::AlreadyExists, "object " + number(id) + " exists");
    }
  }
  return {};
}

Result<void> Issuer::check_new_pages(Instance& instance, const std::vector<ObjectId>& ids) {
  TRY(check_new(instance, ids));
  const std::uint64_t held = instance.held.pages;
  if (held + ids.size() <= instance.limits.page_count_max) return {};
  return beyond("page_count_max", ids.size(), held, instance.limits.page_limit());
}

void Issuer::make_pages(Operation& operation, const std::vector<ObjectId>& ids) {
  Instance& instance = *operation.instance;
  for (const ObjectId id : ids) {
    PageObject* page = table.pages.make();
    page->replica = operation.replica;
    instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Page, page};
    ++instance.held.pages;
    operation.output_pages.push_back(page);
    table.chain(operation, *page);
  }
}

Result<void> Issuer::check_context_room(const Instance& instance) const {
  if (instance.held.contexts < instance.limits.context_count_max) return {};
  return beyond("context_count_max", 1, instance.held.contexts, instance.limits.context_count_max);
}

Result<Context*> Issuer::make_context(Instance& instance, ObjectId id, QueueObject& queue) {
  TRY(check_context_room(instance));
  ++instance.held.contexts;
  ++queue.context_count;
  Context* context = table.contexts.make();
  context->bind(owner_of(instance, queue));
  context->open(queue.replica->resources.cache.root(sharing_domain(sharing_secret, instance.tenant),
                                                    instance.tenant));
  instance.add_context(id, *context);
  return context;
}

Operation* Issuer::issue_on_context(Instance& instance, Command& command, Context& context) {
  Operation* operation = table.make(instance, context.replica(), std::move(command));
  table.enter_queue(*operation, *context.queue());
  operation->context = &context;
  table.chain(*operation, context);
  return operation;
}

Result<void> Issuer::issue_alone(Instance& instance, Command& command, Context& context) {
  table.issue(*issue_on_context(instance, command, context));
  return {};
}

Result<void> Issuer::issue_output(Instance& instance, Command& command, ObjectId queue_id,
                                  ObjectId embed_id) {
  QueueObject* queue = TRY(find<QueueObject>(instance, queue_id, ObjectKind::Queue));
  EmbedList embeds;
  TRY(collect(instance, std::span(&embed_id, 1), ObjectKind::Embed, queue->replica, true, embeds));
  Operation* operation = enqueue(instance, command, *queue);
  operation->input_embeds = std::move(embeds);
  table.chain(*operation, *operation->input_embeds.front());
  table.issue(*operation);
  return {};
}

Result<Operation*> Issuer::make_reads(Instance& instance, Command& command, ObjectId queue_id,
                                      std::span<const ObjectId> ids) {
  QueueObject* queue = TRY(find<QueueObject>(instance, queue_id, ObjectKind::Queue));
  if (ids.empty()) return Error(ErrorCode::InvalidArgument, "no embed is named");
  EmbedList embeds;
  TRY(collect(instance, ids, ObjectKind::Embed, queue->replica, false, embeds));
  Operation* operation = enqueue(instance, command, *queue);
  operation->input_embeds = std::move(embeds);
  operation->read = std::make_unique<ReadProgress>();
  chain(*operation, operation->input_embeds);
  return operation;
}

Result<void> Issuer::use_matchers(Instance& instance, Operation& operation,
                                  const std::vector<ObjectId>& ids) {
  std::vector<MatcherObject*> matchers;
  TRY(collect(instance, ids, ObjectKind::Matcher, operation.replica, true, matchers));
  operation.read->matchers = std::move(matchers);
  chain(operation, operation.read->matchers);
  return {};
}

Result<void> Issuer::issue_on_matcher(Instance& instance, Command& command, ObjectId id) {
  MatcherObject* matcher = TRY(find<MatcherObject>(instance, id, ObjectKind::Matcher));
  Operation* operation = table.make(instance, matcher->replica, std::move(command));
  operation->read = std::make_unique<ReadProgress>();
  operation->read->matchers.push_back(matcher);
  table.chain(*operation, *matcher);
  table.issue(*operation);
  return {};
}

Result<MatcherObject*> Issuer::make_matcher(Instance& instance, ObjectId id, Replica& model,
                                            std::shared_ptr<const inference::Grammar> grammar) {
  TRY(check_new(instance, {id}));
  MatcherObject* matcher = table.matchers.make();
  matcher->replica = &model;
  if (instance.matcher_memory == nullptr) {
    instance.matcher_memory = std::make_shared<MatcherMemory>();
  }
  instance.matcher_memory->bytes_max = instance.limits.held_matcher_bytes_max;
  matcher->state = std::make_shared<MatcherState>(std::move(grammar), instance.matcher_memory);
  instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Matcher, matcher};
  return matcher;
}

Result<void> Issuer::issue_by_name(Instance& instance, Command& command) {
  if (replicas.empty()) return Error(ErrorCode::NotSupported, "no model is served");
  Operation* operation = table.make(instance, replicas.front().get(), std::move(command));
  table.chain(*operation, instance.exports);
  table.issue(*operation);
  return {};
}

Result<void> Issuer::start_text_job(Instance& instance, Command& command, ModelIndex model) {
  const auto index = static_cast<std::size_t>(model);
  if (index >= models.size()) {
    return Error(ErrorCode::NotFound, "no model " + std::to_string(index));
  }
  if (models[index].codec == nullptr) {
    return Error(ErrorCode::NotSupported,
                 "model \"" + descriptions[index].name + "\" has no tokenizer");
  }
  jobs.start(instance, std::move(command),
             {.codec = models[index].codec, .grammars = models[index].grammars});
  return {};
}

}  // namespace quire::control
