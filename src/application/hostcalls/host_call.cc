#include "application/hostcalls/host_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/guest_name.h"

namespace quire::hostcalls {

Result<std::int32_t> give_bytes(HostCall& call, std::string_view bytes, GuestAddress buffer,
                                std::uint32_t capacity) {
  const std::span<std::byte> into =
      TRY(call.memory.range<std::uint8_t>(buffer, capacity, "buffer"));
  const std::size_t count = std::min(into.size(), bytes.size());
  if (count > 0) std::memcpy(into.data(), bytes.data(), count);
  return count_result(bytes.size());
}

ModelView model_at(const HostCall& call, std::uint8_t index) {
  const std::vector<control::ModelDescription>& models = call.guest.models();
  QUIRE_CHECK(index < models.size(), "get_model made the handle");
  return {control::ModelIndex{index}, models[index]};
}

namespace {

Result<ModelView> with_trait(ModelView model, const char* trait) {
  const std::vector<std::string>& traits = model.description.traits;
  if (trait == nullptr || std::find(traits.begin(), traits.end(), trait) != traits.end()) {
    return model;
  }
  return Error(ErrorCode::NotSupported,
               "model " + model.description.name + " lacks the trait " + trait);
}

}  // namespace

Result<ModelView> find_model(const HostCall& call, GuestHandle model, const char* trait) {
  const HandleTable::Entry entry = TRY(call.guest.handles.find(model, HandleKind::Model));
  return with_trait(model_at(call, entry.model), trait);
}

Result<ModelView> find_queue(const HostCall& call, GuestHandle queue, const char* trait) {
  const HandleTable::Entry entry = TRY(call.guest.handles.find(queue, HandleKind::Queue));
  return with_trait(model_at(call, entry.model), trait);
}

control::ChosenAdaptersRef adapters_of_queue(const HostCall& call, GuestHandle queue) {
  const HandleTable::Entry entry = call.guest.handles.find(queue, HandleKind::Queue).value();
  return call.guest.named_models.at(entry.payload).adapters;
}

Result<void> check_tokens(const std::vector<std::uint32_t>& tokens, const ModelView& model,
                          const char* what) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < model.description.vocabulary_size) continue;
    return Error(ErrorCode::OutOfRange, std::string(what) + "[" + std::to_string(i) +
                                            "]: " + std::to_string(tokens[i]) +
                                            " is not below the vocabulary of " +
                                            std::to_string(model.description.vocabulary_size));
  }
  return {};
}

namespace {

constexpr std::uint64_t kHoleCountMax = 1u << 16;  // Of a table whose early pages were dropped.

// No epoch cuts a host call, so what it has to do is bounded before it begins: a list that names
// more than there can be is refused unread.
Result<void> check_list_length(const HostCall& call, std::uint32_t count, HandleKind kind,
                               const ModelView& model, const char* what, bool holes) {
  std::uint64_t most = call.guest.identity.control_limits.embed_count_max;
  if (kind == HandleKind::Page) {
    most = std::uint64_t{model.description.page_count} + (holes ? kHoleCountMax : 0);
  }
  most = std::max<std::uint64_t>(most, call.guest.handles.count(kind));  // Some have no page yet.
  if (count <= most) return {};
  return Error(ErrorCode::TooLarge, std::string(what) + ": a list of " + std::to_string(count) +
                                        ", at most " + std::to_string(most) + " " +
                                        handle_kind_name(kind) + " handles fit in one");
}

}  // namespace

Result<std::vector<control::ObjectId>> find_objects(const HostCall& call,
                                                    GuestList<std::int32_t> list, HandleKind kind,
                                                    const ModelView& model, const char* what,
                                                    bool holes) {
  TRY(check_list_length(call, list.count, kind, model, what, holes));
  const std::vector<std::int32_t> numbers = TRY(call.memory.read(list, what));
  std::vector<control::ObjectId> objects;
  objects.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (holes && numbers[i] == 0) {
      objects.push_back(control::kNoObject);
      continue;
    }
    Result<HandleTable::Entry> entry = call.guest.handles.find(GuestHandle{numbers[i]}, kind);
    if (!entry.ok()) {
      return std::move(entry).take_error().while_(std::string(what) + "[" + std::to_string(i) +
                                                  "]");
    }
    if (entry.value().model != static_cast<std::uint32_t>(model.index)) {
      return Error(ErrorCode::InvalidArgument, std::string(what) + "[" + std::to_string(i) +
                                                   "] belongs to another model than the queue");
    }
    objects.push_back(control::ObjectId{static_cast<std::uint32_t>(numbers[i])});
  }
  return objects;
}

Result<std::vector<control::ObjectId>> new_handles(HostCall& call, HandleKind kind,
                                                   GuestHandle queue, const char* trait,
                                                   std::uint32_t count, GuestAddress address) {
  GuestState& guest = call.guest;
  const ModelView model = TRY(find_queue(call, queue, trait));
  const std::span<std::byte> into = TRY(call.memory.range<std::int32_t>(address, count, "handles"));
  TRY(guest.handles.check_room(kind, count));
  TRY(guest.check_pending(std::uint64_t{count} * sizeof(control::ObjectId)));
  std::vector<control::ObjectId> objects(count);
  for (control::ObjectId& each : objects) {
    const auto index = static_cast<std::uint8_t>(model.index);
    each = object(TRY(guest.handles.add(kind, {.model = index, .payload = number(queue)})));
  }
  if (count > 0) std::memcpy(into.data(), objects.data(), into.size());
  return objects;
}

Result<std::string> read_name(const HostCall& call, GuestList<std::uint8_t> name,
                              const char* what) {
  if (name.count > kGuestNameBytesMax) {
    return Error(ErrorCode::InvalidArgument,
                 std::string(what) + " has " + std::to_string(name.count) + " bytes; at most " +
                     std::to_string(kGuestNameBytesMax) + " are allowed");
  }
  std::string bytes = TRY(call.memory.read_bytes(name, what));
  TRY(check_guest_name(bytes, what));
  return bytes;
}

Result<void> check_text_bytes(const HostCall& call, std::uint32_t count, const char* what) {
  const std::uint32_t bytes_max = call.guest.identity.limits.text_bytes_max;
  if (count <= bytes_max) return {};
  return Error(ErrorCode::TooLarge, std::string(what) + ": " + std::to_string(count) +
                                        " bytes, text_bytes_max is " + std::to_string(bytes_max));
}

Result<std::int32_t> submit_unqueued(HostCall& call, control::CommandBody body,
                                     std::uint64_t bytes) {
  TRY(call.guest.check_pending(bytes));
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(call.guest.submit(std::move(body), bytes).handle);
}

}  // namespace quire::hostcalls
