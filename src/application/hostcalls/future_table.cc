#include "application/hostcalls/future_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::hostcalls {

FutureRecord& FutureTable::add(FuturePurpose purpose) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  FutureRecord& record = records_[index];
  Result<GuestHandle> handle = handles_.add(HandleKind::Future, {.payload = index});
  QUIRE_CHECK(handle.ok(), "the caller checked room");
  record.purpose = purpose;
  record.handle = handle.value();
  return record;
}

Result<FutureRecord*> FutureTable::find(GuestHandle handle) {
  const HandleTable::Entry entry = TRY(handles_.find(handle, HandleKind::Future));
  FutureRecord* record = &records_[entry.payload];
  QUIRE_CHECK(record->handle == handle, "FT1");
  if (!is_known_to_guest(record->purpose)) {
    return Error(ErrorCode::NotFound,
                 "no future has the handle " + std::to_string(static_cast<std::int32_t>(handle)));
  }
  return record;
}

FutureRecord* FutureTable::find_answered(GuestHandle handle) {
  Result<HandleTable::Entry> entry = handles_.find(handle, HandleKind::Future);
  return entry.ok() ? &records_[entry.value().payload] : nullptr;
}

void FutureTable::remove(FutureRecord& record) {
  const auto index = static_cast<std::uint32_t>(&record - records_.data());
  if (record.purpose == FuturePurpose::Sleep && !record.ready) {
    deadlines_.erase({record.deadline_ns, index});
  }
  held_bytes_ -= record.result_bytes().size();
  handles_.remove(record.handle);
  record = FutureRecord{};
  free_.push_back(index);
}

void FutureTable::arm(FutureRecord& sleep, std::uint64_t deadline_ns) {
  sleep.deadline_ns = deadline_ns;
  deadlines_.emplace(deadline_ns, static_cast<std::uint32_t>(&sleep - records_.data()));
}

void FutureTable::settle(FutureRecord& record) {
  record.ready = true;
  const bool is_lost = is_planted(Fault::WakeUpLost) && awaited_.size() > 1;
  if (record.awaited && !is_lost) awaited_ready_ = true;
}

Result<void> FutureTable::check_held(std::uint64_t bytes) const {
  if (bytes <= kSmallResultBytes || held_bytes_ + bytes <= held_bytes_max_.own) return {};
  return Error(ErrorCode::QuotaExceeded,
               "held_result_bytes_max: " + std::to_string(bytes) + " bytes wanted, " +
                   std::to_string(held_bytes_) + " of " +
                   held_bytes_max_.text("are held by results that were not taken") +
                   "; take or drop some, then ask again");
}

bool FutureTable::admit(FutureRecord& record, std::uint64_t bytes) {
  Result<void> room = check_held(bytes);
  if (!room.ok()) make_failed(record, room.error());
  return room.ok();
}

void FutureTable::hold(std::uint64_t bytes) {
  held_bytes_ += bytes;
  held_elsewhere_bytes_ += bytes;
}

void FutureTable::release(std::uint64_t bytes) {
  held_bytes_ -= bytes;
  held_elsewhere_bytes_ -= bytes;
}

std::string FutureTable::give_up(FutureRecord& record) {
  held_bytes_ -= record.result.size();
  return std::exchange(record.result, {});
}

SharedMessage FutureTable::give_up_shared(FutureRecord& record) {
  held_bytes_ -= record.shared_result->size();
  return std::exchange(record.shared_result, nullptr);
}

void FutureTable::make_ready(FutureRecord& record, std::string result) {
  held_bytes_ += result.size();
  record.result = std::move(result);
  settle(record);
}

void FutureTable::make_ready(FutureRecord& record, SharedMessage result) {
  held_bytes_ += result->size();
  record.shared_result = std::move(result);
  settle(record);
}

void FutureTable::make_failed(FutureRecord& record, const Error& error) {
  record.error = error.code();
  record.message = std::string(error.message());
  settle(record);
}

Result<std::optional<std::int32_t>> FutureTable::first_ready(
    const std::vector<std::int32_t>& handles) {
  std::optional<std::int32_t> first;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const FutureRecord* record = TRY(find(GuestHandle{handles[i]}));
    if (record->ready && !first) first = static_cast<std::int32_t>(i);
  }
  return first;
}

void FutureTable::begin_wait(std::vector<std::int32_t> handles,
                             std::optional<std::uint64_t> deadline_ns) {
  QUIRE_CHECK(!waiting_, "a guest has one stack");
  for (const std::int32_t handle : handles) {
    Result<FutureRecord*> record = find(GuestHandle{handle});
    QUIRE_CHECK(record.ok() && !record.value()->ready, "first_ready looked at each");
    record.value()->awaited = true;
  }
  awaited_ = std::move(handles);
  wait_deadline_ns_ = deadline_ns;
  waiting_ = true;
  if (!is_planted(Fault::WokenTwice)) awaited_ready_ = false;
}

bool FutureTable::wait_over(std::uint64_t now_ns) const {
  return waiting_ && (awaited_ready_ || (wait_deadline_ns_ && *wait_deadline_ns_ <= now_ns));
}

std::optional<std::int32_t> FutureTable::end_wait() {
  QUIRE_CHECK(waiting_, "only a guest that waits can stop waiting");
  std::optional<std::int32_t> first;
  for (std::size_t i = 0; i < awaited_.size(); ++i) {
    FutureRecord* record = find_answered(GuestHandle{awaited_[i]});
    QUIRE_CHECK(record != nullptr, "no guest drops a future while it is parked");
    record->awaited = false;
    if (record->ready && !first) first = static_cast<std::int32_t>(i);
  }
  awaited_.clear();
  wait_deadline_ns_.reset();
  waiting_ = false;
  return first;
}

void FutureTable::fire(std::uint64_t now_ns) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    const std::uint32_t index = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    settle(records_[index]);
  }
}

std::optional<std::uint64_t> FutureTable::next_deadline_ns() const {
  std::optional<std::uint64_t> next = waiting_ ? wait_deadline_ns_ : std::nullopt;
  // A sleep that no wait includes can be noticed at the next call of its guest.
  if (waiting_ && !deadlines_.empty()) {
    next = std::min(next.value_or(deadlines_.begin()->first), deadlines_.begin()->first);
  }
  return next;
}

void FutureTable::drop_results() {
  for (FutureRecord& record : records_) {
    held_bytes_ -= record.result_bytes().size();
    record.result = std::string();  // Not clear(), which keeps the bytes.
    record.shared_result = nullptr;
    record.message = std::string();
  }
}

void FutureTable::verify() const {
  std::uint64_t held = 0;
  std::size_t used = 0;
  std::size_t sleeping = 0;
  for (std::uint32_t i = 0; i < records_.size(); ++i) {
    const FutureRecord& record = records_[i];
    held += record.result_bytes().size();
    if (record.purpose == FuturePurpose::Free) continue;
    ++used;
    Result<HandleTable::Entry> entry = handles_.find(record.handle, HandleKind::Future);
    QUIRE_CHECK(entry.ok() && entry.value().payload == i, "FT1");
    if (record.purpose == FuturePurpose::Sleep && !record.ready) {
      ++sleeping;
      QUIRE_CHECK(deadlines_.contains({record.deadline_ns, i}), "FT2");
    }
  }
  QUIRE_CHECK(used == handles_.count(HandleKind::Future), "FT1");
  QUIRE_CHECK(used + free_.size() == records_.size(), "FT1");
  QUIRE_CHECK(sleeping == deadlines_.size(), "FT2");
  QUIRE_CHECK(held + held_elsewhere_bytes_ == held_bytes_, "FT3");
}

}  // namespace quire::hostcalls
