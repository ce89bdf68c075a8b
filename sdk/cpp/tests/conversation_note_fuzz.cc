// Arbitrary bytes as the note of a snapshot, which an imported file may hold: a conversation, an error,
// or no conversation; what is read is written and read again as the same.
//
// The SDK's namespace has another name here, because what replays seeds uses the host's own Result,
// whose names are the same.
#define quire quire_guest
#include "quire/conversation_note.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace quire::abi::runtime {

// panic() logs before it traps.
std::int32_t log(std::uint32_t, const std::uint8_t*, std::uint32_t) {
  return 0;
}

}  // namespace quire::abi::runtime

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using quire::detail::read_conversation_note;
  const std::string_view note(reinterpret_cast<const char*>(data), bytes);
  const auto read = read_conversation_note(note);
  if (!read.ok()) {
    require(!read.error().message.empty());
    return 0;
  }
  require(read.value().has_value() == note.starts_with(quire::detail::kConversationNoteBegin));
  if (!read.value()) return 0;
  const std::string written = note_of(*read.value());
  const auto again = read_conversation_note(written);
  require(again.ok() && again.value());
  require(note_of(*again.value()) == written);
  require(again.value()->tokens == read.value()->tokens);
  require(again.value()->messages.size() == read.value()->messages.size());
  return 0;
}
