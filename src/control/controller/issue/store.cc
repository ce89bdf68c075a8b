// Snapshots and values.
#include <string>

#include "control/controller/issue/issuer.h"
#include "control/store/records.h"
#include "control/store/snapshot_name.h"

namespace quire::control {
namespace {

static_assert(kSnapshotNameBytesMax == store::kSnapshotNameBytesMax);
static_assert(kNoteBytesMax == store::kNoteBytesMax);
static_assert(kKeyBytesMax == store::kKeyBytesMax && kValueBytesMax == store::kValueBytesMax &&
              kListedKeyCountMax == store::kListedKeyCountMax);

}  // namespace

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextSave& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_is_paged(*context->replica(), "save"));
  TRY(store::check_snapshot_name(body.name));
  if (body.note.size() > kNoteBytesMax) {
    return Error(ErrorCode::TooLarge, "a note of " + std::to_string(body.note.size()) +
                                          " bytes; at most " + std::to_string(kNoteBytesMax));
  }
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextOpen& body) {
  TRY(to.check_new(instance, {body.context}));
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_is_paged(*queue->replica, "open"));
  TRY(store::check_snapshot_name(body.name));
  Context* context = TRY(to.make_context(instance, body.context, *queue));
  return to.issue_alone(instance, command, *context);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const SnapshotDelete& body) {
  TRY(store::check_snapshot_name(body.name));
  to.store_jobs.start(instance, command,
                      store::RemoveJob{.tenant = tenant_name(instance.tenant), .name = body.name});
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const SnapshotList&) {
  to.store_jobs.start(instance, command, store::ListJob{.tenant = tenant_name(instance.tenant)});
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const PutValue& body) {
  to.store_jobs.start(instance, command,
                      store::PutValueJob{.tenant = tenant_name(instance.tenant),
                                         .key = body.key,
                                         .value = body.value,
                                         .expected = {body.expected}});
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const GetValue& body) {
  to.store_jobs.start(instance, command,
                      store::GetValueJob{.tenant = tenant_name(instance.tenant), .key = body.key});
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DeleteValue& body) {
  to.store_jobs.start(
      instance, command,
      store::DeleteValueJob{
          .tenant = tenant_name(instance.tenant), .key = body.key, .expected = {body.expected}});
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ListKeys& body) {
  to.store_jobs.start(instance, command,
                      store::ListKeysJob{.tenant = tenant_name(instance.tenant),
                                         .prefix = body.prefix,
                                         .after = body.after,
                                         .count_max = body.count});
  return {};
}

}  // namespace quire::control
