// Commands on pages by hand: allocation, masks, copies, exports, and pages of contexts.
//
// Handles are valid at once, and objects are made at once with them. So a command that makes some
// takes its turn whatever is wrong with the rest of it, and its objects stay, empty.
#include <array>
#include <string>
#include <utility>

#include "base/guest_name.h"
#include "control/controller/issue/issuer.h"

namespace quire::control {
namespace {

constexpr const char* kExportName = "export name";

}  // namespace

Result<void> issue(Issuer& to, Instance& instance, Command& command, const AllocPages& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(to.check_new_pages(instance, body.pages));
  Operation* operation = to.enqueue(instance, command, *queue);
  to.make_pages(*operation, std::get<AllocPages>(operation->body).pages);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const DeallocPages& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(to.collect(instance, body.pages, ObjectKind::Page, queue->replica, true, pages));
  for (const ObjectId id : body.pages) instance.objects.erase(static_cast<std::uint32_t>(id));
  instance.held.pages -= static_cast<std::uint32_t>(pages.size());
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->output_pages = std::move(pages);
  to.chain(*operation, operation->output_pages);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const MaskPage& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(to.collect(instance, std::span(&body.page, 1), ObjectKind::Page, queue->replica, true,
                 pages));
  TRY(check_has_no_states(*queue->replica, "mask_kvpage"));
  const std::uint32_t page_size = queue->replica->resources.cache.page_size();
  if (body.visible.size() != page_size) {
    return Error(ErrorCode::InvalidArgument, "a mask of " + std::to_string(body.visible.size()) +
                                                 " slots for a page of " +
                                                 std::to_string(page_size));
  }
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->output_pages = std::move(pages);
  to.table.chain(*operation, *operation->output_pages.front());
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const CopyPage& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(to.collect(instance, std::array{body.from, body.to}, ObjectKind::Page, queue->replica, false,
                 pages));
  TRY(check_is_paged(*queue->replica, "copy_kvpage"));
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->input_pages = {pages[0]};
  operation->output_pages = {pages[1]};
  to.chain(*operation, pages);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ExportPages& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(to.collect(instance, body.pages, ObjectKind::Page, queue->replica, true, pages));
  TRY(check_is_paged(*queue->replica, "export_kvpage"));
  TRY(check_guest_name(body.name, kExportName));
  if (pages.empty()) return Error(ErrorCode::InvalidArgument, "an export of no pages");
  if (body.is_public && !instance.limits.may_export_publicly) {
    return Error(ErrorCode::PermissionDenied,
                 "a public export needs the grant may_export_publicly");
  }
  Operation* operation = to.enqueue(instance, command, *queue);
  operation->input_pages = std::move(pages);
  to.chain(*operation, operation->input_pages);
  to.table.chain(*operation, instance.exports);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ImportPages& body) {
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(to.check_new_pages(instance, body.pages));
  Operation* operation = to.enqueue(instance, command, *queue);
  const ImportPages& kept = std::get<ImportPages>(operation->body);
  if (Result<void> checked = check_guest_name(kept.name, kExportName); !checked.ok()) {
    operation->error = std::move(checked).take_error();
  }
  to.make_pages(*operation, kept.pages);
  to.table.chain(*operation, instance.exports);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const UnexportPages& body) {
  TRY(check_guest_name(body.name, kExportName));
  return to.issue_by_name(instance, command);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ListExports&) {
  return to.issue_by_name(instance, command);
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextPages& body) {
  Context* context = TRY(to.find<Context>(instance, body.context, ObjectKind::Context));
  TRY(to.check_new_pages(instance, body.pages));
  Operation* operation = to.issue_on_context(instance, command, *context);
  if (Result<void> paged = check_is_paged(*context->replica(), "pages"); !paged.ok()) {
    operation->error = std::move(paged).take_error();
  }
  to.make_pages(*operation, std::get<ContextPages>(operation->body).pages);
  to.table.issue(*operation);
  return {};
}

Result<void> issue(Issuer& to, Instance& instance, Command& command, const ContextFromPages& body) {
  TRY(to.check_new(instance, {body.context}));
  QueueObject* queue = TRY(to.find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_is_paged(*queue->replica, "from_pages"));
  std::vector<PageObject*> pages;
  TRY(to.collect(instance, body.pages, ObjectKind::Page, queue->replica, true, pages));
  TRY(check_tokens(body.tokens, *queue->replica));
  Context* context = TRY(to.make_context(instance, body.context, *queue));
  Operation* operation = to.issue_on_context(instance, command, *context);
  operation->input_pages = std::move(pages);
  to.chain(*operation, operation->input_pages);
  to.table.issue(*operation);
  return {};
}

}  // namespace quire::control
