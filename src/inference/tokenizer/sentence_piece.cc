#include "inference/tokenizer/sentence_piece.h"

#include <cmath>
#include <queue>

#include "inference/tokenizer/utf8.h"
#include "inference/tokenizer/vocabulary.h"

namespace quire::inference {
namespace {

constexpr std::string_view kEscapedSpace = "\u2581";
constexpr std::int32_t kNone = -1;

std::string escape_spaces(std::string_view text, bool add_prefix) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 4 + kEscapedSpace.size());
  if (add_prefix) escaped += kEscapedSpace;
  for (const char byte : text) {
    if (byte == ' ') {
      escaped += kEscapedSpace;
    } else {
      escaped.push_back(byte);
    }
  }
  return escaped;
}

}  // namespace

// A run of characters that is one token, or one character; a link in a list by index.
struct SentencePiece::Symbol {
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;  // 0: joined to the one before.
  std::int32_t previous = kNone;
  std::int32_t next = kNone;
};

struct SentencePiece::Candidate {
  float score = 0.0f;
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::uint32_t bytes = 0;  // Of both when proposed: shows whether it is still so.

  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

class SentencePiece::Merger {
 public:
  Merger(const SentencePiece& tokens, std::string_view text) : tokens_(tokens), text_(text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto index = static_cast<std::int32_t>(symbols_.size());
      const std::uint32_t bytes = character_at(text, at).bytes;
      symbols_.push_back({static_cast<std::uint32_t>(at), bytes, index - 1, index + 1});
      at += bytes;
    }
    if (!symbols_.empty()) symbols_.back().next = kNone;
    for (std::size_t index = 1; index < symbols_.size(); ++index) {
      propose(static_cast<std::int32_t>(index) - 1, static_cast<std::int32_t>(index));
    }
  }

  void run() {
    while (!queue_.empty()) {
      const Candidate pair = queue_.top();
      queue_.pop();
      Symbol& left = at(pair.left);
      Symbol& right = at(pair.right);
      if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != pair.bytes) continue;
      left.bytes += right.bytes;
      right.bytes = 0;
      left.next = right.next;
      if (right.next != kNone) at(right.next).previous = pair.left;
      propose(left.previous, pair.left);
      propose(pair.left, left.next);
    }
  }

  Result<void> write(std::vector<TokenId>& out) const {
    for (const Symbol& symbol : symbols_) {
      if (symbol.bytes != 0) {
        TRY(tokens_.append_symbol(text_.substr(symbol.begin, symbol.bytes), out));
      }
    }
    return {};
  }

 private:
  Symbol& at(std::int32_t index) { return symbols_[static_cast<std::size_t>(index)]; }

  void propose(std::int32_t left, std::int32_t right) {
    if (left == kNone || right == kNone) return;
    const std::uint32_t bytes = at(left).bytes + at(right).bytes;
    if (bytes > tokens_.token_bytes_max_) return;
    const Entry* entry = tokens_.find(text_.substr(at(left).begin, bytes));
    if (entry != nullptr) queue_.push({entry->score, left, right, bytes});
  }

  const SentencePiece& tokens_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
};

Result<std::unique_ptr<SentencePiece>> SentencePiece::create(const TokenizerParts& parts) {
  if (parts.scores.size() != parts.tokens.size()) {
    return Error(ErrorCode::InvalidArgument, "tokenizer: " + std::to_string(parts.scores.size()) +
                                                 " scores for " +
                                                 std::to_string(parts.tokens.size()) + " tokens");
  }
  auto made = std::unique_ptr<SentencePiece>(new SentencePiece);
  made->unknown_id_ = parts.unknown_id;
  made->add_space_prefix_ = parts.add_space_prefix.value_or(true);
  made->byte_tokens_.fill(kNone);
  made->entries_.reserve(parts.tokens.size());
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    const std::string& text = parts.tokens[id];
    const auto type = static_cast<TokenType>(parts.token_types.empty()
                                                 ? static_cast<std::int32_t>(TokenType::Normal)
                                                 : parts.token_types[id]);
    if (std::isnan(parts.scores[id])) {
      return Error(ErrorCode::InvalidArgument,
                   "tokenizer: the score of token " + std::to_string(id) + " is not a number");
    }
    if (const int byte = byte_of_token(text); byte >= 0) {
      made->byte_tokens_[static_cast<std::size_t>(byte)] = static_cast<std::int32_t>(id);
    }
    // Text never joins to what only the model may say.
    const bool joins = type != TokenType::Control && type != TokenType::Unknown &&
                       type != TokenType::Byte && !text.empty();
    if (!joins) continue;
    made->entries_.emplace(text, Entry{TokenId(static_cast<std::uint32_t>(id)), parts.scores[id]});
    made->token_bytes_max_ = std::max(made->token_bytes_max_, text.size());
  }
  return made;
}

const SentencePiece::Entry* SentencePiece::find(std::string_view text) const {
  const auto at = entries_.find(text);
  return at == entries_.end() ? nullptr : &at->second;
}

Result<void> SentencePiece::append_symbol(std::string_view text, std::vector<TokenId>& out) const {
  if (const Entry* entry = find(text); entry != nullptr) {
    out.push_back(entry->id);
    return {};
  }
  const std::size_t begin = out.size();
  for (const char byte : text) {
    const std::int32_t token = byte_tokens_[static_cast<unsigned char>(byte)];
    if (token != kNone) {
      out.push_back(TokenId(static_cast<std::uint32_t>(token)));
      continue;
    }
    if (unknown_id_ < 0) {
      return Error(ErrorCode::InvalidArgument,
                   "the vocabulary has no token for \"" + std::string(text) +
                       "\", none for its bytes and none for the unknown");
    }
    out.resize(begin);
    out.push_back(TokenId(static_cast<std::uint32_t>(unknown_id_)));
    return {};
  }
  return {};
}

Result<std::vector<TokenId>> SentencePiece::encode(std::string_view text,
                                                   const std::vector<TextPiece>& pieces) const {
  std::vector<TokenId> ids;
  bool after_token = true;  // A text begins as if a token came before it.
  for (const TextPiece& piece : pieces) {
    if (piece.token) {
      ids.push_back(*piece.token);
    } else {
      const std::string escaped = escape_spaces(text.substr(piece.begin, piece.end - piece.begin),
                                                add_space_prefix_ && after_token);
      Merger merger(*this, escaped);
      merger.run();
      TRY(merger.write(ids));
    }
    after_token = piece.token.has_value();
  }
  return ids;
}

}  // namespace quire::inference
