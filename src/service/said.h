#pragma once
// Said is an output of an instance for its client. FilePart is a part of a file, which may go
// either way.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "service/end.h"

namespace quire::service {

enum class LogSource : std::uint8_t { Log, Stdout, Stderr };
enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

// A part of a named file, with all that a receiver needs to know which. A client that sends one at
// offset 0 begins a file, and gives up the one before if that is not complete.
struct FilePart {
  std::string name;
  std::string media_type;
  std::uint64_t file_bytes = 0;  // In all.
  std::uint64_t offset = 0;      // Of this part.
  std::string bytes;
  bool operator==(const FilePart&) const = default;
};

// ---- What an instance says. The texts are borrowed: they last as long as the call that shows them.

struct Message {
  std::string_view bytes;
};

// One line of the guest's log or of what it wrote to stdout or stderr, without the newline and with
// control characters spelled out.
struct LogLine {
  LogSource source = LogSource::Log;
  LogLevel level = LogLevel::Info;
  std::string_view text;
};

struct SentPart {
  std::uint64_t file = 0;  // A number of the instance's, from 1. Parts of several may alternate.
  std::string_view name;
  std::string_view media_type;
  std::uint64_t file_bytes = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;
};

// The program will not finish this file.
struct DroppedFile {
  std::uint64_t file = 0;
};

// A part of the response to the HTTP request that launched the instance: one head, parts of the
// body, one end.
enum class ResponsePartKind : std::uint8_t { Head, Bytes, End };
struct ResponsePart {
  ResponsePartKind kind = ResponsePartKind::Head;
  std::uint32_t status = 0;  // Of a head.
  std::string_view bytes;    // Of a head its lines "name: value\n", of Bytes a part of the body.
};

struct Ended {
  const End& end;
};

using Said = std::variant<Message, LogLine, SentPart, DroppedFile, ResponsePart, Ended>;

}  // namespace quire::service
