#pragma once
// What an instance says to its client, and the files that go either way.
#include <cstdint>
#include <string>
#include <string_view>

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

// A part of a file on its way to the client, or the word that no more will come. The texts are
// borrowed.
struct SentPart {
  std::uint64_t file = 0;  // A number of the instance's, from 1.
  std::string_view name;
  std::string_view media_type;
  std::uint64_t file_bytes = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;
  bool is_dropped = false;
};

}  // namespace quire::service
