#pragma once
// Issuer makes an operation of a command: it resolves the handles that the command names, and puts
// the operation into the order of its objects. A command that needs no turn is answered at once.
//
// A command with a wrong argument still takes its turn if it has outputs, so that a reader gets its
// error and not the old content.
//
// Thread   engine thread only.
// Errors   the caller answers them to the command's future.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/split_limit.h"
#include "control/controller/served_model.h"
#include "control/controller/store_jobs.h"
#include "control/controller/text_jobs.h"
#include "control/objects/operation_table.h"
#include "control/objects/replica.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {

inline const char* name_of(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::Queue:
      return "queue";
    case ObjectKind::Page:
      return "page";
    case ObjectKind::Embed:
      return "embed";
    case ObjectKind::Context:
      return "context";
    case ObjectKind::Matcher:
      return "matcher";
  }
  return "object";
}

inline std::string number(ObjectId id) {
  return std::to_string(static_cast<std::uint32_t>(id));
}

inline Error no_such(ObjectKind kind, ObjectId id) {
  return Error(ErrorCode::NotFound, std::string("no ") + name_of(kind) + " " + number(id));
}

inline Error beyond(const char* limit, std::uint64_t wanted, std::uint64_t held,
                    SplitLimit maximum) {
  return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": " + std::to_string(wanted) +
                                             " more wanted, " + std::to_string(held) + " of " +
                                             maximum.text("held"));
}

inline Error beyond(const char* limit, std::uint64_t wanted, std::uint64_t held,
                    std::uint64_t maximum) {
  return beyond(limit, wanted, held, SplitLimit{.own = maximum});
}

inline Result<void> check_is_paged(const Replica& replica, const char* what) {
  if (!replica.resources.is_basic()) return {};
  return Error(ErrorCode::NotSupported, std::string(what) + " needs the paged KV cache");
}

// A state is changed by each token in turn, and only a context knows which came before.
inline Result<void> check_has_no_states(const Replica& replica, const char* what) {
  if (!replica.resources.states) return {};
  return Error(ErrorCode::NotSupported, std::string(what) + ": model " +
                                            replica.resources.model.name +
                                            " has recurrent layers, whose states only a context "
                                            "carries; use context.append and context.forward");
}

// Null always may: it is the base model.
Result<void> check_adapters(const ChosenAdaptersRef& set, const Replica& replica);

Result<void> check_tokens(const std::vector<std::uint32_t>& tokens, const Replica& replica);

// The context of the functions for each command, below: references to parts of the controller.
struct Issuer {
  template <typename T>
  Result<T*> find(Instance& instance, ObjectId id, ObjectKind kind);
  // `List` is a vector of pointers to objects of that kind.
  template <typename List>
  Result<void> collect(Instance& instance, std::span<const ObjectId> ids, ObjectKind kind,
                       const Replica* replica, bool once, List& objects);
  // The operation acts on all of them, each after what was issued on it before.
  template <typename List>
  void chain(Operation& operation, const List& objects) {
    for (auto* each : objects) table.chain(operation, *each);
  }
  void done(Instance& instance, const Command& command) {
    table.dispatcher.answer(instance.id, command.future, AnswerBody(Done{}));
  }
  // An operation of the command, which is empty then, as the last of the queue. Not issued yet.
  Operation* enqueue(Instance& instance, Command& command, QueueObject& queue);

  Result<void> check_new(Instance& instance, const std::vector<ObjectId>& ids);
  Result<void> check_new_pages(Instance& instance, const std::vector<ObjectId>& ids);
  // New pages of those ids, which the operation is to bring.
  void make_pages(Operation& operation, const std::vector<ObjectId>& ids);
  // Whether the instance may have one more context.
  Result<void> check_context_room(const Instance& instance) const;
  // An empty context of that id.
  Result<Context*> make_context(Instance& instance, ObjectId id, QueueObject& queue);
  // A command on one context and nothing else; the first does not issue it yet.
  Operation* issue_on_context(Instance& instance, Command& command, Context& context);
  Result<void> issue_alone(Instance& instance, Command& command, Context& context);
  Result<void> issue_output(Instance& instance, Command& command, ObjectId queue_id,
                            ObjectId embed_id);
  // A list that is read at once.
  Result<Operation*> make_reads(Instance& instance, Command& command, ObjectId queue_id,
                                std::span<const ObjectId> ids);
  Result<void> use_matchers(Instance& instance, Operation& operation,
                            const std::vector<ObjectId>& ids);
  Result<void> issue_on_matcher(Instance& instance, Command& command, ObjectId id);
  Result<MatcherObject*> make_matcher(Instance& instance, ObjectId id, Replica& model,
                                      std::shared_ptr<const inference::Grammar> grammar);
  // A command on exports, in no queue.
  Result<void> issue_by_name(Instance& instance, Command& command);
  Result<void> start_text_job(Instance& instance, Command& command, ModelIndex model);

  OperationTable& table;
  const std::vector<std::unique_ptr<Replica>>& replicas;
  const std::vector<std::unique_ptr<Scheduler>>& schedulers;  // Of each replica.
  const std::vector<ServedModel>& models;
  const std::vector<ModelDescription>& descriptions;
  TextJobs& jobs;
  StoreJobs& store_jobs;
  const Digest& sharing_secret;
};

// By the function of its body.
Result<void> issue(Issuer& to, Instance& instance, Command& command);

// One for each command; in the files beside this one. `body` lies in `command`, and is gone when an
// operation was made of it.
#define QUIRE_COMMAND(Name, steps, wanted) \
  Result<void> issue(Issuer& to, Instance& instance, Command& command, const Name& body);
#include "control/api/command_kinds.inc"

template <typename T>
Result<T*> Issuer::find(Instance& instance, ObjectId id, ObjectKind kind) {
  const ObjectEntry* entry = instance.objects.find(static_cast<std::uint32_t>(id));
  if (entry == nullptr || entry->kind != kind) return no_such(kind, id);
  return static_cast<T*>(entry->object);
}

template <typename List>
Result<void> Issuer::collect(Instance& instance, std::span<const ObjectId> ids, ObjectKind kind,
                             const Replica* replica, bool once, List& objects) {
  using T = std::remove_pointer_t<typename List::value_type>;
  const std::uint64_t stamp = table.next_stamp();
  for (const ObjectId id : ids) {
    T* object = TRY(find<T>(instance, id, kind));
    if (object->replica != replica) {
      return Error(ErrorCode::InvalidArgument,
                   std::string(name_of(kind)) + " " + number(id) + " is of another model");
    }
    if (once && object->stamp == stamp) {
      return Error(ErrorCode::InvalidArgument,
                   std::string(name_of(kind)) + " " + number(id) + " is named twice");
    }
    object->stamp = stamp;
    objects.push_back(object);
  }
  return {};
}

}  // namespace quire::control
