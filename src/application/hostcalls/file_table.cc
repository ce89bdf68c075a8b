#include "application/hostcalls/file_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/guest_name.h"
#include "base/utf8.h"

namespace quire::hostcalls {
namespace {

Error no_room(const char* limit, std::uint64_t used, std::uint64_t maximum, const char* whose) {
  return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": " + std::to_string(used) + " of " +
                                             std::to_string(maximum) + " bytes are not yet " +
                                             whose);
}

Result<void> check_file_bytes(std::uint64_t file_bytes, const GuestLimits& limits) {
  if (file_bytes <= limits.file_bytes_max) return {};
  return Error(ErrorCode::TooLarge, "file_bytes_max: a file of " + std::to_string(file_bytes) +
                                        " bytes, the limit is " +
                                        std::to_string(limits.file_bytes_max));
}

// interface/session.wit: receive-file.
std::string encode(GuestHandle handle, const std::string& name, const std::string& media_type,
                   std::uint64_t file_bytes) {
  const std::uint32_t head[4] = {static_cast<std::uint32_t>(handle),
                                 static_cast<std::uint32_t>(name.size()),
                                 static_cast<std::uint32_t>(media_type.size()), 0};
  std::string out(reinterpret_cast<const char*>(head), sizeof head);
  out.append(reinterpret_cast<const char*>(&file_bytes), sizeof file_bytes);
  return out + name + media_type;
}

}  // namespace

Result<void> check_media_type(std::string_view media_type) {
  const bool is_printable = std::all_of(media_type.begin(), media_type.end(),
                                        [](char each) { return each >= 0x20 && each < 0x7f; });
  if (media_type.size() <= kMediaTypeBytesMax && is_printable &&
      media_type.find('/') != std::string_view::npos) {
    return {};
  }
  return Error(ErrorCode::InvalidArgument,
               "media type " + in_quotes(media_type) + ": 1 to " +
                   std::to_string(kMediaTypeBytesMax) +
                   " printable ASCII characters with a / were expected, as \"image/png\"");
}

// ---- To the client.

void FileTable::add_part(Outbox::Part part) {
  outgoing_.at(part.file).part_count += 1;
  outbox_.push(std::move(part));
}

Result<GuestHandle> FileTable::send_file(std::string name, std::string media_type,
                                         std::uint64_t file_bytes) {
  TRY(check_guest_name(name, "file name"));
  TRY(check_media_type(media_type));
  TRY(check_file_bytes(file_bytes, limits_));
  if (!has_out_room()) {
    return no_room("file_outbox_bytes_max", outbox_.part_bytes(), limits_.file_outbox_bytes_max,
                   "taken by the client");
  }
  const std::uint32_t file = ++last_file_;
  const GuestHandle handle = TRY(handles_.add(HandleKind::File, {.payload = file}));
  outgoing_.emplace(file,
                    Outgoing{std::move(name), std::move(media_type), file_bytes, 0, 0, handle});
  if (file_bytes == 0) add_part({file, 0, "", false});
  return handle;
}

Result<GuestHandle> FileTable::write_file(GuestHandle handle, std::string part) {
  const HandleTable::Entry entry = TRY(handles_.find(handle, HandleKind::File));
  const auto found = outgoing_.find(entry.payload);
  if (found == outgoing_.end()) {
    return Error(ErrorCode::InvalidArgument, "the file was received: it can be read, not written");
  }
  Outgoing& file = found->second;
  if (part.size() > file.file_bytes - file.written) {
    return Error(ErrorCode::OutOfRange, "a part of " + std::to_string(part.size()) + " bytes at " +
                                            std::to_string(file.written) + " of a file of " +
                                            std::to_string(file.file_bytes));
  }
  if (!has_out_room()) {
    return no_room("file_outbox_bytes_max", outbox_.part_bytes(), limits_.file_outbox_bytes_max,
                   "taken by the client; wait for the future of the part before");
  }
  TRY(output_.check(part.size()));
  if (!part.empty()) {
    output_.add(part.size());
    const std::uint64_t offset = file.written;
    file.written += part.size();
    add_part({entry.payload, offset, std::move(part), false});
  }
  writer_ = futures_.add(FuturePurpose::WriteFile).handle;
  const GuestHandle future = writer_;
  wake_writer();
  return future;
}

void FileTable::wake_writer() {
  if (writer_ == GuestHandle{} || !has_out_room()) return;
  futures_.make_ready(*futures_.find_answered(std::exchange(writer_, GuestHandle{})), "");
}

service::Said FileTable::shown(const Outbox::Part& part) const {
  if (part.is_dropped) return service::DroppedFile{part.file};
  const Outgoing& file = outgoing_.at(part.file);
  return service::SentPart{part.file,       file.name,   file.media_type,
                           file.file_bytes, part.offset, part.bytes};
}

void FileTable::part_taken(std::uint32_t file) {
  outgoing_.at(file).part_count -= 1;
  forget_if_done(file);
  wake_writer();
}

void FileTable::forget_if_done(std::uint32_t number) {
  const auto found = outgoing_.find(number);
  const Outgoing& file = found->second;
  if (file.part_count == 0 && file.handle == GuestHandle{}) outgoing_.erase(found);
}

// ---- From the client.

Result<void> FileTable::check_begin(const service::FilePart& part) const {
  TRY(check_guest_name(part.name, "file name"));
  TRY(check_media_type(part.media_type));
  TRY(check_file_bytes(part.file_bytes, limits_));
  if (unreceived_.size() >= limits_.file_count_max) {
    return Error(ErrorCode::QuotaExceeded, "file_count_max: the program has not received " +
                                               std::to_string(unreceived_.size()) + " files");
  }
  return {};
}

Result<void> FileTable::check_continues(const service::FilePart& part) const {
  const auto found = incoming_.find(current_);
  if (found == incoming_.end()) {
    return Error(ErrorCode::Cancelled,
                 "no file is under way: it was never begun, the program dropped it, or its client "
                 "left; begin it anew at offset 0");
  }
  const Incoming& file = found->second;
  if (part.name == file.name && part.file_bytes == file.file_bytes &&
      part.offset == file.received) {
    return {};
  }
  return Error(ErrorCode::InvalidArgument, "a part at " + std::to_string(part.offset) + " of " +
                                               std::to_string(part.file_bytes) + " bytes of " +
                                               in_quotes(part.name) + " does not continue " +
                                               in_quotes(file.name) + ", of which " +
                                               std::to_string(file.received) + " of " +
                                               std::to_string(file.file_bytes) + " bytes are here");
}

FileTable::Incoming& FileTable::begin(service::FilePart& part) {
  break_current(Error(ErrorCode::Unavailable, "the client gave the file up"));
  current_ = ++last_file_;
  unreceived_.push_back(current_);
  Incoming& file = incoming_[current_];
  file.name = std::move(part.name);
  file.media_type = std::move(part.media_type);
  file.file_bytes = part.file_bytes;
  return file;
}

Result<void> FileTable::push(service::FilePart part) {
  if (absence_) return absence_->copy();
  if (!has_room()) {
    return no_room("file_inbox_bytes_max", in_bytes_, limits_.file_inbox_bytes_max,
                   "read by the program; wait for the reply to the part before");
  }
  if (part.offset > part.file_bytes || part.bytes.size() > part.file_bytes - part.offset) {
    return Error(ErrorCode::InvalidArgument, "a part of " + std::to_string(part.bytes.size()) +
                                                 " bytes at " + std::to_string(part.offset) +
                                                 " of a file of " +
                                                 std::to_string(part.file_bytes));
  }
  const bool is_new = part.offset == 0;
  TRY(is_new ? check_begin(part) : check_continues(part));
  Incoming& file = is_new ? begin(part) : incoming_.at(current_);
  if (!part.bytes.empty()) {
    file.received += part.bytes.size();
    in_bytes_ += kPartBytes + part.bytes.size();
    file.parts.push_back(std::move(part.bytes));
  }
  if (file.received == file.file_bytes) current_ = 0;
  serve_receivers();
  serve(file);
  return {};
}

void FileTable::drop_inbox() {
  for (auto& [number, file] : incoming_) file.parts = {};
  in_bytes_ = 0;
}

void FileTable::set_absence(std::optional<Error> absence) {
  absence_ = std::move(absence);
  if (!absence_) return;
  break_current(*absence_);
  serve_receivers();
}

void FileTable::break_current(const Error& why) {
  const auto found = incoming_.find(std::exchange(current_, 0));
  if (found == incoming_.end()) return;
  found->second.broken = why.copy();
  serve(found->second);
}

GuestHandle FileTable::receive_file() {
  const GuestHandle future = futures_.add(FuturePurpose::ReceiveFile).handle;
  receivers_.push_back(future);
  serve_receivers();
  return future;
}

void FileTable::serve_receivers() {
  while (!receivers_.empty()) {
    FutureRecord& record = *futures_.find_answered(receivers_.front());
    if (!unreceived_.empty()) {
      const std::uint32_t number = unreceived_.front();
      Result<GuestHandle> handle = handles_.add(HandleKind::File, {.payload = number});
      if (handle.ok()) {
        unreceived_.pop_front();
        Incoming& file = incoming_.at(number);
        file.handle = handle.value();
        record.owner = file.handle;
        futures_.make_ready(record,
                            encode(file.handle, file.name, file.media_type, file.file_bytes));
      } else {
        futures_.make_failed(record, handle.error());
      }
    } else if (absence_) {
      futures_.make_failed(record, *absence_);
    } else {
      return;
    }
    receivers_.pop_front();
  }
}

Result<GuestHandle> FileTable::read_file(GuestHandle handle) {
  const HandleTable::Entry entry = TRY(handles_.find(handle, HandleKind::File));
  const auto found = incoming_.find(entry.payload);
  if (found == incoming_.end()) {
    return Error(ErrorCode::InvalidArgument,
                 "the file goes to the client: it can be written, not read");
  }
  Incoming& file = found->second;
  if (futures_.find_answered(file.reader) != nullptr) {
    return Error(ErrorCode::QuotaExceeded,
                 "an earlier read of the file was not taken: one at a time, so that its parts keep "
                 "their order");
  }
  FutureRecord& record = futures_.add(FuturePurpose::ReadFile);
  record.owner = handle;
  file.reader = record.handle;
  serve(file);
  return file.reader;
}

void FileTable::serve(Incoming& file) {
  FutureRecord* reader = futures_.find_answered(file.reader);
  if (reader == nullptr || reader->ready) return;
  if (!file.parts.empty()) {
    in_bytes_ -= kPartBytes + file.parts.front().size();
    futures_.make_ready(*reader, std::move(file.parts.front()));
    file.parts.pop_front();
  } else if (file.received == file.file_bytes) {
    futures_.make_ready(*reader, "");
  } else if (file.broken) {
    futures_.make_failed(*reader, *file.broken);
  }
}

// ---- Both.

void FileTable::drop(GuestHandle handle) {
  const std::uint32_t number = handles_.find(handle, HandleKind::File).value().payload;
  handles_.remove(handle);
  if (const auto found = outgoing_.find(number); found != outgoing_.end()) {
    Outgoing& file = found->second;
    file.handle = GuestHandle{};
    if (file.written > 0 && file.written < file.file_bytes) {
      add_part({number, file.written, "", true});
    }
    forget_if_done(number);
    return;
  }
  const auto found = incoming_.find(number);
  QUIRE_CHECK(found != incoming_.end(), "FL1");
  Incoming& file = found->second;
  for (const std::string& each : file.parts) in_bytes_ -= kPartBytes + each.size();
  FutureRecord* reader = futures_.find_answered(file.reader);
  if (reader != nullptr && !reader->ready) {
    futures_.make_failed(*reader, Error(ErrorCode::Cancelled, "the file was dropped"));
  }
  if (current_ == number) current_ = 0;
  incoming_.erase(found);
}

void FileTable::future_dropped(FutureRecord& record) {
  switch (record.purpose) {
    case FuturePurpose::WriteFile:
      if (record.handle == writer_) writer_ = GuestHandle{};
      return;
    case FuturePurpose::ReceiveFile:
      if (!record.ready) {
        erase_value(receivers_, record.handle);
      } else {
        put_back(record.owner);
      }
      return;
    default:
      break;
  }
  // A guest may guess a handle, and drop a file before its futures.
  const Result<HandleTable::Entry> entry = handles_.find(record.owner, HandleKind::File);
  if (!entry.ok() || record.result.empty()) return;
  Incoming& file = incoming_.at(entry.value().payload);
  in_bytes_ += kPartBytes + record.result.size();
  file.parts.push_front(record.result);
}

// Received, and the guest never learned of it: another may receive it.
void FileTable::put_back(GuestHandle handle) {
  const Result<HandleTable::Entry> entry = handles_.find(handle, HandleKind::File);
  if (!entry.ok()) return;
  const std::uint32_t number = entry.value().payload;
  handles_.remove(handle);
  incoming_.at(number).handle = GuestHandle{};
  // Files are numbered as they come.
  unreceived_.insert(std::lower_bound(unreceived_.begin(), unreceived_.end(), number), number);
  serve_receivers();
}

void FileTable::verify() const {
  std::unordered_map<std::uint32_t, std::uint32_t> part_counts;
  for (const Outbox::Item& each : outbox_.items()) {
    if (const auto* part = std::get_if<Outbox::Part>(&each)) ++part_counts[part->file];
  }
  for (const auto& [number, count] : part_counts) {
    QUIRE_CHECK(outgoing_.contains(number) && outgoing_.at(number).part_count == count, "FL1");
  }
  if (writer_ != GuestHandle{}) {
    QUIRE_CHECK(!has_out_room(), "FL3");
    QUIRE_CHECK(futures_.find_answered(writer_) != nullptr, "FL4");
  }
  std::size_t handle_count = 0;
  for (const auto& [number, file] : outgoing_) handle_count += file.handle != GuestHandle{} ? 1 : 0;
  std::uint64_t bytes = 0;
  for (const auto& [number, file] : incoming_) {
    handle_count += file.handle != GuestHandle{} ? 1 : 0;
    for (const std::string& each : file.parts) bytes += kPartBytes + each.size();
    const FutureRecord* reader = futures_.find_answered(file.reader);
    const bool is_stuck = file.parts.empty() && file.received < file.file_bytes && !file.broken;
    QUIRE_CHECK(reader == nullptr || reader->ready || is_stuck, "FL3");
  }
  QUIRE_CHECK(bytes == in_bytes_, "FL2");
  QUIRE_CHECK(handle_count == handles_.count(HandleKind::File), "FL1");
  QUIRE_CHECK(receivers_.empty() || (unreceived_.empty() && !absence_), "FL3");
}

}  // namespace quire::hostcalls
