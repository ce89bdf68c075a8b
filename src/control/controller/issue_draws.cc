// Draws, lists that are read at once, and matchers.
#include <string>
#include <utility>

#include "control/controller/controller.h"
#include "control/controller/issue_parts.h"

namespace quire::control {

Result<Operation*> Controller::make_reads(Instance& instance, Command& command, ObjectId queue_id,
                                          std::span<const ObjectId> ids) {
  QueueObject* queue = TRY(find<QueueObject>(instance, queue_id, ObjectKind::Queue));
  if (ids.empty()) return Error(ErrorCode::InvalidArgument, "no embed is named");
  EmbedList embeds;
  TRY(collect(instance, ids, ObjectKind::Embed, queue->model, false, embeds));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->input_embeds = std::move(embeds);
  operation->read = std::make_unique<ReadProgress>();
  for (EmbedObject* embed : operation->input_embeds) table_.chain(*operation, *embed);
  return operation;
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetNextDists& body) {
  table_.issue(*TRY(make_reads(instance, command, body.queue, body.embeds)));
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetLogprobsOf& body) {
  table_.issue(*TRY(make_reads(instance, command, body.queue, body.embeds)));
  return {};
}

Result<void> Controller::use_matchers(Instance& instance, Operation& operation,
                                      const std::vector<ObjectId>& ids) {
  std::vector<MatcherObject*> matchers;
  TRY(collect(instance, ids, ObjectKind::Matcher, operation.model, true, matchers));
  operation.read->matchers = std::move(matchers);
  for (MatcherObject* matcher : operation.read->matchers) table_.chain(operation, *matcher);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const DrawTokens& body) {
  // What is shared outlives the command, which the operation takes over.
  const std::shared_ptr<const DrawExtras> more = body.draw.more;
  Operation* operation = TRY(make_reads(instance, command, body.queue, body.embeds));
  if (more != nullptr) {
    Result<void> used = use_matchers(instance, *operation, more->matchers);
    if (!used.ok()) operation->error = std::move(used).take_error();
  }
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextDraw& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  const std::shared_ptr<const DrawExtras> more = body.draw.more;
  const bool has_drafts = body.drafts != nullptr && !body.drafts->tokens.empty();
  const bool has_matchers = more != nullptr && !more->matchers.empty();
  if (has_drafts) TRY(check_is_paged(*context->model, "verify"));
  Operation* operation = issue_on_context(instance, command, *context);
  if (has_drafts || has_matchers) operation->read = std::make_unique<ReadProgress>();
  if (has_matchers) {
    Result<void> used = use_matchers(instance, *operation, more->matchers);
    if (!used.ok()) operation->error = std::move(used).take_error();
  }
  table_.issue(*operation);
  return {};
}

Result<MatcherObject*> Controller::make_matcher(Instance& instance, ObjectId id, Scheduler& model,
                                                std::shared_ptr<const inference::Grammar> grammar) {
  TRY(check_new(instance, {id}));
  MatcherObject* matcher = table_.matchers.make();
  matcher->model = &model;
  if (instance.matcher_memory == nullptr) {
    instance.matcher_memory = std::make_shared<MatcherMemory>();
  }
  instance.matcher_memory->bytes_max = instance.limits.held_matcher_bytes_max;
  matcher->state = std::make_shared<MatcherState>(std::move(grammar), instance.matcher_memory);
  instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Matcher, matcher};
  return matcher;
}

Result<void> Controller::issue(Instance& instance, Command& command, const CreateMatcher& body) {
  const auto index = static_cast<std::size_t>(body.model);
  if (index >= schedulers_.size()) {
    return Error(ErrorCode::NotFound, "no model " + std::to_string(index));
  }
  TRY(make_matcher(instance, body.matcher, *schedulers_[index], body.grammar));
  dispatcher_.answer(instance.id, command.future, AnswerBody(Done{}));
  return {};
}

Result<void> Controller::issue_on_matcher(Instance& instance, Command& command, ObjectId id) {
  MatcherObject* matcher = TRY(find<MatcherObject>(instance, id, ObjectKind::Matcher));
  Operation* operation = table_.make(instance, matcher->model, std::move(command));
  operation->read = std::make_unique<ReadProgress>();
  operation->read->matchers.push_back(matcher);
  table_.chain(*operation, *matcher);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ForkMatcher& body) {
  MatcherObject* parent = TRY(find<MatcherObject>(instance, body.matcher, ObjectKind::Matcher));
  MatcherObject* child =
      TRY(make_matcher(instance, body.child, *parent->model, parent->state->grammar));
  Operation* operation = table_.make(instance, parent->model, std::move(command));
  operation->read = std::make_unique<ReadProgress>();
  operation->read->matchers = {parent, child};
  table_.chain(*operation, *parent);
  table_.chain(*operation, *child);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const AcceptTokens& body) {
  return issue_on_matcher(instance, command, body.matcher);
}

Result<void> Controller::issue(Instance& instance, Command& command, const RollBackMatcher& body) {
  return issue_on_matcher(instance, command, body.matcher);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetTokenMask& body) {
  return issue_on_matcher(instance, command, body.matcher);
}

Result<void> Controller::issue(Instance& instance, Command& command, const GetForcedTokens& body) {
  return issue_on_matcher(instance, command, body.matcher);
}

Result<void> Controller::issue(Instance& instance, Command& command, const DropMatcher& body) {
  const ObjectId id = body.matcher;
  TRY(issue_on_matcher(instance, command, id));
  instance.objects.erase(static_cast<std::uint32_t>(id));
  return {};
}

}  // namespace quire::control
