// Commands on pages by hand that are not of a pass: allocation, copies, exports, and pages of
// contexts.
//
// Handles are valid at once, and objects are made at once with them. So a command that makes some
// takes its turn whatever is wrong with the rest of it, and its objects stay, empty.
#include <utility>

#include "base/guest_name.h"
#include "control/controller/issue_parts.h"

namespace quire::control {

namespace {

constexpr const char* kExportName = "export name";

}  // namespace

Result<void> Controller::check_new_pages(Instance& instance, const std::vector<ObjectId>& ids) {
  TRY(check_new(instance, ids));
  const std::uint64_t held = instance.page_object_count;
  if (held + ids.size() <= instance.limits.page_count_max) return {};
  return beyond("page_count_max", ids.size(), held, instance.limits.page_limit());
}

void Controller::make_pages(Operation& operation, const std::vector<ObjectId>& ids) {
  Instance& instance = *operation.instance;
  for (const ObjectId id : ids) {
    PageObject* page = table_.pages.make();
    page->model = operation.model;
    instance.objects[static_cast<std::uint32_t>(id)] = {ObjectKind::Page, page};
    ++instance.page_object_count;
    operation.output_pages.push_back(page);
    table_.chain(operation, *page);
  }
}

Result<void> Controller::issue(Instance& instance, Command& command, const AllocPages& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_new_pages(instance, body.pages));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  make_pages(*operation, std::get<AllocPages>(operation->body).pages);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const DeallocPages& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(collect(instance, body.pages, ObjectKind::Page, queue->model, true, pages));
  for (const ObjectId id : body.pages) instance.objects.erase(static_cast<std::uint32_t>(id));
  instance.page_object_count -= static_cast<std::uint32_t>(pages.size());
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->output_pages = std::move(pages);
  for (PageObject* page : operation->output_pages) table_.chain(*operation, *page);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const CopyPage& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(collect(instance, std::array{body.from, body.to}, ObjectKind::Page, queue->model, false,
              pages));
  TRY(check_is_paged(*queue->model, "copy_kvpage"));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->input_pages = {pages[0]};
  operation->output_pages = {pages[1]};
  for (PageObject* page : pages) table_.chain(*operation, *page);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ExportPages& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  std::vector<PageObject*> pages;
  TRY(collect(instance, body.pages, ObjectKind::Page, queue->model, true, pages));
  TRY(check_is_paged(*queue->model, "export_kvpage"));
  TRY(check_guest_name(body.name, kExportName));
  if (pages.empty()) return Error(ErrorCode::InvalidArgument, "an export of no pages");
  if (body.is_public && !instance.limits.may_export_publicly) {
    return Error(ErrorCode::PermissionDenied,
                 "a public export needs the grant may_export_publicly");
  }
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  operation->input_pages = std::move(pages);
  for (PageObject* page : operation->input_pages) table_.chain(*operation, *page);
  table_.chain(*operation, instance.exports);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ImportPages& body) {
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_new_pages(instance, body.pages));
  Operation* operation = table_.make(instance, queue->model, std::move(command));
  table_.enter_queue(*operation, *queue);
  const ImportPages& kept = std::get<ImportPages>(operation->body);
  if (Result<void> checked = check_guest_name(kept.name, kExportName); !checked.ok()) {
    operation->error = std::move(checked).take_error();
  }
  make_pages(*operation, kept.pages);
  table_.chain(*operation, instance.exports);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue_by_name(Instance& instance, Command& command) {
  if (schedulers_.empty()) return Error(ErrorCode::NotSupported, "no model is served");
  Operation* operation = table_.make(instance, schedulers_.front().get(), std::move(command));
  table_.chain(*operation, instance.exports);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const UnexportPages& body) {
  TRY(check_guest_name(body.name, kExportName));
  return issue_by_name(instance, command);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ListExports&) {
  return issue_by_name(instance, command);
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextPages& body) {
  Context* context = TRY(find<Context>(instance, body.context, ObjectKind::Context));
  TRY(check_new_pages(instance, body.pages));
  Operation* operation = issue_on_context(instance, command, *context);
  if (Result<void> paged = check_is_paged(*context->model, "pages"); !paged.ok()) {
    operation->error = std::move(paged).take_error();
  }
  make_pages(*operation, std::get<ContextPages>(operation->body).pages);
  table_.issue(*operation);
  return {};
}

Result<void> Controller::issue(Instance& instance, Command& command, const ContextFromPages& body) {
  TRY(check_new(instance, {body.context}));
  QueueObject* queue = TRY(find<QueueObject>(instance, body.queue, ObjectKind::Queue));
  TRY(check_is_paged(*queue->model, "from_pages"));
  std::vector<PageObject*> pages;
  TRY(collect(instance, body.pages, ObjectKind::Page, queue->model, true, pages));
  const std::uint32_t vocabulary = queue->model->resources().model.vocabulary_size;
  for (const std::uint32_t token : body.tokens) {
    if (token < vocabulary) continue;
    return Error(ErrorCode::OutOfRange, "token " + std::to_string(token) + " of a vocabulary of " +
                                            std::to_string(vocabulary));
  }
  Context* context = TRY(make_context(instance, body.context, *queue));
  Operation* operation = issue_on_context(instance, command, *context);
  operation->input_pages = std::move(pages);
  for (PageObject* page : operation->input_pages) table_.chain(*operation, *page);
  table_.issue(*operation);
  return {};
}

}  // namespace quire::control
