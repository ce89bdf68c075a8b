// Actions of scripted guests with files: they send some to the client, and read what the client
// sends.
#include <algorithm>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kFileCountMax = 2;
constexpr std::uint32_t kPartBytesMax = 150;
constexpr std::string_view kMediaType = "text/plain";

}  // namespace

void ScriptedGuest::send_file() {
  if (outgoing_.size() >= kFileCountMax) return;
  const std::string name = "file " + std::to_string(next_file_);
  const std::uint64_t bytes = dice_.below(4) * std::uint64_t{200};
  const std::int64_t at = put_bytes(name);
  const std::int64_t type = put_bytes(kMediaType);
  const std::int64_t handle =
      call("session.send-file",
           {at, length_of(name), type, length_of(kMediaType), static_cast<std::int64_t>(bytes)});
  if (!check("session.send-file", handle, {ErrorCode::QuotaExceeded, ErrorCode::NotSupported})) {
    return;
  }
  outgoing_[next_file_++] = {.handle = static_cast<std::int32_t>(handle), .bytes = bytes};
}

// Writes the next part; after the last one, and now and then before, the file is dropped.
void ScriptedGuest::write_file() {
  if (outgoing_.empty()) return;
  auto at = outgoing_.begin();
  std::advance(at, dice_.below(outgoing_.size()));
  File& file = at->second;
  if (file.done == file.bytes || dice_.one_in(10)) {
    check("future.drop", call("future.drop", {file.handle}));
    stale_.push_back(file.handle);
    outgoing_.erase(at);
    return;
  }
  const std::string part = file_part(
      file.done, std::min<std::uint64_t>(file.bytes - file.done, dice_.between(1, kPartBytesMax)));
  const std::int64_t bytes = put_bytes(part);
  const std::int64_t future = call("session.write-file", {file.handle, bytes, length_of(part)});
  if (!check("session.write-file", future, {ErrorCode::QuotaExceeded})) return;
  file.done += part.size();
  expect("write-file", future, Comes::Perhaps, [this](const Taken& taken) {
    if (!taken.ok() && taken.error != ErrorCode::Unavailable) compute_failed("write-file", taken);
  });
}

void ScriptedGuest::receive_file() {
  if (awaits_file_ || incoming_.size() >= kFileCountMax) return;
  const bool is_child = depth_ > 0;  // Whose client is a program, which sends none.
  awaits_file_ = expect(
      "receive-file", call("session.receive-file", {}), Comes::Perhaps,
      [this](const Taken& taken) {
        awaits_file_ = false;
        if (taken.error == ErrorCode::Unavailable || compute_failed("receive-file", taken)) return;
        const std::size_t head_bytes = 24;
        const auto name_bytes = value_at<std::uint32_t>(taken.bytes, 4);
        const auto type_bytes = value_at<std::uint32_t>(taken.bytes, 8);
        if (taken.bytes.size() != head_bytes + name_bytes + type_bytes ||
            taken.bytes.substr(head_bytes + name_bytes) != kMediaType) {
          find("receive-file gives no file of text");
        }
        incoming_[next_file_++] = {.handle = value_at<std::int32_t>(taken.bytes, 0),
                                   .bytes = value_at<std::uint64_t>(taken.bytes, 16)};
      },
      [this] { awaits_file_ = false; }, {is_child ? ErrorCode::NotSupported : ErrorCode{}});
}

void ScriptedGuest::read_file() {
  if (incoming_.empty()) return;
  auto at = incoming_.begin();
  std::advance(at, dice_.below(incoming_.size()));
  if (at->second.has_reader) return;
  const auto close = [this](std::uint32_t key) {
    const std::int32_t handle = incoming_.at(key).handle;
    incoming_.erase(key);
    check("future.drop", call("future.drop", {handle}));
    stale_.push_back(handle);
  };
  if (dice_.one_in(10)) return close(at->first);
  at->second.has_reader = expect(
      "read-file", call("session.read-file", {at->second.handle}), Comes::Perhaps,
      [this, key = at->first, close](const Taken& taken) {
        const auto found = incoming_.find(key);
        if (found == incoming_.end()) {
          if (!taken.ok() && taken.error != ErrorCode::Cancelled) find("read-file: " + taken.bytes);
          return;
        }
        File& file = found->second;
        file.has_reader = false;
        if (taken.error == ErrorCode::Unavailable) return close(key);  // The client gave it up.
        if (compute_failed("read-file", taken)) return;
        if (taken.bytes != file_part(file.done, taken.bytes.size())) {
          find("a part of a file lost, doubled, or out of order");
        }
        file.done += taken.bytes.size();
        if (!taken.bytes.empty()) return;
        if (file.done != file.bytes) find("a file ends before its last byte");
        close(key);
      },
      [this, key = at->first] {
        const auto found = incoming_.find(key);
        if (found != incoming_.end()) found->second.has_reader = false;
      });
}

}  // namespace quire::simulation
