#pragma once
// JsonPieces checks and rewrites a JSON array or object while its text comes.
//
//   JsonPieces arguments;
//   std::string out;
//   const std::size_t read = arguments.push(piece, out);  // All of the piece, until it is done.
//
// All that it writes, joined, is what Json::str() gives for the same text. Each beginning of it
// becomes JSON if its open string, arrays and objects are closed: names, numbers and words are
// written when they are whole, and a comma with the value after it. Like an AnswerReader it takes
// control characters in strings as they are.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "quire/json.h"
#include "quire/utf8.h"

namespace quire {

class JsonPieces {
 public:
  enum class State : std::uint8_t { Open, Done, Wrong };

  JsonPieces() = default;
  // The rest of an object, after one of its members.
  static JsonPieces after_member() {
    JsonPieces out;
    out.open_ = "{";
    out.next_ = Next::CommaOrEnd;
    return out;
  }

  // Appends to `out`. Gives how many bytes it read: all, or up to what ends the value or is wrong.
  std::size_t push(std::string_view text, std::string& out) {
    std::size_t at = 0;
    while (at < text.size() && state_ == State::Open) {
      if (part_ == Part::Text && escape_.empty() && character_.empty()) {
        at += plain_text(text.substr(at), out);
        if (at == text.size()) break;
      }
      if (!take(text[at], out)) {
        state_ = State::Wrong;
        break;
      }
      ++at;
    }
    return at;
  }
  State state() const { return state_; }

 private:
  enum class Next : std::uint8_t { Value, ValueOrEnd, Name, NameOrEnd, Colon, CommaOrEnd };
  enum class Part : std::uint8_t { Structure, Text, Word };  // A word is also a number.

  static constexpr std::size_t kWordBytesMax = 4096;
  static constexpr std::size_t kDepthMax = Json::kDepthMax - 2;  // Inside a call in a list.

  static bool is_blank(char each) {
    return each == ' ' || each == '\t' || each == '\n' || each == '\r';
  }

  bool take(char each, std::string& out) {
    if (part_ == Part::Text) return take_in_text(each, out);
    if (part_ == Part::Word) {
      const bool ends = is_blank(each) || each == ',' || each == ']' || each == '}';
      if (!ends) {
        word_ += each;
        return word_.size() <= kWordBytesMax;
      }
      if (!Json::parse(word_).ok()) return false;
      begin_value(out);
      out += std::exchange(word_, "");
      end_value();
    }
    return is_blank(each) || take_structure(each, out);
  }

  bool take_structure(char each, std::string& out) {
    switch (next_) {
      case Next::Colon:
        if (each != ':') return false;
        pending_ += ':';
        next_ = Next::Value;
        return true;
      case Next::CommaOrEnd:
        if (each == closing()) return close(out);
        if (each != ',') return false;
        pending_ += ',';
        next_ = closing() == '}' ? Next::Name : Next::Value;
        return true;
      case Next::NameOrEnd:
        if (each == '}') return close(out);
        [[fallthrough]];
      case Next::Name:
        if (each != '"') return false;
        begin_text(true, out);
        return true;
      case Next::ValueOrEnd:
        if (each == ']') return close(out);
        [[fallthrough]];
      case Next::Value:
        return take_value(each, out);
    }
    return false;
  }

  bool take_value(char each, std::string& out) {
    if (each == '"') {
      begin_value(out);
      begin_text(false, out);
      return true;
    }
    if (each == '{' || each == '[') {
      if (open_.size() >= kDepthMax) return false;
      begin_value(out);
      open_ += each;
      out += each;
      next_ = each == '{' ? Next::NameOrEnd : Next::ValueOrEnd;
      return true;
    }
    if (open_.empty()) return false;
    word_ = each;
    part_ = Part::Word;
    return true;
  }

  char closing() const { return open_.back() == '{' ? '}' : ']'; }
  void begin_value(std::string& out) { out += std::exchange(pending_, ""); }
  void end_value() {
    part_ = Part::Structure;
    next_ = Next::CommaOrEnd;
  }
  bool close(std::string& out) {
    out += closing();
    open_.pop_back();
    end_value();
    if (open_.empty()) state_ = State::Done;
    return true;
  }

  // ---- strings ----------------------------------------------------------------------------------

  std::string& text_of(std::string& out) { return is_name_ ? pending_ : out; }
  void begin_text(bool is_name, std::string& out) {
    is_name_ = is_name;
    part_ = Part::Text;
    text_of(out) += '"';
  }
  // The beginning of `text` that stands in a string as it is. Gives its bytes.
  std::size_t plain_text(std::string_view text, std::string& out) {
    const auto is_plain = [](char each) {
      const auto byte = static_cast<unsigned char>(each);
      return byte >= 0x20 && byte < 0x7f && each != '"' && each != '\\';
    };
    const auto end = std::ranges::find_if_not(text, is_plain);
    const auto bytes = static_cast<std::size_t>(end - text.begin());
    text_of(out) += text.substr(0, bytes);
    return bytes;
  }
  void write_character(std::string_view character, std::string& out) {
    const std::string quoted = json_string(character);
    text_of(out) += std::string_view(quoted).substr(1, quoted.size() - 2);
  }

  bool take_in_text(char each, std::string& out) {
    if (!escape_.empty()) return take_in_escape(each, out);
    if (!character_.empty() || static_cast<unsigned char>(each) >= 0x80) {
      return take_in_character(each, out);
    }
    if (each == '\\') {
      escape_ = each;
    } else if (each == '"') {
      text_of(out) += '"';
      end_value();
      if (is_name_) next_ = Next::Colon;
    } else {
      write_character(std::string_view(&each, 1), out);
    }
    return true;
  }
  // A character of several bytes.
  bool take_in_character(char each, std::string& out) {
    character_ += each;
    const auto lead = static_cast<unsigned char>(character_.front());
    const std::size_t count = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (character_.size() < count) return true;
    if (valid_utf8_bytes(character_) != character_.size()) return false;
    write_character(std::exchange(character_, ""), out);
    return true;
  }
  bool take_in_escape(char each, std::string& out) {
    constexpr std::size_t kUnitBytes = 6;  // \u0000; a surrogate pair is two of them.
    escape_ += each;
    const std::size_t at = escape_.size() - 1;
    const bool is_unit = escape_[1] == 'u';
    if (at % kUnitBytes == 0 && each != '\\') return false;
    if (at % kUnitBytes == 1 && at > 1 && each != 'u') return false;
    if (is_unit && escape_.size() % kUnitBytes != 0) return true;
    const Result<Json> read = Json::parse('"' + escape_ + '"');
    if (!read.ok()) {  // The first half of a pair, or wrong.
      const std::string_view digits = std::string_view(escape_).substr(2);
      return escape_.size() == kUnitBytes && (digits[0] == 'd' || digits[0] == 'D') &&
             std::string_view("89abAB").find(digits[1]) != std::string_view::npos;
    }
    escape_.clear();
    write_character(read.value().text(), out);
    return true;
  }

  State state_ = State::Open;
  Next next_ = Next::Value;
  Part part_ = Part::Structure;
  bool is_name_ = false;   // The string.
  std::string open_;       // The brackets that are not closed.
  std::string pending_;    // A comma and the name of a member, before its value.
  std::string word_;       // That may go on; so may
  std::string escape_;     // an escape,
  std::string character_;  // and a character.
};

}  // namespace quire
