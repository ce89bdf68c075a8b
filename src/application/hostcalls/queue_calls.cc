// queue and allocate: streams of commands, and the pages and embeds that they work on.
#include <algorithm>
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Result<control::Priority> read_priority(std::uint32_t priority) {
  if (priority > static_cast<std::uint32_t>(control::Priority::High)) {
    return Error(ErrorCode::InvalidArgument, "priority " + std::to_string(priority) + " of 0 to 2");
  }
  return static_cast<control::Priority>(priority);
}

// The objects of the list, and none of them in the table any more; all of them or none.
Result<std::vector<control::ObjectId>> release(HostCall& call, HandleKind kind, GuestHandle queue,
                                               GuestList<std::int32_t> list) {
  const ModelView model = TRY(find_queue(call, queue, "allocate"));
  std::vector<control::ObjectId> objects =
      TRY(find_objects(call, list, kind, model, handle_kind_name(kind)));
  std::vector<control::ObjectId> sorted = objects;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Error(ErrorCode::InvalidArgument,
                 std::string(handle_kind_name(kind)) + ": the list names one of them twice");
  }
  TRY(call.guest.check_pending(objects.size() * sizeof(control::ObjectId)));
  for (const control::ObjectId each : objects) {
    call.guest.handles.remove(GuestHandle{static_cast<std::int32_t>(each)});
  }
  return objects;
}

}  // namespace

Result<std::int32_t> queue_create_queue(HostCall& call, GuestHandle handle,
                                        std::uint32_t priority) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_model(call, handle, nullptr));
  const control::Priority wanted = TRY(read_priority(priority));
  const auto index = static_cast<std::uint8_t>(model.index);
  const std::uint32_t named = guest.handles.find(handle, HandleKind::Model).value().payload;
  const GuestHandle queue =
      TRY(guest.handles.add(HandleKind::Queue, {.model = index, .payload = named}));
  guest.send(control::CreateQueue{object(queue), model.index, wanted});
  return static_cast<std::int32_t>(queue);
}

Result<std::int32_t> queue_destroy_queue(HostCall& call, GuestHandle queue) {
  GuestState& guest = call.guest;
  TRY(guest.handles.find(queue, HandleKind::Queue));
  guest.send(control::DestroyQueue{object(queue)});
  guest.handles.remove(queue);
  return 0;
}

Result<std::int32_t> queue_synchronize(HostCall& call, GuestHandle queue) {
  GuestState& guest = call.guest;
  TRY(guest.handles.find(queue, HandleKind::Queue));
  TRY(guest.check_future_room());  // Never refused for what pends: it is the way out of that.
  return static_cast<std::int32_t>(guest.submit(control::Synchronize{object(queue)}, 0).handle);
}

Result<std::int32_t> queue_set_queue_priority(HostCall& call, GuestHandle queue,
                                              std::uint32_t priority) {
  TRY(call.guest.handles.find(queue, HandleKind::Queue));
  call.guest.send(control::SetQueuePriority{object(queue), TRY(read_priority(priority))});
  return 0;
}

Result<std::int32_t> allocate_alloc_kvpage(HostCall& call, GuestHandle queue, std::uint32_t count,
                                           GuestAddress pages) {
  std::vector<control::ObjectId> objects =
      TRY(new_handles(call, HandleKind::Page, queue, "allocate", count, pages));
  if (objects.empty()) return 0;
  const std::uint64_t bytes = objects.size() * sizeof(control::ObjectId);
  call.guest.send(control::AllocPages{object(queue), std::move(objects)}, bytes);
  return static_cast<std::int32_t>(count);
}

Result<std::int32_t> allocate_dealloc_kvpage(HostCall& call, GuestHandle queue,
                                             GuestList<std::int32_t> pages) {
  std::vector<control::ObjectId> objects = TRY(release(call, HandleKind::Page, queue, pages));
  if (objects.empty()) return 0;
  const std::uint64_t bytes = objects.size() * sizeof(control::ObjectId);
  call.guest.send(control::DeallocPages{object(queue), std::move(objects)}, bytes);
  return 0;
}

Result<std::int32_t> allocate_alloc_emb(HostCall& call, GuestHandle queue, std::uint32_t count,
                                        GuestAddress embeds) {
  std::vector<control::ObjectId> objects =
      TRY(new_handles(call, HandleKind::Embed, queue, "allocate", count, embeds));
  if (objects.empty()) return 0;
  const std::uint64_t bytes = objects.size() * sizeof(control::ObjectId);
  call.guest.send(control::AllocEmbeds{object(queue), std::move(objects)}, bytes);
  return static_cast<std::int32_t>(count);
}

Result<std::int32_t> allocate_dealloc_emb(HostCall& call, GuestHandle queue,
                                          GuestList<std::int32_t> embeds) {
  std::vector<control::ObjectId> objects = TRY(release(call, HandleKind::Embed, queue, embeds));
  if (objects.empty()) return 0;
  const std::uint64_t bytes = objects.size() * sizeof(control::ObjectId);
  call.guest.send(control::DeallocEmbeds{object(queue), std::move(objects)}, bytes);
  return 0;
}

}  // namespace quire::hostcalls
