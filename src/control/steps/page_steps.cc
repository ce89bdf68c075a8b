// Pages by hand beyond allocating and masking them: copies, exports under a name, handles of a
// context's pages and the way back.
//
// Within a batch all copies come before all passes. So a copy waits for the next batch where its
// source is written by a pass of this one, or where one that came before it reads what it
// overwrites. Whatever is issued behind it joins the same batch.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/contexts/context_pages.h"
#include "control/contexts/page_handles.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {

Scheduler::Attempt Scheduler::copy_page(Operation& operation) {
  const CopyPage& body = std::get<CopyPage>(operation.body);
  const PageObject& from = *operation.input_pages.front();
  PageObject& to = *operation.output_pages.front();
  Result<void> checked = check_copy(from, to, body, resources_.cache.page_size());
  if (!checked.ok()) return fail(operation, std::move(checked).take_error());
  const bool is_read = to.reader_batch == static_cast<std::uint64_t>(batch_.id);
  const bool overwrites = (to.written & slot_bits(body.to_slot, body.slot_count)) != 0;
  if (is_being_written(from) || (overwrites && (is_read || is_being_written(to)))) {
    return Attempt::Later;
  }
  if (body.slot_count > 0) {
    if (!has_rowless_room(operation)) return Attempt::Later;
    note_rowless(operation, 1);
    batch_.copies.push_back(copy_slots(from, to, body));
  }
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::export_pages(Operation& operation) {
  const ExportPages& body = std::get<ExportPages>(operation.body);
  Instance& instance = *operation.instance;
  const auto count = static_cast<std::uint32_t>(operation.input_pages.size());
  const std::uint32_t page_size = resources_.cache.page_size();
  PageExport made{.tenant = instance.tenant,
                  .name = body.name,
                  .is_public = body.is_public,
                  .model = this,
                  .pages = {}};
  std::uint32_t copy_count = 0;
  for (std::size_t index = 0; index < operation.input_pages.size(); ++index) {
    const PageObject& page = *operation.input_pages[index];
    if (Result<void> checked = check_readable(page, "pages", index); !checked.ok()) {
      return fail(operation, std::move(checked).take_error());
    }
    copy_count += !page.is_shared && !is_full(page, page_size);
  }
  Result<void> allowed =
      table_.exports.check_new(made, count, instance.limits, resources_.cache.page_count());
  if (!allowed.ok()) return fail(operation, std::move(allowed).take_error());
  if (std::any_of(operation.input_pages.begin(), operation.input_pages.end(),
                  [&](const PageObject* page) { return is_being_written(*page); })) {
    return Attempt::Later;
  }
  if (copy_count > 0 && !has_rowless_room(operation)) return Attempt::Later;
  if (!can_take(operation, copy_count)) return want_pages(operation, copy_count);
  note_rowless(operation, copy_count);
  std::vector<PageId> copies;
  QUIRE_CHECK(resources_.cache.take(copy_count, copies), "make_room() made too little");
  for (PageObject* page : operation.input_pages) {
    PageObject* exported = table_.pages.make();
    exported->model = this;
    made.pages.push_back(exported);
    if (!page->is_shared && !is_full(*page, page_size)) {
      copy_sealed(*page, *exported, copies.back(), resources_, batch_.copies);
      copies.pop_back();
      continue;
    }
    if (!page->is_shared) seal_handle(*page, resources_);
    share_handle(*page, *exported, resources_);
  }
  table_.exports.add(std::move(made), resources_.cache.page_count());
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::import_pages(Operation& operation) {
  const ImportPages& body = std::get<ImportPages>(operation.body);
  Instance& instance = *operation.instance;
  Result<const PageExport*> found = table_.exports.find(instance.tenant, body.name);
  if (!found.ok()) return fail(operation, std::move(found).take_error());
  const PageExport& exported = *found.value();
  if (exported.model != this) {
    return fail(operation, Error(ErrorCode::InvalidArgument,
                                 "export \"" + body.name + "\" is of another model"));
  }
  const std::size_t count = operation.output_pages.size();
  if (count > exported.pages.size()) {
    return fail(operation, Error(ErrorCode::OutOfRange,
                                 std::to_string(count) + " pages of export \"" + body.name +
                                     "\", which has " + std::to_string(exported.pages.size())));
  }
  PageLedger& pages = ledger(instance);
  const auto fresh = std::count_if(
      exported.pages.begin(), exported.pages.begin() + static_cast<std::ptrdiff_t>(count),
      [&](const PageObject* page) { return !pages.holds(page->page); });
  Result<void> quota = check_quota(instance, static_cast<std::uint32_t>(fresh));
  if (!quota.ok()) return fail(operation, std::move(quota).take_error());
  SharedPages shared;
  for (std::uint32_t index = 0; index < count; ++index) {
    PageObject& page = *operation.output_pages[index];
    share_handle(*exported.pages[index], page, resources_);
    pages.acquire(page.page);
    shared.all.push_back({.index = index, .written = page.written});
  }
  table_.finish(operation, AnswerBody(std::move(shared)));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::unexport_pages(Operation& operation) {
  const UnexportPages& body = std::get<UnexportPages>(operation.body);
  Result<PageExport> taken = table_.exports.take(operation.instance->tenant, body.name);
  if (!taken.ok()) return fail(operation, std::move(taken).take_error());
  for (PageObject* page : taken.value().pages) {
    ModelResources& resources = page->model->resources();  // Of any model: a name is of a tenant.
    resources.cache.set_time(table_.clock.now_ns());
    release_handle(*page, resources);
    table_.pages.destroy(page);
  }
  table_.finish(operation, AnswerBody(Done{}));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::list_exports(Operation& operation) {
  const TenantId tenant = operation.instance->tenant;
  Exports exports;
  for (const PageExport* each : table_.exports.visible_to(tenant)) {
    ExportDescription description{.name = each->name,
                                  .page_count = static_cast<std::uint32_t>(each->pages.size()),
                                  .is_public = each->is_public,
                                  .is_own = each->tenant == tenant};
    for (const PageObject* page : each->pages) {
      description.token_count += static_cast<std::uint32_t>(std::popcount(page->written));
    }
    exports.all.push_back(std::move(description));
  }
  table_.finish(operation, AnswerBody(std::move(exports)));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::share_context(Operation& operation) {
  const ContextPages& body = std::get<ContextPages>(operation.body);
  Context& context = *operation.context;
  const std::uint32_t held = shareable_page_count(context, resources_);
  const std::size_t count = operation.output_pages.size();
  if (std::uint64_t{body.first} + count > held) {
    return fail(operation,
                Error(ErrorCode::OutOfRange, "pages [" + std::to_string(body.first) + ", " +
                                                 std::to_string(std::uint64_t{body.first} + count) +
                                                 "): the context holds " + std::to_string(held)));
  }
  SharedPages shared = share_pages(context, resources_, ledger(*operation.instance), body.first,
                                   operation.output_pages);
  table_.finish(operation, AnswerBody(std::move(shared)));
  return Attempt::Done;
}

Scheduler::Attempt Scheduler::make_from_pages(Operation& operation) {
  const ContextFromPages& body = std::get<ContextFromPages>(operation.body);
  Instance& instance = *operation.instance;
  Context& context = *operation.context;
  Result<void> checked = check_pages(operation.input_pages, body.tokens, resources_);
  if (!checked.ok()) return fail(operation, std::move(checked).take_error());
  if (std::any_of(operation.input_pages.begin(), operation.input_pages.end(),
                  [&](const PageObject* page) { return is_being_written(*page); })) {
    return Attempt::Later;
  }
  const std::uint32_t wanted = pages_to_copy(operation.input_pages, context.head, resources_);
  if (Result<void> quota = check_quota(instance, wanted); !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (wanted > 0 && !has_rowless_room(operation)) return Attempt::Later;
  if (!can_take(operation, wanted)) return want_pages(operation, wanted);
  note_rowless(operation, wanted);
  adopt_pages(context, resources_, ledger(instance), operation.input_pages, body.tokens,
              batch_.copies);
  table_.finish(operation,
                AnswerBody(Forked{.child = body.context,
                                  .counters = counters_of(context, resources_.cache.page_size())}));
  return Attempt::Done;
}

}  // namespace quire::control
