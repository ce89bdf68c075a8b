#pragma once
// What issue.cc and issue_pages.cc share: names of objects in errors, and handles that become
// objects. Engine thread.
#include <string>

#include "base/split_limit.h"
#include "control/controller/controller.h"

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

inline Result<void> check_is_paged(const Scheduler& model, const char* what) {
  if (!model.resources().is_basic()) return {};
  return Error(ErrorCode::NotSupported, std::string(what) + " needs the paged KV cache");
}

template <typename T>
Result<T*> Controller::find(Instance& instance, ObjectId id, ObjectKind kind) {
  ObjectEntry* entry = instance.objects.find(static_cast<std::uint32_t>(id));
  if (entry == nullptr || entry->kind != kind) return no_such(kind, id);
  return static_cast<T*>(entry->object);
}

template <typename List>
Result<void> Controller::collect(Instance& instance, std::span<const ObjectId> ids, ObjectKind kind,
                                 const Scheduler* model, bool once, List& objects) {
  using T = std::remove_pointer_t<typename List::value_type>;
  const std::uint64_t stamp = table_.next_stamp();
  for (const ObjectId id : ids) {
    T* object = TRY(find<T>(instance, id, kind));
    if (object->model != model) {
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
