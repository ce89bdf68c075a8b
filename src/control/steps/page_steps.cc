// Within a batch all copies come before all passes. So a copy waits for the next batch if a pass of
// this one writes its source. It also waits if an earlier pass reads the slots that it overwrites.
// Operations issued after it join the same batch.
#include "control/steps/page_steps.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/objects/context_pages.h"
#include "control/objects/give_back.h"
#include "control/objects/page_handles.h"

namespace quire::control {

Attempt PageSteps::attempt(Operation& operation, BatchDraft* draft) {
  switch (operation.type) {
    case index_of<AllocPages>():
      return alloc_pages(operation, draft);
    case index_of<DeallocPages>():
      for (PageObject* page : operation.output_pages) {
        give_back(*operation.instance, *page);
        tools_.table.pages.destroy(page);
      }
      return done(operation);
    case index_of<MaskPage>():
      return mask_page(operation);
    case index_of<CopyPage>():
      return copy_page(operation, *draft);
    case index_of<ExportPages>():
      return export_pages(operation, *draft);
    case index_of<ImportPages>():
      return import_pages(operation);
    case index_of<UnexportPages>():
      return unexport_pages(operation);
    case index_of<ListExports>():
      return list_exports(operation);
    case index_of<ContextPages>():
      if (const std::optional<Attempt> waits = contexts_.bring_back(operation, draft))
        return *waits;
      return share_context(operation);
    case index_of<ContextFromPages>():
      return make_from_pages(operation, *draft);
    default:
      QUIRE_CHECK(false, "a command that is none of pages");
  }
}

Attempt PageSteps::alloc_pages(Operation& operation, BatchDraft* draft) {
  Instance& instance = *operation.instance;
  const auto count = static_cast<std::uint32_t>(operation.output_pages.size());
  if (count > resources().cache.page_count()) {
    return fail(operation, tools_.room.no_free_page(instance, count));
  }
  if (Result<void> quota = tools_.quota.may_hold(instance, count); !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (!tools_.room.can_take(operation, count, draft != nullptr))
    return tools_.room.want(operation, count);
  std::vector<PageId> pages;
  QUIRE_CHECK(resources().cache.take(count, pages), "make_room() made too little");
  report(tools_.table.walk, WalkStop::Pages);
  for (std::uint32_t index = 0; index < count; ++index) {
    operation.output_pages[index]->page = pages[index];
    operation.output_pages[index]->positions.assign(page_size(), 0);
    ledger(operation).acquire(pages[index]);
  }
  return done(operation);
}

Attempt PageSteps::mask_page(Operation& operation) {
  const MaskPage& body = std::get<MaskPage>(operation.body);
  std::uint32_t view = 0;
  for (std::size_t slot = 0; slot < body.visible.size(); ++slot) {
    view |= (body.visible[slot] != 0 ? 1u : 0u) << slot;
  }
  operation.output_pages.front()->view = view;
  return done(operation);
}

Attempt PageSteps::copy_page(Operation& operation, BatchDraft& draft) {
  const CopyPage& body = std::get<CopyPage>(operation.body);
  const PageObject& from = *operation.input_pages.front();
  PageObject& to = *operation.output_pages.front();
  Result<void> checked = check_copy(from, to, body, page_size());
  if (!checked.ok()) return fail(operation, std::move(checked).take_error());
  const bool is_read = draft.is_of_this(to.reader_batch);
  const bool overwrites = (to.written & slot_bits(body.to_slot, body.slot_count)) != 0;
  if (draft.is_being_written(from) || (overwrites && (is_read || draft.is_being_written(to)))) {
    return Attempt::Later;
  }
  if (body.slot_count > 0) {
    if (!draft.has_rowless_room(operation)) return Attempt::Later;
    draft.note_rowless(operation, 1);
    draft.batch().copies.push_back(copy_slots(from, to, body));
  }
  return done(operation);
}

Attempt PageSteps::export_pages(Operation& operation, BatchDraft& draft) {
  const ExportPages& body = std::get<ExportPages>(operation.body);
  Instance& instance = *operation.instance;
  const auto count = static_cast<std::uint32_t>(operation.input_pages.size());
  const std::uint32_t page_size = this->page_size();
  PageExport made{.tenant = instance.tenant,
                  .name = body.name,
                  .is_public = body.is_public,
                  .replica = &replica(),
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
      tools_.table.exports.check_new(made, count, instance.limits, resources().cache.page_count());
  if (!allowed.ok()) return fail(operation, std::move(allowed).take_error());
  if (std::any_of(operation.input_pages.begin(), operation.input_pages.end(),
                  [&](const PageObject* page) { return draft.is_being_written(*page); })) {
    return Attempt::Later;
  }
  if (copy_count > 0 && !draft.has_rowless_room(operation)) return Attempt::Later;
  if (!tools_.room.can_take(operation, copy_count, true))
    return tools_.room.want(operation, copy_count);
  draft.note_rowless(operation, copy_count);
  std::vector<PageId> copies;
  QUIRE_CHECK(resources().cache.take(copy_count, copies), "make_room() made too little");
  for (PageObject* page : operation.input_pages) {
    PageObject* exported = tools_.table.pages.make();
    exported->replica = &replica();
    made.pages.push_back(exported);
    if (!page->is_shared && !is_full(*page, page_size)) {
      copy_sealed(*page, *exported, copies.back(), resources(), draft.batch().copies);
      copies.pop_back();
      continue;
    }
    if (!page->is_shared) seal_handle(*page, resources());
    share_handle(*page, *exported, resources());
  }
  tools_.table.exports.add(std::move(made), resources().cache.page_count());
  return done(operation);
}

Attempt PageSteps::import_pages(Operation& operation) {
  const ImportPages& body = std::get<ImportPages>(operation.body);
  Instance& instance = *operation.instance;
  Result<const PageExport*> found = tools_.table.exports.find(instance.tenant, body.name);
  if (!found.ok()) return fail(operation, std::move(found).take_error());
  const PageExport& exported = *found.value();
  if (exported.replica != &replica()) {
    return fail(operation, Error(ErrorCode::InvalidArgument,
                                 "export \"" + body.name + "\" is of another model"));
  }
  const std::size_t count = operation.output_pages.size();
  if (count > exported.pages.size()) {
    return fail(operation, Error(ErrorCode::OutOfRange,
                                 std::to_string(count) + " pages of export \"" + body.name +
                                     "\", which has " + std::to_string(exported.pages.size())));
  }
  PageLedger& pages = ledger(operation);
  const auto fresh = std::count_if(
      exported.pages.begin(), exported.pages.begin() + static_cast<std::ptrdiff_t>(count),
      [&](const PageObject* page) { return !pages.holds(page->page); });
  Result<void> quota = tools_.quota.may_hold(instance, static_cast<std::uint32_t>(fresh));
  if (!quota.ok()) return fail(operation, std::move(quota).take_error());
  SharedPages shared;
  for (std::uint32_t index = 0; index < count; ++index) {
    PageObject& page = *operation.output_pages[index];
    share_handle(*exported.pages[index], page, resources());
    pages.acquire(page.page);
    shared.all.push_back({.index = index, .written = page.written});
  }
  tools_.table.finish(operation, AnswerBody(std::move(shared)));
  return Attempt::Done;
}

Attempt PageSteps::unexport_pages(Operation& operation) {
  const UnexportPages& body = std::get<UnexportPages>(operation.body);
  Result<PageExport> taken = tools_.table.exports.take(operation.instance->tenant, body.name);
  if (!taken.ok()) return fail(operation, std::move(taken).take_error());
  for (PageObject* page : taken.value().pages) {
    ModelResources& resources = page->replica->resources;  // Of any model: a name is of a tenant.
    resources.cache.set_time(tools_.table.clock.now_ns());
    release_handle(*page, resources);
    tools_.table.pages.destroy(page);
  }
  return done(operation);
}

Attempt PageSteps::list_exports(Operation& operation) {
  const TenantId tenant = operation.instance->tenant;
  Exports exports;
  for (const PageExport* each : tools_.table.exports.visible_to(tenant)) {
    ExportDescription description{.name = each->name,
                                  .page_count = static_cast<std::uint32_t>(each->pages.size()),
                                  .is_public = each->is_public,
                                  .is_own = each->tenant == tenant};
    for (const PageObject* page : each->pages) {
      description.token_count += static_cast<std::uint32_t>(std::popcount(page->written));
    }
    exports.all.push_back(std::move(description));
  }
  tools_.table.finish(operation, AnswerBody(std::move(exports)));
  return Attempt::Done;
}

Attempt PageSteps::share_context(Operation& operation) {
  const ContextPages& body = std::get<ContextPages>(operation.body);
  Context& context = *operation.context;
  const std::uint32_t held = shareable_page_count(context);
  const std::size_t count = operation.output_pages.size();
  if (std::uint64_t{body.first} + count > held) {
    return fail(operation,
                Error(ErrorCode::OutOfRange, "pages [" + std::to_string(body.first) + ", " +
                                                 std::to_string(std::uint64_t{body.first} + count) +
                                                 "): the context holds " + std::to_string(held)));
  }
  SharedPages shared = share_pages(context, body.first, operation.output_pages);
  tools_.table.finish(operation, AnswerBody(std::move(shared)));
  return Attempt::Done;
}

Attempt PageSteps::make_from_pages(Operation& operation, BatchDraft& draft) {
  const ContextFromPages& body = std::get<ContextFromPages>(operation.body);
  Instance& instance = *operation.instance;
  Context& context = *operation.context;
  Result<void> checked = check_pages(operation.input_pages, body.tokens, resources());
  if (!checked.ok()) return fail(operation, std::move(checked).take_error());
  if (std::any_of(operation.input_pages.begin(), operation.input_pages.end(),
                  [&](const PageObject* page) { return draft.is_being_written(*page); })) {
    return Attempt::Later;
  }
  const std::uint32_t wanted =
      pages_to_copy(operation.input_pages, context.chain().head(), resources());
  if (Result<void> quota = tools_.quota.may_hold(instance, wanted); !quota.ok()) {
    return fail(operation, std::move(quota).take_error());
  }
  if (wanted > 0 && !draft.has_rowless_room(operation)) return Attempt::Later;
  if (!tools_.room.can_take(operation, wanted, true)) return tools_.room.want(operation, wanted);
  draft.note_rowless(operation, wanted);
  adopt_pages(context, operation.input_pages, body.tokens, draft.batch().copies);
  tools_.table.finish(operation,
                      AnswerBody(Forked{.child = body.context, .counters = context.counters()}));
  return Attempt::Done;
}

}  // namespace quire::control
