// allocate and context: pages that are copied, shared under a name, or a context's.
#include <string>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/hostcalls/context_view.h"

namespace quire::hostcalls {
namespace {

constexpr std::uint32_t kPublic = 1;
constexpr const char* kExportName = "export name";

std::int32_t future_of(const FutureRecord& record) {
  return static_cast<std::int32_t>(record.handle);
}

}  // namespace

Result<std::int32_t> allocate_copy_kvpage(HostCall& call, GuestHandle queue, GuestHandle source,
                                          GuestHandle target, std::uint32_t source_slot,
                                          std::uint32_t target_slot, std::uint32_t count) {
  const ModelView model = TRY(find_queue(call, queue, "allocate"));
  const std::pair<GuestHandle, const char*> pages[] = {{source, "source"}, {target, "target"}};
  for (const auto& [page, what] : pages) {
    Result<HandleTable::Entry> entry = call.guest.handles.find(page, HandleKind::Page);
    if (!entry.ok()) return std::move(entry).take_error().while_(what);
    if (entry.value().model == static_cast<std::uint32_t>(model.index)) continue;
    return Error(ErrorCode::InvalidArgument,
                 std::string(what) + " belongs to another model than the queue");
  }
  TRY(call.guest.check_pending(0));
  TRY(call.guest.check_future_room());
  const control::CopyPage body{.queue = object(queue),
                               .from = object(source),
                               .to = object(target),
                               .from_slot = source_slot,
                               .to_slot = target_slot,
                               .slot_count = count};
  return future_of(call.guest.submit(body, 0));
}

Result<std::int32_t> allocate_export_kvpage(HostCall& call, GuestHandle queue,
                                            GuestList<std::int32_t> pages,
                                            GuestList<std::uint8_t> name, std::uint32_t flags) {
  const ModelView model = TRY(find_queue(call, queue, "allocate"));
  if ((flags & ~kPublic) != 0) {
    return Error(ErrorCode::InvalidArgument, "flags: " + std::to_string(flags) + " beyond 1");
  }
  control::ExportPages body;
  body.queue = object(queue);
  body.pages = TRY(find_objects(call, pages, HandleKind::Page, model, "pages"));
  body.name = TRY(read_name(call, name, kExportName));
  body.is_public = (flags & kPublic) != 0;
  const std::uint64_t bytes = std::uint64_t{4} * pages.count + name.count;
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  return future_of(call.guest.submit(std::move(body), bytes));
}

Result<std::int32_t> allocate_import_kvpage(HostCall& call, GuestHandle queue,
                                            GuestList<std::uint8_t> list, std::uint32_t count,
                                            GuestAddress pages) {
  TRY(find_queue(call, queue, "allocate"));
  std::string name = TRY(read_name(call, list, kExportName));
  const std::uint64_t bytes = std::uint64_t{4} * count + list.count;
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  std::vector<control::ObjectId> objects =
      TRY(new_handles(call, HandleKind::Page, queue, "allocate", count, pages));
  return future_of(call.guest.submit(
      control::ImportPages{object(queue), std::move(name), std::move(objects)}, bytes));
}

Result<std::int32_t> allocate_unexport_kvpage(HostCall& call, GuestList<std::uint8_t> list) {
  std::string name = TRY(read_name(call, list, kExportName));
  return submit_unqueued(call, control::UnexportPages{std::move(name)}, list.count);
}

Result<std::int32_t> allocate_list_exports(HostCall& call) {
  return submit_unqueued(call, control::ListExports{}, 0);
}

Result<std::int32_t> context_pages(HostCall& call, GuestHandle context, std::uint32_t first,
                                   std::uint32_t count, GuestAddress pages) {
  const ContextView view = TRY(find_live_context(call, context));
  const std::uint64_t bytes = std::uint64_t{4} * count;
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  const GuestHandle queue = view.record.queue;
  std::vector<control::ObjectId> objects =
      TRY(new_handles(call, HandleKind::Page, queue, "forward", count, pages));
  return future_of(
      call.guest.submit(control::ContextPages{object(context), first, std::move(objects)}, bytes));
}

Result<std::int32_t> context_from_pages(HostCall& call, GuestHandle queue,
                                        GuestList<std::int32_t> pages,
                                        GuestList<std::uint32_t> tokens) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_queue(call, queue, "forward"));
  const std::uint64_t bytes = std::uint64_t{4} * (std::uint64_t{pages.count} + tokens.count);
  TRY(guest.check_pending(bytes));
  control::ContextFromPages body;
  body.queue = object(queue);
  body.pages = TRY(find_objects(call, pages, HandleKind::Page, model, "pages"));
  const std::uint64_t slots = std::uint64_t{pages.count} * model.description.page_size;
  if (tokens.count > slots) {
    return Error(ErrorCode::InvalidArgument, "from_pages: " + std::to_string(tokens.count) +
                                                 " tokens for pages of " + std::to_string(slots) +
                                                 " slots");
  }
  body.tokens = TRY(call.memory.read(tokens, "tokens"));
  TRY(check_tokens(body.tokens, model));
  TRY(check_context_room(guest));
  TRY(guest.check_future_room());
  const auto index = static_cast<std::uint8_t>(model.index);
  const GuestHandle child = TRY(guest.handles.add(HandleKind::ReservedContext, {.model = index}));
  guest.contexts[number(child)].queue = queue;
  body.context = object(child);
  FutureRecord& future = guest.submit(std::move(body), bytes);
  future.child = child;
  future.is_child_made = true;
  Result<std::int32_t> made = future_of(future);
  if (control::ChosenAdaptersRef set = adapters_of_queue(call, queue)) {
    guest.send(control::ContextUseAdapters{object(child), std::move(set)}, 0);
  }
  return made;
}

}  // namespace quire::hostcalls
