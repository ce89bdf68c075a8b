#pragma once
// Files between a program and its client: named bytes of a media type that may be more than a
// message holds.
//
//   co_await session::send_file("plot.svg", "image/svg+xml", svg);
//   IncomingFile file = co_await session::receive_file();
//   const std::string bytes = co_await file.read_all();
//
// Errors   as interface/session.wit says; not-supported where the client is a program.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/future.h"
#include "quire/handle.h"
#include "quire/result.h"
#include "quire/runtime.h"
#include "quire/task.h"

namespace quire {

// A file on its way to the client. Dropped before its last byte, it is given up.
class OutgoingFile {
 public:
  static constexpr std::size_t kPartBytesMax = std::size_t{1} << 20;

  static Result<OutgoingFile> begin(std::string_view name, std::string_view media_type,
                                    std::uint64_t file_bytes) {
    return OutgoingFile(TRY(checked(abi::session::send_file(
        detail::bytes_of(name), detail::count_of(name.size()), detail::bytes_of(media_type),
        detail::count_of(media_type.size()), file_bytes))));
  }

  // At most kPartBytesMax. Ready once there is room for another part: wait for it.
  Future<void> write(std::string_view part) const {
    return Future<void>(abi::session::write_file(handle_.get(), detail::bytes_of(part),
                                                 detail::count_of(part.size())));
  }

 private:
  explicit OutgoingFile(std::int32_t handle) : handle_(handle) {}
  detail::SharedHandle handle_;
};

// A file that the client sends.
class IncomingFile {
 public:
  const std::string& name() const QUIRE_LIFETIME_BOUND { return name_; }
  const std::string& media_type() const QUIRE_LIFETIME_BOUND { return media_type_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

  // The next part; nothing at the end.
  Future<std::string> read() const {
    return Future<std::string>(abi::session::read_file(handle_.get()));
  }

  Task<std::string> read_all() const {
    std::string bytes;
    for (;;) {
      const std::string part = co_await read();
      if (part.empty()) co_return bytes;
      bytes += part;
    }
  }

 private:
  friend struct FutureValue<IncomingFile>;
  IncomingFile(std::int32_t handle, std::string name, std::string media_type,
               std::uint64_t file_bytes)
      : handle_(handle),
        name_(std::move(name)),
        media_type_(std::move(media_type)),
        file_bytes_(file_bytes) {}

  detail::SharedHandle handle_;
  std::string name_;
  std::string media_type_;
  std::uint64_t file_bytes_;
};

template <>
struct FutureValue<IncomingFile> {
  static Result<IncomingFile> decode(std::span<const std::byte> bytes) {
    struct {
      std::int32_t handle;
      std::uint32_t name_bytes, media_type_bytes, zero;
      std::uint64_t file_bytes;
    } head = {};
    if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
    if (bytes.size() != sizeof head + std::uint64_t{head.name_bytes} + head.media_type_bytes) {
      return Error{ErrorCode::Internal, "a file in " + std::to_string(bytes.size()) + " bytes"};
    }
    const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof head;
    return IncomingFile(head.handle, std::string(text, head.name_bytes),
                        std::string(text + head.name_bytes, head.media_type_bytes),
                        head.file_bytes);
  }
};

namespace session {

// All of it, waiting for the client where it takes its time.
inline Task<> send_file(std::string name, std::string media_type, std::string bytes) {
  const OutgoingFile file = co_await OutgoingFile::begin(name, media_type, bytes.size());
  const std::string_view all = bytes;
  for (std::size_t at = 0; at < all.size(); at += OutgoingFile::kPartBytesMax) {
    co_await file.write(all.substr(at, OutgoingFile::kPartBytesMax));
  }
}

// The next file of the client. Error unavailable: it has ended its side, or is gone.
inline Future<IncomingFile> receive_file() {
  return Future<IncomingFile>(abi::session::receive_file());
}

}  // namespace session

}  // namespace quire
