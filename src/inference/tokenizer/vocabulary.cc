#include "inference/tokenizer/vocabulary.h"

#include <array>

#include "inference/tokenizer/utf8.h"

namespace quire::inference {
namespace {

constexpr char32_t kAlphabetEnd = 256 + 68;  // 188 bytes stand for themselves, 68 for U+0100 on.

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr std::array<std::int16_t, kAlphabetEnd> make_bytes() {
  std::array<std::int16_t, kAlphabetEnd> bytes{};
  for (auto& each : bytes) each = -1;
  std::size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    bytes[stands_for_itself(byte) ? static_cast<std::size_t>(byte) : next++] =
        static_cast<std::int16_t>(byte);
  }
  return bytes;
}
constexpr auto kBytes = make_bytes();
static_assert(kBytes[0x120] == ' ' && kBytes[0x10a] == '\n' && kBytes[kAlphabetEnd - 1] == 0xad);

// Whether every character of `text` stands for a byte; those bytes are then in `out`.
bool byte_level_bytes(std::string_view text, std::string& out) {
  const std::size_t begin = out.size();
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const int byte = character.bytes == 0 ? -1 : byte_of_character(character.code);
    if (byte < 0) {
      out.resize(begin);
      return false;
    }
    out.push_back(static_cast<char>(byte));
    at += character.bytes;
  }
  return true;
}

void sentence_piece_bytes(std::string_view text, std::string& out) {
  if (const int byte = byte_of_token(text); byte >= 0) {
    out.push_back(static_cast<char>(byte));
    return;
  }
  constexpr std::string_view kSpace = "\u2581";
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, kSpace.size()) == kSpace) {
      out.push_back(' ');
      at += kSpace.size();
    } else {
      out.push_back(text[at++]);
    }
  }
}

Error beyond(std::uint32_t id, std::uint32_t count) {
  return Error(ErrorCode::OutOfRange,
               "token " + std::to_string(id) + " of a vocabulary of " + std::to_string(count));
}

}  // namespace

int byte_of_character(char32_t code) {
  return code < kAlphabetEnd ? kBytes[code] : -1;
}

int byte_of_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  int value = 0;
  for (const char digit : text.substr(3, 2)) {
    const bool decimal = digit >= '0' && digit <= '9';
    const bool letter = digit >= 'A' && digit <= 'F';
    if (!decimal && !letter) return -1;
    value = value * 16 + (decimal ? digit - '0' : digit - 'A' + 10);
  }
  return value;
}

void Vocabulary::append(std::string_view text, Alphabet alphabet, TokenTraits traits) {
  if (traits.literal) {
    bytes_ += text;
  } else if (alphabet == Alphabet::SentencePiece) {
    sentence_piece_bytes(text, bytes_);
  } else if (!byte_level_bytes(text, bytes_)) {
    bytes_ += text;
  }
  ends_.push_back(bytes_.size());
  control_.push_back(traits.control);
  const bool is_byte = alphabet == Alphabet::SentencePiece && byte_of_token(text) >= 0;
  if (text.empty()) {
    traits.kind = TokenKind::Unused;
  } else if (traits.kind == TokenKind::Text && !traits.literal && is_byte) {
    traits.kind = TokenKind::Byte;
  }
  kinds_.push_back(traits.kind);
}

Result<TokenView> Vocabulary::token(TokenId id) const {
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= size()) return beyond(index, size());
  return TokenView{.kind = kinds_[index], .bytes = bytes_of(index)};
}

Result<std::string> Vocabulary::decode(const std::vector<TokenId>& tokens,
                                       bool keep_special) const {
  std::string text;
  for (const TokenId token : tokens) {
    const auto id = static_cast<std::uint32_t>(token);
    if (id >= size()) return beyond(id, size());
    if (keep_special || !control_[id]) text += bytes_of(id);
  }
  return text;
}

}  // namespace quire::inference
