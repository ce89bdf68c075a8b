#pragma once
// detail::ConversationNote: the turns of a Context, its tokens and where the turns lie in them, as the
// note of its snapshot. With it the next turn has the prompt that it would have had without the break.
//
// The note is a line of JSON, then the tokens. Later versions add members to the JSON and remove none.
// Each token is written in groups of 7 bits, the lowest first; the high bit of a byte says that another
// byte follows.
//
//   {"quire.conversation":1,"messages":[{"role":"user","content":"Hi"}],"tools":"","written":1,...}
//
// Errors   corrupted: the bytes begin like such a note but are not one. A note that begins otherwise
//          is the program's own, and is not an error.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/chat_message.h"
#include "quire/json.h"
#include "quire/result.h"

namespace quire::detail {

struct ConversationNote {
  std::vector<ChatMessage> messages = {};
  std::string tools = {};                 // A JSON array, or nothing.
  std::uint32_t written_count = 0;        // Messages whose tokens are in the context,
  std::uint32_t first = 0;                // which begin there
  std::uint32_t end = 0;                  // and ended there when they were written last.
  std::uint32_t unknown_token_count = 0;  // Before `tokens`.
  bool answer_open = false;
  bool is_cut = false;
  bool beyond_context = false;
  std::uint32_t hint = 0;
  std::uint32_t hint_seconds = 0;
  std::vector<std::uint32_t> tokens = {};

  static constexpr std::size_t kBytesMax = 1u << 20;  // Of a note (interface/context.wit).
};

inline constexpr std::string_view kConversationNoteBegin = "{\"quire.conversation\":1,";

[[gnu::noinline]] inline std::string note_of(const ConversationNote& of) {
  JsonWriter json;
  json.begin_object().key("quire.conversation").number(1).key("messages").begin_array();
  for (const ChatMessage& each : of.messages) {
    json.begin_object().key("role").text(each.role).key("content").text(each.content);
    if (!each.more.empty()) json.key("more").text(each.more);
    json.end_object();
  }
  json.end_array().key("tools").text(of.tools);
  json.key("written").number(of.written_count).key("first").number(of.first);
  json.key("end").number(of.end).key("unknown").number(of.unknown_token_count);
  json.key("answer_open").boolean(of.answer_open).key("cut").boolean(of.is_cut);
  json.key("beyond_context").boolean(of.beyond_context).key("hint").number(of.hint);
  json.key("hint_seconds").number(of.hint_seconds).key("tokens").number(of.tokens.size());
  std::string note = std::move(json.end_object()).str() + '\n';
  for (std::uint32_t token : of.tokens) {
    for (; token >= 0x80; token >>= 7) note += static_cast<char>(0x80 | (token & 0x7f));
    note += static_cast<char>(token);
  }
  return note;
}

// The numbers in `bytes`, if there are exactly `count`.
inline std::optional<std::vector<std::uint32_t>> numbers_of(std::string_view bytes,
                                                            std::uint64_t count) {
  std::vector<std::uint32_t> numbers;
  if (count > bytes.size()) return std::nullopt;  // Each has a byte at least.
  numbers.reserve(static_cast<std::size_t>(count));
  std::uint64_t number = 0;
  unsigned shift = 0;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    number |= std::uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (number > std::numeric_limits<std::uint32_t>::max() || shift > 35) return std::nullopt;
    if ((byte & 0x80) != 0) continue;
    numbers.push_back(static_cast<std::uint32_t>(number));
    number = 0;
    shift = 0;
  }
  if (shift != 0 || numbers.size() != count) return std::nullopt;
  return numbers;
}

// Nothing: the note is not of a conversation.
[[gnu::noinline]] inline Result<std::optional<ConversationNote>> read_conversation_note(
    std::string_view note) {
  if (!note.starts_with(kConversationNoteBegin)) return std::nullopt;
  const Error damaged{ErrorCode::Corrupted, "the note of a conversation is damaged"};
  std::size_t end = 0;
  const Json json = TRY(Json::parse_first(note, end));
  if (end >= note.size() || note[end] != '\n') return damaged;
  bool is_whole = true;
  const auto number = [&](std::string_view name) -> std::uint32_t {
    const Result<double> value = json.number(name);
    const bool fits = value.ok() && value.value() >= 0 &&
                      value.value() <= std::numeric_limits<std::uint32_t>::max();
    is_whole = is_whole && fits;
    return fits ? static_cast<std::uint32_t>(value.value()) : 0;
  };
  ConversationNote out;
  for (const Json& each : json["messages"].items()) {
    out.messages.push_back({std::string(each.text("role")), std::string(each.text("content")),
                            std::string(each.text("more"))});
  }
  out.tools = json.text("tools");
  out.written_count = number("written");
  out.first = number("first");
  out.end = number("end");
  out.unknown_token_count = number("unknown");
  out.answer_open = json.boolean("answer_open");
  out.is_cut = json.boolean("cut");
  out.beyond_context = json.boolean("beyond_context");
  out.hint = number("hint");
  out.hint_seconds = number("hint_seconds");
  std::optional<std::vector<std::uint32_t>> tokens =
      numbers_of(note.substr(end + 1), number("tokens"));
  if (!is_whole || !tokens || out.written_count > out.messages.size()) return damaged;
  out.tokens = *std::move(tokens);
  return out;
}

// Returns the note if a snapshot can keep it.
[[gnu::noinline]] inline Result<std::string> checked_note(std::string note) {
  if (note.size() <= ConversationNote::kBytesMax) return note;
  return Error{ErrorCode::TooLarge, "the turns of the conversation and its tokens take " +
                                        std::to_string(note.size()) + " bytes; a snapshot holds " +
                                        std::to_string(ConversationNote::kBytesMax) +
                                        ": save with {.turns = false}, and open has no messages()"};
}

}  // namespace quire::detail
