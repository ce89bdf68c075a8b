#include "application/hostcalls/child_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quire::hostcalls {
Result<ChildTable::Child*> ChildTable::find(GuestHandle handle) {
  TRY(handles_.find(handle, HandleKind::Child));
  return &children_.at(number(handle));
}

Result<GuestHandle> ChildTable::launch(ChildLaunch launch) {
  const GuestHandle handle = TRY(handles_.add(HandleKind::Child, {}));
  launch.handle = handle;
  Result<control::InstanceId> launched = launcher_.launch_child(parent_, std::move(launch));
  if (!launched.ok()) {
    handles_.remove(handle);
    return std::move(launched).take_error();
  }
  children_[number(handle)].instance = launched.value();
  return handle;
}

void ChildTable::serve(GuestHandle handle, Child& child) {
  // A parent that waits for a message, or for the end, makes room for it.
  const bool is_wanted = !child.readers.empty() || !child.waiters.empty();
  while (!child.messages.empty() && !child.readers.empty()) {
    const std::size_t bytes = child.messages.front().size();
    FutureRecord& reader = *futures_.find_answered(child.readers.front());
    child.readers.pop_front();
    if (!futures_.admit(reader, bytes)) continue;  // The message stays where it is.
    --message_count_;
    bytes_ -= bytes;
    auto message = child.messages.pop();
    reader.order = message.order;
    futures_.make_ready(reader, std::move(message.value));
  }
  if (is_wanted && std::erase(blocked_, handle) > 0) unblocked_.push_back(child.instance);
  if (child.end) tell_end(child);
}

void ChildTable::block(GuestHandle handle) {
  if (std::find(blocked_.begin(), blocked_.end(), handle) == blocked_.end()) {
    blocked_.push_back(handle);
  }
}

// Unblocks the children whose end is waited for. child_count_max limits how many are blocked.
void ChildTable::room_made() {
  std::erase_if(blocked_, [&](GuestHandle handle) {
    const Child& child = children_.at(number(handle));
    if (!child.waiters.empty()) unblocked_.push_back(child.instance);
    return !child.waiters.empty();
  });
}

void ChildTable::tell_end(Child& child) {
  futures_.fail_all(child.readers, Error(ErrorCode::Unavailable, child.why_silent));
  for (const GuestHandle each : std::exchange(child.waiters, {})) {
    FutureRecord& waiter = *futures_.find_answered(each);
    if (futures_.admit(waiter, child.end->size())) futures_.make_ready(waiter, *child.end);
  }
}

Result<GuestHandle> ChildTable::wait(GuestHandle handle) {
  return add_future(handle, FuturePurpose::ChildEnd, &Child::waiters);
}

Result<GuestHandle> ChildTable::receive(GuestHandle handle) {
  return add_future(handle, FuturePurpose::ChildMessage, &Child::readers);
}

template <typename Futures>
Result<GuestHandle> ChildTable::add_future(GuestHandle handle, FuturePurpose purpose,
                                           Futures Child::* list) {
  Child& child = *TRY(find(handle));
  FutureRecord& record = futures_.add(purpose);
  record.owner = handle;
  const GuestHandle future = record.handle;
  (child.*list).push_back(future);
  const std::uint32_t message_count = message_count_;
  serve(handle, child);
  if (message_count_ < message_count) room_made();
  return future;
}

Result<void> ChildTable::send(GuestHandle handle, std::string message) {
  const Child& child = *TRY(find(handle));
  return launcher_.send_child(child.instance, std::move(message));
}

Result<void> ChildTable::kill(GuestHandle handle) {
  const Child& child = *TRY(find(handle));
  launcher_.kill_child(child.instance, "its parent killed it");
  return {};
}

void ChildTable::drop(GuestHandle handle) {
  const auto found = children_.find(number(handle));
  QUIRE_CHECK(found != children_.end(), "found by its handle");
  Child& child = found->second;
  for (const auto& each : child.messages) bytes_ -= each.value.size();
  message_count_ -= static_cast<std::uint32_t>(child.messages.size());
  if (child.end) futures_.release(child.end->size());
  const Error dropped(ErrorCode::Cancelled, "the child was dropped");
  futures_.fail_all(child.readers, dropped);
  futures_.fail_all(child.waiters, dropped);
  const control::InstanceId instance = child.instance;
  const bool runs = !child.end;
  children_.erase(found);
  std::erase(blocked_, handle);
  handles_.remove(handle);
  room_made();
  if (runs) launcher_.drop_child(instance);
}

void ChildTable::future_dropped(FutureRecord& record) {
  const auto found = children_.find(number(record.owner));
  if (found == children_.end()) return;
  Child& child = found->second;
  if (record.purpose == FuturePurpose::ChildEnd) {
    std::erase(child.waiters, record.handle);
  } else if (!record.ready) {
    std::erase(child.readers, record.handle);
  } else if (record.error == ErrorCode{}) {
    ++message_count_;
    bytes_ += record.result.size();
    child.messages.put_back({record.order, futures_.give_up(record)});
    serve(record.owner, child);
  }
}

bool ChildTable::message(GuestHandle handle, std::string_view bytes) {
  const auto found = children_.find(number(handle));
  if (found == children_.end()) return true;  // The handle was dropped, and the message with it.
  Child& child = found->second;
  const bool fits = message_count_ < limits_.inbox_message_count_max &&
                    bytes_ + bytes.size() <= limits_.inbox_bytes_max;
  // A message that does not fit may go straight to a reader that waits for it.
  Result<void> held = fits ? Result<void>() : futures_.check_held(bytes.size());
  if (!held.ok()) futures_.fail_all(child.readers, held.error());
  if (!fits && child.readers.empty()) {
    block(handle);
    return false;
  }
  ++message_count_;
  bytes_ += bytes.size();
  child.messages.push(std::string(bytes));
  serve(handle, child);
  return true;
}

bool ChildTable::ended(GuestHandle handle, std::string record, std::string why) {
  const auto found = children_.find(number(handle));
  if (found == children_.end()) return true;
  Child& child = found->second;
  if (Result<void> room = futures_.check_held(record.size()); !room.ok()) {
    futures_.fail_all(child.waiters, room.error());
    block(handle);
    return false;
  }
  futures_.hold(record.size());
  child.end = std::move(record);
  child.why_silent = std::move(why);
  serve(handle, child);
  return true;
}

void ChildTable::drop_messages() {
  for (auto& [handle, child] : children_) {
    child.messages = {};
    if (!child.end) continue;
    futures_.release(child.end->size());
    *child.end = std::string();
  }
  message_count_ = 0;
  bytes_ = 0;
}

std::vector<control::InstanceId> ChildTable::take_unblocked() {
  return std::exchange(unblocked_, {});
}

void ChildTable::verify() const {
  QUIRE_CHECK(children_.size() == handles_.count(HandleKind::Child), "CT1");
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const auto& [handle, child] : children_) {
    count += child.messages.size();
    child.messages.verify();
    for (const auto& each : child.messages) bytes += each.value.size();
    QUIRE_CHECK(child.messages.empty() || child.readers.empty(), "CT3");
    QUIRE_CHECK(!child.end || (child.readers.empty() && child.waiters.empty()), "CT3");
  }
  for (const GuestHandle each : blocked_) {
    QUIRE_CHECK(children_.contains(number(each)), "CT4");
    QUIRE_CHECK(std::count(blocked_.begin(), blocked_.end(), each) == 1, "CT4");
  }
  QUIRE_CHECK(count == message_count_ && bytes == bytes_, "CT2");
}

}  // namespace quire::hostcalls
