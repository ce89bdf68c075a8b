#pragma once
// Arguments and results of the calls on contexts: counters, handles, hints, snapshots.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/future.h"
#include "quire/result.h"

namespace quire {

// A context after flush, forward or an edit.
struct ContextCounters {
  std::uint32_t seq_len = 0;  // Tokens whose keys and values were written, dropped ones included.
  std::uint32_t committed_page_count = 0;  // Held.
  std::uint32_t working_page_count = 0;
  std::uint32_t working_page_token_count = 0;
  std::uint32_t found_token_count = 0;  // Tokens that were found in the cache, never computed.
};

// A program's hint for the time when a context's pages are no longer held.
enum class ContextHint : std::uint32_t { None, WillResume, Done, Keep, SharedPrefix };

struct SaveOptions {
  bool overwrite = false;
  std::chrono::seconds time_to_live{0};  // By the time of day; 0: forever.
  bool compute = true;                   // False: what is queued is saved as tokens alone.
  bool turns = true;                     // False: a conversation's turns are left out.
};

struct SnapshotInfo {
  std::string name;
  std::uint64_t created_unix_ms = 0;
  std::uint64_t expires_unix_ms = 0;  // 0: never.
  std::uint64_t token_count = 0;
  std::uint64_t bytes = 0;  // On disk, if nothing shared its pages.
};
struct SnapshotList {
  std::vector<SnapshotInfo> snapshots;
  std::uint64_t bytes = 0;  // On disk, all together.
};

template <>
struct FutureValue<ContextCounters> {
  static Result<ContextCounters> decode(std::span<const std::byte> bytes) {
    ContextCounters out;
    static_assert(sizeof out == 20);
    if (bytes.size() != sizeof out) {
      return Error{ErrorCode::Internal,
                   "counters of " + std::to_string(bytes.size()) + " bytes, not 20"};
    }
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

// A handle that a future gives (fork).
struct NewHandle {
  std::int32_t value = -1;
};
template <>
struct FutureValue<NewHandle> {
  static Result<NewHandle> decode(std::span<const std::byte> bytes) {
    NewHandle out;
    if (bytes.size() != 4) {
      return Error{ErrorCode::Internal, "a handle of " + std::to_string(bytes.size()) + " bytes"};
    }
    std::memcpy(&out.value, bytes.data(), 4);
    return out;
  }
};

// The same with what the context has queued (open, take).
struct OpenedSnapshot {
  std::int32_t handle = -1;
  std::uint32_t queued_token_count = 0;
};
template <>
struct FutureValue<OpenedSnapshot> {
  static Result<OpenedSnapshot> decode(std::span<const std::byte> bytes) {
    OpenedSnapshot out;
    static_assert(sizeof out == 8);
    if (bytes.size() != sizeof out) {
      return Error{ErrorCode::Internal,
                   "an opened snapshot of " + std::to_string(bytes.size()) + " bytes, not 8"};
    }
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

template <>
struct FutureValue<SnapshotList> {
  static Result<SnapshotList> decode(std::span<const std::byte> bytes) {
    const auto cut = [] { return Error{ErrorCode::Internal, "a list of snapshots is cut short"}; };
    constexpr std::size_t kHeadBytes = 16;
    constexpr std::size_t kRecordBytes = 36;
    const auto read = [&]<typename T>(std::size_t at, T& value) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
    };
    SnapshotList out;
    std::uint32_t count = 0;
    if (bytes.size() < kHeadBytes) return cut();
    read(0, count);
    read(8, out.bytes);
    std::size_t at = kHeadBytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      SnapshotInfo info;
      std::uint32_t name_bytes = 0;
      if (bytes.size() - at < kRecordBytes) return cut();
      read(at, info.created_unix_ms);
      read(at + 8, info.expires_unix_ms);
      read(at + 16, info.token_count);
      read(at + 24, info.bytes);
      read(at + 32, name_bytes);
      at += kRecordBytes;
      if (bytes.size() - at < name_bytes) return cut();
      info.name.assign(reinterpret_cast<const char*>(bytes.data()) + at, name_bytes);
      at += name_bytes;
      out.snapshots.push_back(std::move(info));
    }
    return out;
  }
};

namespace detail {

inline Result<std::uint32_t> seconds_of(std::chrono::seconds time) {
  if (time.count() < 0 || time.count() > std::numeric_limits<std::uint32_t>::max()) {
    return Error{ErrorCode::InvalidArgument,
                 std::to_string(time.count()) + " seconds: not from 0 to 4294967295"};
  }
  return static_cast<std::uint32_t>(time.count());
}

}  // namespace detail

}  // namespace quire
